"""Primal-dual interior-point method for terms over a cone, with some tens of steps for any lam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safescreen.interior import _dual_kernels as kernels
from safescreen.interior.newton_system import Effort, NewtonSystem
from safescreen.interior.pair_system import PairSystem, pair_system
from safescreen.interior.scalings import Scaling, back_between, central, identity, scaling_of
from safescreen.problem import Problem
from safescreen.solvers.point import Point
from safescreen.solvers.state import State

__all__ = ["InteriorPoint"]


@dataclass(frozen=True)
class PrimalDual:
    """State of the method: x and its slack S inside the cone, three numbers for each term (see
    :mod:`safescreen.interior._dual_kernels`), and the budget of the next system.

    `system` is the system of the terms; None after the terms have changed."""

    x: NDArray
    S: NDArray
    duals: NDArray
    budget: float
    system: PairSystem | None = None


@dataclass(frozen=True)
class InteriorPoint:
    """Mehrotra's predictor-corrector method with Nesterov-Todd scaling.

    Attributes
    ----------
    correctors : int
        Largest number of further corrections of a direction. They end when the step no longer
        grows.
    fraction : float
        The fraction of the way to the boundary that a step takes.
    precision : float
        The largest residual of a direction, relative to the goal of the products.
    coarsest : float
        No residual has to be smaller than this fraction of the residual of the equation of H,
        because steps are short while that residual is large.
    band : tuple of float
        Two multiples of the goal of the products. A corrector does not change products between
        them.
    budget : float
        Largest sum of the terms that the first factorization leaves out, see
        :mod:`safescreen.interior.newton_system`. Later budgets follow from counted operations.
    near : float
        A start is used if its gap relative to the objective, with its dual point or the best
        multiple of its dual point, is at most this.
    back : float
        The method then begins at a point of the central path whose gap is this many times the gap
        of the start.
    pull : float
        How strongly the multiple of the dual point is kept if it is not ``alpha(x)``: a change of
        the slack by 1 changes its dual variables by ``1/pull``.
    losses, slack : float
        Without such a start the method begins at the best multiple of the identity. The sum of
        ``w_t mu`` is then `losses` times the objective of this point, and the slack S is at least
        `slack` times the norm of H for alpha = 1/2.
    hopeless : int
        A solve is given up after this many steps that did not lower the gap by a hundredth, if most
        of the gap is rounding.
    largest : int
        Largest number of coordinates of x at which the method is chosen automatically: a system of
        this size takes 128 MB.
    needs : tuple of str
        Capabilities that the terms must offer; for the hinge "singles" too.

    Notes
    -----
    With ``H(alpha) = c + sum_t w_t alpha_t a_t``, the optimum solves

    ::

        lam x - H(alpha) = S,   x S = 0,                          x and S in K
        tau_t - <a_t, x> = g alpha_t + p_t - q_t,                 p_t, q_t >= 0
        p_t (1 - alpha_t) = 0,   q_t alpha_t = 0,                 0 <= alpha_t <= 1

    where g is the smoothing of the loss, 0 for the hinge. The kinks of the hinge are bounds of
    alpha here, and nothing has to be smooth. A step is a step of Newton's method for the same
    equations, except that the products are mu instead of 0; mu falls with each step (Mehrotra
    1992). In the equation of the cone both factors are scaled to the same matrix (Nesterov & Todd
    1998). After alpha and the multipliers of its bounds have been eliminated term by term, the
    system is

    ::

        (lam + W^-1 . W^-1 + sum_t k_t a_t a_t') dx = rhs,
        k_t = w_t / (g + p_t/(1 - alpha_t) + q_t/alpha_t)

    with the scaling W of the cone. The right-hand sides of a predictor, of Mehrotra's second-order
    corrector and of Gondzio's (1996) correctors share its factorization. The gap is about ``2 mu
    sum_t w_t``. The certified gap is evaluated with ``alpha(x)``, or with alpha for the hinge.

    Cost: with D = d(d+1)/2 coordinates (d for a vector) and N rows for the terms that weigh most, a
    step takes ``N D min(N, D)`` multiplications in products of matrices, ``min(N, D)^3/3`` in a
    factorization, and a few tens of products with all terms, O(n d^2 + pairs d + T) each. Memory:
    some 15 numbers for each term, ``D min(N, D)`` numbers and a block of 8 MB.

    Examples
    --------
    >>> import numpy as np, safescreen as ss
    >>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
    >>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    >>> solution = ss.solve(problem, 1e-3, method="interior")
    >>> solution.x.round(4).tolist(), solution.converged, solution.n_iter < 20
    ([[0.1481]], True, True)
    """

    correctors: int = 3
    fraction: float = 0.95
    precision: float = 0.1
    coarsest: float = 1e-4
    band: tuple[float, float] = (0.1, 10.0)
    budget: float = 1e4
    near: float = 0.1
    back: float = 15.0
    pull: float = 10.0
    losses: float = 10.0
    slack: float = 0.01
    hopeless: int = 20
    largest: int = 4000
    needs: tuple[str, ...] = ("differences",)

    pace = 0.1

    def is_able(self, problem: Problem) -> bool:
        """Return whether the terms offer what the method needs, and x has few enough
        coordinates.
        """
        is_offered = problem.terms.offers.issuperset(self.needs)
        return is_offered and problem.cone.n_coordinates <= self.largest

    def worth(self, problem: Problem) -> float:
        """Return the number of gradient steps that take about as long as a solve, ``100 + T/100 +
        D^2/3000`` with T terms and D coordinates.
        """
        return 100.0 + len(problem) / 100.0 + problem.cone.n_coordinates**2 / 3000.0

    def init(self, problem: Problem, state: State) -> tuple[Point, PrimalDual]:
        """Return the start of the method. All products of the state are equal, and it solves all
        equations except the equation of H, as far as no dual point is kept; O(n d^2 + pairs d + T +
        d^3).
        """
        start = state.point
        point = Point(start.x, alpha=start.alpha, evaluation=start.evaluation)
        system = pair_system(problem.terms)
        if not len(system.terms):
            return point, PrimalDual(start.x, start.x, np.empty((3, 0)), self.budget, system)
        parts = _Parts.of(problem, system)
        e = point.evaluated(problem, state.lam)
        dual, towards = _best_scaled(problem, e, start.alpha)
        if problem.cone.norm(start.x) > 0.0 and dual.gap <= self.near * abs(e.primal):
            mu = self.back * dual.gap / parts.count
            x, S = central(problem.cone, state.lam * e.x - dual.minus, state.lam, parts.unit * mu)
        else:
            towards = None
            x, S, mu = self._cold(problem, parts, state.lam)
        duals = _central(parts, x, mu, self.pull, towards)
        return point._replace(evaluation=e), PrimalDual(x, S, duals, self.budget, system)

    def _cold(self, problem, parts, lam):
        """Return the best multiple of the identity, a slack for it, and mu."""
        cone = problem.cone
        unit = identity(cone)
        H = parts.H(np.full(len(parts.system.terms), 0.5))
        size = max(
            _best_multiple(problem, parts, unit, lam), self._least_multiple(parts, H, unit, lam)
        )
        x = size * unit
        objective = problem.evaluate(x, lam).primal
        if problem.linear is not None:  # only its size counts: the linear part can be negative
            objective += 2.0 * max(cone.inner(problem.linear, x), 0.0)
        mu = self.losses * max(objective, np.finfo(float).tiny) / parts.total
        largest = float(np.linalg.norm(H, 2 if H.ndim == 2 else np.inf))
        return x, max(parts.unit * mu / size, self.slack * largest) * unit, mu

    def _least_multiple(self, parts, H, unit, lam):
        """Return a multiple of the identity whose margins and norm are far below their expected
        values.

        It is needed because the best multiple is 0 if the linear term pulls towards 0, and 0 does
        not lie inside the cone.
        """
        cone = parts.problem.cone
        largest = float(np.abs(parts.system.products(unit)).max())
        margins = self.slack / largest if largest > 0.0 else np.inf
        return min(margins, self.slack * cone.norm(H) / (lam * cone.norm(unit)))

    def step(
        self, problem: Problem, state: State, own: PrimalDual
    ) -> tuple[Point, PrimalDual] | None:
        """Take a step. Return None if rounding or the range of numbers allows no further step.
        Without terms one step reaches the optimum.
        """
        if not len(problem.terms):
            return Point(state.evaluation.x_alpha, iterations=1), own
        if state.n_iter - state.fall.fell_at >= self.hopeless and state.is_rounding:
            return None
        system = pair_system(problem.terms) if own.system is None else own.system
        parts = _Parts.of(problem, system)
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                moved = self._moved(_Step(self, parts, state.lam, own))
        except (np.linalg.LinAlgError, FloatingPointError):
            return None
        return _point(problem, moved), moved

    def _moved(self, step):
        """Return the state after a step: a predictor, a corrector, and further correctors that make
        the step longer.
        """
        way = step.predict()
        mu = step.centered(way)
        goal = step.goal(way, mu)
        precision = self.precision * mu / step.mu * step.root
        way = step.towards(goal, precision, way.effort)
        effort = way.effort
        for _ in range(self.correctors):
            if way.longest >= 1.0 / self.fraction:
                break
            goal = step.corrected(goal, way, mu)
            longer = step.towards(goal, precision, effort)
            effort = longer.effort
            if not longer.longest > 1.05 * way.longest:
                break
            way = longer
        return step.moved(way, min(1.0, self.fraction * way.longest), effort.next_budget)

    def reduce(self, problem: Problem, own: PrimalDual, kept: Any) -> PrimalDual:
        """Return the state with the numbers of the terms that are kept."""
        duals = np.ascontiguousarray(own.duals[:, kept])
        return PrimalDual(own.x, own.S, duals, own.budget)


def _central(parts, x, mu, pull=0.0, towards=None):
    """Return three numbers for each term on the central path for mu. If dual variables are to be
    kept, only the products of the numbers are mu.
    """
    duals = np.empty((3, len(parts.system.terms)))
    loss = parts.problem.loss
    if towards is None:
        pull = 0.0
        towards = np.empty(0)
    kernels.center(parts.slacks(x), loss.smoothing, loss.cap, mu, pull, towards, duals)
    return duals


@dataclass(frozen=True)
class _Parts:
    """Data of a problem for the equations: its system and weights.

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
    """Goal of a direction: the changes of the products of the bounds of alpha, shape (2, T), and
    the sum of the scaled changes of x and S.
    """

    bounds: NDArray
    cone: NDArray


@dataclass(frozen=True)
class _Way:
    """Direction of a step: changes of x, of S and of the duals, the scaled changes of x and S, the
    longest step along the direction, the coefficients of t and t^2 in the sum of all products after
    a step of length t, and the effort of all directions so far.
    """

    x: NDArray
    S: NDArray
    scaled: tuple[NDArray, NDArray]
    duals: NDArray
    longest: float
    first: float
    second: float
    effort: Effort


class _Step:
    """One step: the system at a state, and the directions that solve it."""

    def __init__(self, solver, parts, lam, state):
        problem = parts.problem
        self.problem = problem
        self.parts = parts
        self.band = solver.band
        self.lam = lam
        self.state = state
        self.is_capped = problem.loss.has_linear_region
        n = state.duals.shape[1]
        self.residual = lam * state.x - parts.H(state.duals[0]) - state.S
        self.scales = np.empty(n)
        self.residuals = np.empty(n)
        products = kernels.eliminate(
            parts.slacks(state.x),
            parts.weights,
            parts.step,
            problem.loss.smoothing,
            problem.loss.cap,
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
        self.coarsest = solver.coarsest * float(np.linalg.norm(self.scaling.into(self.residual)))
        self.system = NewtonSystem.of(parts.system, self.scaling, lam, self.scales)
        self.effort = Effort(self.system.factorize(state.budget))

    def predict(self):
        """Return the direction that makes all products vanish, to first order."""
        goal = _Goal(self._targets(0.0), self.scaling.affine())
        return self.towards(goal, 0.1 * self.root, self.effort)

    def centered(self, way):
        """Return the mu to aim at after the predictor. The further the predictor leads, the smaller
        it is.
        """
        t = min(1.0, way.longest)
        after = self.products + t * (way.first + t * way.second)
        return self.mu * min(1.0, max((after / self.products) ** 3, 1e-6))

    def goal(self, way, mu):
        """Return the goal for mu, with the second-order terms of the predictor."""
        bounds = self._targets(mu)
        alpha, above, below = way.duals
        if self.is_capped:
            bounds[0] += alpha * above
        bounds[1] -= alpha * below
        return _Goal(bounds, self.scaling.towards(self.parts.unit * mu, *way.scaled))

    def _targets(self, mu):
        """Return the changes that make the products of the bounds equal to mu."""
        alpha, above, below = self.state.duals
        bounds = np.zeros((2, alpha.size))
        if self.is_capped:
            bounds[0] = mu - above * (self.problem.loss.cap - alpha)
        bounds[1] = mu - below * alpha
        return bounds

    def corrected(self, goal, way, mu):
        """Return the goal with a correction for products that a longer step would move too far from
        mu.
        """
        length = min(1.0, max(1.5 * way.longest, way.longest + 0.3))
        low, high = self.band
        bounds = goal.bounds.copy()
        alpha, above, below = self.state.duals + length * way.duals
        if self.is_capped:
            bounds[0] += back_between((self.problem.loss.cap - alpha) * above, low * mu, high * mu)
        bounds[1] += back_between(alpha * below, low * mu, high * mu)
        unit = self.parts.unit * mu
        more = self.scaling.correct(*way.scaled, length, low * unit, high * unit)
        return _Goal(bounds, goal.cone + more)

    def towards(self, goal, precision, effort):
        """Return the direction to a goal. `effort` is the effort of the earlier directions."""
        state = self.state
        inner = self.problem.cone.inner
        unmoved = self._unmoved(goal)
        sums = self.parts.system.sums(unmoved)
        rhs = self.scaling.into(sums - self.residual) + self.scaling.turned(goal.cone)
        change, effort = self.system.solve(rhs, max(precision, self.coarsest), effort)
        duals = np.empty_like(state.duals)
        longest, first, second = kernels.direct(
            state.duals,
            goal.bounds,
            unmoved - self.scales * change.margins,
            self.parts.weights,
            self.parts.step,
            self.problem.loss.cap,
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
            effort=effort,
        )

    def _unmoved(self, goal):
        """Return the change of the weighted alpha for unchanged margins."""
        alpha = self.state.duals[0]
        residuals = self.residuals + goal.bounds[1] / alpha
        if self.is_capped:
            residuals -= goal.bounds[0] / (self.problem.loss.cap - alpha)
        return self.scales * residuals

    def moved(self, way, length, budget):
        """Return the state after a step of this length; `budget` is for the next step."""
        if not np.isfinite(way.first + way.second):
            raise np.linalg.LinAlgError("a direction is not finite")
        state = self.state
        S = state.S + length * way.S
        return PrimalDual(
            x=state.x + length * way.x,
            S=0.5 * (S + S.T),
            duals=state.duals + length * way.duals,
            budget=budget,
            system=self.parts.system,
        )


def _point(problem, state):
    """Return the point of a state: x, and for the hinge also alpha."""
    if problem.loss.smoothing > 0.0:
        return Point(state.x, iterations=1)
    return Point(state.x, iterations=1, alpha=np.clip(state.duals[0], 0.0, problem.loss.cap))


def _best_scaled(problem, e, alpha):
    """Return the evaluation at the multiple of alpha with the largest dual objective, and this
    multiple. If it is not better, return the given evaluation and None.

    If all terms can have nearly no loss, x hardly changes with a small lam, and the optimal alpha
    is proportional to lam.
    """
    sums = e.sums
    square = problem.cone.inner(e.plus, e.plus) / e.lam
    curvature = problem.loss.smoothing * sums.alpha_square + square
    is_moved = problem.linear is not None and np.any(problem.linear)
    if is_moved or not curvature > 0.0 or not sums.alpha_sum > 0.0:
        return e, None
    alpha = problem.alpha(e.x) if alpha is None else alpha
    scaled = np.clip(sums.alpha_sum / curvature * alpha, 0.0, problem.loss.cap)
    at_scaled = problem.evaluate(e.x, e.lam, scaled)
    return (at_scaled, scaled) if at_scaled.gap < e.gap else (e, None)


def _best_multiple(problem, parts, unit, lam):
    """Return the r > 0 for which ``r unit`` has about the lowest objective, by bisection on the
    slope; O(T) for each value.
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
