"""Screening of pairs: safe, exact where it can be, and the problem that is left is the same one
(notebook 25b-screening-of-pairs).
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.products import ProductTriplets
from safescreen.products.triplets import products_of
from safescreen.terms import Triplets
from safescreen.terms.pairs import Points
from safescreen_book.protocols.block_screening import reduced, screen_blocks


def metric(d, size, diagonal=False, seed=1):
    L = np.random.default_rng(seed).standard_normal((d, d))
    return size * np.abs(L[0]) if diagonal else size * (L @ L.T)


def blobs(diagonal=False, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 12)
    X = 0.5 * rng.standard_normal((36, 3)) + np.array([[0.0, 0, 0], [2.0, 0, 0], [0, 1.0, 0.5]])[y]
    return ProductTriplets(X, y, diagonal=diagonal), Triplets.from_labels(X, y, diagonal=diagonal)


def screened_rows(terms, left):
    kept = {tuple(row) for row in left.index.tolist()}
    return np.array([tuple(row) not in kept for row in terms.index.tolist()])


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("width", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("part", [0.0, 0.01, 0.05, 0.2])
def test_blocks_agree_with_every_point_of_the_ball(part, width, diagonal):
    products, triplets = blobs(diagonal)
    loss, rng = ss.SmoothedHinge(width), np.random.default_rng(5)
    center = metric(3, 0.4, diagonal)
    radius = part * float(np.linalg.norm(center))
    found = screen_blocks(products, SimpleNamespace(center=center, radius=radius), loss)
    left, total, error, n_L, n_R = found
    assert n_L + n_R + len(left) == len(products)
    assert n_R > 0 and (n_L > 0 or part == 0.2)
    gone = screened_rows(products, left) if len(left) else np.ones(len(products), dtype=bool)
    margins = triplets.margins(center)
    in_L, in_R = gone & (margins < 1.0 - width), gone & (margins > 1.0)
    assert (int(in_L.sum()), int(in_R.sum())) == (n_L, n_R)
    np.testing.assert_allclose(
        total, triplets.weighted_sum(in_L)[0], rtol=0, atol=2 * error + 1e-300
    )
    # exhaustive: the extreme margins over the ball, from the exact norms
    assert (margins[in_R] - radius * triplets.norms[in_R] > 1.0 - 1e-12).all()
    assert (margins[in_L] + radius * triplets.norms[in_L] < 1.0 - width + 1e-12).all()
    # the reduced problem has the same primal value anywhere in the ball
    whole = ss.Problem(products, loss)
    smaller = reduced(whole, found)
    for _ in range(3):
        step = rng.standard_normal(center.shape)
        step = step if diagonal else step + step.T
        x = products.cone.project(center + radius * step / np.linalg.norm(step))
        assert smaller.evaluate(x, 3.0).primal == pytest.approx(
            whole.evaluate(x, 3.0).primal, rel=1e-11
        )


def test_blocks_screen_again_what_is_left():
    products, _ = blobs()
    loss, center = ss.SmoothedHinge(0.05), metric(3, 0.4)
    first = screen_blocks(products, SimpleNamespace(center=center, radius=0.3), loss)
    second = screen_blocks(first.remaining, SimpleNamespace(center=center, radius=0.01), loss)
    once = screen_blocks(products, SimpleNamespace(center=center, radius=0.01), loss)
    assert 0 < len(second.remaining) < len(first.remaining) < len(products)
    assert first.n_L + second.n_L >= once.n_L and first.n_R + second.n_R >= once.n_R


def test_blocks_never_contradict_the_optimum():
    products, triplets = blobs()
    loss, lam = ss.SmoothedHinge(0.05), 40.0
    problem = ss.Problem(triplets, loss)
    x = ss.solve(problem, lam, tol=1e-10, screening=()).x
    best = ss.spheres.duality_gap_bound(problem, x, lam)
    assert best.radius < 1e-4
    optimum, slack = triplets.margins(x), best.radius * triplets.norms + 1e-10
    for far in (1e-4, 1e-2, 0.1, 0.5):
        center = x + far * np.diag([1.0, -0.5, 0.3])
        center = 0.5 * (center + center.T)
        radius = float(np.linalg.norm(center - x)) + best.radius
        left = screen_blocks(products, SimpleNamespace(center=center, radius=radius), loss)
        gone = screened_rows(products, left.remaining)
        inside = (optimum > 0.95 + slack) & (optimum < 1.0 - slack)
        assert not (gone & inside).any()
        assert left.n_L == int((gone & (optimum < 0.95 + slack)).sum())
        assert left.n_R == int((gone & (optimum > 1.0 - slack)).sum())
    assert gone.size > inside.sum() > 0


def test_thresholds_hit_exactly_screen_nothing():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1]  # every margin is 1 at x = 1
    products = ProductTriplets(X, y)
    ball = SimpleNamespace(center=np.eye(1), radius=0.0)
    assert screen_blocks(products, ball, ss.SmoothedHinge(0.5)).remaining is products
    assert screen_blocks(products, ball, ss.SmoothedHinge(0.0)).remaining is products
    beyond = screen_blocks(
        products, SimpleNamespace(center=1.01 * np.eye(1), radius=0.0), ss.Hinge()
    )
    assert beyond.n_R == len(products) and len(beyond.remaining) == 0


@pytest.mark.parametrize("steps", range(-3, 4))
@pytest.mark.parametrize("bits", [3, 26])
def test_thresholds_a_few_ulps_from_an_exact_margin(steps, bits):
    """Balls of radius 0, and triplets whose own class sits on the anchor, where the bound of the
    norm is exact.

    Points are integers with the mean 0, so that differences are exact. Those of 26 bits lie nearly
    across the one direction that the metric sees: their squared distances are what is left of much
    larger numbers."""
    rng, decided = np.random.default_rng(11), 0
    for trial in range(40):
        L = (
            rng.uniform(1.0, 200.0, (3, 1))
            if bits == 26
            else rng.integers(1, 2**8, (3, 3)).astype(float)
        )
        X = rng.integers(-(2**bits), 2**bits, (3, 3)).astype(float)
        if bits == 26:
            X = np.rint(X - (X @ L) @ L.T / float(np.sum(L * L)))
        X[1] = X[0] if trial % 2 else X[1]
        X[2] = -X[0] - X[1]
        M, radius = L @ L.T, (0.0, 0.1 if bits == 3 else 2.0**-40)[trial % 2] * float(np.sum(L * L))
        products, width = ProductTriplets(X, [0, 0, 1]), (0.05, 0.7)[trial // 2 % 2]
        ends = []
        for i, j, m in products.index.tolist():
            b, a = (
                [Fraction(v) - Fraction(w) for v, w in zip(X[i], X[c], strict=True)] for c in (m, j)
            )
            value = sum(
                Fraction(M[k, c]) * (b[k] * b[c] - a[k] * a[c]) for k in range(3) for c in range(3)
            )
            reach = Fraction(radius) * (sum(v * v for v in b) + sum(v * v for v in a))
            ends.append((value - reach, value + reach))
        side = trial // 4 % 2
        exact = ends[0][side] + (Fraction(width) if side else 0)
        threshold = float(exact)
        for _ in range(abs(steps)):
            threshold = np.nextafter(threshold, np.inf * np.sign(steps))
        for away in (0.0, 2.0**-40 * float(np.sum(L * L)) * 4.0**bits):
            products.threshold = float(threshold + (away if side else -away))
            found = screen_blocks(
                products, SimpleNamespace(center=M, radius=radius), ss.SmoothedHinge(width)
            )
            gone = (
                screened_rows(products, found.remaining)
                if len(found.remaining)
                else np.ones(2, dtype=bool)
            )
            for (low, high), out in zip(ends, gone, strict=True):
                assert (
                    not out
                    or low > Fraction(products.threshold)
                    or high < Fraction(products.threshold) - Fraction(width)
                )
            decided += bool(away and gone[0])
    assert decided > 30


def test_what_is_left_keeps_its_threshold():
    products, triplets = blobs()
    products.threshold = triplets.threshold = 0.6
    center = metric(3, 0.4)
    found = screen_blocks(
        products, SimpleNamespace(center=center, radius=0.05), ss.SmoothedHinge(0.05)
    )
    assert 0 < len(found.remaining) < len(products) and found.remaining.threshold == 0.6
    left = reduced(ss.Problem(products, ss.SmoothedHinge(0.05)), found)
    assert left.evaluate(center, 3.0).primal == pytest.approx(
        ss.Problem(triplets, ss.SmoothedHinge(0.05)).primal(center, 3.0), rel=1e-11
    )


@pytest.mark.parametrize("radius", [np.nan, np.inf, -1.0, 1e300])
def test_useless_radius_screens_nothing(radius):
    products, _ = blobs()
    found = screen_blocks(
        products, SimpleNamespace(center=np.eye(3), radius=radius), ss.SmoothedHinge(0.05)
    )
    assert found.n_L == found.n_R == 0 and found.remaining is products and not found.total.any()


@pytest.mark.parametrize("diagonal", [False, True])
def test_nothing_left_is_a_family_of_no_terms(diagonal):
    products, _ = blobs(diagonal)
    zero = products.cone.zeros()
    empty, total, _, n_L, n_R = screen_blocks(
        products, SimpleNamespace(center=zero, radius=0.0), ss.SmoothedHinge(0.05)
    )
    assert (len(empty), n_L, n_R) == (0, len(products), 0)
    np.testing.assert_allclose(total, products.total()[0], rtol=0, atol=2 * products.total()[1])
    for sums in (
        empty.loss_sums(zero, ss.SmoothedHinge(0.05)),
        empty.loss_sums(zero, ss.Hinge()),
        empty.loss_sums(zero, ss.Hinge(), np.zeros(0)),
        empty.hinge_sums(zero, 0.1),
    ):
        assert sums.loss == sums.alpha_sum == sums.alpha_square == 0.0 and not sums.adjoint.any()
        assert 0.0 <= sums.fenchel < 1e-300 and 0.0 <= sums.adjoint_error < 1e-300
    assert (
        empty.norms.shape == (0,)
        and empty.margins(zero).shape == (0,)
        and empty.index.shape == (0, 3)
    )
    assert empty.max_inner_product(zero) == -np.inf
    assert (
        screen_blocks(empty, SimpleNamespace(center=zero, radius=0.0), ss.Hinge()).remaining
        is empty
    )


@pytest.mark.parametrize("radius", [0.0, 0.02, 0.2])
def test_long_lists_count_every_triplet_once_when_screened(radius):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(150, 4)), np.arange(150) % 3
    X[:, 0] += 2.0 * y
    loss = ss.SmoothedHinge(0.05)
    problem = ss.Problem(ss.ProductTriplets(X, y), loss)
    x = np.diag([0.5, 0.1, 0.0, 0.0])
    found = screen_blocks(problem.terms, ss.Sphere(x, radius), loss)
    assert len(found.remaining) + found.n_L + found.n_R == len(problem)
    assert found.n_L + found.n_R > 0
    left = reduced(problem, found)
    assert np.isclose(left.primal(x, 10.0), problem.primal(x, 10.0), rtol=1e-12)


def test_what_leaves_on_either_side_is_counted_for_what_stays():
    """Pairs that stay carry a weight for each linear triplet they are in with a pair that left."""
    loss, seen = ss.SmoothedHinge(0.05), set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        same, other = 3.0 * rng.random(5), 3.0 * rng.random(5)
        X = np.concatenate(([0.0], same, other))[:, None]
        codes = np.repeat([0, 1], [6, 5])
        products = ProductTriplets.of(products_of(Points(X, diagonal=False), np.array([0]), codes))
        m = float(rng.uniform(0.2, 0.6))
        triplets = products.to_triplets()
        left, total, error, n_L, _ = screen_blocks(
            products, SimpleNamespace(center=np.array([[m]]), radius=0.02 * m), loss
        )
        gone = screened_rows(products, left) if len(left) else np.ones(25, dtype=bool)
        linear = gone & (triplets.margins(np.array([[m]])) < 0.95)
        assert linear.sum() == n_L
        wanted = triplets.weighted_sum(linear)[0]
        np.testing.assert_allclose(total, wanted, rtol=0, atol=error + 1e-12)
        if len(left):
            sides = left.products
            seen |= {(bool(sides.p[0] < 5), bool(sides.q[0] < 5), n_L > 0)}
    assert (True, True, True) in seen


def test_pairs_whose_ends_overflow_screen_nothing():
    """A pair whose value and reach are infinite has no ends: no pair may be decided against what
    is left of the others.
    """
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2e4, 1e6]])
    center, radius = np.diag([1e300, 0.0]), 1e297
    found = screen_blocks(
        ProductTriplets(X, [0, 0, 1, 1]), SimpleNamespace(center=center, radius=radius), ss.Hinge()
    )
    kept = set(map(tuple, found.remaining.index.tolist()))
    assert {(0, 1, 3), (1, 0, 3)} <= kept  # at ``center - radius e_2 e_2'`` its margin is below 0
    near = screen_blocks(
        ProductTriplets(X[:3], [0, 0, 1]), SimpleNamespace(center=center, radius=radius), ss.Hinge()
    )
    assert near.n_R == 2


@pytest.mark.parametrize(("k", "twins"), [(None, False), (4, False), (4, True)])
def test_what_is_left_has_the_sums_of_its_list(k, twins):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((70, 3)), rng.integers(0, 3, 70)
    if twins:  # and a point that comes four times
        X[35:], y[35:] = X[:35], y[:35]
        X[[1, 36]], y[[1, 36]] = X[0], y[0]
    whole, loss = ProductTriplets(X, y, k), ss.SmoothedHinge(0.05)
    assert (whole.points.rows is not None) == twins
    x = metric(3, 1.0 / float(np.sum(np.var(X, axis=0))))
    found = screen_blocks(whole, SimpleNamespace(center=x, radius=1e-3), loss)
    left = found.remaining
    assert 0 < len(left) < len(whole) and found.n_L > 0 and found.n_R > 0
    assert len(whole) - len(left) == found.n_L + found.n_R
    again, listed = left.to_triplets(), whole.to_triplets()
    assert set(map(tuple, again.index.tolist())) < set(map(tuple, whole.index.tolist()))
    linear = screened_rows(listed, left) & (listed.margins(x) < 1.0)
    assert np.count_nonzero(linear) == found.n_L
    wanted, error = listed.weighted_sum(linear)
    np.testing.assert_allclose(found.total, wanted, rtol=0, atol=found.error + error)
    sums, wanted = (terms.loss_sums(x, loss) for terms in (left, again))
    assert sums.loss == pytest.approx(wanted.loss, rel=1e-12)
    np.testing.assert_allclose(
        sums.adjoint, wanted.adjoint, rtol=1e-11, atol=sums.adjoint_error + wanted.adjoint_error
    )
    assert left.max_inner_product(x) == pytest.approx(again.margins(x).max(), rel=1e-12)
    np.testing.assert_allclose(
        left.total()[0], again.total()[0], rtol=0, atol=left.total()[1] + again.total()[1]
    )


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
    loss = ss.SmoothedHinge(0.05)
    rng, n_L, n_R, n_all = np.random.default_rng(3), 0, 0, 0
    for trial in range(36):
        X, y = rng.standard_normal((24, 3)), np.arange(24) % 3
        X[:, 0] += y
        if trial % 3 == 1:  # ties
            X = np.round(X)
        elif trial % 3 == 2:  # duplicates
            X[12:] = X[:12][rng.permutation(12)]
        X[:, 0] += y
        diagonal, k = trial % 2 == 1, (None, None, 4, 4)[trial % 4]
        listed = ss.Problem(ss.Triplets.from_labels(X, y, k, diagonal=diagonal), loss)
        product = ss.Problem(ss.ProductTriplets(X, y, k, diagonal=diagonal), loss)
        lam = listed.lam_max() * (0.3, 0.05, 0.01)[trial // 3 % 3]
        best = ss.solve(listed, lam, tol=0.0, rtol=1e-13, screening=())
        optimum, room = listed.terms.margins(best.x), best.eps * listed.terms.norms
        for mix in MIXES:
            start = product.cone.project(np.ones(3) if diagonal else np.eye(3))
            x = (1 - mix) * best.x + mix * 0.5 * float(np.linalg.norm(best.x)) * start
            ball = ss.spheres.duality_gap_bound(product, x, lam)
            found = screen_blocks(product.terms, ball, loss)
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
            left = reduced(product, found)
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
