"""The Newton system of an interior-point step against a dense one, whatever is left out of its
factorization.
"""

import numpy as np
import pytest

import safescreen as ss
from safescreen.cones import NonNegativeCone, PSDCone
from safescreen.interior.newton_system import Effort, NewtonSystem
from safescreen.interior.pair_system import pair_system
from safescreen.interior.scalings import scaling_of

LAM = 0.3


def inside(cone, rng):
    if len(cone.shape) == 1:
        return rng.uniform(0.1, 2.0, cone.d)
    A = rng.standard_normal((cone.d, cone.d))
    return A @ A.T + 0.1 * np.eye(cone.d)


class Scene:
    """The system of some triplets whose weights are powers of 10 up to `spread`."""

    def __init__(self, diagonal, spread, d=4, n=24):
        rng = np.random.default_rng(0)
        y = np.arange(n) % 2
        X = rng.standard_normal((n, d)) + y[:, None]
        self.terms = ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal)
        cone = NonNegativeCone(d) if diagonal else PSDCone(d)
        self.scaling = scaling_of(cone, inside(cone, rng), inside(cone, rng))
        self.scales = 10.0 ** rng.uniform(-9, spread, len(self.terms))
        self.system = NewtonSystem.of(pair_system(self.terms), self.scaling, LAM, self.scales)
        self.b = rng.standard_normal(cone.n_coordinates)
        self.a = self.terms.elements(np.arange(len(self.terms)))[0].reshape(len(self.terms), -1)

    def residual(self, change):
        """Return ``lam dx + W^-1 dx W^-1 + sum k <a, dx> a - b``, in scaled coordinates."""
        np.testing.assert_allclose(change.margins, self.a @ change.x.ravel(), rtol=1e-6, atol=1e-9)
        sums = ((self.scales * change.margins) @ self.a).reshape(change.x.shape)
        np.testing.assert_allclose(change.sums, sums, rtol=1e-6, atol=1e-9)
        x = self.scaling.scaled(change.x, change.x)[0]
        left = self.scaling.into(LAM * change.x + change.sums)
        return float(np.linalg.norm(self.scaling.turned(x) + left - self.b))


@pytest.mark.parametrize("budget", [0.0, 1e-3, 1.0, np.inf])
@pytest.mark.parametrize(("d", "n"), [(4, 24), (12, 8), (1, 12)])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_system_is_solved_whatever_is_left_out(diagonal, d, n, budget):
    """In both forms of the factorization, also of no terms at all."""
    scene = Scene(diagonal, 0.0, d, n)
    used = scene.system.factorize(budget)
    assert used.is_complete == (budget == 0.0)
    assert scene.system.sizes[scene.system.sizes < used.budget].size or not budget
    effort = Effort(used)
    for precision in (1e-2, 1e-9):
        change, effort = scene.system.solve(scene.b, precision, effort)
        assert scene.residual(change) <= 1.01 * precision + 1e-12
    again, _ = scene.system.solve(scene.b, 1e-9, Effort(used))
    np.testing.assert_array_equal(again.x, change.x)  # nothing is remembered elsewhere
