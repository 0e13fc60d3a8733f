"""An interior-point method for terms that are differences of pairs: small lam, some tens of steps.

The core needs none of it: :mod:`safescreen.solvers.methods` names the method, and no other module
of the core imports this folder."""

from safescreen.interior.method import InteriorPoint

__all__ = ["InteriorPoint"]
