"""Primal-dual interior-point method for terms over a cone: some tens of steps whatever lam is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safescreen.cones import PSDCone
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike
from safescreen.solvers import _interior_kernels as kernels
from safescreen.solvers._heavy_terms import HeavyTerms
from safescreen.solvers._scalings import Scaling, central, scaling_of
from safescreen.terms.pair_system import PairSystem

__all__ = ["InteriorPoint"]

BAND = (0.1, 10.0)
"""Between which multiples of their goal products are left as they are by a corrector."""


@dataclass(frozen=True)
class State:
    """Where the method is: x and its slack S inside the cone, three numbers a term (see
    :mod:`safescreen.solvers._interior_kernels`), and the budget of the next system.

    `system` is that of the terms, None where they have changed."""

    x: NDArray
    S: NDArray
    duals: NDArray
    budget: float
    system: PairSystem | None = None


@dataclass(frozen=True)
class InteriorPoint:
    """Mehrotra's predictor-corrector method with Nesterov-Todd scaling.

    Parameters
    ----------
    correctors : int
        Further corrections of a direction at most, each as long as the step grows.
    fraction : float
        How much of the way to the boundary a step goes.
    precision : float
        The residual of a direction, relative to what the products are to become.
    budget : float
        What the terms that are left out of the first factorization may sum to, see
        :mod:`safescreen.solvers._heavy_terms`; the next ones follow from counted operations.
    near : float
        A start is used if its gap, relative to the objective, is at most this.
    back : float
        Such a start is left for the point of the central path with a gap so many times as large.
    losses, slack : float
        From anywhere else the method starts at the best multiple of the identity, with products
        of which there are `losses` times its objective, and a slack S of `slack` times the norm of
        H for alpha = 1/2.

    Notes
    -----
    The optimum is where, with ``H(alpha) = c + sum_t w_t alpha_t a_t``,

    ::

        lam x - H(alpha) = S,   x S = 0,                          x and S in K
        tau_t - <a_t, x> = g alpha_t + p_t - q_t,                 p_t, q_t >= 0
        p_t (1 - alpha_t) = 0,   q_t alpha_t = 0,                 0 <= alpha_t <= 1

    g being the smoothing of the loss, 0 for the hinge: its kinks are bounds of alpha here, and
    nothing has to be smooth. A step is one of Newton's method for the same equations with mu in
    place of the zeros of the products, mu falling with each step (Mehrotra 1992); in the equation
    of the cone both factors are scaled to the same matrix (Nesterov & Todd 1998). Without alpha and
    the multipliers of its bounds, which are eliminated term by term, it is

    ::

        (lam + W^-1 . W^-1 + sum_t k_t a_t a_t') dx = rhs,
        k_t = w_t / (g + p_t/(1 - alpha_t) + q_t/alpha_t)

    with the scaling W of the cone. Several right-hand sides, that of a predictor, Mehrotra's
    second-order corrector and Gondzio's (1996) correctors, share its factorization. The gap is
    about ``2 mu sum_t w_t``; what is certified is evaluated with alpha, or with ``alpha(x)``
    where that is better.

    Cost: with D = d(d+1)/2 coordinates (d for a vector) and N rows for the terms that weigh most,
    ``N D min(N, D)`` multiplications in products of matrices and ``min(N, D)^3/3`` a step, and a
    few tens of products with all terms, O(n d^2 + pairs d + T) each. Memory: some 15 numbers a
    term, ``D min(N, D)`` numbers and a block of 8 MB.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    >>> solver = InteriorPoint()
    >>> state = solver.init(problem, (problem.cone.zeros(), None), 1e-3)
    >>> evaluation = problem.evaluate(problem.cone.zeros(), 1e-3)
    >>> for _ in range(15):
    ...     (x, alpha), state, _ = solver.step(problem, evaluation, state)
    ...     evaluation = problem.evaluate(x, 1e-3, alpha)
    >>> x.round(4).tolist(), bool(evaluation.gap <= 1e-6 * evaluation.primal)
    ([[0.1481]], True)
    """

    correctors: int = 3
    fraction: float = 0.95
    precision: float = 0.1
    budget: float = 1e4
    near: float = 0.1
    back: float = 15.0
    losses: float = 10.0
    slack: float = 0.01
    needs = ("systems",)

    def work(self, problem: Problem) -> float:
        """Return the operations, of about a nanosecond, that a step takes on average.

        A quarter of the factorization of all terms, and thirty products with them. A solve takes
        some 20 steps, one from the solution of the last lam of a path some 6. Gradient steps, which
        cost ``problem.terms.work`` each, are the better method until they have cost as much."""
        d = problem.cone.d
        width = d * (d + 1) / 2 if isinstance(problem.cone, PSDCone) else d
        system = 0.005 * width * width * (problem.terms.system_rows + width / 3.0)
        return system + 30.0 * problem.terms.work

    def init(
        self, problem: Problem, start: tuple[ElementLike, NDArray | None], lam: float
    ) -> State:
        """Return the state at a start: a point, and its dual point or None for ``alpha(x)``.

        It is on the central path but for the equation of H; O(n d^2 + pairs d + T + d^3)."""
        x, alpha = start
        system = problem.terms.system()
        if not len(system.terms):
            return State(x, x, np.empty((3, 0)), self.budget, system)
        parts = _Parts.of(problem, system)
        e = problem.evaluate(x, lam, alpha)
        if problem.cone.norm(x) > 0.0 and e.gap <= self.near * abs(e.primal):
            mu = self.back * e.gap / parts.count
            x, S = central(problem.cone, lam * x - e.minus, lam, parts.unit * mu)
        else:
            x, S, mu = self._cold(problem, parts, lam)
        duals = np.empty((3, len(parts.system.terms)))
        kernels.center(parts.slacks(x), problem.loss.smoothing, problem.loss.cap, mu, duals)
        return State(x, S, duals, self.budget, system)

    def _cold(self, problem, parts, lam):
        """Return the best multiple of the identity, a slack for it, and mu."""
        cone = problem.cone
        unit = np.eye(cone.d) if isinstance(cone, PSDCone) else np.ones(cone.d)
        size = _best_multiple(problem, parts, unit, lam)
        x = size * unit
        mu = self.losses * max(problem.evaluate(x, lam).primal, np.finfo(float).tiny) / parts.total
        H = parts.H(np.full(len(parts.system.terms), 0.5))
        largest = float(np.linalg.norm(H, 2)) if H.ndim == 2 else float(np.abs(H).max())
        return x, max(parts.unit * mu / size, self.slack * largest) * unit, mu

    def step(
        self, problem: Problem, evaluation: Evaluation, state: State
    ) -> tuple[tuple[ElementLike, NDArray | None], State, int]:
        """Return the next point with its dual point (None for ``alpha(x)``), the next state, and
        1, the number of steps; of the evaluation only lam is used, and without terms the point
        that it leads to. Point and state stay the same where rounding allows no step any more.
        """
        if not len(problem.terms):
            return (evaluation.x_alpha, None), state, 1
        lam = evaluation.lam
        system = problem.terms.system() if state.system is None else state.system
        parts = _Parts.of(problem, system)
        try:
            moved = self._moved(_Step(problem, parts, lam, state))
        except np.linalg.LinAlgError:
            return (evaluation.x, None), state, 1
        return _better(problem, moved, lam), moved, 1

    def _moved(self, step):
        """Return the state after a step: predictor, corrector, and what makes it longer."""
        way = step.predict()
        mu = step.centered(way)
        goal = step.goal(way, mu)
        precision = self.precision * mu / step.mu * step.root
        way = step.towards(goal, precision)
        for _ in range(self.correctors):
            if way.longest >= 1.0 / self.fraction:
                break
            goal = step.corrected(goal, way, mu)
            longer = step.towards(goal, precision)
            if not longer.longest > 1.05 * way.longest:
                break
            way = longer
        return step.moved(way, min(1.0, self.fraction * way.longest))

    def reduce(self, state: State, kept: NDArray) -> State:
        """Return the state of the problem of which terms with these numbers are left."""
        duals = np.ascontiguousarray(state.duals[:, kept])
        return State(state.x, state.S, duals, state.budget)


@dataclass(frozen=True)
class _Parts:
    """What the equations need of a problem: its system, weights and thresholds.

    `total` is the sum of the weights and `unit` their mean, the factor of mu in the equation of
    the cone; `count` times mu is the sum of all products."""

    problem: Problem
    system: PairSystem
    weights: NDArray
    step: int
    total: float
    unit: float
    count: float

    @classmethod
    def of(cls, problem, system):
        terms = system.terms
        n = len(terms)
        weights = np.ones(1) if terms.weights is None else terms.weights
        total = float(n) if terms.weights is None else float(weights.sum())
        unit = total / n if n else 1.0
        bounds = 2.0 if problem.loss.has_linear_region else 1.0
        return cls(
            problem=problem,
            system=system,
            weights=weights,
            step=int(terms.weights is not None),
            total=total,
            unit=unit,
            count=bounds * total + unit * problem.cone.d,
        )

    def slacks(self, x):
        return self.system.terms.threshold - self.system.products(x)

    def H(self, alpha):
        sums = self.system.sums(self.weights * alpha if self.step else alpha)
        return sums if self.problem.linear is None else self.problem.linear + sums


@dataclass(frozen=True)
class _Goal:
    """What the products are to change by, those of the bounds of alpha, shape (2, T), and the
    sum of the scaled changes of x and S.
    """

    bounds: NDArray
    cone: NDArray


@dataclass(frozen=True)
class _Way:
    """A direction: changes of x, S (also scaled) and the duals, the longest step along it, and
    the coefficients of t and t^2 in the sum of all products after a step of length t.
    """

    x: NDArray
    S: NDArray
    scaled: tuple[NDArray, NDArray]
    duals: NDArray
    longest: float
    first: float
    second: float


class _Step:
    """One step: the system at a state, and the directions that it is solved for."""

    def __init__(self, problem, parts, lam, state):
        self.problem = problem
        self.parts = parts
        self.lam = lam
        self.state = state
        cap = problem.loss.cap
        n = state.duals.shape[1]
        self.residual = lam * state.x - parts.H(state.duals[0]) - state.S
        self.scales = np.empty(n)
        self.residuals = np.empty(n)
        products = kernels.eliminate(
            parts.slacks(state.x),
            parts.weights,
            parts.step,
            problem.loss.smoothing,
            cap,
            state.duals,
            self.scales,
            self.residuals,
        )
        self.products = products + problem.cone.inner(state.x, state.S)
        self.mu = self.products / parts.count
        if not 0.0 < self.mu < np.inf:
            raise np.linalg.LinAlgError("rounding has made the products of a state negative")
        self.root = np.sqrt(parts.unit * self.mu)
        self.scaling: Scaling = scaling_of(problem.cone, state.x, state.S)
        self.system = HeavyTerms(parts.system, self.scaling, lam, self.scales, state.budget)

    def predict(self):
        """Return the direction that makes all products vanish, to first order."""
        bounds = np.empty((2, self.scales.size))
        kernels.targets(self.state.duals, self.problem.loss.cap, 0.0, bounds)
        return self.towards(_Goal(bounds, self.scaling.affine()), 0.1 * self.root)

    def centered(self, way):
        """Return the mu to aim at after the predictor: the smaller, the further that leads."""
        t = min(1.0, way.longest)
        after = self.products + t * (way.first + t * way.second)
        return self.mu * min(1.0, max((after / self.products) ** 3, 1e-6))

    def goal(self, way, mu):
        """Return the goal for mu, with the second-order terms of the predictor."""
        bounds = np.empty((2, self.scales.size))
        cap = self.problem.loss.cap
        kernels.targets(self.state.duals, cap, mu, bounds)
        kernels.second_order(way.duals, cap, bounds)
        return _Goal(bounds, self.scaling.towards(self.parts.unit * mu, *way.scaled))

    def corrected(self, goal, way, mu):
        """Return the goal that brings products back that a longer step would lead astray."""
        length = min(1.0, max(1.5 * way.longest, way.longest + 0.3))
        low, high = BAND
        bounds = goal.bounds.copy()
        kernels.correct(
            self.state.duals, way.duals, self.problem.loss.cap, length, low * mu, high * mu, bounds
        )
        unit = self.parts.unit * mu
        more = self.scaling.correct(*way.scaled, length, low * unit, high * unit)
        return _Goal(bounds, goal.cone + more)

    def towards(self, goal, precision):
        """Return the direction to a goal."""
        state = self.state
        cap = self.problem.loss.cap
        inner = self.problem.cone.inner
        unmoved = np.empty(self.scales.size)
        kernels.unmoved(state.duals, self.residuals, goal.bounds, self.scales, cap, unmoved)
        sums = self.parts.system.sums(unmoved)
        rhs = self.scaling.into(sums - self.residual) + self.scaling.turned(goal.cone)
        change = self.system.solve(rhs, precision)
        duals = np.empty_like(state.duals)
        longest, first, second = kernels.direct(
            state.duals,
            goal.bounds,
            self.scales,
            self.parts.weights,
            self.parts.step,
            change.margins,
            unmoved,
            cap,
            duals,
        )
        dS = self.lam * change.x - (sums - change.sums) + self.residual
        scaled = self.scaling.scaled(change.x, dS)
        return _Way(
            x=change.x,
            S=dS,
            scaled=scaled,
            duals=duals,
            longest=min(longest, *map(self.scaling.longest, scaled)),
            first=first + inner(change.x, state.S) + inner(state.x, dS),
            second=second + inner(change.x, dS),
        )

    def moved(self, way, length):
        """Return the state after a step of that length."""
        if not np.isfinite(way.first + way.second):
            raise np.linalg.LinAlgError("a direction is not finite")
        state = self.state
        return State(
            x=state.x + length * way.x,
            S=_symmetric(state.S + length * way.S),
            duals=state.duals + length * way.duals,
            budget=self.system.next_budget,
            system=self.parts.system,
        )


def _better(problem, state, lam) -> tuple[Any, NDArray | None]:
    """Return x with alpha, or with None where the gap at ``alpha(x)`` is smaller."""
    alpha = np.clip(state.duals[0], 0.0, problem.loss.cap)
    if problem.loss.smoothing == 0.0:
        return state.x, alpha
    own = problem.evaluate(state.x, lam).gap
    return state.x, None if own < problem.evaluate(state.x, lam, alpha).gap else alpha


def _best_multiple(problem, parts, unit, lam):
    """Return the r > 0 for which ``r unit`` has about the lowest objective; bisection on its
    slope, O(T) each time.
    """
    terms = parts.system.terms
    margins = parts.system.products(unit)
    square = lam * problem.cone.inner(unit, unit)
    weighted = parts.weights * margins if parts.step else margins
    down = 0.0 if problem.linear is None else problem.cone.inner(problem.linear, unit)
    low = 1e-40
    high = 1e40
    for _ in range(50):
        r = np.sqrt(low * high)
        slope = (
            r * square - down - float(weighted @ problem.loss.alpha(r * margins, terms.threshold))
        )
        if slope > 0.0:
            high = r
        else:
            low = r
    return float(np.sqrt(low * high))


def _symmetric(S):
    return 0.5 * (S + S.T) if S.ndim == 2 else S
