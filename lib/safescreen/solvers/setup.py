"""The set-up of a solve: limits, a solver, and policies of screening."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from safescreen.problem import Problem
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Test
from safescreen.solvers.state import Look, State
from safescreen.terms.base import Terms


class Solver(Protocol):
    """The three methods of a solver: to begin, to step, and to continue when terms have been
    removed. See CONTRIBUTING, "Add a solver".

    A solver is a frozen record of its options. What the solver remembers between steps is an object
    `own` of any type, which the loop passes back to the solver.
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities of the terms that the solver needs, see
        :data:`safescreen.terms.base.CAPABILITIES`.
        """
        ...

    @property
    def pace(self) -> float | None:
        """Named spheres are used again when the gap has fallen by this factor. If it is None, they
        are used every `freq` iterations.
        """
        ...

    def init(self, problem: Problem, state: State) -> tuple[Point, Any]:
        """Return the first point, made from the point of the state, and what the solver
        remembers.
        """
        ...

    def step(self, problem: Problem, state: State, own: Any) -> tuple[Point, Any] | None:
        """Return the next point and what the solver remembers after it, or None if no step makes
        progress.
        """
        ...

    def reduce(self, problem: Problem, own: Any, kept: Any) -> Any:
        """Return what the solver remembers for a smaller problem, whose terms had the numbers
        `kept` in the problem before.
        """
        ...


@runtime_checkable
class Policy(Protocol):
    """When to screen, and with which tests: a frozen record of options that remembers nothing."""

    def tests(self, now: Look, then: Look, terms: Terms) -> Iterable[Test]:
        """Return the tests for the remaining terms, or no tests if it is too early. `now` is the
        present gap and iteration, and `then` the gap and iteration of the last screening of terms.
        """
        ...


@dataclass(frozen=True)
class FeatureTrials:
    """When a solve screens features: when the gap has fallen, or when terms have been removed.

    Attributes
    ----------
    fallen : float
        Factor by which the gap has to fall before another trial.
    """

    fallen: float = 0.5

    def are_due(self, now: Look, then: Look) -> bool:
        """Return whether to screen features now. `then` is the last trial."""
        return now.gap < self.fallen * then.gap


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How a problem is solved. :func:`safescreen.solvers.methods.set_up` checks the arguments of a
    caller and makes the setup.

    Attributes
    ----------
    limits : Limits
    solver : Solver
    policy : Policy, optional
        When to screen terms; None screens none.
    features : FeatureTrials, optional
        When to leave out features; None leaves out none.
    starts_from_alpha : bool
        Whether the solver starts from a dual point, whatever x is.
    looks : bool
        Whether the ball of the solution is used to decide terms at the end of the solve.
    """

    limits: Limits
    solver: Any
    policy: Policy | None = None
    features: FeatureTrials | None = None
    starts_from_alpha: bool = field(default=False)
    looks: bool = False
