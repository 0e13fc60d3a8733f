"""The methods by name, what each method needs of the terms, and the function that checks the
arguments of a caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from safescreen._checks import check_count, check_flag
from safescreen.interior import InteriorPoint
from safescreen.problem import Problem
from safescreen.rules.features import can_leave_out, need_features
from safescreen.solvers.active_set import ActiveSet
from safescreen.solvers.coordinate_descent import CoordinateDescent
from safescreen.solvers.every import Every
from safescreen.solvers.limits import Limits
from safescreen.solvers.newton import Newton
from safescreen.solvers.projected_gradient import ProjectedGradient
from safescreen.solvers.proximal_hinge import ProximalHinge
from safescreen.solvers.proximal_intercept import ProximalIntercept
from safescreen.solvers.reduction import Test, can_be_screened, parse_screening
from safescreen.solvers.relay import Relay
from safescreen.solvers.semismooth import Semismooth
from safescreen.solvers.setup import FeatureTrials, Policy, Setup, Solver
from safescreen.solvers.when_fallen import WhenFallen
from safescreen.spheres import SPHERES

SMOOTH: dict[str, Solver] = {
    "gradient": ProjectedGradient(),
    "semismooth": Semismooth(),
    "interior": InteriorPoint(),
    "handover": Relay(ProjectedGradient(), InteriorPoint(), early=True),
    "newton": Newton(),
    "coordinate": CoordinateDescent(),
    "unshrunk": CoordinateDescent(shrinking=False),
    "hybrid": Relay(CoordinateDescent(gives_up=True), Newton()),
}
"""Solvers for losses with a slope everywhere."""

NEWTON_HINGE = ProximalHinge(Newton(), width=0.003, accuracy=1e-5, pace=0.3)
"""Newton's method for the hinge. Its width is small because Newton steps work however strongly the
smoothed problems are curved. Its accuracy is high because the last step of a finite method is the
cheapest.
"""

INTERIOR_HINGE = InteriorPoint(needs=("differences", "singles"))
"""The interior-point method for the hinge. It needs "singles", because the gap of the hinge needs
the dual point term by term.
"""

HINGE: dict[str, Solver] = {
    "gradient": ProximalHinge(),
    "semismooth": ProximalHinge(Semismooth()),
    "interior": INTERIOR_HINGE,
    "handover": Relay(ProximalHinge(), INTERIOR_HINGE, early=True),
    "newton": NEWTON_HINGE,
    "coordinate": CoordinateDescent(),
    "unshrunk": CoordinateDescent(shrinking=False),
    "hybrid": Relay(CoordinateDescent(gives_up=True), NEWTON_HINGE),
}
"""Solvers for the hinge."""

NARROW = 1000
"""For a smooth loss and full matrices of at most this many coordinates, "handover" takes semismooth
Newton steps between its gradient steps.
"""

DUAL = ("coordinate", "unshrunk", "hybrid")
"""Methods that, for the hinge, start from a dual point, whatever x is."""

ITERATIVE = ("gradient", "semismooth", "handover")
"""Methods that can use an active set. A step of the other methods reads only the terms in C, the
region between the two straight pieces of the loss.
"""

LISTED = frozenset({"singles", "differences"})
"""``screening="auto"`` screens terms with these capabilities: triplets, pairs and quadruplets in a
list. "auto" does not screen samples, because shrinking leaves out the same samples at no cost.
"""

AUTO = (Test((SPHERES["MGB"],), "sphere"),)
""""auto" screens with these tests each time the gap has fallen by the factor `FALLEN`, and at least
`PAUSE` iterations have passed.
"""

FALLEN, PAUSE = 0.1, 10

UNSCREENED = (
    "products of lists and shards are not screened, listed Triplets are; take 'auto' or (), which "
    "screen nothing here"
)
"""The advice in the error for terms that cannot be screened."""

FEATURES = "features"
"""The name of the features rule among the names of `screening`."""


def set_up(
    prob: Problem,
    *,
    tol: float | None = None,
    rtol: float | None = None,
    max_iter: int = 10_000,
    max_seconds: float | None = None,
    method: str = "auto",
    screening: str | Iterable[str] | Policy = "auto",
    freq: int = 10,
    active_set: bool = False,
) -> Setup:
    """Check the arguments of :func:`safescreen.solve`, and return the :class:`Setup` of the
    solve.
    """
    limits = Limits.checked(tol, rtol, max_iter, max_seconds)
    method = check_method(method, prob)
    freq = check_count(freq, "freq")
    active_set = check_flag(active_set, "active_set")
    solver = solver_of(method, prob, active_set, freq)
    setup = Setup(
        limits=limits,
        solver=solver,
        starts_from_alpha=method in DUAL and prob.loss.smoothing == 0.0,
    )
    return with_screening(setup, screening, prob, freq)


def with_screening(
    setup: Setup,
    screening: str | Iterable[str] | Policy,
    prob: Problem,
    freq: int,
    name: str = "screening",
) -> Setup:
    """Return the setup with a user's `screening`: when to screen terms and when to leave out
    features. Errors call the argument `name`. With ``screening=()`` the ball of the solution does
    not decide terms either.
    """
    names, has_features = without_features(screening, prob, name)
    return replace(
        setup,
        policy=policy_of(names, prob, setup.solver, freq, name),
        features=FeatureTrials() if has_features else None,
        looks=setup.looks or names != (),
    )


def check_method(method: str, prob: Problem) -> str:
    """Return the name of a method. "auto" is "hybrid" if the terms allow it, else "handover" if
    that works, else "semismooth" for the hinge, else "gradient".

    Raise a ValueError for an unknown name, and a TypeError if the terms lack what the method needs
    for the loss. With a free intercept the method solves the problems with a penalised intercept.
    """
    terms: Any = prob.terms
    if "intercept" in terms.offers:
        terms = terms.penalised_terms
    solvers = HINGE if prob.loss.smoothing == 0.0 else SMOOTH
    able = [name for name, solver in solvers.items() if terms.offers.issuperset(solver.needs)]
    if not isinstance(method, str) or method not in ("auto", *solvers):
        raise ValueError(f"method must be 'auto' or one of {', '.join(SMOOTH)}, got {method!r}")
    if method == "auto":
        if "hybrid" in able:
            return "hybrid"
        interior: Any = solvers["interior"]
        if interior.is_able(prob):
            return "handover"
        is_kinked = prob.loss.smoothing == 0.0
        return "semismooth" if is_kinked and "semismooth" in able else "gradient"
    by = f"method={method!r}"
    instead = f"take 'auto' or one of {', '.join(able)}"
    terms.require(*SMOOTH[method].needs, by=by, instead=instead)
    terms.require(*solvers[method].needs, by=f"{by} for {prob.loss!r}", instead=instead)
    return method


def solver_of(method: str, prob: Problem, active_set: bool = False, freq: int = 10) -> Solver:
    """Return the solver of a method for a problem: with an active set around its steps if
    `active_set` asks for it, and inside a proximal method if the intercept is free.
    """
    is_kinked = prob.loss.smoothing == 0.0
    solvers = HINGE if is_kinked else SMOOTH
    solver = solvers[method]
    if active_set and method in ITERATIVE:
        solver = ActiveSet(freq=freq)
        solver = ProximalHinge(solver) if is_kinked else solver
        if method == "handover":
            solver = Relay(solver, solvers["interior"], early=True)
    elif method == "handover" and _takes_newton_steps(prob):
        solver = Relay(solvers["semismooth"], solvers["interior"], early=True)
    if "intercept" not in prob.terms.offers:
        return solver
    proximal = ProximalIntercept(solver)
    if method == "hybrid" and "sweeps" in prob.terms.offers:
        return Relay(CoordinateDescent(gives_up=True), proximal)
    return proximal


def _takes_newton_steps(prob):
    """Return whether the method "handover" takes Newton steps between its gradient steps; see
    NARROW.
    """
    is_full = len(prob.cone.shape) == 2
    is_small = prob.cone.n_coordinates <= NARROW
    return is_full and is_small and prob.loss.smoothing > 0.0 and "curvature" in prob.terms.offers


def policy_of(
    screening: str | Iterable[str] | Policy,
    prob: Problem,
    solver: Solver,
    freq: int = 10,
    name: str = "screening",
) -> Policy | None:
    """Return the policy of a user's `screening`: ``"auto"``, names as for :func:`parse_screening`,
    or a policy. Return None if no term is screened. Errors call the argument `name`.

    Raise a TypeError if `screening` asks to screen terms that cannot be screened.
    """
    if not can_be_screened(prob.terms):
        if screening not in ("auto", ()):
            prob.terms.require("singles", by=f"{name}={screening!r}", instead=UNSCREENED)
        return None
    if not isinstance(screening, str | tuple) and isinstance(screening, Policy):
        return screening
    if isinstance(screening, str) and screening == "auto":
        is_listed = prob.terms.offers.issuperset(LISTED)
        return WhenFallen(AUTO, FALLEN, PAUSE) if is_listed else None
    tests = parse_screening(screening, prob, name)
    if not tests:
        return None
    return Every(tests, freq) if solver.pace is None else WhenFallen(tests, solver.pace)


def without_features(
    screening: str | Iterable[str] | Policy, prob: Problem, name: str = "screening"
) -> tuple[Any, bool]:
    """Return a user's `screening` without the name "features", and whether to screen features.
    "auto" screens features for a problem with a linear term, such as an l1 penalty, if the terms
    and the loss allow it.

    Raise a TypeError if the user asks for features by name and the terms or the loss do not allow
    it, or if the value is neither text nor a collection of names.
    """
    if not isinstance(screening, str | tuple) and isinstance(screening, Policy):
        return screening, False
    if not isinstance(screening, str | Iterable) or isinstance(screening, np.ndarray):
        raise TypeError(
            f"{name} must be 'auto', () for none, or names of spheres such as ('RRPB', 'PGB'), "
            f"got {screening!r}"
        )
    if isinstance(screening, str) and screening == "auto":
        return screening, prob.linear is not None and can_leave_out(prob.terms, prob.loss)
    names = (screening,) if isinstance(screening, str) else tuple(screening)
    if FEATURES not in names:
        return names, False
    need_features(prob)
    return tuple(name for name in names if name != FEATURES), True
