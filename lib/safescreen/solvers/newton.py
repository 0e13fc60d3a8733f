"""Semismooth Newton method on the problem that screening leaves, for terms over the whole space.

The gradient ``lam x - H(alpha(x))`` is piecewise linear. Its slope at x is
``lam I + sum_{t in C} w_t/gamma a_t a_t'``, C the terms between their two regions; with the next
point by this slope and an exact line search the method ends after finitely many steps (Sun & Han
1997), a handful from a warm start. The system is solved in the smaller of its two forms, d x d or
(Woodbury) C x C."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from safescreen._numba import njit
from safescreen._threads import large_blas
from safescreen.problem import Evaluation, Problem
from safescreen.rounding import ElementLike
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.settings import Descent, Screen, Settings

WIDTH = 0.003
"""First width of the smoothed problems that stand for the hinge: Newton steps do not mind how
strongly they are curved.
"""

ACCURACY = 1e-5
"""How far they are solved, relative to the hinge's gap: the last step of a finite method is the
cheapest.
"""

STALLED = 3
"""Steps that do not lower the objective by more than rounding before giving up."""

KINK = 1e-12
"""Width of the smoothed hinge that stands for the hinge on a line."""

LARGEST = 3000
"""Systems up to this size are factorized; larger ones are solved by conjugate gradients."""

RAISES = (0.0, 1e-14, 1e-11, 1e-8)
"""What is added to the diagonal of a system that rounding has made singular, in parts of its
largest entry.
"""


def minimize(
    reduction: Reduction, state: Descent, settings: Settings, screen: Screen = None
) -> bool:
    """Run Newton's method until the gap of the problem that is left reaches the limits; `state` is
    updated.

    As :func:`safescreen.solvers.projected_gradient.minimize`, but an active set is without effect,
    for a Newton step only looks at the terms in C anyway, and screening is tried before each step
    in which the gap has fallen tenfold. Cost of a step: three products with the data beside the
    system, ``|C| d min(|C|, d)`` to build it and a third power to solve it."""
    limits = settings.limits
    lam = state.lam
    x = state.x
    stalled = 0
    lowest = np.inf
    state.alpha = None
    if state.evaluation is not None and state.evaluation.x is x:
        e = state.evaluation
    else:
        e = reduction.problem.evaluate(x, lam)
    best = e
    while True:
        state.record(reduction, e, settings.callback)
        stalled = 0 if e.primal < lowest * (1.0 - 1e-14) else stalled + 1
        lowest = min(lowest, e.primal)
        if e.gap < best.gap:
            best = e
        if (
            limits.reached(best)
            or state.stopped
            or state.n_iter >= limits.max_iter
            or stalled > STALLED
        ):
            break
        if screen is not None and e.gap < 0.1 * reduction.tried and screen(e):
            e = reduction.problem.evaluate(x, lam)
            lowest = np.inf
            best = e
            if limits.reached(best):
                break
        step = _step(reduction.problem, e)
        if step is None:
            break
        x = reduction.problem.cone.project(x + step)
        state.n_iter += 1
        e = reduction.problem.evaluate(x, lam)
    state.evaluation = best
    state.x = best.x
    state.step = None
    return limits.reached(best)


def _step(problem, e):
    """Return the Newton step at an evaluated point, cut by an exact line search; None where no
    step descends.
    """
    terms = problem.terms
    loss = problem.loss
    lam = e.lam
    margins = terms.margins(e.x)
    gradient = e.gradient
    slack = terms.threshold - margins
    curved = np.flatnonzero((slack > 0.0) & (slack < loss.smoothing * loss.cap))
    with large_blas(min(curved.size, problem.cone.shape[0])):
        direction = _direction(terms, gradient, curved, loss.smoothing, lam)
    t = line_search(problem, e, slack, direction)
    return t * direction if t > 0.0 else None


def line_search(problem: Problem, e: Evaluation, slack: NDArray, direction: ElementLike) -> float:
    """Return the t > 0 that minimizes the objective at ``x + t direction``, x evaluated, with
    ``slack = tau - margins(x)``; O(T).
    """
    terms = problem.terms
    loss = problem.loss
    inner = problem.cone.inner
    down = inner(e.gradient, direction)
    square = e.lam * inner(direction, direction)
    weights = np.ones(1) if terms.weights is None else terms.weights
    slopes = terms.margins(direction)
    return _line_search(
        slack,
        slopes,
        weights,
        int(terms.weights is not None),
        loss.smoothing,
        loss.cap,
        down,
        square,
    )


def best_multiple(problem: Problem, x: ElementLike, lam: float) -> ElementLike:
    """Return the multiple of x, zero or a positive one, with the lowest objective of the hinge;
    O(T) beside the margins of x.
    """
    terms = problem.terms
    inner = problem.cone.inner
    weights = np.ones(1) if terms.weights is None else terms.weights
    margins = terms.margins(x)
    slack = np.broadcast_to(terms.threshold, margins.shape)
    down = -float(np.sum(weights * margins, where=slack > 0.0)) - (
        0.0 if problem.linear is None else inner(problem.linear, x)
    )
    return x * _line_search(
        slack, margins, weights, int(terms.weights is not None), KINK, 1.0, down, lam * inner(x, x)
    )


def _direction(terms, gradient, curved, width, lam):
    """Return ``-(lam I + sum_{t in C} w_t/width a_t a_t')^-1 gradient``."""
    if curved.size == 0:
        return (-1.0 / lam) * gradient
    ridge = np.full(curved.size, width) if terms.weights is None else width / terms.weights[curved]
    rows = terms.rows(curved) if "rows" in terms.offers else None
    if rows is None or curved.size <= min(rows.shape[1], LARGEST):
        return _dual_direction(terms, gradient, curved, rows, ridge, lam)
    if rows.shape[1] <= LARGEST:
        if sparse.issparse(rows):
            scaled = rows.multiply(1.0 / ridge[:, None]).tocsr()
        else:
            scaled = rows / ridge[:, None]
        slope = rows.T @ scaled
        slope = slope.toarray() if sparse.issparse(slope) else slope
        return -_solve(slope, lam, gradient)
    return -_conjugate_gradients(lambda v: lam * v + rows.T @ ((rows @ v) / ridge), gradient)


def _dual_direction(terms, gradient, curved, rows, ridge, lam):
    """Solve by Woodbury: ``-(gradient - Z' (lam D + Z Z')^-1 Z gradient)/lam`` with the rows Z
    of C and their ridge D.
    """
    products = terms.margins(gradient)[curved] if rows is None else rows @ gradient
    if curved.size <= LARGEST:
        gram = terms.gram(curved)
        solution = _solve(gram, lam * ridge, products)
    else:
        apply = terms.gram_operator(curved)
        solution = _conjugate_gradients(lambda v: apply(v) + lam * ridge * v, products)
    if rows is not None:
        return (-1.0 / lam) * (gradient - rows.T @ solution)
    weights = np.zeros(len(terms))
    weights[curved] = solution if terms.weights is None else solution / terms.weights[curved]
    return (-1.0 / lam) * (gradient - terms.weighted_sum(weights)[0])


def _solve(matrix, ridge, b):
    """Return ``(matrix + diag(ridge))^-1 b`` for a positive semidefinite matrix, to which the ridge
    is added.

    Where it is singular as computed the ridge is raised until it is not, by parts of the largest
    entry: a step of descent all the same."""
    diagonal = matrix.flat[:: matrix.shape[0] + 1] + ridge
    for part in RAISES:
        matrix.flat[:: matrix.shape[0] + 1] = diagonal + part * diagonal.max()
        _, solution, failed = linalg.lapack.dposv(matrix.T, b)
        if not failed:
            break
    return solution


def _conjugate_gradients(apply, b):
    return cg(LinearOperator((b.size, b.size), matvec=apply), b, rtol=1e-3, maxiter=200)[0]


@njit
def _line_search(slack, slopes, weights, step, width, cap, down, square):
    """Return the t > 0 that minimizes the objective along a direction, by safeguarded Newton steps
    on its slope.

    ``slope(t) = down + t square - sum_t w_t (alpha_t(slack - t slopes) - alpha_t(slack)) slopes``
    is increasing and piecewise linear; written with differences it does not cancel near the
    solution."""
    low = 0.0
    high = np.inf
    t = 1.0
    for _ in range(100):
        value = down + t * square
        curvature = square
        for i in range(slack.size):
            before = min(max(slack[i], 0.0), width * cap)
            moved = slack[i] - t * slopes[i]
            after = min(max(moved, 0.0), width * cap)
            w = weights[i * step] * slopes[i] / width
            if after == moved and before == slack[i]:
                value += w * t * slopes[i]
            else:
                value -= w * (after - before)
            if moved > 0.0 and moved < width * cap:
                curvature += w * slopes[i]
        if value > 0.0:
            high = t
        else:
            low = t
        if not curvature > 0.0:
            break
        following = t - value / curvature
        if abs(following - t) <= 1e-12 * t:
            return max(following, 0.0)
        if not (following > low and following < high):
            following = 0.5 * (low + high) if high < np.inf else 2.0 * t
        if following == t or high <= 1e-14:
            break
        t = following
    return t
