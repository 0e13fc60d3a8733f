"""Balls that contain the solution.

Each family is a function of a problem and a reference; :data:`SPHERES` holds, by name, the same families as solvers use them: built
from what the solver has already evaluated.
"""

from collections.abc import Callable
from dataclasses import dataclass

from safescreen.spheres.base import PathReference, Reference, Sphere
from safescreen.spheres.gap import (
    constrained_duality_gap_bound,
    duality_gap_bound,
    from_evaluation_dgb,
    from_evaluation_mgb,
    midpoint_gap_bound,
)
from safescreen.spheres.gradient import (
    from_evaluation_gb,
    from_evaluation_pgb,
    gradient_bound,
    projected_gradient_bound,
)
from safescreen.spheres.path import path_bound, reference_accuracy, relaxed_path_bound

__all__ = [
    "SPHERES",
    "PathReference",
    "Reference",
    "Sphere",
    "SphereFamily",
    "constrained_duality_gap_bound",
    "duality_gap_bound",
    "gradient_bound",
    "midpoint_gap_bound",
    "path_bound",
    "projected_gradient_bound",
    "reference_accuracy",
    "relaxed_path_bound",
]


@dataclass(frozen=True)
class SphereFamily:
    """A sphere as solvers use it.

    Attributes
    ----------
    build : callable
        ``build(reference) -> Sphere`` from a :class:`Reference`.
    title : str
    uses_path : bool
        Whether it is built from the solution of the neighbouring lam when there is one.
    singly : bool
        Whether it needs a dual variable for each term, which terms in blocks do not have.
    """

    build: Callable[[Reference], Sphere]
    title: str
    uses_path: bool = False
    singly: bool = False


def _cdgb(reference):
    e = reference.evaluation
    at_x_alpha = reference.problem.evaluate(e.x_alpha, e.lam)
    sphere = from_evaluation_mgb(reference.problem.cone, at_x_alpha)
    return Sphere(sphere.center, sphere.radius, at_x_alpha.minus, "CDGB")


def _bt2(reference):
    e, prob = reference.evaluation, reference.problem
    s = prob.alpha(from_evaluation_mgb(prob.cone, e).center)
    sphere = from_evaluation_mgb(prob.cone, prob.assemble(prob.terms.loss_sums(e.x, prob.loss, s), e.x, e.lam))
    return Sphere(sphere.center, sphere.radius, sphere.normal, "BT2")


def _rrpb(reference):
    if reference.path is None:
        sphere = from_evaluation_dgb(reference.problem.cone, reference.evaluation)
        return Sphere(sphere.center, sphere.radius, sphere.normal, "RRPB")
    path = reference.path
    return relaxed_path_bound(path.x0, path.eps, path.lam0, reference.evaluation.lam)


SPHERES = {
    "GB": SphereFamily(lambda r: from_evaluation_gb(r.problem.cone, r.evaluation), "gradient bound"),
    "PGB": SphereFamily(lambda r: from_evaluation_pgb(r.problem.cone, r.evaluation), "projected gradient bound"),
    "DGB": SphereFamily(lambda r: from_evaluation_dgb(r.problem.cone, r.evaluation), "duality gap bound"),
    "CDGB": SphereFamily(_cdgb, "constrained duality gap bound"),
    "MGB": SphereFamily(lambda r: from_evaluation_mgb(r.problem.cone, r.evaluation), "midpoint gap bound"),
    "BT2": SphereFamily(_bt2, "midpoint gap bound, slopes at its center", singly=True),
    "RRPB": SphereFamily(_rrpb, "relaxed regularization path bound", uses_path=True),
}
