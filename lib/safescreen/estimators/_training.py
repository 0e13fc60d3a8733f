"""Training of estimators: warm starts, warnings, and a progress bar of the duality gap."""

import numbers
import sys
import threading
import time
import warnings
from contextlib import ExitStack, contextmanager
from itertools import islice

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn import exceptions
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from safescreen._checks import LARGEST_INT, NO_NUMBERS, check_callback, check_lam, check_scalar
from safescreen._progress import progress_bar
from safescreen._threads import Stop, later_interrupts
from safescreen._warnings import warn
from safescreen.estimators._data import column_name, uneven_columns
from safescreen.records import ConvergenceWarning
from safescreen.solvers import solve

FAR = 100.0
"""A warning names a column whose mean is more than this many standard deviations from 0."""

PAUSE = 0.1
"""Smallest number of seconds between two gaps that a progress bar shows."""

SHARE = 20.0
"""A progress bar waits this many times as long as the last gap took before it asks for the next
gap.
"""


class NotConverged(ConvergenceWarning, exceptions.ConvergenceWarning):
    """Warning that is both the library's and scikit-learn's ConvergenceWarning."""


@contextmanager
def quiet():
    """Ignore the warnings of solves that have not converged. The estimator gives one warning of its
    own.

    Filters of warnings are shared by all threads, so only the main thread sets them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        yield


def collect(tasks, keep, n_jobs=None):
    """Run tasks of joblib. Return True if all tasks are complete, and False after Ctrl-C.

    A task returns ``(result, is_complete)``. ``keep(number, result)`` is called for each task in
    order. After Ctrl-C, solves in threads end with their next iteration.
    """
    if n_jobs is not None:
        if isinstance(n_jobs, NO_NUMBERS) or not isinstance(n_jobs, numbers.Integral):
            raise TypeError(f"n_jobs must be an int or None, got {type(n_jobs).__name__}")
        if abs(n_jobs) > LARGEST_INT:
            raise ValueError(f"n_jobs must be at most {LARGEST_INT}, got more")
    stop = Stop()
    stoppable = (delayed(stop.run)(work, *args, **options) for work, args, options in tasks)
    results = _results(stoppable, n_jobs)
    try:
        for number, (result, is_complete) in enumerate(results):
            keep(number, result)
            if not is_complete:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        stop.set()
        # joblib warns of tasks that do not run any more
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            results.close()
        return False
    return True


def _results(tasks, n_jobs):
    """Return a generator of the results of joblib's tasks, in order."""
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", prefer="threads")
    except ValueError:  # the backend "multiprocessing" can only return lists
        return _results_of_lists(tasks, n_jobs)
    return parallel(tasks)


def _results_of_lists(tasks, n_jobs):
    """Yield the results of joblib's tasks, in order.

    Tasks run in groups of one task for each process, so that Ctrl-C loses at most one group. The
    processes themselves do not receive Ctrl-C. A process that ended while it waits for a task would
    keep the lock of the queue, and nobody could end the pool.
    """
    alone = (delayed(_without_openmp)(task) for task in tasks)
    with ExitStack() as stack:
        with later_interrupts():
            pool = stack.enter_context(Parallel(n_jobs=n_jobs, prefer="threads"))
        while together := list(islice(alone, effective_n_jobs(n_jobs))):
            yield from pool(together)


def _without_openmp(task):
    """Run a task of joblib with one thread of OpenMP. The threads of a process do not exist in its
    forks, and GCC's OpenMP would wait for them for ever.
    """
    work, args, options = task
    with threadpool_limits(1, "openmp"):
        return work(*args, **options)


def warn_of(model, solutions, X):
    """Warn of the solution of an SVC that is farthest above the tolerance, if there is one.

    The message says why the solver stopped, and which column of X makes the problem hard.
    """
    worst = farthest(model, solutions)
    if worst is None:
        return
    hint = ""
    if model.kernel != "precomputed":
        hint = _far_column(model, X) or scaling_hint(model, X)
    text = f"C={1.0 / worst.lam:.6g}: {_outcome(model, worst)}{hint}"
    warn(text, NotConverged)


def warn_of_metric(model, solutions, X):
    """Warn of the solution of a metric that is farthest above the tolerance, if there is one."""
    worst = farthest(model, solutions)
    if worst is not None:
        text = f"lam={worst.lam:.6g}: {_outcome(model, worst)}{scaling_hint(model, X)}"
        warn(text, NotConverged)


def scaling_hint(model, X):
    """Return a text about columns of very different spans, or an empty text if there are none."""
    uneven = uneven_columns(model, X)
    if not uneven:
        return ""
    scaler = "MaxAbsScaler" if sparse.issparse(X) else "StandardScaler"
    return f"; {uneven}: put a {scaler} before it"


def farthest(model, solutions):
    """Return the solution that is farthest above the tolerance, None if all have reached it."""
    short = [s for s in solutions if not s.converged and s.gap > model.tol * abs(s.primal)]
    return max(short, key=lambda s: s.gap - model.tol * abs(s.primal), default=None)


def _outcome(model, solution):
    """Return a text on the gap that a solution reached, and on why its solver stopped."""
    gap = solution.gap / max(abs(solution.primal), 1e-300)
    text = f"relative duality gap {gap:.3g} after {solution.n_iter} iterations"
    cause = "because of rounding or a badly conditioned problem"
    reasons = {
        "iterations": f"max_iter={model.max_iter} is reached",
        "time": f"max_seconds={model.max_seconds} is reached",
        "callback": "the callback ended it",
        "stalled": f"it stalled: further iterations hardly lowered it, {cause}",
    }
    return f"{text}, asked for tol={model.tol:g}: {reasons[solution.reason]}"


def seconds_until(deadline):
    """Return the seconds until a deadline of ``time.monotonic``, at least 0; None without one."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)


def deadline_of(model):
    """Return the time of ``time.monotonic`` at which the `max_seconds` of an estimator end; None if
    it has none.
    """
    if model.max_seconds is None:
        return None
    return time.monotonic() + check_scalar(model.max_seconds, "max_seconds", low=0.0)


def _far_column(model, X):
    """Return a text about the column whose mean is farthest from 0, in standard deviations, or an
    empty text if no column is far.
    """
    scaler = StandardScaler(with_mean=False).fit(X)
    far = np.abs(scaler.mean_) / scaler.scale_
    column = int(far.argmax())
    if not far[column] > FAR:
        return ""
    name = column_name(model, column)
    mean = scaler.mean_[column]
    deviation = scaler.scale_[column]
    sizes = f"a mean of {mean:.3g} and a standard deviation of {deviation:.3g}"
    return f"; column {name} has {sizes}: put a StandardScaler before it"


def solver_options(model, *names):
    """Return the options that an estimator passes to the solvers: `tol`, `screening`, `max_iter`,
    `max_seconds` and the parameters of the given names.
    """
    options = {name: getattr(model, name) for name in ("max_iter", "max_seconds", *names)}
    if isinstance(model.max_iter, int) and model.max_iter == -1:  # no limit, as in SVC
        options["max_iter"] = sys.maxsize
    return {
        "tol": 0.0,
        "rtol": check_lam(model.tol, "tol"),
        "screening": tuple(model.screening)
        if isinstance(model.screening, list)
        else model.screening,
        **options,
    }


def train(prob, lam, start=None, *, callback=None, bar="", keep_problem=False, **options):
    """Return the solution of an estimator's problem for lam.

    Parameters
    ----------
    prob : Problem
    lam : float > 0
    start : dict, optional
        The start of the solve: `x0`, and optionally `alpha0`. An array is ignored if its shape does
        not fit this problem.
    callback : callable or None
    bar : str
        The name of a progress bar; without a name no bar is shown.
    keep_problem : bool
    **options
        Options of :func:`~safescreen.solve`.
    """
    given = {} if start is None else start
    used = {}
    if "x0" in given and given["x0"].shape == prob.cone.shape:
        used["x0"] = given["x0"]
        alpha = given.get("alpha0")
        if alpha is not None and alpha.size == len(prob):
            used["alpha0"] = alpha
    with _watched(callback, bar) as watching:
        solution = solve(prob, lam, callback=watching, keep_interrupted=False, **used, **options)
    return solution if keep_problem else solution.without_problem()


def watching(model):
    """Return the options of :func:`train` that an estimator has as parameters."""
    return {
        "callback": model.callback,
        "bar": type(model).__name__ if model.verbose else "",
        "keep_problem": model.keep_problem,
    }


@contextmanager
def _watched(callback, name):
    """Yield the callback of an estimator. If `name` is not empty, the callback updates a progress
    bar too. A gap may cost an evaluation of all terms, so the bar does not show the gap of every
    iteration.
    """
    callback = check_callback(callback)
    if not name:
        yield callback
        return
    with progress_bar(True, name) as bar:
        due = 0.0

        def shown(progress):
            nonlocal due
            begun = time.monotonic()
            if begun >= due:
                bar.set_postfix(gap=f"{progress.gap:.2e}", terms=progress.n_terms)
                ended = time.monotonic()
                due = ended + max(PAUSE, SHARE * (ended - begun))
            bar.update(progress.iteration - bar.n)
            return callback is not None and callback(progress)

        yield shown
