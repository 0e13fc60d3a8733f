"""Product triplets: the sums of explicit triplets without a list, true error bounds, and
screening of whole blocks.
"""

import itertools
import tracemalloc
from fractions import Fraction
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import safescreen as ss
from safescreen.products import ProductTriplets, classes
from safescreen.terms import Triplets

WIDTHS = (0.0, 0.05, 1.0, 40.0)


def labelled(kind, n=26, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.integers(0, 3, n)
    y[:2] = 0, 1
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "twins":  # and a point that comes four times
        X[n // 2 :], y[n // 2 :] = X[: n - n // 2], y[: n - n // 2]
        X[1], y[1] = X[0], y[0]
        X[n // 2 + 1], y[n // 2 + 1] = X[0], y[0]
    elif kind == "unbalanced":  # the list of the others is the shorter one
        y = (np.arange(n) > n - 4).astype(int)
    elif kind == "huge":
        X *= 1e6
    elif kind == "tiny":
        X *= 1e-6
    elif kind == "shifted":
        X += 1e5
    return X, y


def metric(d, size, diagonal=False, seed=1):
    L = np.random.default_rng(seed).standard_normal((d, d))
    return size * np.abs(L[0]) if diagonal else size * (L @ L.T)


def size_of(X):
    """Scale of a metric that brings about as many active triplets as not."""
    return 1.0 / float(np.mean(np.var(X, axis=0)) * X.shape[1])


def assert_same_sums(a, b):
    assert a.loss == pytest.approx(b.loss, rel=1e-12, abs=1e-12 * max(1.0, b.alpha_sum))
    assert a.alpha_sum == pytest.approx(b.alpha_sum, rel=1e-11)
    assert a.alpha_square == pytest.approx(b.alpha_square, rel=1e-11)
    scale = np.abs(b.adjoint).max()
    np.testing.assert_allclose(
        a.adjoint, b.adjoint, rtol=0, atol=a.adjoint_error + b.adjoint_error + 1e-11 * scale
    )
    assert a.adjoint_error <= 10 * b.adjoint_error
    assert a.fenchel >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize(
    "kind", ["plain", "ties", "duplicates", "twins", "unbalanced", "huge", "tiny", "shifted"]
)
def test_same_sums_as_explicit_triplets(kind, k, diagonal):
    X, y = labelled(kind)
    a, b = (
        ProductTriplets(X, y, k, diagonal=diagonal),
        Triplets.from_labels(X, y, k, diagonal=diagonal),
    )
    assert len(a) == len(b)
    np.testing.assert_array_equal(a.index, b.index)
    for size, width in itertools.product((0.0, 0.01, 0.3, 1.0, 30.0), WIDTHS):
        x = metric(X.shape[1], size * size_of(X), diagonal)
        assert_same_sums(
            a.loss_sums(x, ss.SmoothedHinge(width)), b.loss_sums(x, ss.SmoothedHinge(width))
        )


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 2)),
        min_size=3,
        max_size=14,
    ),
    st.sampled_from(WIDTHS),
    st.sampled_from((0.25, 1.0, 0.1)),
    st.booleans(),
)
def test_same_sums_on_small_grids(rows, width, size, diagonal):
    X, y = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows])
    classes, counts = np.unique(y, return_counts=True)
    if classes.size < 2 or counts.max() < 2:
        with pytest.raises(ValueError, match="y must"):
            ProductTriplets(X, y)
        return
    a, b = ProductTriplets(X, y, diagonal=diagonal), Triplets.from_labels(X, y, diagonal=diagonal)
    x = metric(2, size, diagonal)
    assert_same_sums(
        a.loss_sums(x, ss.SmoothedHinge(width)), b.loss_sums(x, ss.SmoothedHinge(width))
    )


@pytest.mark.boundscheck
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_rest_of_the_interface(diagonal, k):
    X, y = labelled("plain", n=18)
    a, b = (
        ProductTriplets(X, y, k, diagonal=diagonal),
        Triplets.from_labels(X, y, k, diagonal=diagonal),
    )
    assert np.array_equal(a.anchors, np.unique(b.index[:, 0])) and a.n_bytes == (
        0 if k is None else 4 * 8 * a.anchors.size
    )
    x = metric(3, size_of(X), diagonal)
    np.testing.assert_allclose(a.margins(x), b.margins(x), rtol=1e-12, atol=1e-13)
    view = a.inner_products(x)
    whole = np.concatenate(
        [view.chunk(start, min(start + 37, len(a)))[0] for start in range(0, len(a), 37)]
    )
    np.testing.assert_array_equal(whole, a.margins(x))
    assert view.chunk(5, 5)[0].size == 0
    np.testing.assert_array_equal(a.norms, b.norms)
    assert a.max_inner_product(x) == pytest.approx(b.margins(x).max(), rel=1e-13)
    np.testing.assert_allclose(
        a.total()[0], b.weighted_sum(np.ones(len(b), dtype=bool))[0], atol=a.total()[1]
    )
    rng = np.random.default_rng(3)
    for weights in (rng.random(len(a)), rng.standard_normal(len(a)), rng.random(len(a)) < 0.3):
        (first, first_error), (second, second_error) = (
            a.weighted_sum(weights),
            b.weighted_sum(weights),
        )
        np.testing.assert_allclose(first, second, rtol=0, atol=first_error + second_error)
    keep = rng.random(len(a)) < 0.4
    np.testing.assert_array_equal(a.select(keep).index, b.index[keep])
    alpha = rng.random(len(a))
    for width in WIDTHS:
        sums = [terms.loss_sums(x, ss.SmoothedHinge(width), alpha) for terms in (a, b)]
        assert_same_sums(*sums)
        assert sums[0].fenchel == pytest.approx(sums[1].fenchel, rel=1e-9)


def exact_values(X, x):
    """All pairs' squared distances in the metric, symmetric or not, in exact arithmetic."""
    rows, M = (
        [[Fraction(v) for v in row] for row in X.tolist()],
        [[Fraction(v) for v in row] for row in x.tolist()],
    )
    d = range(X.shape[1])
    for i, j in itertools.product(range(len(X)), repeat=2):
        u = [rows[i][k] - rows[j][k] for k in d]
        yield i, j, sum(M[k][c] * u[k] * u[c] for k, c in itertools.product(d, d))


@pytest.mark.parametrize("asymmetry", [0.0, 4e-13])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_values_of_all_pairs_are_within_their_bound(d, asymmetry):
    """Distances that nearly cancel, for which products of matrices are off by far more than
    differences are; M need not be symmetric.
    """
    rng, worst = np.random.default_rng(d), 0.0
    far = 100.0 * rng.standard_normal(d)
    X, y = (
        np.vstack((far + 1e-6 * rng.standard_normal((9, d)), 100.0 * rng.standard_normal((9, d)))),
        np.arange(18) % 2,
    )
    terms, x = ProductTriplets(X, y), metric(d, 1.0)
    x = x * (1.0 + asymmetry * np.triu(np.ones((d, d)), 1))
    points, places = terms.points, np.argsort(terms._products._order)
    ((W, _),) = terms._products._values(x)
    for i, j, value in exact_values(points.X, x):
        s = points.norms[i] + points.norms[j]
        bound = ss.rounding.gamma(3 * d + 12) * ss.rounding.norm_upper(x) * s * s
        error = abs(float(Fraction(W[i, places[j]]) - value))
        assert error <= bound
        worst = max(worst, error / bound)
    assert worst > 0.005


@pytest.mark.parametrize("k", [None, 4])
def test_norms_of_the_farthest_points(k):
    X, y = labelled("unbalanced")
    terms = ProductTriplets(X, y, k)
    products, norms = terms._products, terms.points.norms
    anchors, lists = products.explicit()
    for m, bound in enumerate(products.farthest()):
        most = [norms[members[ptr[m] : ptr[m + 1]]].max() for ptr, members in lists.sides]
        assert bound >= (1.0 - 1e-15) * sum((norms[anchors[m]] + v) ** 2 for v in most)
    assert products.farthest().max() <= 8.0 * norms.max() ** 2


@pytest.mark.slow
def test_more_pairs_than_are_listed_are_not_screened(monkeypatch):
    products, _ = blobs()
    ball = SimpleNamespace(center=metric(3, 0.4), radius=0.01)
    assert products.screen_blocks(ball, ss.Hinge()).n_R > 0
    products, _ = blobs()
    monkeypatch.setattr(classes, "LISTED_PAIRS", 36 * 35 - 1)
    assert products.screen_blocks(ball, ss.Hinge()).remaining is products


@pytest.mark.parametrize(("kind", "k"), [("plain", None), ("plain", 4), ("twins", 4)])
def test_blocks_of_any_size_and_listed_anchors(kind, k, monkeypatch):
    """Blocks of few anchors; and what is left after screening, whose pairs are listed, has the
    sums of its list.
    """
    X, y = labelled(kind, n=70)
    x, loss = metric(3, size_of(X)), ss.SmoothedHinge(0.05)
    whole = ProductTriplets(X, y, k)
    wanted = whole.loss_sums(x, loss)
    monkeypatch.setattr(classes, "BLOCK_BYTES", 0)
    found = ProductTriplets(X, y, k).loss_sums(x, loss)
    assert (found.loss, found.alpha_sum) == (wanted.loss, wanted.alpha_sum) and np.array_equal(
        found.adjoint, wanted.adjoint
    )
    left, total, error, n_L, n_R = whole.screen_blocks(SimpleNamespace(center=x, radius=1e-3), loss)
    assert 0 < len(left) < len(whole) and left.n_bytes > 0 and n_L > 0 and n_R > 0
    again, listed = left.to_triplets(), whole.to_triplets()
    assert len(whole) - len(left) == n_L + n_R and set(map(tuple, again.index.tolist())) < set(
        map(tuple, whole.index.tolist())
    )
    gone = ~np.isin(listed.index @ (70**2, 70, 1), again.index @ (70**2, 70, 1))
    linear = gone & (listed.margins(x) < 1.0)
    assert np.count_nonzero(linear) == n_L
    np.testing.assert_allclose(total, listed.weighted_sum(linear)[0], rtol=0, atol=error + 1e-10)
    assert_same_sums(left.loss_sums(x, loss), again.loss_sums(x, loss))
    assert left.max_inner_product(x) == pytest.approx(again.margins(x).max(), rel=1e-12)
    np.testing.assert_allclose(
        left.total()[0], again.total()[0], rtol=0, atol=left.total()[1] + again.total()[1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 7])
def test_counted_operations_and_samples(k):
    """A sample is of some anchors and has their triplets; operations are counted, and screening
    needs lists.
    """
    X, y = labelled("plain", n=300)
    terms = ProductTriplets(X, y, k).with_threshold(0.7)
    part = terms.sample()
    assert (
        part.anchors.size == 100
        and set(part.anchors) < set(terms.anchors)
        and part.threshold == 0.7
    )
    rows = Triplets.from_labels(X, y, k).index if k else None
    assert k is None or np.array_equal(part.index, rows[np.isin(rows[:, 0], part.anchors)])
    assert (
        2.5 < terms.costs().evaluation / part.costs().evaluation < 3.5
        and terms.costs().screening > 0.0
    )
    assert (terms.costs().preparation > 0.0) == (k is None)
    terms.screen_blocks(SimpleNamespace(center=metric(3, size_of(X)), radius=0.0), ss.Hinge())
    assert terms.costs().preparation == 0.0


def test_more_pairs_than_can_be_listed_are_not_prepared(monkeypatch):
    monkeypatch.setattr(classes, "LISTED_PAIRS", 100)
    assert blobs()[0].costs().preparation == np.inf


def test_threshold_is_respected():
    X, y = labelled("plain")
    a, b = ProductTriplets(X, y), Triplets.from_labels(X, y)
    a.threshold = b.threshold = 0.3
    x = metric(3, size_of(X))
    assert_same_sums(a.loss_sums(x, ss.SmoothedHinge(0.1)), b.loss_sums(x, ss.SmoothedHinge(0.1)))
    assert a.to_triplets().threshold == 0.3


def dyadic(seed, n=16, d=2):
    """Integer points with an exact integer mean, and an integer metric: every distance is exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (n, d)).astype(float)
    X[-1] -= X.sum(axis=0)
    L = rng.integers(-2, 3, (d, d)).astype(float)
    return X, np.arange(n) % 2, L @ L.T


def exact_terms(X, y, x, tau, width):
    """Yield the slack, the dual variable and the differences of each triplet, in exact
    arithmetic.
    """
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    M = [[Fraction(v) for v in row] for row in x.tolist()]
    d = range(X.shape[1])
    for i, j, m in Triplets.from_labels(X, y).index.tolist():
        v, u = ([rows[i][k] - rows[c][k] for k in d] for c in (j, m))
        margin = sum(M[k][c] * (u[k] * u[c] - v[k] * v[c]) for k in d for c in d)
        slack = tau - margin
        alpha = min(max(slack / width, Fraction(0)), Fraction(1)) if width else Fraction(slack > 0)
        yield slack, alpha, u, v


@pytest.mark.parametrize("width", [0.0, 0.05, 7.5, 300.0])
@pytest.mark.parametrize("seed", range(4))
def test_adjoint_error_is_a_bound_of_the_exact_error(seed, width):
    X, y, x = dyadic(seed)
    sums = ProductTriplets(X, y).loss_sums(x, ss.SmoothedHinge(width))
    H = [[Fraction(0)] * 2 for _ in range(2)]
    total, square, loss, count = Fraction(0), Fraction(0), Fraction(0), 0
    for slack, alpha, u, v in exact_terms(X, y, x, Fraction(1), Fraction(width)):
        for k, c in itertools.product(range(2), range(2)):
            H[k][c] += alpha * (u[k] * u[c] - v[k] * v[c])
        total, square = total + alpha, square + alpha * alpha
        loss += alpha * (slack - Fraction(width) * alpha / 2)
        count += 1
    error = sum((Fraction(sums.adjoint[k, c]) - H[k][c]) ** 2 for k in range(2) for c in range(2))
    assert error <= Fraction(sums.adjoint_error) ** 2
    assert sums.adjoint_error < 1e-11 * count * float(np.abs(X).max()) ** 2
    assert sums.loss == pytest.approx(float(loss), rel=1e-14)
    assert sums.alpha_sum == pytest.approx(float(total), rel=1e-14)
    assert sums.alpha_square == pytest.approx(float(square), rel=1e-14)


@pytest.mark.parametrize("width", [1e-3, 0.3, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_hinge_sums_bound_the_exact_fenchel_terms(seed, width):
    X, y, x = dyadic(seed)
    x = x / 16.0
    sums = ProductTriplets(X, y).hinge_sums(x, width)
    fenchel, loss = Fraction(0), Fraction(0)
    for slack, alpha, _, _ in exact_terms(X, y, x, Fraction(1), Fraction(width)):
        fenchel += max(slack, Fraction(0)) - alpha * slack
        loss += max(slack, Fraction(0))
    assert Fraction(sums.fenchel) >= fenchel
    assert sums.fenchel <= float(fenchel) * (1 + 1e-8) + 1e-8
    assert sums.loss == pytest.approx(float(loss), rel=1e-13)
    smooth = ProductTriplets(X, y).loss_sums(x, ss.SmoothedHinge(width))
    np.testing.assert_allclose(sums.adjoint, smooth.adjoint, rtol=0, atol=2 * smooth.adjoint_error)


def test_slack_of_one_triplet_far_from_the_others_keeps_its_digits():
    X = np.array([[0.0], [1.0], [1e5], [1.0 + 2e-6], [3.0]])  # a range of 1e10, a band of 1e-6
    y = np.array([0, 0, 0, 1, 1])
    x, loss = np.array([[0.25]]), ss.SmoothedHinge(1e-6)
    a, b = ProductTriplets(X, y).loss_sums(x, loss), Triplets.from_labels(X, y).loss_sums(x, loss)
    assert a.loss == pytest.approx(b.loss, rel=1e-13)
    assert a.alpha_sum == pytest.approx(b.alpha_sum, rel=1e-9)


def test_many_triplets_inside_the_band_of_a_wide_range():
    # squares that cancel
    X = np.r_[np.linspace(0, 1e-3, 60), 3e2, np.linspace(1.0, 1.001, 60)][:, None]
    y = np.r_[np.zeros(61, dtype=int), np.ones(60, dtype=int)]
    for width in (2e-3, 1e-2, 1.0):
        a, b = (
            t.loss_sums(np.eye(1), ss.SmoothedHinge(width))
            for t in (ProductTriplets(X, y), Triplets.from_labels(X, y))
        )
        assert a.alpha_square == pytest.approx(b.alpha_square, rel=1e-7)
        assert a.alpha_square < a.alpha_sum  # the band is not empty


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 100])
@pytest.mark.parametrize("diagonal", [False, True])
def test_same_bits_for_any_number_of_threads(diagonal, k):
    X, y = labelled("plain", n=520, d=12)
    terms = ProductTriplets(X, y, k, diagonal=diagonal)
    assert not terms._products.serial
    x = metric(12, size_of(X), diagonal)
    ball = SimpleNamespace(center=x, radius=0.01 * float(np.linalg.norm(x)))
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            found.append(
                (
                    terms.loss_sums(x, ss.SmoothedHinge(0.05)),
                    terms.screen_blocks(ball, ss.SmoothedHinge(0.05)),
                )
            )
    finally:
        numba.set_num_threads(before)
    terms._products.serial = True
    found.append(
        (
            terms.loss_sums(x, ss.SmoothedHinge(0.05)),
            terms.screen_blocks(ball, ss.SmoothedHinge(0.05)),
        )
    )
    for sums, left in found[1:]:
        for name in ("loss", "adjoint_error", "fenchel", "alpha_sum", "alpha_square"):
            assert getattr(sums, name) == getattr(found[0][0], name)
        np.testing.assert_array_equal(sums.adjoint, found[0][0].adjoint)
        np.testing.assert_array_equal(left.total, found[0][1].total)
        assert left[3:] == found[0][1][3:]


# ---------------------------------------------------------------------- screening of blocks


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
    left, total, error, n_L, n_R = products.screen_blocks(
        SimpleNamespace(center=center, radius=radius), loss
    )
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
    reduced = whole.with_linear_part(left, total, error, n_L * (1.0 - 0.5 * width))
    for _ in range(3):
        step = rng.standard_normal(center.shape)
        step = step if diagonal else step + step.T
        x = products.cone.project(center + radius * step / np.linalg.norm(step))
        assert reduced.evaluate(x, 3.0).primal == pytest.approx(
            whole.evaluate(x, 3.0).primal, rel=1e-11
        )


def test_blocks_screen_again_what_is_left():
    products, _ = blobs()
    loss, center = ss.SmoothedHinge(0.05), metric(3, 0.4)
    first = products.screen_blocks(SimpleNamespace(center=center, radius=0.3), loss)
    second = first.remaining.screen_blocks(SimpleNamespace(center=center, radius=0.01), loss)
    once = products.screen_blocks(SimpleNamespace(center=center, radius=0.01), loss)
    assert 0 < len(second.remaining) < len(first.remaining) < len(products)
    assert first.n_L + second.n_L >= once.n_L and first.n_R + second.n_R >= once.n_R
    sums = [p.loss_sums(center, loss) for p in (first.remaining, first.remaining.to_triplets())]
    assert_same_sums(*sums)


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
        left = products.screen_blocks(SimpleNamespace(center=center, radius=radius), loss)
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
    assert products.screen_blocks(ball, ss.SmoothedHinge(0.5)).remaining is products
    assert products.screen_blocks(ball, ss.SmoothedHinge(0.0)).remaining is products
    beyond = products.screen_blocks(
        SimpleNamespace(center=1.01 * np.eye(1), radius=0.0), ss.Hinge()
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
            found = products.screen_blocks(
                SimpleNamespace(center=M, radius=radius), ss.SmoothedHinge(width)
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
    found = products.screen_blocks(
        SimpleNamespace(center=center, radius=0.05), ss.SmoothedHinge(0.05)
    )
    assert 0 < len(found.remaining) < len(products) and found.remaining.threshold == 0.6
    left = ss.Problem(products, ss.SmoothedHinge(0.05)).with_linear_part(
        found.remaining, found.total, found.error, found.n_L * (0.6 - 0.025)
    )
    assert left.evaluate(center, 3.0).primal == pytest.approx(
        ss.Problem(triplets, ss.SmoothedHinge(0.05)).primal(center, 3.0), rel=1e-11
    )


@pytest.mark.parametrize("width", [0.0, 0.05])
def test_triplets_at_their_threshold_are_charged_for_rounding(width):
    """Whether a slack of 0 costs is not known in floating point: the Fenchel terms may not be
    called 0.
    """
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1]  # every margin is 1 at x = 1
    for terms in (ProductTriplets(X, y), Triplets.from_labels(X, y)):
        unit = 2.0**-53
        one = terms.loss_sums(np.eye(1), ss.SmoothedHinge(width)).fenchel
        assert one >= 4 * (unit if width == 0.0 else unit**2 / (2.0 * width))
        assert one < 1e-10
    assert ProductTriplets(X, y).hinge_sums(np.eye(1), 0.05).fenchel >= 4 * unit


@pytest.mark.parametrize("radius", [np.nan, np.inf, -1.0, 1e300])
def test_useless_radius_screens_nothing(radius):
    products, _ = blobs()
    found = products.screen_blocks(
        SimpleNamespace(center=np.eye(3), radius=radius), ss.SmoothedHinge(0.05)
    )
    assert found.n_L == found.n_R == 0 and found.remaining is products and not found.total.any()


@pytest.mark.parametrize("diagonal", [False, True])
def test_nothing_left_is_a_family_of_no_terms(diagonal):
    products, _ = blobs(diagonal)
    zero = products.cone.zeros()
    empty, total, _, n_L, n_R = products.screen_blocks(
        SimpleNamespace(center=zero, radius=0.0), ss.SmoothedHinge(0.05)
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
        empty.screen_blocks(SimpleNamespace(center=zero, radius=0.0), ss.Hinge()).remaining is empty
    )


def test_solve_with_blocks_reaches_the_optimum_of_explicit_triplets():
    products, triplets = blobs()
    loss = ss.SmoothedHinge(0.05)
    lam = 0.2 * ss.Problem(triplets, loss).lam_max()
    assert ss.Problem(products, loss).lam_max() == pytest.approx(
        ss.Problem(triplets, loss).lam_max(), rel=1e-12
    )
    a, b = (
        ss.solve(ss.Problem(t, loss), lam, tol=1e-9, screening=("RRPB", "PGB"))
        for t in (products, triplets)
    )
    assert a.converged and b.converged
    np.testing.assert_allclose(a.x, b.x, rtol=0, atol=2 * np.sqrt(2e-9 / lam))


# ---------------------------------------------------------------------- memory and refusals


def test_memory_does_not_grow_with_the_number_of_triplets():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((800, 2)), np.arange(800) % 2
    warm = ProductTriplets(X[:40], y[:40])
    x, loss = 0.3 * np.eye(2), ss.SmoothedHinge(0.05)
    ball = SimpleNamespace(center=x, radius=0.01)
    warm.loss_sums(x, loss), warm.screen_blocks(ball, loss), warm.total()
    tracemalloc.start()
    try:
        terms = ProductTriplets(X, y)
        sums, left = terms.loss_sums(x, loss), terms.screen_blocks(ball, loss)
        terms.total(), terms.max_inner_product(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(terms) == 800 * 399 * 400
    assert peak < 50e6  # an array of one byte a triplet would be 128e6
    assert sums.loss > 0.0 and left.n_R > 0
    for refused in (lambda: terms.norms, lambda: terms.index, terms.to_triplets):
        with pytest.raises(ValueError, match="127680000 triplets are too many"):
            refused()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0.0], [1.0]], [0, 1]), ValueError, "y must have a class with at least two points"),
        (([[0.0], [1.0], [2.0]], [0, 0, 0]), ValueError, "y must hold at least two classes"),
        (([[0.0], [np.nan], [2.0]], [0, 0, 1]), ValueError, "X must be finite"),
        (
            ([[0.0], [1.0], [2.0]], [0, 0, 1], 0),
            ValueError,
            "k must be a positive int or None, got 0",
        ),
        (
            ([[0.0], [1.0], [2.0]], [0, 0, 1], 1.5),
            TypeError,
            "k must be a positive int or None, got 1.5",
        ),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        ProductTriplets(*arguments)


@pytest.mark.parametrize("radius", [0.0, 0.02, 0.2])
def test_long_lists_count_every_triplet_once_when_screened(radius):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(150, 4)), np.arange(150) % 3
    X[:, 0] += 2.0 * y
    loss = ss.SmoothedHinge(0.05)
    problem = ss.Problem(ss.ProductTriplets(X, y), loss)
    x = np.diag([0.5, 0.1, 0.0, 0.0])
    found = problem.terms.screen_blocks(ss.Sphere(x, radius), loss)
    assert len(found.remaining) + found.n_L + found.n_R == len(problem)
    assert found.n_L + found.n_R > 0
    left = problem.with_linear_part(
        found.remaining, found.total, found.error, found.n_L * (1.0 - 0.025)
    )
    assert np.isclose(left.primal(x, 10.0), problem.primal(x, 10.0), rtol=1e-12)


# ---------------------------------------------------------------------- each allowance for rounding


def one_anchor(same, other, tau=1.0, bits=None):
    """Return the products of the anchor 0 at 0, lists at those places on a line, and the exact
    points.
    """
    X = np.concatenate(([0.0], same, other))[:, None]
    terms = ProductTriplets(X, np.repeat([0, 1], [1 + len(same), len(other)]))
    terms = ProductTriplets.of(terms._products.part(np.array([0])))
    terms.threshold, terms._bits = tau, bits or terms._bits
    points = [Fraction(v) for v in terms.points.X[:, 0].tolist()]
    return terms, points


def exact_slacks(points, n_same, m, tau):
    """Return ``tau + m (x_0 - x_j)^2 - m (x_0 - x_l)^2`` of all pairs (j, l), in exact
    arithmetic.
    """
    squares = [Fraction(m) * (v - points[0]) ** 2 for v in points[1:]]
    return [Fraction(tau) + a - b for b in squares[n_same:] for a in squares[:n_same]]


@pytest.mark.parametrize("width", [0.0, 1e-13, 1e-11, 1e-3])
def test_slacks_of_an_unknown_sign_are_charged(width):
    """A slack that is rounding: the dual variable may be that of the other sign, and the Fenchel
    terms are not 0.

    Widths are as small as the errors of margins of a size of 1e4, and smaller.
    """
    wrong = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        near = 100.0 * rng.uniform(1.0, 2.0)
        far = np.sqrt(near * near + 1.0)
        terms, points = one_anchor([0.1, near], [far])
        sums = (
            terms.hinge_sums(np.eye(1), width) if width else terms.loss_sums(np.eye(1), ss.Hinge())
        )
        zero, slack = sorted(exact_slacks(points, 2, 1.0, 1.0))
        assert zero < -1000 and 0.0 <= sums.alpha_sum <= 1.0
        fenchel = max(slack, Fraction(0)) - Fraction(sums.alpha_sum) * slack
        assert Fraction(sums.fenchel) >= fenchel
        wrong += fenchel > abs(slack) / 2
    assert wrong > 10 or width == 1e-3


@pytest.mark.parametrize("bits", [12, 20, 30])
@pytest.mark.parametrize("tau", [1.0, 0.3])
def test_what_the_grid_rounds_away_is_in_the_fenchel_terms(tau, bits):
    """Numbers on a coarser grid than is ever used: what it moves is charged, near the threshold
    and, smoothed, in the band.
    """
    beyond = np.zeros(2, dtype=int)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        near = rng.uniform(100.0, 200.0)
        far = np.sqrt(near * near + tau + 2.0 ** (1 - bits) * near * near * rng.uniform(-1.0, 1.0))
        terms, points = one_anchor([0.1, near], [far, 400.0], tau, bits)
        sums = terms.loss_sums(np.eye(1), ss.Hinge())
        zero, slack = sorted(exact_slacks(points, 2, 1.0, tau))[-2:]
        fenchel = max(slack, Fraction(0)) - round(sums.alpha_sum / tau) * slack
        assert Fraction(sums.fenchel) >= fenchel and zero < 0
        beyond[0] += fenchel > 0

        for m, width in ((rng.uniform(0.01, 0.05), 2.0), (0.0, 2.0)):
            terms, points = one_anchor([0.4], [rng.uniform(0.5, 2.0)], tau, bits)
            sums = terms.loss_sums(np.array([[m]]), ss.SmoothedHinge(width))
            (slack,) = exact_slacks(points, 1, m, tau)
            assert 0 < slack < width
            fenchel = (
                (Fraction(sums.alpha_sum) / Fraction(tau) - slack / Fraction(width)) ** 2
                * Fraction(width)
                / 2
            )
            assert Fraction(sums.fenchel) >= fenchel
            beyond[1] += fenchel > Fraction(2) ** -80
    assert beyond[0] > 3 and (beyond[1] > 10 or bits == 30)


def test_every_triplet_of_an_anchor_is_charged():
    """Six equal triplets whose slack the grid moves, each by as much."""
    terms, _ = one_anchor([0.4] * 2, [0.7] * 3, 0.3, 12)
    single, points = one_anchor([0.4], [0.7], 0.3, 12)
    (slack,), loss = exact_slacks(points, 1, 0.0, 0.3), ss.SmoothedHinge(2.0)
    sums, alone = terms.loss_sums(np.zeros((1, 1)), loss), single.loss_sums(np.zeros((1, 1)), loss)
    fenchel = (Fraction(sums.alpha_sum) / 6 / Fraction(0.3) - slack / 2) ** 2
    assert sums.fenchel >= 6 * fenchel > 0 and sums.fenchel >= 5.9 * alone.fenchel


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_distance_of_a_metric_from_its_cone_is_in_the_errors_of_margins(diagonal):
    """A margin is one at the nearest metric of the cone, from which a projected one is as far as
    the cone says.
    """
    X, y = labelled("plain", d=40)
    terms, x = ProductTriplets(X, y, diagonal=diagonal), metric(40, 1.0, diagonal)
    errors, scales = terms._margin_errors(x, 0.0), terms._products.farthest()
    pairs = ss.rounding.gamma(3 * 40 + 12) * ss.rounding.norm_upper(x) * scales
    assert (errors >= pairs + terms.cone.feasible_error(x) * scales).all()


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_lists_of_many_thousands_are_summed_exactly(width):
    """The longer the lists, the coarser the grid: numbers, places and sums of squares must fit
    into 64 bits.
    """
    rng, n = np.random.default_rng(0), 17_000
    X, y = rng.uniform(-1.0, 1.0, (2 * n, 1)), np.arange(2 * n) % 2
    X[0] = -1.0
    terms = ProductTriplets(X, y)
    terms = ProductTriplets.of(terms._products.part(np.array([0])))
    assert terms._bits + n.bit_length() <= 58 + 1
    sums, squares = terms.loss_sums(np.eye(1), ss.SmoothedHinge(width)), (X[:, 0] + 1.0) ** 2
    same, other = squares[2::2], np.sort(squares[1::2])
    linear, band = (np.searchsorted(other, same + 1.0 - v, side="left") for v in (width, 0.0))
    prefix, seconds = (
        np.concatenate(([0.0], np.cumsum(other**k, dtype=np.longdouble))) for k in (1, 2)
    )
    slack, between = same + 1.0, band - linear
    first, second = prefix[band] - prefix[linear], seconds[band] - seconds[linear]
    alpha = linear + ((slack * between - first) / width if width else 0.0)
    square = linear + (
        (slack**2 * between - 2.0 * slack * first + second) / width**2 if width else 0.0
    )
    assert sums.alpha_sum == pytest.approx(float(alpha.sum()), rel=1e-7)
    assert sums.alpha_square == pytest.approx(float(square.sum()), rel=1e-7)
    loss = (slack - 0.5 * width) * linear - prefix[linear] + 0.5 * width * (square - linear)
    assert sums.loss == pytest.approx(float(loss.sum()), rel=1e-7)


@pytest.mark.parametrize("n", [25, 26])
@pytest.mark.parametrize("k", [None, 4])
def test_the_scale_of_the_adjoint_error_is_that_of_all_pairs(n, k):
    """Of ``sum |w_ij| (|x_i| + |x_j|)^2`` no pair may be left out, nor taken for a shorter one."""
    X, y = labelled("plain", n=n)
    terms = ProductTriplets(X, y, k)
    products, norms, wanted = terms._products, terms.points.norms, 0.0
    anchors, lists = products.explicit()
    for m, i in enumerate(anchors):
        sizes = [ptr[m + 1] - ptr[m] for ptr, _ in lists.sides]
        for (ptr, members), weight in zip(lists.sides, sizes[::-1], strict=True):
            wanted += weight * float(((norms[i] + norms[members[ptr[m] : ptr[m + 1]]]) ** 2).sum())
    assert products.total()[1] == pytest.approx(wanted, rel=1e-13)


def test_what_leaves_on_either_side_is_counted_for_what_stays():
    """Pairs that stay carry a weight for each linear triplet they are in with a pair that left."""
    loss, seen = ss.SmoothedHinge(0.05), set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        same, other = 3.0 * rng.random(5), 3.0 * rng.random(5)
        products, _ = one_anchor(same, other)
        m = float(rng.uniform(0.2, 0.6))
        triplets = products.to_triplets()
        left, total, error, n_L, _ = products.screen_blocks(
            SimpleNamespace(center=np.array([[m]]), radius=0.02 * m), loss
        )
        gone = screened_rows(products, left) if len(left) else np.ones(25, dtype=bool)
        linear = gone & (triplets.margins(np.array([[m]])) < 0.95)
        assert linear.sum() == n_L
        wanted = triplets.weighted_sum(linear)[0]
        np.testing.assert_allclose(total, wanted, rtol=0, atol=error + 1e-12)
        if len(left):
            sides = left._products
            seen |= {(bool(sides.p[0] < 5), bool(sides.q[0] < 5), n_L > 0)}
    assert (True, True, True) in seen


def test_pairs_whose_ends_overflow_screen_nothing():
    """A pair whose value and reach are infinite has no ends: no pair may be decided against what
    is left of the others.
    """
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2e4, 1e6]])
    center, radius = np.diag([1e300, 0.0]), 1e297
    found = ProductTriplets(X, [0, 0, 1, 1]).screen_blocks(
        SimpleNamespace(center=center, radius=radius), ss.Hinge()
    )
    kept = set(map(tuple, found.remaining.index.tolist()))
    assert {(0, 1, 3), (1, 0, 3)} <= kept  # at ``center - radius e_2 e_2'`` its margin is below 0
    near = ProductTriplets(X[:3], [0, 0, 1]).screen_blocks(
        SimpleNamespace(center=center, radius=radius), ss.Hinge()
    )
    assert near.n_R == 2
