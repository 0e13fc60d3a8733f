"""Paths of support vector machines against LIBLINEAR, which starts anew for each C: CPU seconds on
one thread.

LIBLINEAR gets the largest of its own tolerances with which the objective is within the relative gap
of the optimum, for each C; the search for it is not timed."""

import time
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import safescreen as ss
from cases import LIMITS, RTOL, check, facts, load

pytestmark = pytest.mark.benchmark(timer=time.process_time)

METHODS = {
    "no screening": {"screening": ()},
    "BT1": {"screening": ("MGB",), "dynamic": ()},
    "IT": {"screening": ("MGB&BT2",), "dynamic": ()},
    "MGB": {"screening": ("MGB",)},
    "IT, MGB": {"screening": ("MGB&BT2",), "dynamic": ("MGB",)},
    "RRPB ranges": {"screening": ("RRPB",), "ranges": True},
}
"""Screening before each C and while it is solved."""

LENGTH, C_MAX, MAX_ITER = 50, 10.0, 20_000
"""Values of C, up to where LIBLINEAR still converges; iterations it gets for each, twenty times
its default.
"""


@pytest.mark.parametrize("method", ["LIBLINEAR", *METHODS])
@pytest.mark.parametrize("data", ["breast-cancer", "mushrooms", "ijcnn1"])
def bench_svm_path(timed, small, data, method):
    X, y, prob, lams = _case(data, small)
    group = (
        f"{data}: {len(prob):,} samples in {X.shape[1]} dimensions, {len(lams)} C up to {C_MAX:g}"
    )
    bounds = _bounds(data, small)
    if method == "LIBLINEAR":
        tols, missed = _tolerances(data, small)
        models = timed(
            group,
            method,
            lambda: _fit(X, y, lams, tols),
            reference=method,
            rounds=1,
            warm=lambda: None,
        )
        primal = np.array(
            [prob.primal(model.coef_.ravel(), lam) for model, lam in zip(models, lams, strict=True)]
        )
        gap = (primal - [s.primal - s.gap for s in bounds]) / primal
        timed.facts.update(
            {
                "iterations": int(sum(m.n_iter_ for m in models)),
                "gap": float(gap.max()),
                "C missed": missed,
            }
        )
        assert gap.min() > -1e-12 and np.count_nonzero(gap > RTOL) == missed
        return
    options = {**LIMITS, **METHODS[method]}
    path = timed(group, method, lambda: ss.path(prob, lams, **options), reference="LIBLINEAR")
    timed.facts.update(facts(path))
    check(path, bounds)
    assert small or (timed.facts["screened %"] > 0.0) == (method != "no screening")


@cache
def _case(data, small):
    X, y = load(data, 8 if small and data != "breast-cancer" else 1)
    y = np.where(y == np.unique(y)[0], -1.0, 1.0)
    if sparse.issparse(X):  # LIBLINEAR takes 32-bit indices only
        X = sparse.csr_matrix(
            (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape
        )
    prob = ss.Problem(ss.Samples(X, y), ss.Hinge())
    return (
        X,
        y,
        prob,
        prob.lam_max() * np.geomspace(0.98, 1.0 / (C_MAX * prob.lam_max()), 6 if small else LENGTH),
    )


@cache
def _bounds(data, small):
    """Return a path of a smaller gap: whether or not it was reached, its dual values are lower
    bounds.
    """
    *_, prob, lams = _case(data, small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        return ss.path(prob, lams, tol=1e-300, rtol=0.03 * RTOL)


@cache
def _tolerances(data, small):
    """Return LIBLINEAR's tolerance for each lam, and for how many lam none is good enough."""
    X, y, prob, lams = _case(data, small)
    found, missed = [0.1], 0
    for lam, bound in zip(lams, _bounds(data, small), strict=True):
        for tol in np.geomspace(min(10.0 * found[-1], 0.1), 1e-9, 10):
            [model] = _fit(X, y, [lam], [tol])
            primal = prob.primal(model.coef_.ravel(), lam)
            good = primal - (bound.primal - bound.gap) <= RTOL * primal
            if good or model.n_iter_ >= MAX_ITER:
                break
        missed += not good
        found.append(tol)
    return found[1:], missed


def _fit(X, y, lams, tols):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            LinearSVC(
                loss="hinge",
                C=1.0 / lam,
                fit_intercept=False,
                tol=tol,
                max_iter=MAX_ITER,
                random_state=0,
            ).fit(X, y)
            for lam, tol in zip(lams, tols, strict=True)
        ]
