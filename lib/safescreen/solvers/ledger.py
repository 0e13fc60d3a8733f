"""What a solve has cost so far, in counted operations: the one clock that decisions go by.

Screening (:mod:`safescreen.solvers.counted`) and features (:mod:`safescreen.solvers.setup`) ask it.
No clock of the machine is read, so the same input makes the same decisions everywhere."""

from __future__ import annotations

from typing import NamedTuple, Self

from safescreen.problem import Problem
from safescreen.solvers.point import Point


class Ledger(NamedTuple):
    """Operations counted along a solve or a path, an immutable value.

    Attributes
    ----------
    done : float
        Operations of all evaluations.
    evaluations : float
        How many evaluations there were.
    spent : float
        Operations of looks at a sample of the terms that led to nothing.
    missed : float
        Operations that passes of screening would have saved which were not made.
    iterations_lately, evaluations_lately : float
        Iterations and their evaluations; those of a lam count half for the next one.
    since_features : float
        Operations since features were last asked for.
    advance : float
        Iterations whose operations are added to `since_features` with the next ones: those of the
        neighbouring lam pay for the first question.
    """

    done: float = 0.0
    evaluations: float = 0.0
    spent: float = 0.0
    missed: float = 0.0
    iterations_lately: float = 0.0
    evaluations_lately: float = 0.0
    since_features: float = 0.0
    advance: float = 0.0

    def after(self, problem: Problem, point: Point) -> Self:
        """Return the ledger after what was evaluated for a point of a problem."""
        evaluations = point.iterations + point.others
        work = problem.terms.costs().evaluation
        return self._replace(
            done=self.done + evaluations * work,
            evaluations=self.evaluations + evaluations,
            iterations_lately=self.iterations_lately + point.iterations,
            evaluations_lately=self.evaluations_lately + evaluations,
            since_features=self.since_features + (self.advance + evaluations) * work,
            advance=0.0,
        )

    def at_next_lam(self, iterations: float) -> Self:
        """Return the ledger at the next lam of a path, the last one having taken `iterations`."""
        return self._replace(
            iterations_lately=0.5 * self.iterations_lately,
            evaluations_lately=0.5 * self.evaluations_lately,
            since_features=0.0,
            advance=iterations,
        )

    def evaluations_of(self, iterations: float) -> float:
        """Return how many evaluations so many iterations are expected to take."""
        if not self.iterations_lately:
            return iterations
        return iterations * self.evaluations_lately / self.iterations_lately
