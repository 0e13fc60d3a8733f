"""Interior-point method for terms that are differences of pairs. It serves small lam, and takes
some tens of steps.

Of the core, only :mod:`safescreen.solvers.methods` imports this folder, to name the method.
"""

from safescreen.interior.method import InteriorPoint

__all__ = ["InteriorPoint"]
