"""Similar and dissimilar pairs, each with its threshold, and the pull term of LMNN: definitions,
an outside solver, safety, bad input.
"""

import numpy as np
import pytest

import safescreen as ss
from instances import ADVERSARIAL, points
from naive import Naive, triplet_elements
from naive.exact import Exact, exact, minus
from naive.extremes import dot, norm

X = np.random.default_rng(0).standard_normal((9, 4))
SIMILAR, DISSIMILAR = np.array([[0, 1], [3, 1], [0, 1], [8, 2]]), np.array([[4, 0], [5, 6], [4, 0]])
UPPER, LOWER = 0.5, 2.0
metrics = pytest.mark.parametrize("diagonal", [False, True])
cones = {False: "psd", True: "nonneg"}


def square(X, i, j, diagonal):
    u = X[i] - X[j]
    return u * u if diagonal else np.outer(u, u)


def elements(X, similar, dissimilar, diagonal):
    """Return the terms written out and their thresholds, dissimilar pairs first."""
    A = [square(X, i, j, diagonal) for i, j in dissimilar] + [
        -square(X, i, j, diagonal) for i, j in similar
    ]
    return np.array(A), np.array([LOWER] * len(dissimilar) + [-UPPER] * len(similar))


def exact_elements(X, similar, dissimilar, diagonal):
    """The same in 60 digits, each a flat list."""
    out = []
    for rows, sign in ((dissimilar, 1), (similar, -1)):
        for i, j in rows:
            u = minus(exact(X[i]), exact(X[j]))
            out.append(
                [sign * p * p for p in u] if diagonal else [sign * p * q for p in u for q in u]
            )
    return out


def labelled(data="normal", n_pairs=25):
    """Return points with similar pairs inside classes and dissimilar pairs across them."""
    P, y = points(data)
    rng = np.random.default_rng(3)
    rows = np.array([rng.choice(len(P), 2, replace=False) for _ in range(2 * n_pairs)])
    same = y[rows[:, 0]] == y[rows[:, 1]]
    return P, rows[same], rows[~same]


def element(d, diagonal, seed=1):
    L = np.random.default_rng(seed).standard_normal((d, d))
    return L @ L.T if not diagonal else np.abs(L[0])


@pytest.mark.nojit
@pytest.mark.boundscheck
@metrics
def test_definition(diagonal):
    terms = ss.Pairs(X, SIMILAR, DISSIMILAR, UPPER, LOWER, diagonal=diagonal)
    A, tau = elements(X, SIMILAR, DISSIMILAR, diagonal)
    x, rng = element(4, diagonal), np.random.default_rng(2)
    assert len(terms) == 7 and np.array_equal(terms.threshold, tau)
    assert (
        np.array_equal(terms.index, np.vstack((DISSIMILAR, SIMILAR)))
        and terms.is_similar.tolist() == [False] * 3 + [True] * 4
    )
    assert np.allclose(terms.margins(x), [np.sum(a * x) for a in A], rtol=1e-12, atol=1e-12)
    assert np.allclose(terms.norms, [np.linalg.norm(a) for a in A], rtol=1e-12)
    for weights in (rng.uniform(size=7), rng.standard_normal(7), np.zeros(7)):
        assert np.allclose(
            terms.adjoint(weights), np.tensordot(weights, A, 1), rtol=1e-12, atol=1e-12
        )
    assert np.allclose(terms.elements(np.array([6, 0]))[0], A[[6, 0]], atol=1e-12)
    for gamma in (0.0, 0.05, 0.5):
        problem, naive = (
            ss.Problem(terms, ss.SmoothedHinge(gamma)),
            Naive(A, cones[diagonal], gamma, tau),
        )
        assert problem.primal(x, 2.0) == pytest.approx(naive.primal(x, 2.0), rel=1e-12)
        assert problem.gap(x, 2.0) == pytest.approx(naive.gap(x, 2.0), rel=1e-9)
        where = np.array([0, 1, 2, 0, 1, 0, 2])
        reduced, expected = (
            problem.reduce(where == 1, where == 2),
            naive.reduce(where == 1, where == 2),
        )
        assert np.allclose(
            reduced.linear, expected.linear, atol=1e-12
        ) and reduced.constant == pytest.approx(expected.constant)
        assert np.array_equal(
            reduced.terms.index, terms.index[where == 0]
        ) and reduced.terms.is_similar.tolist() == [False, True, True]
        assert reduced.primal(x, 2.0) == pytest.approx(expected.primal(x, 2.0), rel=1e-11)


@metrics
@pytest.mark.parametrize("data", ["normal", *ADVERSARIAL])
def test_rounding_bounds_hold(data, diagonal):
    P, similar, dissimilar = labelled(data)
    terms, A = (
        ss.Pairs(P, similar, dissimilar, UPPER, LOWER, diagonal=diagonal),
        exact_elements(P, similar, dissimilar, diagonal),
    )
    x = element(3, diagonal)
    values, errors = terms.inner_products(x).chunk(0, len(terms))
    for t, a in enumerate(A):
        assert abs(values[t] - dot(a, exact(np.ravel(x)))) <= errors[t]
        assert norm(a) <= terms.norms[t]
    alpha = np.random.default_rng(4).uniform(size=len(terms))
    total, error = terms.weighted_sum(alpha)
    assert (
        norm(minus(exact(np.ravel(total)), Exact(A, cones[diagonal], 0.05).adjoint(exact(alpha))))
        <= error
    )


def test_many_pairs_do_not_loosen_the_bounds():
    P = np.random.default_rng(0).standard_normal((400, 3)) + 5.0
    rows = np.array([(i, j) for i in range(400) for j in range(i)])
    terms = ss.Pairs(P, rows[::2], rows[1::2], UPPER, LOWER)
    total, error = terms.total()
    assert error <= 1e-10 * np.linalg.norm(total), "the point paired with itself counts for nothing"


@metrics
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
def test_outside_solver(gamma, diagonal, assert_optimal):
    P, similar, dissimilar = labelled()
    A, tau = elements(P, similar, dissimilar, diagonal)
    problem = ss.Problem(
        ss.Pairs(P, similar, dissimilar, UPPER, LOWER, diagonal=diagonal), ss.SmoothedHinge(gamma)
    )
    assert_optimal(problem, 3.0, A, cones[diagonal], tau=tau)


@pytest.mark.slow
@metrics
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_screening_is_safe(gamma, diagonal, assert_safe):
    P, similar, dissimilar = labelled()  # some of them twice, and some both
    similar, dissimilar = (
        np.vstack((similar, similar[:3], dissimilar[:4])),
        np.vstack((dissimilar, dissimilar[:3], similar[:4])),
    )
    problem = ss.Problem(
        ss.Pairs(P, similar, dissimilar, UPPER, LOWER, diagonal=diagonal), ss.SmoothedHinge(gamma)
    )
    whole = Exact(
        exact_elements(P, similar, dissimilar, diagonal),
        cones[diagonal],
        gamma,
        problem.terms.threshold,
    )
    n_L, n_R = assert_safe(problem, whole, 3.0)
    assert n_L > 0 and n_R > 0


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_paths(gamma):
    P, similar, dissimilar = labelled()
    problem = ss.Problem(ss.Pairs(P, similar, dissimilar, UPPER, LOWER), ss.SmoothedHinge(gamma))
    assert problem.lam_max() == np.inf
    with pytest.raises(ValueError, match="lams must be given"):
        ss.path(problem, screening=("RRPB", "PGB"))
    lams = [30.0, 10.0, 3.0, 2.5]
    plain = ss.path(problem, lams, tol=0.0, rtol=1e-9, screening=())
    for solution, other in zip(
        ss.path(problem, lams, tol=0.0, rtol=1e-9, ranges=True, screening=("RRPB", "PGB")),
        plain,
        strict=True,
    ):
        assert solution.converged and solution.primal == pytest.approx(other.primal, rel=1e-8)
        assert np.linalg.norm(solution.x - other.x) <= solution.eps + other.eps
    assert solution.n_L + solution.n_R > 0


def test_one_kind_of_pair_is_enough_and_weights_are_taken():
    for similar, dissimilar in (([], DISSIMILAR), (SIMILAR, np.empty((0, 2), dtype=int))):
        weights = np.arange(1.0, 1.0 + max(len(similar), len(dissimilar)))
        terms = ss.Pairs(X, similar, dissimilar, UPPER, LOWER, weights=weights)
        A, _ = elements(X, similar, dissimilar, False)
        assert np.allclose(terms.total()[0], np.tensordot(weights, A, 1), atol=1e-12)


# ------------------------------------------------------------------ pull term


@pytest.mark.nojit
@metrics
def test_pull(diagonal):
    expected = -sum(square(X, i, j, diagonal) for i, j in SIMILAR)
    assert np.allclose(
        ss.pull(X + 1e3, SIMILAR, diagonal=diagonal), expected, rtol=1e-12, atol=1e-10
    )
    weights = np.array([1.0, 2.0, 3.0, 0.5])
    expected = -sum(
        w * square(X, i, j, diagonal) for w, (i, j) in zip(weights, SIMILAR, strict=True)
    )
    c = ss.pull(X, SIMILAR, weights=weights, diagonal=diagonal)
    assert np.allclose(c, expected, rtol=1e-12, atol=1e-12) and np.array_equal(c, c.T)


@pytest.mark.slow
@metrics
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_large_margin_nearest_neighbours(gamma, diagonal, assert_optimal, assert_safe):
    P, y = points()
    terms = ss.Triplets.from_labels(P, y, k=2, diagonal=diagonal)
    targets = np.unique(terms.index[:, :2], axis=0)
    c = 0.2 * ss.pull(P, targets, diagonal=diagonal)
    problem, A = (
        ss.Problem(terms, ss.SmoothedHinge(gamma), linear=c),
        triplet_elements(P, terms.index, diagonal),
    )
    assert_optimal(problem, 5.0, A, cones[diagonal], linear=c)
    rows = [exact(np.ravel(a)) for a in A]
    x = problem.all_linear()
    distances = sum(np.sum(square(P, i, j, diagonal) * x) for i, j in targets)
    without = ss.Problem(terms, ss.SmoothedHinge(gamma))
    assert problem.primal(x, 5.0) == pytest.approx(
        without.primal(x, 5.0) + 0.2 * distances, rel=1e-11
    )
    points_ = [exact(row) for row in P]
    for t, (i, j, m) in enumerate(terms.index):  # the exact elements, of which A are roundings
        u, v = minus(points_[i], points_[m]), minus(points_[i], points_[j])
        rows[t] = (
            [p * p - s * s for p, s in zip(u, v, strict=True)]
            if diagonal
            else [
                p * q - s * r for p, s in zip(u, v, strict=True) for q, r in zip(u, v, strict=True)
            ]
        )
    n_L, n_R = assert_safe(
        problem, Exact(rows, cones[diagonal], gamma, linear=exact(np.ravel(c))), 5.0
    )
    assert n_L + n_R > 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"similar": [[0, 1, 2]]}, ValueError, r"similar must have shape \(T, 2\): i, j"),
        ({"dissimilar": [[0, 9]]}, ValueError, "dissimilar must lie in 0..8, found 9"),
        ({"dissimilar": [[0.0, 1.0]]}, TypeError, "dissimilar must hold integers"),
        (
            {"similar": [[2, 2]]},
            ValueError,
            r"similar: i and j must be different points, row 0 is \[2, 2\]",
        ),
        ({"similar": [], "dissimilar": []}, ValueError, "must hold at least one pair, got none"),
        ({"upper": -1.0}, ValueError, "upper must be at least 0"),
        ({"lower": np.nan}, ValueError, "lower must be finite"),
        ({"lower": "2"}, TypeError, "lower must be a real number"),
        ({"weights": np.ones(6)}, ValueError, r"weights must have shape \(7,\)"),
    ],
)
def test_bad_input_is_named(change, error, message):
    arguments = {
        "similar": SIMILAR,
        "dissimilar": DISSIMILAR,
        "upper": UPPER,
        "lower": LOWER,
        **change,
    }
    with pytest.raises(error, match=message):
        ss.Pairs(X, **arguments)


@pytest.mark.parametrize(
    ("pairs", "options", "error", "message"),
    [
        ([], {}, ValueError, r"pairs must have shape \(T, 2\)"),
        (np.empty((0, 2), dtype=int), {}, ValueError, "pairs must hold at least one pair"),
        ([[0, 9]], {}, ValueError, "pairs must lie in 0..8, found 9"),
        ([[3, 3]], {}, ValueError, "pairs: i and j must be different points"),
        ([[0, 1]], {"weights": [0.0]}, ValueError, "weights must be positive"),
    ],
)
def test_bad_pulls_are_named(pairs, options, error, message):
    with pytest.raises(error, match=message):
        ss.pull(X, pairs, **options)
