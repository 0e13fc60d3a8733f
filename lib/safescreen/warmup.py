"""Compile every kernel once, so that later processes find them in the cache:
``python -m safescreen.warmup``.
"""

import numpy as np

__all__ = ["warm_up"]


def warm_up():
    """Run each family of terms, each sphere, rule, range and solver on a tiny instance; seconds
    when cold, nothing when warm.
    """
    import safescreen as ss

    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    y = np.arange(12) % 2
    balls = list(ss.SPHERES)
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
    products = ss.Problem(ss.ProductTriplets(X, y), ss.SmoothedHinge(0.05))
    ss.path(products, products.lam_max() * 0.5 ** np.arange(1, 4), rtol=1e-6)
    for line_search in ("exact", "bisection"):
        ss.hdsl.FrankWolfe(1.0, line_search=line_search, max_iter=3).fit(X, rows)


if __name__ == "__main__":
    warm_up()
