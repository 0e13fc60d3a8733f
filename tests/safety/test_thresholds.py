"""On the threshold itself, undecided is the only right answer; what is not a number decides
nothing.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import safescreen as ss
from instances import ADVERSARIAL, KINDS, instance
from naive.extremes import exact
from safescreen.rules import RULES, Screened
from safescreen.solvers.solve import solve

# a triplet (0, 1, 2) of points 0, j, m on the integer line has H = m^2 - j^2
POINTS = np.array([[0.0], [1.0], [2.0], [3.0]])
INDEX = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3]])  # H = 3, 8, 5


def triplets(thresholds, gamma):
    terms = ss.Triplets(POINTS, INDEX).with_threshold(np.array(thresholds))
    return ss.Problem(terms, ss.SmoothedHinge(gamma))


@pytest.mark.nojit
@pytest.mark.parametrize("rule", list(RULES))
def test_margins_exactly_on_a_threshold(rule):
    center = ss.Sphere(np.array([[1.0]]), 0.0)
    margins = np.array([3.0, 8.0, 5.0])
    for gamma in (0.0, 0.5):
        on_R = RULES[rule](triplets(margins, gamma), center)
        on_L = RULES[rule](triplets(margins + gamma, gamma), center)
        assert not on_R.in_R.any() and not on_L.in_L.any()
        assert not (on_R.in_L.any() or on_L.in_R.any())
        assert RULES[rule](triplets(margins - 1e-9, gamma), center).in_R.all()
        assert RULES[rule](triplets(margins + gamma + 1e-9, gamma), center).in_L.all()


@pytest.mark.nojit
@pytest.mark.parametrize("rule", list(RULES))
def test_samples_exactly_on_a_threshold(rule):
    terms = ss.Samples([[1.0, 0.0], [0.0, -1.0], [2.0, 2.0], [-0.5, 0.5]], [1, -1, 1, -1])
    problem = ss.Problem(terms, ss.SmoothedHinge(0.5))
    found = RULES[rule](problem, ss.Sphere(np.array([1.0, 0.5]), 0.0))  # margins 1, 1/2, 3, 1/4
    assert found.in_R.tolist() == [False, False, True, False]
    assert found.in_L.tolist() == [False, False, False, True]


@pytest.mark.parametrize("rule", list(RULES))
def test_balls_that_touch_a_threshold(rule):
    # <a, x> over the ball of radius 5 around (3, 4), a = (3, 4)/5: [0, 10], every number exact
    terms = ss.Samples([[3.0, 4.0], [-3.0, -4.0]], [1, -1]).with_threshold(0.0)
    ball = ss.Sphere(np.array([3.0, 4.0]), 5.0)
    assert not RULES[rule](ss.Problem(terms, ss.Hinge()), ball).in_R.any()
    assert not RULES[rule](ss.Problem(terms.with_threshold(50.0), ss.Hinge()), ball).in_L.any()
    assert RULES[rule](ss.Problem(terms.with_threshold(-1e-9), ss.Hinge()), ball).in_R.all()
    assert RULES[rule](ss.Problem(terms.with_threshold(50.0 + 1e-9), ss.Hinge()), ball).in_L.all()


@pytest.mark.parametrize("radius", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("normal", [None, np.array([[1.0]])])
def test_a_broken_radius_screens_nothing(rule, radius, normal):
    found = RULES[rule](
        triplets([1.0, 1.0, 1.0], 0.5), ss.Sphere(np.array([[5.0]]), radius, normal)
    )
    if radius > -np.inf or np.isnan(radius):
        assert found.rate == 0.0
    ok = ss.Sphere(np.array([[5.0]]), 0.1, normal)
    assert RULES[rule](triplets([1.0, 1.0, 1.0], 0.5), ok).in_R.all()


@pytest.mark.parametrize("radius", [np.nan, np.inf, -1e-3])
def test_a_solver_does_not_use_a_broken_radius(radius, monkeypatch):
    problem = triplets([1.0, 1.0, 1.0], 0.05)
    family = ss.spheres.families.SphereFamily(lambda r: ss.Sphere(r.evaluation.x, radius), "broken")
    monkeypatch.setitem(ss.SPHERES, "broken", family)
    found = solve(problem, 30.0, screening=("broken",), freq=1)
    last = found.history[-1]
    assert found.converged and last.n_L + last.n_R == 0


@pytest.mark.parametrize("data", ["normal", *ADVERSARIAL])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_a_few_ulps_from_the_threshold(kind, data):
    """Thresholds next to the exact extreme values over a ball: whatever is decided is decided
    rightly.
    """
    of, rng, n_decided = instance(kind, data), np.random.default_rng(0), 0
    truth = of.exact(0.0)
    for relative in (0.0, 1e-3, 1.0):
        Q = of.feasible(rng)
        ball = ss.Sphere(Q, relative)
        q = truth.margins(exact(np.ravel(Q)))
        for sign, side in ((-1, "in_R"), (1, "in_L")):
            extremes = [m + sign * mpf(relative) * n for m, n in zip(q, truth.norms, strict=True)]
            nearest = np.array([float(v) for v in extremes])
            for ulps in (-64, -4, -1, 0, 1, 4, 64, 1 << 20):
                tau = nearest + sign * ulps * np.spacing(np.abs(nearest))
                few = range(0, tau.size, max(1, tau.size // 8))
                # one a term, or one for all
                for thresholds in (tau, *(float(tau[t]) for t in few)):
                    prob = ss.Problem(of.terms.with_threshold(thresholds), ss.Hinge())
                    found = getattr(ss.rules.sphere(prob, ball), side)
                    limits = np.broadcast_to(thresholds, tau.shape)
                    close = found & (np.abs(limits - nearest) <= 1e-6 * np.abs(nearest))
                    for t in np.flatnonzero(close):
                        assert sign * (mpf(float(limits[t])) - extremes[t]) > 0
                    assert (sign * (limits - nearest) > 0.0)[found & ~close].all()
                    n_decided += found.sum()
    assert n_decided > 0


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=6),
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    st.integers(-6, 6),
    st.integers(0, 8),
)
@settings(max_examples=80)
def test_integers_decide_as_integers_do(rows, center, threshold, halves):
    """Everything is a small multiple of a power of two, so the right answer is known, ties
    included.
    """
    rows, gamma = np.array(rows, dtype=float), halves / 2.0
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    terms = ss.Samples(rows * signs[:, None], signs).with_threshold(float(threshold))
    problem, Q = ss.Problem(terms, ss.SmoothedHinge(gamma)), np.array(center, dtype=float)
    margins = rows @ Q
    right = Screened(margins < threshold - gamma, margins > threshold)
    for rule in RULES.values():
        found = rule(problem, ss.Sphere(Q, 0.0))
        assert np.array_equal(found.in_L, right.in_L) and np.array_equal(found.in_R, right.in_R)
