"""The loops over the terms of an interior-point method: each equation written out, and the central
dual variables in 40 digits.
"""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from safescreen.interior import _dual_kernels as kernels

CAPS = (1.0, math.inf)

# ------------------------------------------------------------------------------ central dual points


def exact_central(r, g, cap, mu):
    """Return ``(alpha, cap - alpha)`` with ``r = g alpha + mu/(cap - alpha) - mu/alpha``."""
    r, g, mu = mpf(float(r)), mpf(float(g)), mpf(float(mu))
    if cap == math.inf:
        root = mpmath.sqrt(r * r + 4 * g * mu)
        return (r + root) / (2 * g) if r > 0 else 2 * mu / (root - r), None
    # the distance b from the nearer end: g (1/2 - b) + mu/b - mu/(1 - b) falls
    goal = abs(r - g / 2)
    low, high = mpf(0), mpf(1) / 2
    for _ in range(260):
        b = (low + high) / 2
        if g * (mpf(1) / 2 - b) + mu / b - mu / (1 - b) > goal:
            low = b
        else:
            high = b
    return (1 - b, b) if r > g / 2 else (b, 1 - b)


SLACKS = np.array([-1e9, -3.0, -1e-9, 0.0, 0.02, 0.5, 1.0, 1.5, 3.0, 1e9])


@pytest.mark.parametrize("mu", [1e-14, 1e-3, 0.3, 50.0])
@pytest.mark.parametrize("g", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("cap", CAPS)
def test_central_duals_in_40_digits(cap, g, mu):
    if g == 0.0 and cap == math.inf:
        return
    duals = np.full((3, SLACKS.size), np.nan)
    kernels.center(SLACKS, g, cap, mu, 0.0, np.empty(0), duals)
    with mpmath.workdps(60):
        for r, (a, above, below) in zip(SLACKS, duals.T, strict=True):
            alpha, room = exact_central(r, g, cap, mu)
            assert abs(a - alpha) <= 1e-9 * alpha
            assert abs(below - mpf(mu) / alpha) <= 1e-9 * below
            if room is None:
                assert above == 0.0
            else:
                assert abs(above - mpf(mu) / room) <= 1e-9 * above
                assert abs(a - alpha) <= 1e-9 * room + mpf(2) ** -53


@pytest.mark.parametrize("g", [0.05, 2.0])
@pytest.mark.parametrize("cap", CAPS)
def test_duals_that_are_pulled(cap, g):
    """``r = g alpha + pull (alpha - towards) + above - below``."""
    towards = np.linspace(0.0, 1.0, SLACKS.size)
    for mu, pull in ((1e-3, 10.0), (0.2, 0.5)):
        duals = np.full((3, SLACKS.size), np.nan)
        kernels.center(SLACKS, g, cap, mu, pull, towards, duals)
        with mpmath.workdps(60):
            for r, wanted, (a, _, below) in zip(SLACKS, towards, duals.T, strict=True):
                shifted = mpf(float(r)) + mpf(pull) * mpf(float(wanted))
                alpha, _ = exact_central(float(shifted), mpf(g) + mpf(pull), cap, mu)
                assert abs(a - alpha) <= 1e-9 * alpha
                assert abs(below - mpf(mu) / alpha) <= 1e-9 * below


@pytest.mark.parametrize("goal", [0.0, 1e-300, 1e-6, 0.3, 1.0, 30.0, 1e9])
@pytest.mark.parametrize(("g", "mu"), [(0.0, 1.0), (0.05, 1e-18), (2.0, 1e-3), (5.0, 1e-9)])
def test_distances_from_the_nearer_end(goal, g, mu):
    """Also from starts so bad that Newton steps leave the interval."""
    b = kernels.nearer(goal, g, mu)
    with mpmath.workdps(60):
        alpha, _ = exact_central(-goal + 0.5 * g, g, 1.0, mu)
        assert 0.0 < b <= 0.5 and abs(b - alpha) <= 1e-9 * alpha + 1e-9 * (goal < 1e-200)


# ----------------------------------------------------------------------------------- one direction


class Scene:
    """Terms with three numbers each, somewhere inside, and the change of their margins."""

    def __init__(self, cap, weighted, n=7):
        rng = np.random.default_rng(5)
        self.cap = cap
        self.g = 0.3
        self.n = n
        self.duals = rng.uniform(0.1, 0.9, (3, n))
        if cap == math.inf:
            self.duals[0] *= 3.0
            self.duals[1] = 0.0
        self.slacks = rng.standard_normal(n)
        self.weights = rng.uniform(0.5, 2.0, n) if weighted else np.ones(1)
        self.step = int(weighted)
        self.w = self.weights if weighted else np.ones(n)
        self.goal = rng.standard_normal((2, n))
        if cap == math.inf:
            self.goal[0] = 0.0
        self.changes = rng.standard_normal(n)
        self.scales = np.full(n, np.nan)
        self.residuals = np.full(n, np.nan)

    @property
    def room(self):
        return self.cap - self.duals[0] if self.cap < math.inf else np.zeros(self.n)

    def products(self, duals):
        """Return those of the bounds of alpha, shape (2, n)."""
        room = self.cap - duals[0] if self.cap < math.inf else np.zeros(self.n)
        return np.array([duals[1] * room, duals[2] * duals[0]])

    def eliminate(self):
        return kernels.eliminate(
            self.slacks,
            self.weights,
            self.step,
            self.g,
            self.cap,
            self.duals,
            self.scales,
            self.residuals,
        )

    def direct(self):
        self.total = self.eliminate()
        self.unmoved = np.full(self.n, np.nan)
        kernels.unmoved(self.duals, self.residuals, self.goal, self.scales, self.cap, self.unmoved)
        self.direction = np.full((3, self.n), np.nan)
        return kernels.direct(
            self.duals,
            self.goal,
            self.scales,
            self.weights,
            self.step,
            self.changes,
            self.unmoved,
            self.cap,
            self.direction,
        )


SCENES = [(cap, weighted) for cap in CAPS for weighted in (False, True)]


@pytest.fixture(params=SCENES, ids=str)
def scene(request):
    return Scene(*request.param)


def test_what_is_left_of_the_equations(scene):
    total = scene.eliminate()
    alpha, above, below = scene.duals
    residuals = scene.slacks - scene.g * alpha - above + below
    np.testing.assert_allclose(scene.residuals, residuals, atol=1e-12)
    slope = scene.g + below / alpha
    if scene.cap < math.inf:
        slope += above / scene.room
    np.testing.assert_allclose(scene.scales, scene.w / slope)
    assert total == pytest.approx(float((scene.w * scene.products(scene.duals)).sum()))


def test_a_direction_solves_the_equations(scene):
    """``dr = g da + d(above) - d(below)`` for the changed margins and what was left, and products
    that change by their goals, to first order.
    """
    scene.direct()
    alpha, above, below = scene.duals
    da, dc, db = scene.direction
    left = scene.slacks - scene.changes - scene.g * (alpha + da) - (above + dc) + (below + db)
    np.testing.assert_allclose(left, 0.0, atol=1e-12)
    np.testing.assert_allclose(alpha * db + below * da, scene.goal[1], atol=1e-12)
    np.testing.assert_allclose(scene.room * dc - above * da, scene.goal[0], atol=1e-12)
    np.testing.assert_allclose(
        scene.w * da, scene.unmoved - scene.scales * scene.changes, atol=1e-12
    )


def test_products_after_a_step(scene):
    """Their sum is a polynomial, of which the direction says the coefficients."""
    _, first, second = scene.direct()
    for t in (0.3, 2.0):
        after = float((scene.w * scene.products(scene.duals + t * scene.direction)).sum())
        assert after == pytest.approx(scene.total + t * first + t * t * second)


def test_the_longest_step_makes_one_number_vanish(scene):
    """Numbers that shrink by each of the three and by the room in turn."""
    for size in (0.1, 1.0, 10.0):
        for k in range(scene.n):
            one = Scene(scene.cap, scene.step == 1)
            one.changes *= size * (np.arange(one.n) == k)
            one.goal *= size * (np.arange(one.n) == k)
            one.slacks = one.g * one.duals[0] + one.duals[1] - one.duals[2]  # nothing is left
            longest = one.direct()[0]
            if longest == math.inf:
                assert (one.direction >= 0.0).all()
                continue
            after = one.duals + longest * one.direction
            parts = [after[0], after[2]]
            if one.cap < math.inf:
                parts += [after[1], one.cap - after[0]]
            assert np.concatenate(parts).min() == pytest.approx(0.0, abs=1e-9 * longest)


@pytest.mark.parametrize(
    ("change", "goal", "which"),
    [
        (-1.0, [0.0, 0.0], "room"),
        (1.0, [0.0, 0.0], "alpha"),
        (0.0, [-1.0, 0.0], "above"),
        (0.0, [0.0, -1.0], "below"),
    ],
)
def test_what_vanishes_first(change, goal, which):
    one = Scene(1.0, False, n=1)
    one.duals[:] = [[0.5], [0.5], [0.5]]
    if which in ("room", "alpha"):
        one.duals[1:] = 30.0
    else:
        one.duals[1:] = 0.01
    one.slacks = one.g * one.duals[0] + one.duals[1] - one.duals[2]
    one.changes = np.array([change])
    one.goal = 0.1 * np.array(goal)[:, None]
    longest = one.direct()[0]
    alpha, above, below = (one.duals + longest * one.direction)[:, 0]
    ends = {"room": 1.0 - alpha, "alpha": alpha, "above": above, "below": below}
    assert ends[which] == pytest.approx(0.0, abs=1e-9 * longest)
    assert min(ends.values()) >= -1e-9 * longest


def test_a_direction_along_which_everything_grows_has_no_end():
    one = Scene(math.inf, False)
    one.slacks = one.g * one.duals[0] - one.duals[2]
    one.changes = np.zeros(one.n)
    one.goal[1] = 0.0
    assert one.direct()[0] == math.inf
    # alpha and below grow together
    one.changes = -np.full(one.n, 0.1)
    one.goal[1] = 10.0
    longest, first, _ = one.direct()
    assert longest == math.inf and first > 0.0


# ------------------------------------------------------------------------------- goals of products


@pytest.mark.parametrize("mu", [0.0, 0.7])
def test_products_are_to_become_mu(scene, mu):
    out = np.full((2, scene.n), np.nan)
    kernels.targets(scene.duals, scene.cap, mu, out)
    expected = mu - scene.products(scene.duals)
    if scene.cap == math.inf:
        expected[0] = 0.0
    np.testing.assert_allclose(out, expected)


def test_second_order(scene):
    """What the products of two changes add: a step of length 1 then leads to the goal up to what
    the corrected direction changes.
    """
    scene.direct()
    out = np.zeros((2, scene.n))
    kernels.second_order(scene.direction, scene.cap, out)
    da, dc, db = scene.direction
    np.testing.assert_allclose(out[1], -da * db)
    np.testing.assert_allclose(out[0], da * dc if scene.cap < math.inf else 0.0)
    before = scene.products(scene.duals)
    after = scene.products(scene.duals + scene.direction)
    np.testing.assert_allclose(after - before - scene.goal, -out, atol=1e-12)


@pytest.mark.parametrize("length", [0.4, 1.0])
def test_products_are_brought_back_between_their_bounds(scene, length):
    """After a step of that length; those far above come down by the upper one."""
    scene.direct()
    start = np.random.default_rng(6).standard_normal((2, scene.n))
    after = scene.products(scene.duals + length * scene.direction)
    for low, high in ((0.05, 0.2), (0.3, 1.0), (-1.0, 0.1 * np.abs(after).max())):
        out = start.copy()
        kernels.correct(scene.duals, scene.direction, scene.cap, length, low, high, out)
        wanted = np.maximum(np.minimum(np.maximum(after, low), high), after - high)
        expected = start + wanted - after
        if scene.cap == math.inf:
            expected[0] = start[0]
        np.testing.assert_allclose(out, expected, atol=1e-12)


# ------------------------------------------------------------------------------ sums of small ones


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e290])
def test_the_largest_limit_below_which_numbers_sum_to_a_budget(scale):
    """A power of two; below the next one they sum to more."""
    numbers = scale * 10.0 ** np.random.default_rng(7).uniform(-8, 8, 300)
    numbers[::50] = 0.0
    for budget in (0.0, 1e-7 * scale, scale, 1e7 * scale):
        limit = kernels.largest_sum(numbers, budget)
        mantissa, _ = math.frexp(limit)
        assert mantissa == 0.5
        assert numbers[numbers < limit].sum() <= budget * (1.0 + 1e-12)
        assert numbers[numbers < 2.0 * limit].sum() > budget
    assert kernels.largest_sum(numbers, 1e9 * scale) == math.inf


def test_a_budget_is_spent_to_the_last():
    numbers = np.array([1.0, 2.0, 4.0])
    assert kernels.largest_sum(numbers, 3.0) == 4.0
    assert kernels.largest_sum(numbers, 7.0) == math.inf
    assert kernels.largest_sum(np.zeros(3), 0.0) == math.inf
    assert kernels.largest_sum(np.array([0.75]), 0.5) == 0.5
