"""The one loop: every iterate of every solver under every policy is safe; why it stops; Ctrl-C."""

import math
import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest

import safescreen as ss
from instances import WITH_KERNEL, instance
from naive.harness import truth
from naive.loop import begin, driven
from safescreen.records import ConvergenceWarning
from safescreen.rules import Screened
from safescreen.solvers import solve_screened
from safescreen.solvers.active_set import ActiveSet
from safescreen.solvers.coordinate_descent import CoordinateDescent
from safescreen.solvers.every import Every
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import HINGE, SMOOTH
from safescreen.solvers.proximal_hinge import ProximalHinge
from safescreen.solvers.reduction import Reduction, parse_screening
from safescreen.solvers.relay import Relay
from safescreen.solvers.when_fallen import WhenFallen

MGB = parse_screening(("MGB",), instance("full").problem(0.05))
POLICIES = {
    "every": lambda: Every(MGB, 1),
    "when-fallen": lambda: WhenFallen(MGB, 0.7),
}


def is_costly(prob):
    """Return whether sums over the terms cost much more than a sweep."""
    return isinstance(prob.terms, ss.KernelSamples)


def solvers(prob):
    """Return every solver that the terms of a problem allow, by name."""
    is_kinked = prob.loss.smoothing == 0.0
    able = dict(HINGE if is_kinked else SMOOTH)
    able["active"] = ProximalHinge(ActiveSet(freq=3)) if is_kinked else ActiveSet(freq=3)
    return {name: s for name, s in able.items() if set(s.needs) <= set(prob.terms.offers)}


@lru_cache
def scene(kind, gamma):
    """Return a problem, lam, and the truth about its optimum."""
    of = instance(kind)
    prob = of.problem(gamma)
    lam = of.lam(0.2)
    return prob, lam, truth(prob, of.exact(gamma), lam)[1]


class Watch:
    """An observer that checks all that a state claims about the optimum."""

    def __init__(self, prob, known):
        self.prob = prob
        self.known = known
        self.x = np.array([float(v) for v in known.x])
        self.n_seen = 0
        self.n_screened = 0

    def __call__(self, reduction, state):
        self.n_seen += 1
        self.n_screened = max(self.n_screened, reduction.n_L + reduction.n_R)
        assert self.known.right(reduction.screened())
        assert len(reduction.problem) + reduction.n_L + reduction.n_R >= len(self.prob)
        e = state.evaluation
        assert state.best.gap <= e.gap
        radius = math.sqrt(2.0 * e.gap / state.lam)
        assert self.known.contained(ss.Sphere(e.x, radius * (1.0 + 1e-9) + 1e-300))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_every_iterate_of_every_solver_is_safe(kind, gamma, policy):
    prob, lam, known = scene(kind, gamma)
    limits = Limits(0.0, 1e-9, 300)
    n_screened = 0
    for name, solver in solvers(prob).items():
        watch = Watch(prob, known)
        start = begin(prob.cone.zeros(), lam)
        ended = driven(Reduction(prob), solver, POLICIES[policy](), start, limits, watch)
        assert watch.n_seen == len(ended.history) > 0, name
        assert ended.reason == "converged" or ended.n_iter >= 300, name
        # with a kernel a solve may end with its first points, and is not looked at on its own
        may_stay = is_costly(prob) and watch.n_seen <= 2
        assert ended.reason != "converged" or watch.n_screened > 0 or may_stay, name
        n_screened += watch.n_screened
        whole = prob.gap(ended.evaluation.x, lam, alpha_of(ended))
        assert whole <= ended.evaluation.gap * (1.0 + 1e-9) + 1e-12, name
    assert n_screened > 0


def alpha_of(ended):
    return None if ended.best_dual is None else ended.best_dual.unpack()


@dataclass(frozen=True)
class Careless:
    """A policy that screens with a ball that is too small, at once."""

    use: tuple
    shrunk: float

    def tests(self, now, then, terms):
        family = replace(self.use[0].spheres[0], build=self._build)
        return (replace(self.use[0], spheres=(family,)),)

    def _build(self, known):
        ball = self.use[0].spheres[0].build(known)
        return replace(ball, radius=self.shrunk * ball.radius)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_the_observer_sees_a_ball_that_is_too_small(kind):
    """What it would not see proves nothing."""
    prob, lam, known = scene(kind, 0.05)
    start = begin(prob.cone.zeros(), lam)
    with pytest.raises(AssertionError):
        driven(
            Reduction(prob),
            solvers(prob)["gradient"],
            Careless(MGB, 0.02),
            start,
            Limits(0.0, 1e-9, 300),
            Watch(prob, known),
        )


# ------------------------------------------------------------------ why a solve ends


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["full", "dense"])
def test_what_stopped_it(kind, gamma):
    prob, lam, _ = scene(kind, gamma)
    assert ss.solve(prob, lam).reason == "converged"
    with pytest.warns(ConvergenceWarning):
        assert ss.solve(prob, lam, tol=1e-300, max_iter=1).reason == "iterations"
    with pytest.warns(ConvergenceWarning):
        solution = ss.solve(prob, lam, tol=1e-300, callback=lambda progress: True)
    assert solution.reason == "callback" and not solution.converged
    with pytest.warns(ConvergenceWarning):
        solution = ss.solve(prob, lam, tol=1e-300, max_seconds=0.0)
    assert solution.reason == "time" and len(solution.history) == 1
    alpha = solution.alpha if solution.dual_point is not None else None
    assert prob.gap(solution.x, lam, alpha) <= solution.gap * (1.0 + 1e-9)
    with pytest.warns(ConvergenceWarning):
        assert ss.solve(prob, lam, tol=1e-300).reason in ("stalled", "iterations")


@pytest.mark.parametrize("kind", ["full", "dense", "kernel"])
def test_ctrl_c_returns_the_best_point_so_far(kind):
    prob, lam, known = scene(kind, 0.05)

    def interrupt(progress):
        if progress.iteration >= 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted"), pytest.warns(ConvergenceWarning):
        solution = ss.solve(prob, lam, tol=1e-300, callback=interrupt, screening=("MGB",))
    assert solution.reason == "interrupted" and not solution.converged
    assert known.contained(ss.Sphere(solution.x, solution.eps)) and known.right(solution.screened)


def test_ctrl_c_before_the_first_point_is_passed_on(monkeypatch):
    prob, lam, _ = scene("full", 0.05)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(ss.Problem, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ss.solve(prob, lam)


def test_a_path_ends_in_time_and_keeps_what_it_has(monkeypatch):
    prob, lam, _ = scene("full", 0.05)
    ticks = iter(range(10**6))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    with pytest.warns(ConvergenceWarning):
        path = ss.path(prob, lam * 0.9 ** np.arange(200), rtol=1e-9, max_seconds=300)
    assert path.reason == path[-1].reason == "time" and 1 < len(path) < 200
    assert all(solution.converged for solution in path[:-1])
    assert math.isfinite(path[-1].gap)


@pytest.mark.parametrize("value", [-1.0, math.nan, "x"])
def test_max_seconds_is_checked(value):
    prob, lam, _ = scene("full", 0.05)
    with pytest.raises((ValueError, TypeError), match="max_seconds must be"):
        ss.solve(prob, lam, max_seconds=value)


# ------------------------------------------------------------------ screened terms that cost


def test_a_screened_term_that_costs_is_solved_for():
    prob, lam, known = scene("dense", 0.05)
    rough = ss.solve(prob, lam, rtol=1e-2, screening=())
    masks = ss.screen(prob, rough.x, lam)
    solution = solve_screened(prob, lam, Screened(masks.in_L, masks.in_R), rtol=1e-9)
    assert solution.converged and known.contained(ss.Sphere(solution.x, solution.eps))


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_a_relay_hands_over_its_best_point(gamma):
    """The second solver begins where the first has given up, after two sweeps, and ends there."""
    prob, lam, known = scene("dense", gamma)
    first = CoordinateDescent(gives_up=True, patience=2, most_patience=2)
    second = (SMOOTH if gamma > 0.0 else HINGE)["newton"]
    start = begin(prob.cone.zeros(), lam)
    limits = Limits(0.0, 1e-9, 300)
    alone = driven(Reduction(prob), first, None, start, limits)
    assert alone.reason == "stalled" and alone.n_iter == 2
    watch = Watch(prob, known)
    both = driven(Reduction(prob), Relay(first, second), None, start, limits, watch)
    assert both.reason == "converged" and 2 < both.n_iter < 300
    primals = [now.primal for now in both.history if now.iteration == 2]
    assert len(primals) == 2 and primals[0] == primals[1] or gamma == 0.0


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_a_solve_begins_where_one_ended_at_rounding():
    rng = np.random.default_rng(0)
    samples = ss.Samples(rng.standard_normal((50, 60)), rng.choice([-1, 1], 50))
    problem = ss.Problem(samples, ss.Hinge())
    first = ss.solve(problem, 1.0, rtol=1e-15)
    again = ss.solve(problem, 1.0, rtol=1e-15, x0=first.x, alpha0=first.alpha)
    assert first.n_iter > 0 and first.reason == "stalled"
    assert again.n_iter == 0 and again.reason == "stalled"
    assert again.gap <= 1.1 * first.gap  # another order of sums: rounding of rounding
    assert ss.solve(problem, 1.0, rtol=1e-3, x0=0.9 * first.x).n_iter > 0
