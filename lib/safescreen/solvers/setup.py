"""What a solve is set up with: limits, a solver, and what it screens with."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from safescreen.problem import Evaluation, Problem
from safescreen.solvers.ledger import Ledger
from safescreen.solvers.limits import Limits
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Test
from safescreen.solvers.trace import Start, Trace
from safescreen.spheres.base import PathReference


class Solver(Protocol):
    """Two methods, and a third for what changes when terms leave: see CONTRIBUTING, "Add a solver".

    A solver is a frozen record of its options; what it learns on the way is its `state`, an object
    of its own choice that the loop passes back to it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the terms, see :data:`safescreen.terms.base.CAPABILITIES`."""
        ...

    @property
    def pace(self) -> float | None:
        """Named spheres are used again when the gap has fallen to this part of what it was; None:
        each `freq` iterations.
        """
        ...

    def init(self, problem: Problem, start: Start, trace: Trace) -> tuple[Point, Any]:
        """Return the first point and the state."""
        ...

    def step(self, problem: Problem, trace: Trace, state: Any) -> tuple[Point, Any] | None:
        """Return the next point and the state, or None where no step makes progress."""
        ...

    def reduce(self, problem: Problem, state: Any, kept: Any) -> Any:
        """Return the state for a smaller problem, whose terms had the numbers `kept`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Moment:
    """An evaluated point at which a policy is asked for tests.

    Attributes
    ----------
    problem : Problem
        What is left.
    evaluation : Evaluation
    enlargement : float
        By how much balls are enlarged.
    left : float
        How many iterations are expected from here on.
    lams_to_come : float
        As in :class:`~safescreen.solvers.trace.Start`.
    near : PathReference, optional
        The solution of the neighbouring lam, given before the first iteration.
    ledger, memory : Ledger, object
        Operations so far, and what the policy remembers.
    """

    problem: Problem
    evaluation: Evaluation
    enlargement: float
    left: float
    lams_to_come: float = 0.0
    near: PathReference | None = None
    ledger: Ledger = Ledger()
    memory: Any = None

    def __copy__(self):
        near = self.near
        if near is not None:
            near = replace(near, x0=copy.copy(near.x0))
        return replace(self, evaluation=copy.copy(self.evaluation), near=near)


class Plan(NamedTuple):
    """A decision: the tests to screen with, which are none if screening does not pay, and what the
    policy knows from now on.
    """

    tests: tuple[Test, ...]
    ledger: Ledger
    memory: Any


@runtime_checkable
class Policy(Protocol):
    """When to screen, and with which tests.

    A policy is a frozen record of its options; what it remembers is its `memory`, an immutable
    value that each call returns anew."""

    @property
    def is_automatic(self) -> bool:
        """Whether the policy may choose not to screen."""
        ...

    def begin(self, memory: Any) -> Any:
        """Return the memory for the next lam; None stands for that before the first one."""
        ...

    def is_due(self, trace: Trace) -> bool:
        """Return whether to ask for tests at the last point."""
        ...

    def plan(self, moment: Moment) -> Plan:
        """Return the tests to screen with."""
        ...

    def learn(self, memory: Any, before: Problem, after: Problem) -> Any:
        """Return the memory after the tests, which have left another problem."""
        ...


@dataclass(frozen=True)
class Features:
    """When a solve asks which features are 0: when the gap has fallen or terms have left, and the
    iterations since the last time have cost as much as asking does.

    So all trials together cost at most as much as the iterations. Along a path the first trial of
    a lam is paid for by the iterations that the neighbouring lam took.

    Attributes
    ----------
    fallen : float
        To what part the gap has to fall before another trial.
    """

    fallen: float = 0.5

    def are_due(self, problem: Problem, trace: Trace) -> bool:
        """Return whether to ask at the last point."""
        if trace.evaluation.gap >= self.fallen * trace.left_out.gap:
            return False
        norms_of_columns = 2.0 * len(problem) * problem.cone.d
        return trace.ledger.since_features >= norms_of_columns


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How a problem is solved; made once, by :func:`safescreen.solvers.methods.set_up`, which
    checks the arguments of a caller.

    Attributes
    ----------
    limits : Limits
    solver : Solver
    policy : Policy, optional
        When to screen terms; None screens none.
    features : Features, optional
        When to leave out features; None leaves out none.
    starts_from_alpha : bool
        Whether the solver starts from a dual point, whatever x is.
    """

    limits: Limits
    solver: Any
    policy: Policy | None = None
    features: Features | None = None
    starts_from_alpha: bool = field(default=False)
