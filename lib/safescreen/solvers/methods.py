"""Which solver is used: methods by name."""

from safescreen.solvers import newton, projected_gradient
from safescreen.solvers.coordinate_descent import minimize_dual
from safescreen.solvers.multipliers import minimize_hinge

__all__ = ["DUAL", "METHODS", "check_method"]

PATIENCE, MOST_PATIENCE = 60, 1000
"""Sweeps of coordinate descent without a tenfold gain after which Newton's method takes over: where its steps are cheap, and anywhere."""


def _gradient(reduction, lam, state, limits, alpha, **options):
    if reduction.whole.loss.smoothing == 0.0:
        return minimize_hinge(reduction, lam, state, limits, alpha, **options)
    return projected_gradient.minimize(reduction, lam, state, limits, **options), None


def _newton(reduction, lam, state, limits, alpha, *, screen=None, **options):
    def sparingly(e):
        """Screen where the gap has fallen since the last time: rounds are cheap here."""
        return e.gap < 0.3 * reduction.tried and screen(e)

    options["screen"] = None if screen is None else sparingly
    if reduction.whole.loss.smoothing == 0.0:
        options |= {"inner": newton.minimize, "width": newton.WIDTH, "accuracy": newton.ACCURACY}
        return minimize_hinge(reduction, lam, state, limits, alpha, **options)
    return newton.minimize(reduction, lam, state, limits, **options), None


def _coordinate(reduction, lam, state, limits, alpha, **options):
    return minimize_dual(reduction, lam, state, limits, alpha, **options)


def _unshrunk(reduction, lam, state, limits, alpha, **options):
    return minimize_dual(reduction, lam, state, limits, alpha, shrinking=False, **options)


def _hybrid(reduction, lam, state, limits, alpha, **options):
    reached, alpha = minimize_dual(reduction, lam, state, limits, alpha, patience=_patience(reduction.problem.terms), **options)
    if reached or state.stopped or state.n_iter >= limits.max_iter:
        return reached, alpha
    return _newton(reduction, lam, state, limits, alpha, **options)


def _patience(terms):
    """Return after how many sweeps a Newton step, which factorizes a matrix, is the cheaper way on."""
    if not getattr(terms, "stored", 0):
        return PATIENCE
    factorization, sweep = min(len(terms), *terms.cone.shape) ** 3 / 3.0, 4.0 * terms.stored
    return int(min(PATIENCE * max(1.0, factorization / sweep), MOST_PATIENCE))


METHODS = {"gradient": _gradient, "newton": _newton, "coordinate": _coordinate, "unshrunk": _unshrunk, "hybrid": _hybrid}

DUAL = (_coordinate, _unshrunk, _hybrid)
"""Those that start from a dual point, whatever x is."""


def check_method(method, prob):
    """Return the solver of that name, "auto" being hybrid where the terms allow it and gradient elsewhere.

    Raises
    ------
    ValueError
        An unknown name, or a method that needs the whole space and single terms.
    """
    free = hasattr(prob.terms, "sweep")
    if method == "auto":
        return METHODS["hybrid" if free else "gradient"]
    if method not in METHODS:
        raise ValueError(f"method must be 'auto' or one of {', '.join(METHODS)}, got {method!r}")
    if method != "gradient" and not free:
        raise ValueError(f"method={method!r} needs terms over the whole space such as Samples, got {type(prob.terms).__name__}")
    return METHODS[method]
