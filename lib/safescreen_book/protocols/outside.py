"""Solvers of other packages, LIBLINEAR and LIBSVM by scikit-learn, on the samples that a test
leaves.

Samples in R are dropped. Samples in L stay, because neither program takes a linear term. Their
solutions are judged here, by a dual point and the gap of the whole problem.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from safescreen._checks import check_lam
from safescreen.losses import SquaredHinge
from safescreen.solvers.dual_points import dual_point
from safescreen.svm.references import Reference, problem_of


@dataclass(frozen=True)
class OutsideSolution(Reference):
    """A :class:`Reference` with its certificate.

    `gap` is an upper bound of the duality gap of the whole problem, with rounding, in units of
    `primal`, the objective divided by C. `n_iter` is the number of iterations that the program
    reports, and `n_fed` the number of samples that it got.
    """

    gap: float = np.nan
    primal: float = np.nan
    n_iter: int = field(default=0, repr=False)
    n_fed: int = 0


def linear_svc(terms, C, screened=None, loss=None, *, tol=1e-6, max_iter=100_000):
    """Solve with LIBLINEAR's dual coordinate descent (``sklearn.svm.LinearSVC``) without an
    intercept; return an :class:`OutsideSolution`.

    The rows are given as ``z_i`` and ``-z_i`` with labels +1 and -1 in turn. That is the same
    problem, and it never has one class only. LIBLINEAR does not return its dual variables, so alpha
    is :func:`dual_point`. The gap says how good both points are.

    Parameters
    ----------
    terms : Samples
        With thresholds 1.
    C : float > 0
    screened : Screened, optional
        LIBLINEAR does not get the samples of ``in_R``.
    loss : SmoothedHinge, optional
        The hinge, also if left out, or a squared hinge.
    tol, max_iter : float, int
        Those of LIBLINEAR: the largest entry of a projected gradient, and the largest number of
        iterations. scikit-learn warns if `tol` was not reached.

    Examples
    --------
    >>> import safescreen as ss
    >>> found = linear_svc(ss.Samples([[1.0], [-2.0]], [1, -1]), 0.125)
    >>> round(float(found.w[0]), 6), found.gap < 1e-6
    (0.375, True)
    """
    from sklearn.svm import LinearSVC

    prob = problem_of(terms, loss)
    C = check_lam(C, "C")
    fed = _fed(prob, screened)
    squared = isinstance(prob.loss, SquaredHinge)
    if prob.loss.smoothing > 0.0 and not squared:
        raise ValueError(
            f"loss must be the hinge or a squared hinge for LIBLINEAR, got {prob.loss!r}"
        )
    terms.require("rows", by="LIBLINEAR")
    rows = terms.rows(fed)
    if fed.size == 0:
        return _judged(prob, C, prob.cone.zeros(), 0, 0)
    weights = np.ones(fed.size) if terms.weights is None else terms.weights[fed]
    if fed.size == 1:  # two halves of it
        rows = sparse.vstack([rows, rows]) if sparse.issparse(rows) else np.vstack([rows, rows])
        weights = np.full(2, 0.5 * weights[0])
    signs = 1.0 - 2.0 * (np.arange(rows.shape[0]) % 2)
    X = (
        sparse.csr_matrix(rows.multiply(signs[:, None]))
        if sparse.issparse(rows)
        else rows * signs[:, None]
    )
    kind, factor = ("squared_hinge", 0.5 / prob.loss.smoothing) if squared else ("hinge", 1.0)
    model = LinearSVC(
        C=factor * C,
        loss=kind,
        dual=True,
        fit_intercept=False,
        tol=tol,
        max_iter=max_iter,
        random_state=0,
    )
    model.fit(X, signs, sample_weight=weights)
    return _judged(prob, C, model.coef_[0], int(model.n_iter_), fed.size)


def _fed(prob, screened):
    if np.ndim(prob.terms.threshold) or prob.terms.threshold != 1.0:
        raise ValueError("terms must have thresholds 1 for a solver from outside")
    return np.arange(len(prob)) if screened is None else np.flatnonzero(~screened.in_R)


def _judged(prob, C, w, n_iter, n_fed, alpha=None):
    alpha = dual_point(prob, w, C) if alpha is None else alpha
    e = prob.evaluate(w, 1.0 / C, alpha)
    return OutsideSolution(
        w, alpha, C, prob.loss, gap=e.gap, primal=e.primal, n_iter=n_iter, n_fed=int(n_fed)
    )
