"""Small random problems whose held-out margins are known."""

import numpy as np

import safescreen as ss
from safescreen.validation import ball_margins

LOSSES = (ss.Hinge(), ss.SmoothedHinge(0.3), ss.SquaredHinge(0.5))
KINDS = ("linear", "rbf", "free", "free rbf", "metric", "diagonal")
MACHINES = ("linear", "rbf")


def points(rng, n, d):
    """Return points of one of four kinds, with many ties or none, and their labels."""
    kind = rng.choice(["integers", "normal", "copies", "tiny"])
    X = rng.normal(size=(n, d))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "copies":
        X = np.repeat(X[: n // 2 + 1], 2, axis=0)[:n]
    elif kind == "tiny":
        X *= 10.0 ** -int(rng.integers(2, 6))
    y = np.where(X[:, 0] + np.abs(X).max() * rng.normal(0.0, 0.7, n) > 0.0, 1, -1)
    y[:4] = [1, -1, 1, -1]
    return X, y


def judgements(rng, n, n_triplets):
    """Return triplets of n points; some repeat, some contradict each other."""
    index = np.array([rng.permutation(n)[:3] for _ in range(n_triplets)])
    index[1] = index[0]
    index[3] = index[2][[0, 2, 1]]
    return index


def family(kind, seed):
    """Return ``(all terms, loss, mask of the training terms)`` of a small random problem."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, d = int(rng.integers(12, 26)), int(rng.integers(1, 4))
    X, y = points(rng, n, d)
    loss = LOSSES[int(rng.integers(3))]
    train = np.arange(n) % 3 != 2
    train[:4] = True
    if seed % 5 == 0:  # a held-out part with one class only
        y[-1] = 1
        train |= y < 0
        train[-1] = False
    weights = rng.integers(1, 4, n) / 2.0 if seed % 2 else None
    if kind in ("metric", "diagonal"):
        loss = LOSSES[int(rng.integers(2))]
        index = judgements(rng, n, n)
        return (
            ss.Triplets(X, index, diagonal=kind == "diagonal", weights=weights),
            loss,
            train,
        )
    kernel = "rbf" if kind.endswith("rbf") else "linear"
    if kind.startswith("free"):
        terms = ss.FreeIntercept.from_points(X, y, kernel, 0.5, weights=weights)
    elif kernel == "rbf":
        terms = ss.KernelSamples.from_points(X, y, "rbf", 0.5, weights=weights)
    else:
        terms = ss.Samples(X, y, weights=weights)
    return terms, loss, train


def lam_of(prob, rng):
    """Return a lam at which some terms are in L, some in R."""
    size = max(float(prob.terms.norms.max()) ** 2, 1e-12)
    return size * 10.0 ** rng.uniform(-1.5, 1.0)


def truth(prob, lam, terms):
    """Return bounds of margins from a solve to all digits."""
    with np.errstate(all="ignore"):
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-13, max_iter=20000)
    ball = ss.spheres.midpoint_gap_bound(prob, best.x, lam, best.alpha)
    return ball_margins(prob, terms, ball)


def apart(bounds, known):
    """Return whether bounds and what is known of the same margins exclude each other."""
    return bool((bounds.low > known.high).any() or (bounds.high < known.low).any())
