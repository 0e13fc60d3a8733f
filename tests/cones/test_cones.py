"""Projections: definition, Moreau decomposition, feasibility, bad input."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import safescreen as ss
from naive import project
from safescreen.cones.psd import eigh
from safescreen.interior.scalings import identity

CONES = {"psd": ss.PSDCone, "nonneg": ss.NonNegativeCone, "free": ss.FreeSpace}
every = pytest.mark.parametrize("name", list(CONES))


def element(cone, rng):
    H = rng.standard_normal(cone.shape)
    return H + H.T if H.ndim == 2 else H


@pytest.mark.nojit
@pytest.mark.parametrize("d", [1, 2, 4, 30])
@every
def test_projection_and_decomposition(name, d):
    cone, rng = CONES[name](d), np.random.default_rng(d)
    for _ in range(5):
        H = element(cone, rng)
        plus, minus = cone.split(H)
        assert np.allclose(plus, project(H, name), rtol=0.0, atol=1e-12 * d)
        assert np.allclose(plus - minus, H, rtol=0.0, atol=1e-12 * d)
        assert abs(cone.inner(plus, minus)) <= 1e-12 * d * cone.norm(H) ** 2
        assert np.array_equal(cone.project(H), plus)
        assert cone.violation(plus) <= 1e-13 * d * cone.norm(H)
        assert cone.check_feasible(plus) is not None
        if name != "free":
            assert cone.check_feasible(minus) is not None
            # nearest: <H - [H], y - [H]> <= 0 for every y of the cone
            for y in (cone.zeros(), 2.0 * plus, cone.project(element(cone, rng))):
                assert cone.inner(H - plus, y - plus) <= 1e-11 * d * (1.0 + cone.norm(y))


@every
def test_the_unit_lies_inside_and_coordinates_are_counted(name):
    """Steps of length 1/2 in all directions stay in the cone; so many directions there are."""
    cone, rng = CONES[name](4), np.random.default_rng(0)
    directions = np.array([element(cone, rng) for _ in range(40)])
    for direction in directions:
        step = 0.5 / cone.norm(direction) * direction
        assert cone.violation(identity(cone) + step) == 0.0
    assert np.linalg.matrix_rank(directions.reshape(40, -1)) == cone.n_coordinates


@every
def test_inner_products_and_norms(name):
    cone, rng = CONES[name](5), np.random.default_rng(0)
    x, y = element(cone, rng), element(cone, rng)
    assert cone.inner(x, y) == pytest.approx(np.sum(x * y)) and cone.norm(x) == pytest.approx(
        np.sqrt(np.sum(x * x))
    )
    assert cone.norm_upper(x) >= cone.norm(x) and cone.zeros().shape == cone.shape == x.shape


@every
def test_inner_products_and_norms_are_bounded(name):
    """Against exact arithmetic, where much cancels."""
    cone, rng = CONES[name](4), np.random.default_rng(1)
    for _ in range(50):
        x = element(cone, rng)
        y = element(cone, rng)
        y = y - cone.inner(x, y) / cone.inner(x, x) * x  # nearly orthogonal
        true = mpmath.fsum(
            mpmath.mpf(a) * mpmath.mpf(b)
            for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
        )
        assert (
            abs(mpmath.mpf(cone.inner(x, y)) - true)
            <= mpmath.mpf(cone.inner_error(x, y))
            <= 1e-14 * cone.norm(x) * cone.norm(y)
        )
        length = mpmath.sqrt(mpmath.fsum(mpmath.mpf(a) ** 2 for a in x.ravel().tolist()))
        assert mpmath.mpf(cone.norm_lower(x)) <= length <= mpmath.mpf(cone.norm_upper(x))


@given(arrays(float, (3, 3), elements=st.sampled_from([0.0, -1.0, 1.0, 1e-8, 1e8, 2.0])))
def test_structured_matrices(H):
    H, cone = H + H.T, ss.PSDCone(3)
    plus, minus = cone.split(H)
    slack = cone.split_error(H)
    assert np.linalg.norm(plus - minus - H) <= 2.0 * slack
    for part in (plus, minus):
        assert np.array_equal(part, part.T)
        assert np.linalg.eigvalsh(part).min() >= -2.0 * slack - 1e-300


def test_definite_matrices_are_their_own_projection():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    cone = ss.PSDCone(2)
    assert np.array_equal(cone.split(H)[0], H) and not cone.split(H)[1].any()
    assert np.array_equal(cone.split(-H)[1], H) and not cone.split(-H)[0].any()
    assert not cone.split(np.zeros((2, 2)))[0].any()


def test_eigendecomposition_that_fails_raises():
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        eigh(np.full((3, 3), np.nan))


@every
def test_bad_elements_are_named(name):
    cone = CONES[name](2)
    good = np.eye(2) if name == "psd" else np.ones(2)
    assert np.array_equal(cone.check(good.astype(int)), good)
    with pytest.raises(ValueError, match="x must have shape"):
        cone.check(np.ones(3))
    with pytest.raises(ValueError, match="x0 must be finite, got nan"):
        cone.check(good * np.nan, "x0")
    with pytest.raises(ValueError, match="x must be finite, got inf"):
        cone.check(np.where(good == 1.0, np.inf, good))
    with pytest.raises(TypeError, match="x must hold real numbers"):
        cone.check(good * 1j)
    with pytest.raises(TypeError, match="sparse"):
        cone.check(sparse.csr_array(np.atleast_2d(good)))


def test_infeasible_elements_are_refused():
    with pytest.raises(ValueError, match="center must lie in the PSDCone, found distance 0.5"):
        ss.PSDCone(2).check_feasible(np.diag([1.0, -0.5]), "center")
    with pytest.raises(ValueError, match="x must lie in the NonNegativeCone"):
        ss.NonNegativeCone(2).check_feasible(np.array([1.0, -1e-300]))
    with pytest.raises(ValueError, match="x must be symmetric"):
        ss.PSDCone(2).check(np.array([[1.0, 1e-6], [0.0, 1.0]]))
    assert ss.FreeSpace(2).check_feasible(-np.ones(2)).tolist() == [-1.0, -1.0]


def test_of_a_matrix_that_is_symmetric_to_rounding_the_symmetric_part_counts():
    """Not one of its triangles: LAPACK looks at no more, and so would every error bound."""
    cone = ss.PSDCone(2)
    for x in (
        np.array([[1.0, 1.0 + 9e-13], [1.0, 1.0]]),
        np.array([[1.0, 1.0], [1.0 + 9e-13, 1.0]]),
    ):
        assert np.array_equal(cone.check(x), 0.5 * (x + x.T))
        with pytest.raises(ValueError, match="x must lie in the PSDCone"):  # by 4.5e-13
            cone.check_feasible(x)
    x = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert cone.check(x) is x
