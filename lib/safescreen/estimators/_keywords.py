"""Keywords of scikit-learn's support vector classifiers: the supported values, and what to use
instead of other values.
"""

import math
import numbers

import numpy as np

from safescreen._checks import check_lam

PROBABILITIES = (
    "for probabilities write\n"
    "from sklearn.calibration import CalibratedClassifierCV\n"
    "CalibratedClassifierCV(SafeSVC(...)).fit(X, y)"
)
PATHS = (
    "safescreen.path makes a path of solutions of a problem, and SafeSVCCV searches for C along "
    "paths"
)
GONE = {"with_path": PATHS, "path_ratio": PATHS}
"""Parameters of earlier versions of SafeSVC, and what to do instead."""

ABSENT = {
    **GONE,
    "path_": PATHS,
    "predict_proba": PROBABILITIES,
    "predict_log_proba": PROBABILITIES,
    "coef_": "it is there after fit with kernel='linear', and dual_coef_ with every kernel",
}
"""Names that SafeSVC lacks, always or with some kernels, and what to do instead."""

ONLY = {
    "penalty": (
        ("l2",),
        "LinearSVC(penalty='l1', dual=False) of sklearn.svm has the penalty that selects features",
    ),
    "multi_class": (
        ("auto", "ovr", "ovo"),
        "LinearSVC(multi_class='crammer_singer') of sklearn.svm solves for all classes together",
    ),
    "decision_function_shape": (
        ("ovr",),
        "each class is trained against the others: multi_class='ovo' trains pairs of classes",
    ),
    "probability": ((False, "deprecated"), PROBABILITIES),
    "break_ties": ((False, True), "it says which of classes with equal votes is predicted"),
    "shrinking": ((False, True), "leaving out samples for a while is up to `method`"),
    "dual": ((False, True, "auto"), "which problem is solved is up to `method`"),
}
"""The values that a keyword may have, and what to do for other values."""

SIGMOID = "the sigmoid kernel is not positive semidefinite: SVC(kernel='sigmoid') of sklearn.svm"
CALLABLE = (
    "compute the kernel matrix:\n"
    "SafeSVC(kernel='precomputed').fit(kernel(X, X), y)\n"
    "and .predict(kernel(X_new, X))"
)

HARD_MARGIN = (
    "for a hard margin take a C that no dual coefficient reaches:\n"
    "model = SafeSVC(C=1e6).fit(X, y)\n"
    "assert abs(model.dual_coef_).max() < model.C"
)
"""A solution with all dual coefficients below C is the solution for every larger C."""


def are_pairs(model, n_classes: int) -> bool:
    """Return whether a SafeSVC has more than two classes and trains pairs of classes, instead of
    each class against all others.
    """
    is_asked_for = model.multi_class == "ovo"
    return n_classes > 2 and (
        is_asked_for or (model.multi_class == "auto" and model.kernel != "linear")
    )


def check_C(C):
    """Return C as a positive finite float; the error for infinity says what to do instead."""
    if isinstance(C, numbers.Real) and C == math.inf:
        raise ValueError(f"C must be finite, got inf: {HARD_MARGIN}")
    return check_lam(C, "C")


def check_keywords(model, n_classes):
    """Raise a ValueError for a value that is not supported. The error says what to do instead."""
    for name, (values, advice) in ONLY.items():
        value = getattr(model, name)
        if name == "decision_function_shape" and (n_classes == 2 or are_pairs(model, n_classes)):
            values = ("ovr", "ovo")
        # 1 == True, but 1 is not a value that is supported
        if not isinstance(value, str | bool | np.bool_) or value not in values:
            shown = " or ".join(map(repr, values))
            text = f"{name} must be {shown}, got {value!r}: {advice}"
            if name == "penalty":
                given = f"penalty={value!r}, loss={model.loss!r}, dual={model.dual!r}"
                text = f"Unsupported set of arguments, {given}: {text}"
            raise ValueError(text)


def check_kernel(kernel, names):
    """Raise an error for a kernel that is not in `names`. The error says what to do instead."""
    if callable(kernel):
        raise TypeError(f"kernel must be a name, got a function: {CALLABLE}")
    if isinstance(kernel, str) and kernel in names:
        return
    is_sigmoid = isinstance(kernel, str) and kernel == "sigmoid"
    advice = f": {SIGMOID} takes it" if is_sigmoid else ""
    raise ValueError(f"kernel must be one of {', '.join(names)}, got {kernel!r}{advice}")
