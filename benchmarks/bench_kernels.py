"""Support vector machines with the rbf kernel against LIBSVM, oneDAL and ThunderSVM: seconds, gaps
and memory; and paths of C.

Ours has the square of a constant feature added to the kernel, the others a free intercept: two
problems of the same kind, each judged by the gap of its own dual. A rival gets the largest of its
tolerances with which its relative gap is small enough, the search is not timed, and starts anew for
each C; a path here is one of warm starts. CPU seconds, the kernel matrix's object included. Of a
set with more rows 8,000 are drawn, unless ``--all-rows`` is given: LIBSVM takes hours for these.

oneDAL is in scikit-learn-intelex, ThunderSVM in thundersvm-cpu: ``pip install --group rivals``.
"""

import importlib
import time
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import safescreen as ss
from cases import ENOUGH, growth, load
from safescreen.kernels.functions import Kernel
from safescreen.kernels.matrices import KernelRows

pytestmark = pytest.mark.benchmark(timer=time.process_time)

RTOL, LIMIT, TOLERANCES = 1e-3, 0.8, (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5)
"""Relative duality gap; gigabytes of the cache here, rivals get 2; tolerances that they are tried
with.
"""

RIVALS = {"LIBSVM": "sklearn.svm", "oneDAL": "sklearnex.svm", "ThunderSVM": "thundersvm"}
"""Modules with an ``SVC``."""

POSITIVE = {"ijcnn1": 1, "shuttle": 1, "a9a": 1, "magic": 1, "mnist": 3}
"""The class that is told from all others."""

ROWS = {"1,000 rows": 1000, "8,000 rows": 8000, "all rows": None}

GRIDS = {"one C": [1.0], "ten C": np.geomspace(0.1, 10.0, 10)}
"""Of ten C, LIBSVM solves the first, one in the middle and the last only: what is ahead of that
is ahead of all ten.
"""


@pytest.mark.parametrize("method", [*RIVALS, "safescreen"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-5])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("rows", list(ROWS))
@pytest.mark.parametrize("data", list(POSITIVE))
def bench_rivals(timed, small, all_rows, data, rows, cores, C, rtol, method):
    if ROWS[rows] is None and not all_rows:
        pytest.skip("all rows: give --all-rows")
    X, y, gamma = _case(data, small, ROWS[rows])
    group = f"{data}, {len(y):,} rows, C = {C:g}, gap {rtol:g}, cores: {cores}"
    rounds = 3
    warm = None
    if method == "safescreen":
        fit = lambda: _solve_one(X, y, gamma, C, rtol)  # noqa: E731
    else:
        tol = _tolerance(data, small, ROWS[rows], C, rtol, method)
        rounds = 3 if _tried(data, small, ROWS[rows], C, tol, method)[1] < ENOUGH else 1
        warm = lambda: None  # noqa: E731 - the search was one
        fit = lambda: _fit(X, y, gamma, C, tol, method, cores)  # noqa: E731
    wall = []

    def work():
        start = time.perf_counter()
        result = fit()
        wall.append(time.perf_counter() - start)
        return result

    with threadpool_limits(cores):
        result = timed(group, method, work, reference="LIBSVM", rounds=rounds, warm=warm)
    if method == "safescreen":
        gap = result.gap / result.primal
        assert gap <= rtol
    else:
        gap = _gap(result, X, y, gamma)
    timed.facts.update({"wall": min(wall), "gap": gap})


def _solve_one(X, y, gamma, C, rtol):
    terms = ss.KernelSamples.from_points(X, y, "rbf", gamma=gamma, constant=1.0)
    return ss.solve(ss.Problem(terms, ss.Hinge()), 1.0 / C, rtol=rtol)


@pytest.mark.parametrize("method", ["LIBSVM", "rows on demand"])
@pytest.mark.parametrize("grid", list(GRIDS))
@pytest.mark.parametrize("data", list(POSITIVE))
def bench_rbf(timed, small, all_rows, data, grid, method):
    rows = None if all_rows else 8000
    X, y, gamma = _case(data, small, rows)
    Cs = GRIDS[grid][:2] if small else GRIDS[grid]
    group = f"{data}: {len(y):,} samples in {X.shape[1]} dimensions, {len(Cs)} C"
    if method == "LIBSVM":
        Cs = Cs if len(Cs) < 10 else Cs[[0, 5, 9]]
        tols = [_tolerance(data, small, rows, C, RTOL, method) for C in Cs]
        work = lambda: [_fit(X, y, gamma, C, tol) for C, tol in zip(Cs, tols, strict=True)]  # noqa: E731
        models = timed(group, method, work, reference=method, rounds=1, warm=lambda: None)
        timed.facts.update(
            {
                "gap": max(_gap(model, X, y, gamma) for model in models),
                "tol": min(tols),
                "C": len(Cs),
            }
        )
        return
    path = timed(
        group,
        method,
        lambda: _solve(data, small, rows, Cs),
        reference="LIBSVM",
        rounds=1,
        warm=lambda: _solve(data, True, None, Cs[:1]),
    )
    gap, memory = (
        max(s.gap / s.primal for s in path),
        growth(lambda small, *_: _solve(data, small, rows, Cs), small) / 1e9,
    )
    timed.facts.update(
        {
            "gap": gap,
            "screened %": 100.0 * float(np.mean([s.screening_rate for s in path])),
            "GB": memory,
        }
    )
    assert gap <= RTOL and isinstance(path[0].problem.cone.K, KernelRows) and memory < 2.0


def _solve(data, small, rows, Cs):
    X, y, gamma = _case(data, small, rows)
    limit = min(LIMIT, 7.9e-9 * len(y) ** 2)  # never the matrix
    prob = ss.Problem(
        ss.KernelSamples.from_points(X, y, "rbf", gamma=gamma, constant=1.0, max_gigabytes=limit),
        ss.Hinge(),
    )
    return ss.path(prob, [1.0 / C for C in Cs], tol=0.0, rtol=RTOL, screening=("MGB",))


@cache
def _case(data, small, rows=None):
    """Return points, signs, and the gamma that scikit-learn calls "scale"; of some rows at random
    if that many are asked for.
    """
    X, y = load(data, 64 if small else 1)
    if rows is not None and rows < len(y):
        some = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
        X, y = X[some], y[some]
    if sparse.issparse(X):  # LIBSVM takes 32-bit indices only
        X = sparse.csr_matrix(
            (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape
        )
    variance = (X.multiply(X)).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
    return X, np.where(y == POSITIVE[data], 1.0, -1.0), 1.0 / (X.shape[1] * variance)


@cache
def _tolerance(data, small, rows, C, rtol, method):
    """Return the largest tolerance that is enough, or the smallest where none is."""
    for tol in TOLERANCES:
        if _tried(data, small, rows, C, tol, method)[0] <= rtol:
            return tol
    return TOLERANCES[-1]


@cache
def _tried(data, small, rows, C, tol, method):
    """Return the relative gap that a rival reaches with a tolerance, and its CPU seconds."""
    X, y, gamma = _case(data, small, rows)
    start = time.process_time()
    model = _fit(X, y, gamma, C, tol, method)
    return _gap(model, X, y, gamma), time.process_time() - start


def _fit(X, y, gamma, C, tol, method="LIBSVM", cores=1):
    try:
        SVC = importlib.import_module(RIVALS[method]).SVC
    except ImportError:
        pytest.skip(f"{method} is not installed: pip install --group rivals")
    options = {"n_jobs": cores, "max_mem_size": 2000} if method == "ThunderSVM" else {}
    if method != "ThunderSVM":
        options["cache_size"] = 2000
    elif sparse.issparse(X):  # coefficients of sparse points have another shape
        X = X.toarray()
    return SVC(C=C, gamma=gamma, tol=tol, **options).fit(X, y)


def _gap(model, X, y, gamma):
    """Return the relative duality gap of the dual point of a rival, with its own intercept."""
    kernel = Kernel("rbf", gamma)
    coef = model.dual_coef_
    coef = np.asarray(coef.toarray() if sparse.issparse(coef) else coef, dtype=float).ravel()
    support = np.asarray(model.support_).ravel()
    intercept = float(np.ravel(model.intercept_)[0])
    points = X[support]
    starts = range(0, X.shape[0], 1024)
    f = np.concatenate([kernel.values(X[start : start + 1024], points) @ coef for start in starts])
    square = float(coef @ f[support])
    loss = float(np.maximum(1.0 - y * (f + intercept), 0.0).sum())
    primal = 0.5 * square + model.C * loss
    return (primal - np.abs(coef).sum() + 0.5 * square) / primal
