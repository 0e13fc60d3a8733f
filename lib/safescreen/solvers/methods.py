"""Which solver is used: methods by name, and what each needs of the terms."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from safescreen.problem import Problem
from safescreen.solvers import newton, projected_gradient
from safescreen.solvers.coordinate_descent import minimize_dual
from safescreen.solvers.multipliers import minimize_hinge
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.settings import Descent, Screen, Settings

PATIENCE = 60
"""Sweeps of coordinate descent without a tenfold gain after which Newton's method takes over where
its steps are cheap.
"""

MOST_PATIENCE = 1000
"""Sweeps without a tenfold gain after which it takes over anywhere."""


@dataclass(frozen=True)
class Method:
    """A solver ``run(reduction, state, settings, screen) -> bool``, which updates `state` and says
    whether the limits were reached.

    It `needs` capabilities of the terms, see :data:`safescreen.terms.base.CAPABILITIES`; `dual`
    says whether it starts from a dual point, whatever x is."""

    run: Callable[[Reduction, Descent, Settings, Screen], bool]
    needs: tuple[str, ...] = ()
    dual: bool = False


def _gradient(reduction, state, settings, screen, newton=False):
    inner = partial(projected_gradient.minimize, newton=newton)
    if reduction.whole.loss.smoothing > 0.0:
        return inner(reduction, state, settings, screen)
    return minimize_hinge(reduction, state, settings, screen, inner=inner)


def _newton(reduction, state, settings, screen):
    # where the gap has fallen since the last time: rounds are cheap here
    rounds = None if screen is None else lambda e: e.gap < 0.3 * reduction.tried and screen(e)
    if reduction.whole.loss.smoothing > 0.0:
        return newton.minimize(reduction, state, settings, rounds)
    return minimize_hinge(
        reduction,
        state,
        settings,
        rounds,
        inner=newton.minimize,
        width=newton.WIDTH,
        accuracy=newton.ACCURACY,
    )


def _hybrid(reduction, state, settings, screen):
    reached = minimize_dual(
        reduction, state, settings, screen, patience=_patience(reduction.problem.terms)
    )
    if reached or state.stopped or state.n_iter >= settings.limits.max_iter:
        return reached
    return _newton(reduction, state, settings, screen)


def _patience(terms):
    """Return after how many sweeps a Newton step, which factorizes a matrix, is the cheaper way
    on: late where its entries are dear.
    """
    if not terms.stored:
        return min(max(PATIENCE, len(terms) // 10), MOST_PATIENCE) if terms.costly else PATIENCE
    factorization = min(len(terms), *terms.cone.shape) ** 3 / 3.0
    sweep = 4.0 * terms.stored
    return int(min(PATIENCE * max(1.0, factorization / sweep), MOST_PATIENCE))


_SINGLY = ("singles", "sweeps")

METHODS = {
    "gradient": Method(_gradient),
    "semismooth": Method(partial(_gradient, newton=True), ("curvature",)),
    "newton": Method(_newton, _SINGLY),
    "coordinate": Method(minimize_dual, _SINGLY, dual=True),
    "unshrunk": Method(partial(minimize_dual, shrinking=False), _SINGLY, dual=True),
    "hybrid": Method(_hybrid, _SINGLY, dual=True),
}


def check_method(method: str, prob: Problem) -> Method:
    """Return the :class:`Method` of that name; "auto" is hybrid where the terms allow it,
    semismooth for the hinge, and gradient elsewhere.

    ValueError for an unknown name, TypeError where the terms lack what the method needs.
    """
    if method == "auto":
        offers = prob.terms.offers
        if prob.loss.smoothing > 0.0:
            offers = offers - {"curvature"}
        if "sweeps" in offers:
            return METHODS["hybrid"]
        return METHODS["semismooth" if "curvature" in offers else "gradient"]
    if method not in METHODS:
        raise ValueError(f"method must be 'auto' or one of {', '.join(METHODS)}, got {method!r}")
    prob.terms.require(*METHODS[method].needs, by=f"method={method!r}")
    return METHODS[method]
