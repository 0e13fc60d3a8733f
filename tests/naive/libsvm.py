"""LIBSVM without an intercept, as an outside oracle for linear and kernel samples.

LIBSVM always fits a free intercept b. Each sample is passed on twice, as ``(phi_i, y_i)`` and
``(-phi_i, -y_i)`` with C/2 each: the objective then has the same value at (w, b) and (w, -b), so b
= 0 is optimal, and w is that of the problem without an intercept. The sum of the two dual variables
is the one of the sample."""

import numpy as np
from sklearn.svm import SVC

from safescreen.svm.references import problem_of
from safescreen_book.protocols.outside import _fed, _judged


def svc(terms, C, screened=None, loss=None, *, tol=1e-6, cache_size=200):
    prob = problem_of(terms, loss)
    fed = _fed(prob, screened)
    if prob.loss.smoothing > 0.0:
        raise ValueError(f"loss must be the hinge for LIBSVM, got {prob.loss!r}")
    alpha, n_iter = np.zeros(len(terms)), 0
    if fed.size:
        Q = terms.gram(fed)
        weights = np.ones(fed.size) if terms.weights is None else terms.weights[fed]
        model = SVC(C=0.5 * C, kernel="precomputed", tol=tol, cache_size=cache_size)
        labels = np.repeat([1, -1], fed.size)
        model.fit(np.block([[Q, -Q], [-Q, Q]]), labels, sample_weight=np.tile(weights, 2))
        found = np.zeros(2 * fed.size)
        found[model.support_] = np.abs(model.dual_coef_[0])
        alpha[fed] = np.minimum((found[: fed.size] + found[fed.size :]) / (C * weights), 1.0)
        n_iter = int(np.sum(model.n_iter_))
    return _judged(prob, C, prob.x_of(alpha, 1.0 / C), n_iter, fed.size, alpha)
