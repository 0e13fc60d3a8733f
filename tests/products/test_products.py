"""Product triplets: the sums of listed triplets without a list, and true error bounds."""

import itertools
import tracemalloc
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import safescreen as ss
import safescreen.products
from safescreen.products import ProductTriplets, classes
from safescreen.products.triplets import products_of
from safescreen.solvers.methods import AUTO
from safescreen.solvers.when_fallen import WhenFallen
from safescreen.terms import Triplets
from safescreen.terms.pairs import Points

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
    points, places = terms.points, np.argsort(terms.products._order)
    ((W, _),) = terms.products._values(x)
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
    products, norms = terms.products, terms.points.norms
    anchors, lists = products.anchors, products.lists
    for m, bound in enumerate(products.farthest()):
        most = [norms[members[ptr[m] : ptr[m + 1]]].max() for ptr, members in lists.sides]
        assert bound >= (1.0 - 1e-15) * sum((norms[anchors[m]] + v) ** 2 for v in most)
    assert products.farthest().max() <= 8.0 * norms.max() ** 2


@pytest.mark.parametrize("k", [None, 4])
def test_distances_of_few_anchors_at_a_time(k, monkeypatch):
    X, y = labelled("plain", n=70)
    x, loss = metric(3, size_of(X)), ss.SmoothedHinge(0.05)
    wanted = ProductTriplets(X, y, k).loss_sums(x, loss)
    monkeypatch.setattr(classes, "BLOCK_BYTES", 0)
    found = ProductTriplets(X, y, k).loss_sums(x, loss)
    assert (found.loss, found.alpha_sum) == (wanted.loss, wanted.alpha_sum) and np.array_equal(
        found.adjoint, wanted.adjoint
    )


@pytest.mark.parametrize("kind", ["plain", "twins"])
def test_the_total_is_that_of_the_list(kind):
    X, y = labelled(kind, n=70)
    products, listed = ProductTriplets(X, y, 4), Triplets.from_labels(X, y, 4)
    (total, error), (wanted, other) = products.total(), listed.total()
    np.testing.assert_allclose(total, wanted, rtol=0, atol=error + other)


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
    assert not terms.products.serial
    x = metric(12, size_of(X), diagonal)
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            found.append(terms.loss_sums(x, ss.SmoothedHinge(0.05)))
    finally:
        numba.set_num_threads(before)
    terms.products.serial = True
    found.append(terms.loss_sums(x, ss.SmoothedHinge(0.05)))
    for sums in found[1:]:
        for name in ("loss", "adjoint_error", "fenchel", "alpha_sum", "alpha_square"):
            assert getattr(sums, name) == getattr(found[0], name)
        np.testing.assert_array_equal(sums.adjoint, found[0].adjoint)


# ---------------------------------------------------------------------- solving


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


@pytest.mark.parametrize("width", [0.0, 0.05])
@pytest.mark.parametrize("screening", ["auto", ()])
def test_the_optimum_is_that_of_listed_triplets(screening, width):
    X, y = labelled("plain", n=36)
    X[:, 0] += 2.0 * y
    problems = [
        ss.Problem(terms, ss.SmoothedHinge(width))
        for terms in (ProductTriplets(X, y), Triplets.from_labels(X, y))
    ]
    lam = 0.2 * problems[1].lam_max()
    assert problems[0].lam_max() == pytest.approx(5.0 * lam, rel=1e-12)
    products, listed = (ss.solve(prob, lam, rtol=1e-9, screening=screening) for prob in problems)
    assert products.converged and listed.converged
    assert np.linalg.norm(products.x - listed.x) <= products.eps + listed.eps
    assert products.n_L == products.n_R == 0 and products.screened is None


@pytest.mark.parametrize(
    "screening", ["PGB", ("RRPB", "PGB"), ("GB+halfspace",), ("MGB&BT2",), WhenFallen(AUTO)]
)
def test_what_asks_for_screening_is_told_what_to_do(screening):
    X, y = labelled("plain")
    problem = ss.Problem(ProductTriplets(X, y), ss.SmoothedHinge(0.05))
    for call in (
        lambda: ss.solve(problem, 1.0, screening=screening),
        lambda: ss.path(problem, [1.0], screening=screening),
    ):
        with pytest.raises(TypeError, match="^screening=.*listed Triplets are; take 'auto' or "):
            call()
    with pytest.raises(TypeError, match="^dynamic=.*products of lists and shards are not screened"):
        ss.path(problem, [1.0], dynamic=screening)


def test_what_went_says_what_to_do():
    X, y = labelled("plain")
    with pytest.raises(AttributeError, match="'screen_blocks': products are not screened, to_tri"):
        ProductTriplets(X, y).screen_blocks  # noqa: B018
    with pytest.raises(AttributeError, match="BlockScreening went .*: screen listed Triplets"):
        safescreen.products.BlockScreening  # noqa: B018


# ---------------------------------------------------------------------- memory and refusals


def test_memory_does_not_grow_with_the_number_of_triplets():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((800, 2)), np.arange(800) % 2
    warm = ProductTriplets(X[:40], y[:40])
    x, loss = 0.3 * np.eye(2), ss.SmoothedHinge(0.05)
    warm.loss_sums(x, loss), warm.total()
    tracemalloc.start()
    try:
        terms = ProductTriplets(X, y)
        sums = terms.loss_sums(x, loss)
        terms.total(), terms.max_inner_product(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(terms) == 800 * 399 * 400
    assert peak < 50e6  # an array of one byte a triplet would be 128e6
    assert sums.loss > 0.0
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


# ---------------------------------------------------------------------- each allowance for rounding


def one_anchor(same, other, tau=1.0, bits=None):
    """Return the products of the anchor 0 at 0, lists at those places on a line, and the exact
    points.
    """
    X = np.concatenate(([0.0], same, other))[:, None]
    codes = np.repeat([0, 1], [1 + len(same), len(other)])
    points = Points(X, diagonal=False)
    terms = ProductTriplets.of(products_of(points, np.array([0]), codes))
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
    errors, scales = terms._margin_errors(x, 0.0), terms.products.farthest()
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
    terms = ProductTriplets.of(products_of(Points(X, diagonal=False), np.array([0]), y))
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
    products, norms, wanted = terms.products, terms.points.norms, 0.0
    anchors, lists = products.anchors, products.lists
    for m, i in enumerate(anchors):
        sizes = [ptr[m + 1] - ptr[m] for ptr, _ in lists.sides]
        for (ptr, members), weight in zip(lists.sides, sizes[::-1], strict=True):
            wanted += weight * float(((norms[i] + norms[members[ptr[m] : ptr[m + 1]]]) ** 2).sum())
    assert products.total()[1] == pytest.approx(wanted, rel=1e-13)
