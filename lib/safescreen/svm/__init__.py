"""Support vector machines in the notation of their papers (SSS13, SSS14): C in place of lam, and
the tests of the papers under the names that they have there.

With ``C = 1/lam``, ``alpha_SVM = C alpha`` and ``xi = sum_i max(0, 1 - <z_i, w>)``, the problem
``min_w ||w||^2/2 + C xi`` is C times :class:`safescreen.Problem`. So every function of this module
calls spheres and rules of the library. The tests therefore hold in floating point, for dense,
sparse and kernel samples, for weights, thresholds and the smoothed hinge, and for references that
are only nearly optimal. The problems of the papers have no free intercept. For terms of
:class:`~safescreen.FreeIntercept` the tests use bounds of the intercept as well.
"""

from safescreen.svm.balls import (
    ball_1,
    ball_2,
    ball_test_1,
    ball_test_2,
    choose_s,
    intersection_test,
)
from safescreen.svm.dome import Dome, dome, dome_test, safe_screening
from safescreen.svm.paths import eps_next_C, eps_path, path
from safescreen.svm.references import Reference, c_min, reference, solution_below_c_min
from safescreen.svm.totals import s_bounds, total_loss
from safescreen.terms.intercept import add_intercept

__all__ = [
    "Dome",
    "Reference",
    "add_intercept",
    "ball_1",
    "ball_2",
    "ball_test_1",
    "ball_test_2",
    "c_min",
    "choose_s",
    "dome",
    "dome_test",
    "eps_next_C",
    "eps_path",
    "intersection_test",
    "path",
    "reference",
    "s_bounds",
    "safe_screening",
    "solution_below_c_min",
    "total_loss",
]
