"""How estimators solve their problems: warm starts, a path to the parameter asked for, a bar of the duality gap."""

from contextlib import contextmanager

import numpy as np

from safescreen._checks import check_callback
from safescreen._progress import progress_bar
from safescreen.estimators._data import check_positive
from safescreen.paths import path
from safescreen.solvers import solve

__all__ = ["come_down", "solver_options", "train"]


def solver_options(model, *names):
    """Return what an estimator tells the solvers: its `tol`, `screening`, `max_iter` and the parameters of those names."""
    options = {name: getattr(model, name) for name in ("max_iter", *names)}
    return {
        "tol": 0.0,
        "rtol": check_positive(model.tol, "tol"),
        "screening": model.screening if isinstance(model.screening, str) else tuple(model.screening),
        **options,
    }


def train(model, prob, lam, factor=None, last=None, **options):
    """Return the solution of an estimator's problem for lam, and None, or the path to it by a factor from one lam to the next.

    Without a path the solution `last` of an earlier fit is the start if the estimator has `warm_start` and the shape is the same.
    """
    if factor is not None:
        top = prob.lam_max()
        steps = int(np.ceil(np.log(lam / top) / np.log(factor))) if lam < top < np.inf and factor < 1.0 else 0
        found = come_down(model, prob, np.unique([*(top * factor ** np.arange(steps, dtype=float)), lam])[::-1], **options)
        return found[-1], found
    start = None
    if model.warm_start and last is not None and last.x.shape == prob.cone.shape:
        start = np.array(last.x)  # of an expansion its coefficients
    with _watched(model) as callback:
        return solve(prob, lam, x0=start, callback=callback, **options), None


def come_down(model, prob, lams, **options):
    """Return the path over a decreasing grid; Ctrl-C ends it, and is passed on if there is no solution yet."""
    found = path(prob, lams, callback=model.callback, progress=model.verbose, **options)
    if not len(found):
        raise KeyboardInterrupt
    return found


@contextmanager
def _watched(model):
    """Yield the callback of an estimator, which shows a bar too if the estimator is verbose."""
    callback = check_callback(model.callback)
    if not model.verbose:
        yield callback
        return
    with progress_bar(True, type(model).__name__) as bar:

        def shown(progress):
            bar.set_postfix(gap=f"{progress.gap:.2e}", terms=progress.n_terms)
            bar.update(progress.iteration - bar.n)
            return callback is not None and callback(progress)

        yield shown
