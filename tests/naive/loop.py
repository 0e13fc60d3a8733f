"""The loop with everything that it takes, one by one."""

from safescreen.solvers.drive import drive
from safescreen.solvers.setup import Features, Setup

__all__ = ["driven"]


def driven(reduction, solver, policy, start, limits, observe=None, has_features=False):
    """Return how a solve ends with this solver and policy."""
    setup = Setup(
        limits=limits,
        solver=solver,
        policy=policy,
        features=Features() if has_features else None,
    )
    return drive(reduction, setup, start, observe)
