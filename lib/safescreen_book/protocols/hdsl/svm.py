"""The support vector machines with which the paper compares, by scikit-learn (HDSL19 Table 4)."""

import numpy as np
from scipy import sparse

from safescreen._checks import check_points, check_scalar

SVM_KINDS = ("linear-l2", "linear-l1", "poly-2", "poly-3")


def fit_svm(X, y, kind="linear-l2", C=1.0, *, random_state=0, max_iter=100_000):
    """Fit one of the paper's support vector machines and return it; it has ``predict(X)``. Several
    classes are told apart by one against one.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
    kind : {"linear-l2", "linear-l1", "poly-2", "poly-3"}
        Linear with squared hinge and that penalty (liblinear), or the kernel ``(1 + x'x'/m)^p``, m
        the mean squared norm of the rows of X, with the hinge (libsvm).
    C : float > 0
        Weight of the losses.
    random_state, max_iter : int
        Of liblinear.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [2.0, 0.0]], [0, 0, 1, 1]
    >>> machine = fit_svm(X, y, "linear-l1", 10.0)
    >>> machine.predict([[0.0, 3.0]]).tolist()
    [0]
    """
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import SVC, LinearSVC

    X = _short(X)
    C = check_scalar(C, "C", low=0.0, open_low=True)
    match kind:
        case "linear-l2" | "linear-l1":
            single = LinearSVC(
                C=C,
                penalty=kind[-2:],
                dual=kind == "linear-l2",
                random_state=random_state,
                max_iter=max_iter,
            )
            machine = OneVsOneClassifier(single) if np.unique(y).size > 2 else single
        case "poly-2" | "poly-3":
            size = float((X.data**2).sum() if sparse.issparse(X) else (X**2).sum()) / X.shape[0]
            machine = SVC(
                C=C, kernel="poly", degree=int(kind[-1]), gamma=1.0 / (size or 1.0), coef0=1.0
            )
        case _:
            raise ValueError(f"kind must be one of {', '.join(SVM_KINDS)}; got {kind!r}")
    return _Fitted(machine.fit(X, y))


class _Fitted:
    """A fitted machine."""

    def __init__(self, machine):
        self.machine = machine

    def predict(self, X):
        """Return the classes of the rows of X."""
        return self.machine.predict(_short(X))

    @property
    def features(self):
        """Features with a non-zero coefficient in some linear machine."""
        parts = getattr(self.machine, "estimators_", [self.machine])
        return np.flatnonzero(np.any([np.any(part.coef_ != 0.0, axis=0) for part in parts], axis=0))


def _short(X):
    """Points as scikit-learn wants them: CSR with 32-bit indices."""
    X = check_points(X, allow_sparse=True)
    if sparse.issparse(X):
        X = sparse.csr_array(
            (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
        )
    return X
