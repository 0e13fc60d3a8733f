"""Nesterov-Todd scalings against their definitions, and central points in 40 digits."""

import mpmath
import numpy as np
import pytest

from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.interior.scalings import central, scaling_of

CONES = {"full": PSDCone(4), "diagonal": NonNegativeCone(4)}


class Scene:
    """A point and a slack inside a cone, their scaling, and changes of both."""

    def __init__(self, kind, spread=1.0):
        rng = np.random.default_rng(3)
        self.cone = CONES[kind]
        self.full = kind == "full"
        self.x, self.S = (self.inside(rng, spread) for _ in range(2))
        self.dx, self.dS = (self.change(rng) for _ in range(2))
        self.scaling = scaling_of(self.cone, self.x, self.S)
        values = self.scaling.values
        self.X = np.diag(values) if self.full else values
        self.rng = rng

    def inside(self, rng, spread):
        sizes = np.exp(spread * rng.uniform(-1.0, 1.0, 4))
        if not self.full:
            return sizes
        Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        return (Q * sizes) @ Q.T

    def change(self, rng):
        v = rng.standard_normal(self.cone.shape)
        return v + v.T if self.full else v

    def product(self, A, B):
        """Return the symmetric product."""
        return 0.5 * (A @ B + B @ A) if self.full else A * B

    def values(self, A):
        return np.linalg.eigvalsh(A) if self.full else A

    def apply(self, function, A):
        """Return a function of the eigenvalues."""
        if not self.full:
            return function(A)
        values, Q = np.linalg.eigh(A)
        return (Q * function(values)) @ Q.T

    def unit(self, size):
        return size * (np.eye(4) if self.full else np.ones(4))


@pytest.fixture(params=CONES)
def scene(request):
    return Scene(request.param)


@pytest.mark.parametrize("spread", [1.0, 10.0])
@pytest.mark.parametrize("kind", CONES)
def test_point_and_slack_are_the_same_when_scaled(kind, spread):
    """``diag(values)``, whose squares are the eigenvalues of ``x S``."""
    scene = Scene(kind, spread)
    square = scene.x @ scene.S if scene.full else scene.x * scene.S
    expected = np.linalg.eigvals(square).real if scene.full else square
    np.testing.assert_allclose(
        np.sort(scene.scaling.values**2), np.sort(expected), rtol=1e-4 if spread > 5.0 else 1e-10
    )
    tolerance = 1e-10 * np.exp(2.0 * spread) * scene.scaling.values.max()
    for scaled in scene.scaling.scaled(scene.x, scene.S):
        np.testing.assert_allclose(scaled, scene.X, atol=min(tolerance, 1e-3))


def test_scaling_keeps_inner_products(scene):
    dx, dS = scene.scaling.scaled(scene.dx, scene.dS)
    assert np.vdot(dx, dS) == pytest.approx(np.vdot(scene.dx, scene.dS), rel=1e-10)


def test_coordinates_keep_inner_products(scene):
    y = scene.rng.standard_normal(scene.scaling.into(scene.dS).size)
    x = scene.scaling.back(y)
    assert np.vdot(x, scene.dS) == pytest.approx(y @ scene.scaling.into(scene.dS), rel=1e-10)
    np.testing.assert_allclose(scene.scaling.turned(scene.scaling.scaled(x, x)[0]), y, atol=1e-10)
    if scene.full:
        np.testing.assert_array_equal(x, x.T)


@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_the_ridge_is_that_of_the_cone_and_of_the_square_norm(scene, lam):
    """``||W^-1 x W^-1||^2 + lam ||x||^2``, diagonal in these coordinates."""
    n = scene.scaling.ridge(lam).size
    points = [scene.scaling.back(unit) for unit in np.eye(n)]
    scaled = np.array([scene.scaling.scaled(x, x)[0].ravel() for x in points])
    plain = np.array([x.ravel() for x in points])
    expected = scaled @ scaled.T + lam * plain @ plain.T
    np.testing.assert_allclose(np.diag(scene.scaling.ridge(lam)), expected, atol=1e-10)


def test_the_longest_step_ends_at_the_boundary(scene):
    for inside, change, k in ((scene.x, scene.dx, 0), (scene.S, scene.dS, 1)):
        t = scene.scaling.longest(scene.scaling.scaled(change, change)[k])
        assert 0.0 < t < np.inf
        assert scene.values(inside + t * change).min() == pytest.approx(0.0, abs=1e-10 * t)


def test_steps_into_the_cone_have_no_end(scene):
    for size in (0.0, 1e-3, 0.5, 30.0):
        assert scene.scaling.longest(scene.unit(size)) == np.inf


def test_changes_that_make_the_product_mu(scene):
    """``X C + C X = 2 mu - 2 X^2 - dx dS - dS dx`` for their sum C."""
    dx, dS = scene.dx, scene.dS
    for mu in (0.3, 5.0):
        C = scene.scaling.towards(mu, dx, dS)
        expected = scene.unit(mu) - scene.product(scene.X, scene.X) - scene.product(dx, dS)
        np.testing.assert_allclose(scene.product(scene.X, C), expected, atol=1e-10)
    C = scene.scaling.affine()
    np.testing.assert_allclose(
        scene.product(scene.X, C), -scene.product(scene.X, scene.X), atol=1e-10
    )


def test_products_are_brought_back_between_their_bounds(scene):
    """After a step; those far above come down by the upper one."""
    length = 0.7
    after = scene.product(scene.X + length * scene.dx, scene.X + length * scene.dS)
    values = scene.values(after)
    top = values.max()
    assert values.min() < 0.0 < top
    for low, high in ((0.1 * top, 0.3 * top), (0.1 * top, 0.9 * top), (1e-3 * top, 1.1 * top)):
        C = scene.scaling.correct(scene.dx, scene.dS, length, low, high)
        moved = after + scene.product(scene.X, C)

        def expected(v, low=low, high=high):
            return np.maximum(np.minimum(np.maximum(v, low), high), v - high)

        np.testing.assert_allclose(moved, scene.apply(expected, after), atol=1e-10)


# ---------------------------------------------------------------------------------- central points


@pytest.mark.parametrize("h", [-1e8, -0.5, -1e-9, 0.0, 1e-9, 0.5, 3.0, 1e8])
@pytest.mark.parametrize(("lam", "mu"), [(0.5, 1e-3), (20.0, 3.0), (1e-6, 1e-12)])
def test_central_points(h, lam, mu):
    """The root of ``lam x - mu/x = h``, in 40 digits."""
    cone = NonNegativeCone(2)
    x, S = central(cone, np.array([h, 2.0]), lam, mu)
    with mpmath.workdps(40):
        h, lam, mu = map(mpmath.mpf, (h, lam, mu))
        larger = (abs(h) + mpmath.sqrt(h * h + 4 * lam * mu)) / 2
        root = larger / lam if h > 0 else mu / larger
        assert abs(x[0] - root) <= 1e-14 * root
        assert abs(S[0] - mu / root) <= 1e-14 * (mu / root)


@pytest.mark.parametrize("kind", CONES)
def test_central_points_of_a_cone(kind):
    scene = Scene(kind)
    lam, mu = 0.2, 1e-2
    x, S = central(scene.cone, scene.dx, lam, mu)
    np.testing.assert_allclose(lam * x - S, scene.dx, atol=1e-12)
    np.testing.assert_allclose(scene.product(x, S), scene.unit(mu), atol=1e-12)
    assert scene.values(x).min() > 0.0 and scene.values(S).min() > 0.0


# ---------------------------------------------------------------------------- numbers at their end


@pytest.mark.parametrize(("x", "S"), [(1e-200, 1e-200), (1e-320, 1e10)])
def test_a_coordinate_that_underflows_ends_a_step(x, S):
    with pytest.raises(np.linalg.LinAlgError, match="a coordinate has underflowed"):
        scaling_of(NonNegativeCone(2), np.array([1.0, x]), np.array([1.0, S]))
