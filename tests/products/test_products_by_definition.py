"""Product triplets against their definition in plain numpy: sums by sorting (notebook
25-product-triplets).
"""

import numpy as np
import pytest

import safescreen as ss

LOSS = ss.SmoothedHinge(0.05)


def labelled(kind, rng, n=24, d=3):
    """Points of three classes, awkward in one way or another."""
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3
    X[:, 0] += y
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[n // 2 :] = X[: n // 2][rng.permutation(n // 2)]
    elif kind == "far away":
        X += 1e5
    elif kind == "unbalanced":
        y = (np.arange(n) > n - 4).astype(int)
    return X * {"large": 1e6, "small": 1e-6}.get(kind, 1.0), y


@pytest.mark.parametrize("k, diagonal", [(None, False), (4, False), (None, True)])
@pytest.mark.parametrize(
    "kind", ["clean", "ties", "duplicates", "far away", "unbalanced", "large", "small"]
)
def test_sums_are_those_of_the_list(kind, k, diagonal):
    rng = np.random.default_rng(1)
    for width in (0.0, 0.05, 1.0, 40.0):
        X, y = labelled(kind, rng)
        L = rng.standard_normal((3, 3)) / np.linalg.norm(X - X.mean(0), axis=0).mean() * 3.0
        M = np.diag(L @ L.T).copy() if diagonal else L @ L.T
        products = ss.ProductTriplets(X, y, k, diagonal=diagonal)
        triplets = ss.Triplets.from_labels(X, y, k, diagonal=diagonal)
        np.testing.assert_array_equal(products.index, triplets.index)
        product, listed = (t.loss_sums(M, ss.SmoothedHinge(width)) for t in (products, triplets))
        for name in ("loss", "alpha_sum", "alpha_square"):
            one, other = getattr(product, name), getattr(listed, name)
            assert abs(one - other) < 1e-10 * max(other, 1.0), name
        apart = np.linalg.norm(product.adjoint - listed.adjoint)
        # slopes of the hinge are 0 or 1, and both families take the same; for a band they differ
        room = 0.0 if width == 0.0 else 1e-9 * np.linalg.norm(listed.adjoint)
        assert apart <= product.adjoint_error + listed.adjoint_error + room
