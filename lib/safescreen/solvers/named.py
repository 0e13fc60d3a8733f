"""Policies whose tests a user has named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from safescreen.problem import Problem
from safescreen.solvers.reduction import Test
from safescreen.solvers.setup import Moment, Plan


@dataclass(frozen=True)
class Named:
    """All of some tests, whenever a policy made of this one is due; it remembers nothing."""

    use: tuple[Test, ...]

    is_automatic = False

    def begin(self, memory: Any) -> Any:
        """Return the memory of others as it is."""
        return memory

    def plan(self, moment: Moment) -> Plan:
        """Return all tests."""
        return Plan(self.use, moment.ledger, moment.memory)

    def learn(self, memory: Any, before: Problem, after: Problem) -> Any:
        """Return the memory of others as it is."""
        return memory
