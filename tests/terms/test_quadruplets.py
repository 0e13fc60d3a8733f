"""Quadruplets against matrices written out; triplets as a case of them; rounding, safety, bad
input.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safescreen as ss
from instances import ADVERSARIAL, points
from naive.exact import Exact, exact, minus
from naive.extremes import dot, norm

X = np.random.default_rng(0).standard_normal((9, 4))
INDEX = np.array(
    [[0, 1, 2, 3], [3, 1, 2, 0], [0, 1, 5, 4], [8, 7, 8, 6], [3, 4, 0, 8], [7, 4, 0, 4]]
)
metrics = pytest.mark.parametrize("diagonal", [False, True])
cones = {False: "psd", True: "nonneg"}


def elements(X, index, diagonal):
    """Return every quadruplet written out."""
    out = []
    for i, j, k, m in index:
        u, v = X[k] - X[m], X[i] - X[j]
        out.append(u * u - v * v if diagonal else np.outer(u, u) - np.outer(v, v))
    return np.array(out)


def exact_elements(X, index, diagonal):
    """The same in 60 digits, each a flat list."""
    out = []
    for i, j, k, m in index:
        u, v = minus(exact(X[k]), exact(X[m])), minus(exact(X[i]), exact(X[j]))
        if diagonal:
            out.append([p * p - s * s for p, s in zip(u, v, strict=True)])
        else:
            out.append(
                [
                    p * q - s * t
                    for p, s in zip(u, v, strict=True)
                    for q, t in zip(u, v, strict=True)
                ]
            )
    return out


def random_index(y, T, seed=0):
    """Return quadruplets of two points of one class and two of different ones."""
    rng, rows = np.random.default_rng(seed), []
    while len(rows) < T:
        i, j, k, m = rng.integers(0, len(y), 4)
        if i != j and y[i] == y[j] and y[k] != y[m]:
            rows.append((i, j, k, m))
    return np.array(rows)


def element(d, diagonal, seed=1):
    L = np.random.default_rng(seed).standard_normal((d, d))
    return L @ L.T if not diagonal else np.abs(L[0])


@pytest.mark.nojit
@pytest.mark.boundscheck
@metrics
def test_definition(diagonal):
    terms, A = ss.Quadruplets(X, INDEX, diagonal=diagonal), elements(X, INDEX, diagonal)
    x, rng = element(4, diagonal), np.random.default_rng(2)
    assert len(terms) == 6 and np.array_equal(terms.index, INDEX) and terms.index.dtype == np.int32
    assert "6 quadruplets of 9 points" in repr(terms)
    assert np.allclose(terms.margins(x), [np.sum(a * x) for a in A], rtol=1e-12, atol=1e-12)
    assert np.allclose(terms.norms, [np.linalg.norm(a) for a in A], rtol=1e-12)
    for weights in (rng.uniform(size=6), rng.standard_normal(6), np.zeros(6)):
        assert np.allclose(
            terms.adjoint(weights), np.tensordot(weights, A, 1), rtol=1e-12, atol=1e-12
        )
    written, errors = terms.elements(np.array([4, 1]))
    assert np.allclose(written, A[[4, 1]], atol=1e-12) and (errors < 1e-12).all()
    keep = np.array([True, False, False, True, True, False])
    part = terms.select(keep)
    assert isinstance(part, ss.Quadruplets) and np.array_equal(part.index, INDEX[keep])
    assert np.array_equal(part.margins(x), terms.margins(x)[keep])


@metrics
def test_a_triplet_is_a_quadruplet_that_starts_twice_from_one_point(diagonal):
    P, y = points()
    triplets = ss.Triplets.from_labels(P, y, k=3, diagonal=diagonal)
    i, j, m = triplets.index.T
    quadruplets = ss.Quadruplets(P, np.column_stack((i, j, i, m)), diagonal=diagonal)
    x = element(3, diagonal)
    assert np.array_equal(quadruplets.margins(x), triplets.margins(x))
    assert np.array_equal(quadruplets.norms, triplets.norms)
    problems = [ss.Problem(terms, ss.SmoothedHinge(0.05)) for terms in (quadruplets, triplets)]
    lam = 0.1 * problems[0].lam_max()
    assert np.array_equal(
        *(ss.solve(problem, lam, tol=1e-6, screening=("RRPB", "PGB")).x for problem in problems)
    )
    turned = ss.Quadruplets(P, np.column_stack((j, i, m, i)), diagonal=diagonal)
    assert np.allclose(turned.margins(x), triplets.margins(x), rtol=1e-12, atol=1e-12)
    assert np.allclose(turned.norms, triplets.norms, rtol=1e-12)


@metrics
@pytest.mark.parametrize("data", ["normal", "parallel", *ADVERSARIAL])
def test_rounding_bounds_hold(data, diagonal):
    P, y = points("normal" if data == "parallel" else data)
    index = random_index(y, 25)
    # two pairs that are nearly the same vector, or opposite ones, far from each other
    if data == "parallel":
        P = np.vstack((P, P + 100.0 + 1e-9 * np.random.default_rng(5).standard_normal(P.shape)))
        index = np.array(
            [
                (i, j, *ends)
                for i, j in index[:, :2]
                for ends in ((i + 12, j + 12), (j + 12, i + 12))
            ]
        )
    terms, A = ss.Quadruplets(P, index, diagonal=diagonal), exact_elements(P, index, diagonal)
    x = element(3, diagonal)
    values, errors = terms.inner_products(x).chunk(0, len(terms))
    flat = exact(np.ravel(x))
    written, written_errors = terms.elements(np.arange(len(terms)))
    for t, a in enumerate(A):
        assert abs(values[t] - dot(a, flat)) <= errors[t]
        assert terms.norms[t] >= norm(a)
        assert norm(minus(exact(np.ravel(written[t])), a)) <= written_errors[t]
    scale = np.linalg.norm(np.linalg.norm(P - P.mean(axis=0), axis=1)[index], axis=1) ** 2
    assert (
        terms.norms <= (1.0 + 1e-12) * np.array([float(norm(a)) for a in A]) + 1e-13 * scale
    ).all(), "tight"
    whole = Exact(A, cones[diagonal], 0.05)
    alpha = np.random.default_rng(3).uniform(size=len(terms))
    total, error = terms.weighted_sum(alpha)
    assert norm(minus(exact(np.ravel(total)), whole.adjoint(exact(alpha)))) <= error
    for gamma in (0.0, 0.05):
        x = ss.Problem(terms, ss.SmoothedHinge(gamma)).all_linear() / 7.0
        for a in (None, alpha):
            sums, naive = (
                terms.loss_sums(x, ss.SmoothedHinge(gamma), a),
                Exact(A, cones[diagonal], gamma),
            )
            used = alpha if a is not None else ss.SmoothedHinge(gamma).alpha(terms.margins(x))
            assert sums.fenchel >= naive.fenchel(exact(np.ravel(x)), exact(used)) - 1e-50, (
                "but for the noise of 60 digits"
            )


@metrics
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
def test_outside_solver(gamma, diagonal, assert_optimal):
    P, y = points()
    index = random_index(y, 40)
    problem = ss.Problem(ss.Quadruplets(P, index, diagonal=diagonal), ss.SmoothedHinge(gamma))
    assert_optimal(problem, 20.0, elements(P, index, diagonal), cones[diagonal])


@pytest.mark.slow
@metrics
@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_screening_is_safe(gamma, diagonal, assert_safe):
    P, y = points()
    index = random_index(y, 40)
    # some of them twice, and some the other way round
    index = np.vstack((index, index[:4], index[:8, [2, 3, 0, 1]]))
    problem = ss.Problem(ss.Quadruplets(P, index, diagonal=diagonal), ss.SmoothedHinge(gamma))
    n_L, n_R = assert_safe(
        problem, Exact(exact_elements(P, index, diagonal), cones[diagonal], gamma), 20.0
    )
    assert n_L > 0 and n_R > 0


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=8), st.booleans())
def test_any_index(rows, diagonal):
    index = np.array(rows)
    asked = {(frozenset(row[:2]), frozenset(row[2:])) for row in rows}
    bad = any(len(s) < 2 or len(o) < 2 or s == o for s, o in asked)
    P = np.round(np.random.default_rng(2).standard_normal((5, 2)))
    if bad:
        with pytest.raises(ValueError, match="index"):
            ss.Quadruplets(P, index, diagonal=diagonal)
        return
    terms, A = ss.Quadruplets(P, index, diagonal=diagonal), elements(P, index, diagonal)
    x = element(2, diagonal)
    assert np.allclose(terms.margins(x), [np.sum(a * x) for a in A], rtol=1e-12, atol=1e-11)
    assert np.allclose(terms.adjoint(np.ones(len(index))), A.sum(axis=0), atol=1e-11)


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ([[0, 1, 2]], ValueError, r"index must have shape \(T, 4\): i, j, k, l"),
        (np.empty((0, 4), dtype=int), ValueError, "index must hold at least one quadruplet"),
        ([[0, 1, 2, 9]], ValueError, "index must lie in 0..8, found 9"),
        ([[0.0, 1.0, 2.0, 3.0]], TypeError, "index must hold integers"),
        ([[4, 4, 2, 3]], ValueError, r"i and j must be different points, row 0 is \[4, 4, 2, 3\]"),
        ([[4, 5, 3, 3]], ValueError, "k and l must be different points"),
        ([[0, 1, 2, 3], [4, 5, 5, 4]], ValueError, "index must compare different pairs, row 1"),
    ],
)
def test_bad_input_is_named(index, error, message):
    with pytest.raises(error, match=message):
        ss.Quadruplets(X, index)
