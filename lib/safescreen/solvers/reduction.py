"""The record of screening: which terms are certain, and the reduced problem."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from safescreen._numba import njit
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike, upper
from safescreen.rules import RULES, Screened, intersection
from safescreen.rules.features import zero_features
from safescreen.spheres import SPHERES, Sphere
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.families import SphereFamily
from safescreen.terms.base import Terms

SHRINK = 0.05
"""Screened terms are removed from the arrays once they are this fraction of the remaining terms.
The same holds for features.
"""

LAST = SPHERES["MGB"]
"""The ball that decides terms at a solution. It needs only the evaluation, and lies in the ball
DGB.
"""


@dataclass(frozen=True)
class Test:
    """One ball with a rule, or two balls, whose intersection is used."""

    spheres: tuple[SphereFamily, ...]
    rule: str


def can_be_screened(terms: Terms) -> bool:
    """Return whether terms can be screened, that is, whether each term has a number in the
    family.
    """
    return "singles" in terms.offers


def parse_screening(
    screening: str | Iterable[str], prob: Problem, argument: str = "screening"
) -> tuple[Test, ...]:
    """Return a tuple of :class:`Test` from one name or several, such as ``"PGB"``,
    ``"GB+halfspace"`` or ``"MGB&BT2"``.

    Spheres are named as in ``SPHERES``, rules as in ``RULES``. If no rule is named, the sphere rule
    is used. ``&`` stands for the intersection of two balls.
    """
    tests = []
    for name in (screening,) if isinstance(screening, str) else screening:
        balls, _, rule = str(name).partition("+")
        spheres = balls.split("&")
        for sphere in spheres:
            if sphere not in SPHERES:
                raise ValueError(
                    f"{argument}: unknown sphere {sphere!r}, the known ones are "
                    f"{', '.join(SPHERES)}; () screens nothing"
                )
            prob.terms.require(*SPHERES[sphere].needs, by=f"{argument}: {sphere}")
        if len(spheres) > 2 or (len(spheres) == 2 and rule):
            raise ValueError(
                f"{argument} must name one ball, one ball and a rule, or two balls without a rule, "
                f"got {name!r}"
            )
        rule = rule or "sphere"
        if rule not in RULES:
            raise ValueError(
                f"{argument}: unknown rule {rule!r}, the known ones are {', '.join(RULES)}"
            )
        prob.terms.require(*RULES[rule].needs, by=f"{argument}: {rule}")
        tests.append(Test(tuple(SPHERES[sphere] for sphere in spheres), rule))
    return tuple(tests)


class Reduction:
    """A problem, the decisions on its terms, and the reduced problem.

    Every ball is enlarged by the accuracy that the solution is to have (STS19 section 6.1.2). Then
    every screened term also lies in its region at each point within `enlargement` of the optimum.
    So the reduced problem and the whole problem have the same objective and gap at such a point.

    Attributes
    ----------
    whole, problem : Problem
        The problem passed in, and the reduced problem. The sum of screened terms in L is computed
        from known `sums` if that saves work, see :meth:`Terms.sum_near`.
    status : int8 array of shape (T,)
        0 undecided, 1 certainly linear, 2 certainly zero. The array is made at its first use.
    enlargement : float
        Smallest enlargement of all balls used so far.
    n_L, n_R : int
        Numbers of terms that are certain.
    zero_features : bool array of shape (d,) or None
        Which coordinates are certainly 0; None until features are screened.
    """

    def __init__(self, whole: Problem, sums: Iterable[ElementLike] = ()):
        self.whole = self.problem = whole
        self.n_L = self.n_R = 0
        self.enlargement = np.inf
        self._ids = None
        self._sums = tuple(sums)
        self.zero_features: NDArray | None = None
        self._columns: dict[int, NDArray] = {}  # the columns kept, by their number

    @cached_property
    def status(self) -> NDArray:
        """The decision on each term. The array is made at the first decision only, because some
        families have too many terms.
        """
        return np.zeros(len(self.whole), dtype=np.int8)

    def known(self, screened: Screened) -> Self:
        """Begin with the masks of a test whose ball was not enlarged; return this reduction."""
        self.status[:] = screened.in_L + 2 * (screened.in_R & ~screened.in_L)
        self.n_L = screened.n_L
        self.n_R = int(np.count_nonzero(self.status == 2))
        self.enlargement = 0.0
        if self.n_L + self.n_R:
            self.problem, self._ids = self.whole.reduce_by(self.status)
        return self

    def copy(self) -> Self:
        """Return a reduction with the same decisions. Its later decisions do not change this
        reduction.
        """
        twin = copy.copy(self)
        twin.status = self.status.copy()
        return twin

    def screen(
        self,
        tests: Iterable[Test],
        reference_of: Callable[[Problem], BallReference],
        enlargement: float = 0.0,
    ) -> Any:
        """Screen with each test in turn. The balls are built from a reference of the reduced
        problem, and enlarged. Return the same as :meth:`apply`.
        """
        kept = None
        for test in tests:
            if len(self.problem) == 0:
                break
            known = reference_of(self.problem)
            balls = [
                ball for ball in (sphere.build(known) for sphere in test.spheres) if ball.decides
            ]
            if not balls:
                continue
            self.enlargement = min(self.enlargement, enlargement)
            enlarged = [replace(ball, radius=upper(ball.radius + enlargement, 2)) for ball in balls]
            following = self.apply(*enlarged, rule=test.rule)
            if following is not None:
                kept = following if kept is None else kept[following]
        return kept

    def apply(self, *balls: Sphere, rule: str = "sphere") -> Any:
        """Screen the remaining terms with one ball, or with the intersection of two balls. Return
        the numbers of the terms that are kept, or None if the problem has not changed.
        """
        if len(balls) == 1:
            masks = RULES[rule](self.problem, *balls)
        else:
            masks = intersection(self.problem, *balls)
        status, n_decided = self._merged(masks)
        if n_decided < max(1.0, SHRINK * status.size):
            return None
        problem, kept = self.problem.reduce_by(status, (balls[0].center, *self._sums))
        ids = kept if self._ids is None else self._ids[kept]
        self.problem, self._ids = problem, ids  # together: Ctrl-C may come between statements
        return kept

    def decide(self, reference_of: Callable[[Problem], BallReference]) -> None:
        """Decide terms with the ball of a reference and the sphere rule, in one pass. No term is
        removed from the problem.
        """
        if len(self.problem):
            ball = LAST.build(reference_of(self.problem))
            if ball.decides:
                self._merged(RULES["sphere"](self.problem, ball))

    def _merged(self, masks):
        """Add masks over the remaining terms to the decisions. Return the status of these terms,
        and the number of decided terms among them.
        """
        status = self.status if self._ids is None else self.status[self._ids]
        new_L, new_R, n_decided = _merge(status, masks.in_L, masks.in_R)
        self.n_L += new_L
        self.n_R += new_R
        if self._ids is not None:
            self.status[self._ids] = status
        return status, n_decided

    def leave_out(self, evaluation: Evaluation, enlargement: float = 0.0) -> NDArray | None:
        """Leave out features that are 0 at the optimum, given an evaluation of the reduced problem;
        the ball of slopes is enlarged by `enlargement`. Return the mask of the features that are
        kept, among the features of the reduced problem, or None if the problem has not changed.

        At least one feature is kept.
        """
        zero = zero_features(self.problem, evaluation, enlargement)
        if self.zero_features is None:
            self.zero_features = np.zeros(zero.size, dtype=np.bool_)
            self._columns = {zero.size: np.arange(zero.size)}
        columns = self._columns[zero.size]
        self.zero_features[columns[zero]] = True
        if zero.all():
            zero[np.argmax(evaluation.H)] = False
        keep = ~zero
        if np.count_nonzero(zero) < max(1.0, SHRINK * zero.size):
            return None
        problem = self.problem.on_features(keep)
        self._columns[problem.cone.d] = columns[keep]  # before the problem: Ctrl-C may come between
        self.problem = problem
        return keep

    @property
    def has_all_features(self) -> bool:
        """Whether no feature has been left out."""
        return len(self._columns) < 2

    def agrees_within(self, eps: float) -> bool:
        """Return whether the reduced problem and the whole problem have the same objective and gap
        at every point within eps of the optimum, because every screened term is in its region at
        such a point.
        """
        return eps < self.enlargement and self.has_all_features

    def embed(self, x: ElementLike) -> ElementLike:
        """Return a point of the whole problem from a point of the present or an earlier reduced
        problem. Coordinates that were left out are 0.
        """
        if self.has_all_features:
            return x
        full = self.whole.cone.zeros()
        full[self._columns[x.size]] = x
        return full

    def extract(self, x: ElementLike) -> ElementLike:
        """Return the coordinates of a point of the whole problem that the reduced problem has."""
        return x if self.has_all_features else x[self._columns[self.problem.cone.d]]

    def screened(self) -> Screened:
        """Return the masks over all terms."""
        return Screened(self.status == 1, self.status == 2)

    def expand(self, alpha: NDArray) -> NDArray:
        """Return a dual point of the whole problem from a dual point of the reduced problem."""
        if self._ids is None:
            return alpha
        full = (self.status == 1).astype(np.float64)
        full[self._ids] = alpha
        return full

    def restrict(self, alpha: NDArray) -> NDArray:
        """Return the entries of a dual point of the whole problem at the remaining terms."""
        return alpha if self._ids is None else alpha[self._ids]


def reference(
    evaluation: Evaluation, path: PathReference | None = None
) -> Callable[[Problem], BallReference]:
    """Return a function that makes the :class:`BallReference` of a problem at an evaluated
    point.
    """
    return lambda problem: BallReference(problem, evaluation, path)


@njit
def _merge(status, in_L, in_R):
    """Write new decisions into `status`; return the number of new decisions for L and for R, and
    the number of decided terms.
    """
    new_L, new_R, decided = 0, 0, 0
    for t in range(status.size):  # without branches, so that it vectorizes
        open_ = status[t] == 0
        linear = open_ & in_L[t]
        zero = open_ & in_R[t] & (not in_L[t])
        status[t] += np.int8(linear) + np.int8(2) * np.int8(zero)
        new_L += linear
        new_R += zero
        decided += status[t] != 0
    return new_L, new_R, decided
