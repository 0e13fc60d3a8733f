"""An argument of the wrong kind, or a number that no float can hold, raises a TypeError or
ValueError that names the argument: every public function and class, every argument, one at a time.
"""

import contextlib
import inspect
import io
import re
import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import safescreen as ss

MODULES = (ss, ss.rules, ss.spheres, ss.ranges, ss.svm, ss.hdsl)

WRONG = {
    "None": None,
    "an int": 3,
    "a word": "word",
    "a list": [1.0, "two"],
    "an empty list": [],
    "an object": object(),
    "an estimator": LogisticRegression(),
    "a huge int": 10**400,
    "a huge negative int": -(10**400),
    "nan": float("nan"),
    "infinity": float("inf"),
    "-0.0": -0.0,
    "a bool": True,
    "a Decimal": Decimal(1),
    "a complex number": 1j,
}

RECORDS = {"Certificate", "LamChoice", "MarginBounds", "Path", "Progress", "Screened", "Solution"}
RECORDS |= {"ShardedTriplets"}  # needs a cluster: tests/cluster tries it
RECORDS |= {"Sphere", "Ranges", "Dome", "Reference", "SparseSimilarity", "ConvergenceWarning"}
"""What the library returns: such records check nothing, who uses them does."""

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 2))
y = np.where(np.arange(12) % 2, 1, -1)
TRIPLETS = np.array([[0, 2, 1], [1, 3, 2], [4, 6, 5]])
K = X @ X.T + np.eye(12)
SAMPLES = ss.Samples(X, y)
SVM = ss.Problem(SAMPLES, ss.SmoothedHinge(0.5))
METRIC = ss.Problem(ss.Triplets(X, TRIPLETS, diagonal=True), ss.SmoothedHinge(0.5))
W = np.array([0.3, -0.2])
SOLUTION = ss.solve(SVM, 0.5)
REFERENCE = ss.svm.reference(SOLUTION)

GOOD = {
    "C": 2.0,
    "C_max": 3.0,
    "Cs": [1.0, 2.0],
    "K": K,
    "M": W**2,
    "X": X,
    "X_new": X,
    "ball": ss.Sphere(W, 0.1),
    "ball1": ss.Sphere(W, 0.1),
    "ball2": ss.Sphere(0.5 * W, 0.1),
    "bound": REFERENCE,
    "constant": 1.0,
    "d": 2,
    "dissimilar": [[0, 1]],
    "eps": 0.1,
    "feasible": W,
    "gamma": 0.5,
    "high": 2.0,
    "index": TRIPLETS,
    "kernel": "linear",
    "lam": 0.5,
    "lam0": 0.5,
    "lam1": 0.4,
    "loss": ss.SmoothedHinge(0.5),
    "low": 0.5,
    "lower": 2.0,
    "model": LinearSVC(),
    "n": 12,
    "normal": W,
    "pairs": [[0, 2]],
    "prob": SVM,
    "products": K,
    "reference": REFERENCE,
    "reference_a": ss.svm.reference(ss.solve(SVM, 1.0)),
    "references": [REFERENCE],
    "s": np.ones(12),
    "scale": 1.0,
    "similar": [[0, 2]],
    "solution": SOLUTION,
    "terms": SAMPLES,
    "triplets": TRIPLETS,
    "upper": 1.0,
    "w": W,
    "x": W,
    "x0": W,
    "y": y,
    "y_new": y,
    "alpha": np.full(12, 0.5),
}
"""A right value of every argument that has no default, by its name."""

OWN = {
    "screen_fitted": {"model": LinearSVC().fit(X, y)},
    "Quadruplets": {"index": [[0, 2, 1, 3]]},
    "FreeIntercept": {"terms": ss.Samples(ss.svm.add_intercept(X), y)},
    "HeldOut": {"prob": SVM, "terms": ss.Samples(X + 0.1, y)},
    "features": {"prob": METRIC, "x": W**2},
    "solution_below_c_min": {"C": 0.05},
    "path": {"lams": [2.0, 1.0]},
    "safescreen.svm.path": {"Cs": [1.0, 2.0]},
    "eps_path": {"eps": 0.5},
    "random_triplets": {"n_per_point": 2},
}
"""The same where a function wants something else, or is quicker so."""

THEIRS = {"cv", "scoring", "random_state", "preprocessor"}
"""What scikit-learn and numpy check in their words."""

POINTS = np.vstack([X, X + 0.3])
FITS = {
    "PairLearner": (np.array([[[0.0, 1.0], [1.0, 1.0]], [[0.0, 1.0], [0.5, 1.0]]]), [-1, 1]),
    "QuadrupletLearner": (rng.standard_normal((3, 4, 2)), [1, 1, -1]),
    "TripletLearner": (rng.standard_normal((3, 3, 2)), [1, 1, -1]),
}
CHEAP = {
    "HDSL": {"scale": 1.0, "max_iter": 20},
    "SafeSVCCV": {"Cs": [0.1, 1.0], "cv": 2},
    "TripletMetric": {"lam": 10.0, "k": 1},
    "TripletMetricCV": {"estimator": ss.TripletMetric(k=1), "lams": [10.0, 20.0], "cv": 2},
}

PUBLIC = {}
for module in MODULES:
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing) and name not in RECORDS:
            PUBLIC[f"{module.__name__}.{name}"] = thing


def parameters(function):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = inspect.signature(function).parameters.values()
    return [parameter for parameter in found if parameter.kind not in kinds]


def arguments(name, function):
    """Return right arguments, and all names that may be tried."""
    short = name.rpartition(".")[2]
    if is_estimator(function):
        return dict(CHEAP.get(short, {"lam": 1.0} if short in FITS else {}))
    own = OWN.get(name, OWN.get(short, {}))
    needed = [p.name for p in parameters(function) if p.default is inspect.Parameter.empty]
    missing = [p for p in needed if p not in own and p not in GOOD]
    assert not missing, f"GOOD has no value of {missing} for {name}"
    return {p: GOOD[p] for p in needed if p not in own} | own


def call(name, function, given):
    short = name.rpartition(".")[2]
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        made = function(**given)
        if isinstance(made, BaseEstimator):
            made.fit(*FITS.get(short, (POINTS, np.arange(24) % 2)))
        return made


def wrongs(name, function):
    """Return which wrong values of which arguments do not raise an error that names the argument,
    and what they raise.
    """
    good = arguments(name, function)
    call(name, function, good)
    bad = []
    for argument in {p.name: 0 for p in parameters(function)} | good:
        if argument in THEIRS:
            continue
        for kind, value in WRONG.items():
            try:
                call(name, function, good | {argument: value})
            except (TypeError, ValueError) as error:
                if not re.search(rf"\b{argument}\b", str(error)):
                    bad.append((argument, kind, repr(error)[:150]))
            except Exception as error:  # noqa: BLE001
                bad.append((argument, kind, repr(error)[:150]))
    return bad


def is_estimator(thing):
    return inspect.isclass(thing) and issubclass(thing, BaseEstimator)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if is_estimator(thing) else ())
        for name, thing in PUBLIC.items()
    ],
)
def test_every_argument(name):
    assert not wrongs(name, PUBLIC[name])
