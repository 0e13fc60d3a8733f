"""Families of spheres in the form that solvers use: built from an evaluation."""

from collections.abc import Callable
from dataclasses import dataclass

from safescreen.spheres.base import BallReference, Sphere
from safescreen.spheres.gap import from_evaluation_dgb, from_evaluation_mgb
from safescreen.spheres.gradient import from_evaluation_gb, from_evaluation_pgb
from safescreen.spheres.path import relaxed_path_bound


@dataclass(frozen=True)
class SphereFamily:
    """Family of spheres in the form that solvers use.

    Attributes
    ----------
    build : callable
        ``build(reference) -> Sphere``, from a :class:`BallReference`.
    title : str
        The words that its name abbreviates.
    uses_path : bool
        Whether its spheres are built from the solution for the neighbouring lam. Before this
        solution exists, they are built from the current iterate.
    needs : tuple of str
        Capabilities that the terms must offer, see :data:`safescreen.terms.base.CAPABILITIES`.
    """

    build: Callable[[BallReference], Sphere]
    title: str
    uses_path: bool = False
    needs: tuple[str, ...] = ()


def _cdgb(reference):
    e = reference.evaluation
    at_x_alpha = reference.problem.evaluate(e.x_alpha, e.lam)
    sphere = from_evaluation_mgb(reference.problem.cone, at_x_alpha)
    return Sphere(sphere.center, sphere.radius, at_x_alpha.minus, "CDGB")


def _bt2(reference):
    e = reference.evaluation
    prob = reference.problem
    s = prob.alpha(from_evaluation_mgb(prob.cone, e).center)
    sphere = from_evaluation_mgb(
        prob.cone, prob.assemble(prob.terms.loss_sums(e.x, prob.loss, s), e.x, e.lam)
    )
    return Sphere(sphere.center, sphere.radius, sphere.normal, "BT2")


def _rrpb(reference):
    if reference.path is None:
        sphere = from_evaluation_dgb(reference.evaluation)
        return Sphere(sphere.center, sphere.radius, sphere.normal, "RRPB")
    path = reference.path
    return relaxed_path_bound(path.x0, path.eps, path.lam0, reference.evaluation.lam)


SPHERES: dict[str, SphereFamily] = {
    "GB": SphereFamily(
        lambda r: from_evaluation_gb(r.problem.cone, r.evaluation), "gradient bound"
    ),
    "PGB": SphereFamily(
        lambda r: from_evaluation_pgb(r.problem.cone, r.evaluation), "projected gradient bound"
    ),
    "DGB": SphereFamily(lambda r: from_evaluation_dgb(r.evaluation), "duality gap bound"),
    "CDGB": SphereFamily(_cdgb, "constrained duality gap bound"),
    "MGB": SphereFamily(
        lambda r: from_evaluation_mgb(r.problem.cone, r.evaluation), "midpoint gap bound"
    ),
    "BT2": SphereFamily(_bt2, "midpoint gap bound, slopes at its center", needs=("singles",)),
    "RRPB": SphereFamily(_rrpb, "relaxed regularization path bound", uses_path=True),
}
