"""The loop with everything that it takes, one by one."""

from safescreen.solvers.drive import drive
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.setup import FeatureTrials, Setup
from safescreen.solvers.state import State

__all__ = ["begin", "driven"]

HARD = Limits(1e-12, 0.0, 99)


def begin(x, lam, alpha=None, limits=HARD, evaluation=None, **known):
    """Return the state before the first point."""
    return State.begin(Point(x, alpha=alpha, evaluation=evaluation), lam, limits, **known)


def driven(reduction, solver, policy, start, limits, observe=None, has_features=False):
    """Return how a solve ends with this solver and policy, from the point of a state."""
    setup = Setup(
        limits=limits,
        solver=solver,
        policy=policy,
        features=FeatureTrials() if has_features else None,
    )
    return drive(reduction, setup, State.begin(start.point, start.lam, limits), observe)
