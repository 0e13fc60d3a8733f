"""Compile kernels once, so that later processes load them from the cache: ``python -m
safescreen.warmup``.
"""

import warnings

import numpy as np
import scipy.sparse

__all__ = ["warm_up"]


def warm_up():
    """Run each family of terms, each sphere, rule, range, solver and estimator on a tiny instance.
    This takes minutes if the cache is empty, and seconds if it is full.
    """
    import safescreen as ss

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        _solve(ss)
        _fit(ss)


def _solve(ss):
    """Solve problems of each family of terms, with each loss, ball, rule, range and method."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    y = np.arange(12) % 2
    balls = [*ss.SPHERES, "MGB&BT2"]
    families = [
        ss.Triplets.from_labels(X, y),
        ss.Triplets.from_labels(X, y, diagonal=True),
        ss.Samples(X, 2 * y - 1),
    ]
    for terms in families:
        for gamma in (0.05, 0.0):
            prob = ss.Problem(terms, ss.SmoothedHinge(gamma))
            lams = prob.lam_max() * 0.5 ** np.arange(1, 4)
            ss.path(prob, lams, rtol=1e-6, screening=balls)
            solutions = ss.path(prob, lams, rtol=1e-6, ranges=True, active_set=True)
            last = solutions[-1]
            ball = ss.spheres.duality_gap_bound(prob, last.x, last.lam)
            for rule in ss.rules.RULES.values():
                rule(prob, ball)
            for ranges in (ss.ranges.gradient, ss.ranges.duality_gap, ss.ranges.midpoint_gap):
                ranges(prob, last.x, last.lam)
            ss.ranges.relaxed_path(prob, last.x, last.eps, last.lam)
    rows = [[0, 1, 2], [3, 4, 5]]
    weights = [1.0, 2.0]
    for terms in (
        ss.Triplets(X, rows, weights=weights),
        ss.Quadruplets(X, [[0, 1, 2, 3]]),
        ss.Pairs(X=X, similar=[[0, 1]], dissimilar=[[2, 3]], upper=1.0, lower=2.0),
    ):
        for loss in (ss.SmoothedHinge(0.05), ss.SquaredHinge(), ss.Hinge()):
            prob = ss.Problem(terms, loss)
            ss.path(prob, np.array([2.0, 1.0]), tol=0.0, rtol=1e-6, screening=balls)
            for method in ("interior", "semismooth"):
                ss.solve(prob, 1.0, method=method)
    products = ss.Problem(ss.ProductTriplets(X, y), ss.SmoothedHinge(0.05))
    ss.path(products, products.lam_max() * 0.5 ** np.arange(1, 4), rtol=1e-6)
    for line_search in ("exact", "bisection"):
        ss.hdsl.FrankWolfe(1.0, line_search=line_search, max_iter=3).fit(X, rows)


def _fit(ss):
    """Fit the estimators with each kind of data that has kernels of its own."""
    from sklearn.datasets import make_classification

    X, y = make_classification(120, 6, n_informative=4, n_classes=3, random_state=0)
    two = np.minimum(y, 1)
    for data in (X, scipy.sparse.csr_array(X)):
        for kernel in ("linear", "rbf", "poly"):
            for loss in ("hinge", "squared_hinge"):
                for fit_intercept in (True, False):
                    machine = ss.SafeSVC(kernel=kernel, loss=loss, fit_intercept=fit_intercept)
                    for classes in (two, y):
                        machine.fit(data, classes).predict(data)
    weights = np.linspace(0.5, 1.0, len(two))
    ss.SafeSVC(kernel="rbf").fit(X, two, sample_weight=weights)
    ss.SafeSVC(kernel="precomputed").fit(X @ X.T, two).predict(X @ X.T)
    many = np.random.default_rng(0).standard_normal((1200, 3))  # rows on demand
    ss.SafeSVC(kernel="rbf").fit(many, many[:, 0] > 0.0)
    for prototype in (ss.SafeSVC(kernel="linear"), ss.SafeSVC(kernel="rbf")):
        ss.SafeSVCCV(prototype, cv=2).fit(X, y)
    for diagonal in (False, True):
        metric = ss.TripletMetric(diagonal=diagonal)
        metric.fit(X, y).transform(X)
        ss.TripletMetricCV(metric, cv=2).fit(X, y)
    ss.TripletMetric(diagonal=True, l1=0.1).fit(X, y)
    ss.TripletMetric(product=True).fit(X, y)
    ss.HDSL(max_iter=5).fit(abs(X), y)


if __name__ == "__main__":
    warm_up()
