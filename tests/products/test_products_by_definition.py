"""Product triplets against their definition in plain numpy: sums by sorting, and screening by pairs
(notebooks 25-product-triplets and 25b-screening-of-pairs).
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


def screen_lists(same, other, r_same, r_other, low, high):
    """Numbers of triplets in L and in R, and which pairs are left, from squared distances and half
    widths.
    """
    left, right = np.ones(same.size, dtype=bool), np.ones(other.size, dtype=bool)
    n_L = n_R = 0
    for _ in range(4):
        for own, mine, half, facing, theirs, width in (
            (left, -same, r_same, right, other, r_other),
            (right, other, r_other, left, -same, r_same),
        ):
            nearest = np.min((theirs - width)[facing])
            farthest = np.max((theirs + width)[facing])
            zero = own & (mine - half + nearest > high)
            linear = own & (mine + half + farthest < low)
            n_R += zero.sum() * facing.sum()
            n_L += linear.sum() * facing.sum()
            own &= ~(zero | linear)
            if not own.any():
                return n_L, n_R, left, right
    return n_L, n_R, left, right


def screen_plainly(X, index, ball, diagonal):
    """Numbers of triplets in L, in R and left, anchor by anchor."""
    counts = np.zeros(3, dtype=int)
    for i in np.unique(index[:, 0]):
        mine = index[index[:, 0] == i]
        differences = [X[i] - X[np.unique(mine[:, column])] for column in (1, 2)]
        if diagonal:
            squares = [d * d for d in differences]
            distances = [square @ ball.center for square in squares]
            half = [ball.radius * np.linalg.norm(square, axis=1) for square in squares]
        else:
            distances = [np.einsum("ij,jk,ik->i", d, ball.center, d) for d in differences]
            half = [ball.radius * np.sum(d * d, axis=1) for d in differences]
        n_L, n_R, left, right = screen_lists(*distances, *half, 0.95, 1.0)
        counts += n_L, n_R, left.sum() * right.sum()
    return counts.tolist()


MIXES = (1.0, 1e-2, 1e-3, 1e-4, 0.0)
"""Share of a poor metric in a reference: gap balls of all sizes."""


@pytest.mark.slow
def test_blocks_decide_what_plain_numpy_decides():
    """180 gap balls: as many as in plain numpy, only what the sphere rule decides, rightly, and the
    problem that is left has the same objective.
    """
    rng, n_L, n_R, n_all = np.random.default_rng(3), 0, 0, 0
    for trial in range(36):
        X, y = labelled(("clean", "ties", "duplicates")[trial % 3], rng)
        X[:, 0] += y
        diagonal, k = trial % 2 == 1, (None, None, 4, 4)[trial % 4]
        listed = ss.Problem(ss.Triplets.from_labels(X, y, k, diagonal=diagonal), LOSS)
        product = ss.Problem(ss.ProductTriplets(X, y, k, diagonal=diagonal), LOSS)
        lam = listed.lam_max() * (0.3, 0.05, 0.01)[trial // 3 % 3]
        best = ss.solve(listed, lam, tol=0.0, rtol=1e-13, screening=())
        optimum, room = listed.terms.margins(best.x), best.eps * listed.terms.norms
        for mix in MIXES:
            start = product.cone.project(np.ones(3) if diagonal else np.eye(3))
            x = (1 - mix) * best.x + mix * 0.5 * float(np.linalg.norm(best.x)) * start
            ball = ss.spheres.duality_gap_bound(product, x, lam)
            found = product.terms.screen_blocks(ball, LOSS)
            rule = ss.rules.sphere(listed, ball)
            counts = [found.n_L, found.n_R, len(found.remaining)]
            assert screen_plainly(X, listed.terms.index, ball, diagonal) == counts
            kept = set(map(tuple, found.remaining.index.tolist())) if counts[2] else set()
            gone = np.array([tuple(t) not in kept for t in listed.terms.index.tolist()])
            in_L, in_R = gone & rule.in_L, gone & rule.in_R
            np.testing.assert_array_equal(gone, in_L | in_R)
            assert counts[:2] == [in_L.sum(), in_R.sum()]
            # dual variables at the solution: 0 in R, 1 in L
            assert np.all(optimum[in_R] + room[in_R] >= 1.0)
            assert np.all(optimum[in_L] - room[in_L] <= 0.95)
            linear = listed.terms.adjoint(in_L.astype(float))
            apart = np.linalg.norm(found.total - linear)
            assert apart <= found.error + 1e-12 * np.linalg.norm(linear)
            left = product.with_linear_part(
                found.remaining, found.total, found.error, found.n_L * 0.975
            )
            step = rng.standard_normal(x.shape)
            step = (step if diagonal else step + step.T) / np.linalg.norm(step) / 2.0
            inside = product.cone.project(x + 0.9 * ball.radius * step)
            for point in (best.x, inside):
                assert np.isclose(left.primal(point, lam), product.primal(point, lam), rtol=1e-10)
            n_L += found.n_L
            n_R += found.n_R
            n_all += gone.size
    assert n_L + n_R > 0.2 * n_all
    assert min(n_L, n_R) > 1000
