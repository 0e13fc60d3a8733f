"""What is said of memory before a fit, and what the fit takes."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import safescreen as ss
from safescreen import memory


def points(n, d, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    steps = np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(steps, X[:, 0] + 0.3 * rng.standard_normal(n))


def taken(model, X, y):
    """Return the most bytes that a fit takes at a time, once all is compiled."""
    with warnings.catch_warnings(action="ignore"):
        clone(model).fit(X, y)
        tracemalloc.start()
        try:
            model.fit(X, y)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


MACHINES = {
    "linear": (ss.SafeSVC(), (10_000, 50), {}),
    "wide": (ss.SafeSVC(tol=1e-2), (1_000, 400), {}),
    "classes": (ss.SafeSVC(), (3_000, 20), {"n_classes": 5}),
    "squared": (ss.SafeSVC(loss="squared_hinge"), (10_000, 30), {}),
    "rbf": (ss.SafeSVC(kernel="rbf"), (1_200, 10), {"kernel": "rbf"}),
    "poly": (ss.SafeSVC(kernel="poly"), (600, 10), {"kernel": "poly"}),
    "rows": (ss.SafeSVC(kernel="rbf", tol=1e-2), (3_000, 10), {"kernel": "rbf"}),
    "cache": (
        ss.SafeSVC(kernel="rbf", tol=1e-2, max_gigabytes=0.01),
        (3_000, 10),
        {"kernel": "rbf", "max_gigabytes": 0.01},
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_takes_what_is_said(name):
    model, shape, options = MACHINES[name]
    X, y = points(*shape, options.get("n_classes", 2))
    said = ss.estimate_memory(*shape, **options)
    assert 0.5 < taken(model, X, y) / said < 2.0


def test_a_machine_of_sparse_rows_takes_what_is_said():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3_000, 100_000), density=4e-4, rng=rng, format="csr")
    said = ss.estimate_memory(*X.shape, n_entries=X.nnz)
    assert 0.5 < taken(ss.SafeSVC(tol=1e-2), X, rng.integers(0, 2, 3_000)) / said < 2.0


def test_a_kernel_matrix_that_is_given_takes_what_is_said():
    X, y = points(800, 5)
    said = ss.estimate_memory(800, 800, kernel="precomputed")
    assert 0.5 < taken(ss.SafeSVC(kernel="precomputed"), rbf_kernel(X), y) / said < 2.0


@pytest.mark.parametrize(
    ("n", "d", "k", "diagonal"), [(1_500, 10, 10, False), (300, 60, 5, False), (400, 10, 30, True)]
)
def test_a_metric_takes_what_is_said(n, d, k, diagonal):
    X, y = points(n, d)
    options = {"lam_ratio": 0.1, "tol": 1e-2, "screening": ("PGB",)}
    model = ss.TripletMetric(k=k, diagonal=diagonal, **options)
    used = taken(model, X, y)
    said = ss.estimate_memory(n, d, n_triplets=model.solution_.n_terms, diagonal=diagonal)
    assert 0.5 < used / said < 2.0


def test_what_is_refused_is_part_of_what_is_said(monkeypatch):
    X, y = points(100, 4)
    n = 100 * 30**2
    monkeypatch.setattr("safescreen._checks.free_memory", lambda: memory.triplets_bytes(n) - 1.0)
    text = r"k=30 makes 9e\+04 triplets, which would take 0.0036 GB"
    with pytest.raises(MemoryError, match=text):
        ss.TripletMetric(k=30, product=False).fit(X, y)
    assert ss.estimate_memory(100, 4, n_triplets=n) > memory.triplets_bytes(n)


def test_a_cache_is_no_larger_than_what_is_free(monkeypatch):
    whole = ss.estimate_memory(50_000, 10, kernel="rbf", max_gigabytes=1.0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1e8)
    part = ss.estimate_memory(50_000, 10, kernel="rbf", max_gigabytes=1.0)
    assert whole - part == pytest.approx(1e9 - memory.SHARE * 1e8)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n": 0}, ValueError, "n must be a positive int"),
        ({"d": 2.5}, TypeError, "d must be a positive int"),
        ({"kernel": "sigmoid"}, ValueError, "kernel must be one of linear"),
        ({"n_classes": 1}, ValueError, "n_classes"),
        ({"n_triplets": -1}, ValueError, "n_triplets"),
        ({"n_entries": 0}, ValueError, "n_entries"),
        ({"kernel": "rbf", "max_gigabytes": 0.0}, ValueError, "max_gigabytes"),
    ],
)
def test_what_cannot_be_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        ss.estimate_memory(**{"n": 10, "d": 3, **options})
