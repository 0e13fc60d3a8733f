"""A plugin of pytest that puts our classes in the place of other projects' before their tests are
imported, and writes down what becomes of the tests that make one.

In the place of SVC stands what the errors of :class:`safescreen.SafeSVC` tell people to type.
These are the translations, all of them:

* `tol`: theirs bounds a violation of optimality conditions, of which our gap is about the square.
  The square is asked for, at most 1e-14 for SVC: its tests compare two solutions digit by digit.
* ``multi_class="ovo"``: SVC trains pairs of classes for the linear kernel too.
* A kernel that is a function: ``SafeSVC(kernel="precomputed")``, fitted to ``kernel(X, X)``, asked
  for ``kernel(X_new, X)``.
* ``probability=True``: left out, where a test asks for no probabilities; there is no
  `predict_proba`.
* Sparse points: `coef_` after :meth:`~safescreen.SafeSVC.sparsify`, `dual_coef_` as a CSR matrix.
* The private `_gamma` is the number that `gamma` stands for.
"""

import functools
import importlib
import importlib.util
import inspect
import json
import os
import sys
import types
import warnings
from pathlib import Path

import pytest
from scipy import sparse

import safescreen as ss

MADE = []
"""Objects of our classes that the test at hand has made, by the name of their class."""


def counted(ours, name=None, dropped=(), **defaults):
    """Return a class that is ours but for keywords that it does not know, which are left out if
    they are `dropped`: a name, or a name and the only values that mean nothing here.
    """
    known = inspect.signature(ours).parameters
    allowed = {one if isinstance(one, str) else one[0]: one for one in dropped}

    def __init__(self, *args, **keywords):
        MADE.append(type(self).__name__)
        keywords = {**{key: value for key, value in defaults.items() if key in known}, **keywords}
        for key in [key for key in keywords if key in allowed and key not in known]:
            values = allowed[key][1:] if not isinstance(allowed[key], str) else None
            if values is None or keywords[key] in values:
                del keywords[key]
        ours.__init__(self, *args, **keywords)

    __init__.__signature__ = inspect.signature(ours.__init__)  # what get_params looks at
    return type(name or ours.__name__, (ours,), {"__init__": __init__, "__module__": __name__})


FINEST = 1e-14
"""No smaller gap is asked for."""


class Squared(ss.SafeSVC):
    """A SafeSVC whose `tol` is that of other solvers."""

    _largest = 1.0

    def _fit(self, *data):
        theirs = self.tol
        self.tol = min(max(theirs**2, FINEST), self._largest)
        try:
            return super()._fit(*data)
        finally:
            self.tol = theirs


class AsSVC(Squared):
    """What stands in the place of SVC."""

    _largest = 1e-14

    @property
    def _gamma(self):
        return self._features_.function.gamma

    def fit(self, X, y, sample_weight=None):
        given = self.get_params()
        known = X
        if self.probability is True:
            self.probability = False
        if callable(self.kernel):
            self._fitted_to = X
            X = _values(self.kernel, X, X)
            self.kernel = "precomputed"
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.set_params(**given)
        if sparse.issparse(known):
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)
            if self.kernel == "linear":
                self.sparsify()
        return self

    def predict(self, X):
        return self._of_values(super().predict, X)

    def decision_function(self, X):
        return self._of_values(super().decision_function, X)

    def _of_values(self, method, X):
        if not callable(self.kernel):
            return method(X)
        function = self.kernel
        self.kernel = "precomputed"
        try:
            return method(_values(function, X, self._fitted_to))
        finally:
            self.kernel = function


def _values(kernel, X, Y):
    values = kernel(X, Y)
    return values.toarray() if sparse.issparse(values) else values


TRAINING = ("shrinking", "cache_size", "random_state", "dual", "break_ties", "multi_class")
"""How other solvers go about it."""


def swap_scikit_learn(files):
    from sklearn import svm

    for name, kind, keywords in (
        (
            "SVC",
            AsSVC,
            {
                "kernel": "rbf",
                "coef0": 0.0,
                "tol": 1e-3,
                "intercept": "free",
                "multi_class": "ovo",
            },
        ),
        ("LinearSVC", Squared, {"kernel": "linear", "loss": "squared_hinge", "tol": 1e-4}),
    ):
        meaningless = [("penalty", "l2"), ("max_iter", -1)]
        ours = counted(kind, name, (*TRAINING, *meaningless), **keywords)
        setattr(svm, name, ours)
        setattr(sys.modules[__name__], name, ours)  # for pickle


def swap_skglm(files):
    if importlib.util.find_spec("celer") is None:  # what tests of other models compare with
        sys.modules["celer"] = types.ModuleType("celer")
        sys.modules["celer"].GroupLasso = None
    import skglm
    from skglm import estimators

    ours = counted(Squared, "LinearSVC", fit_intercept=False, tol=1e-6)
    skglm.LinearSVC = estimators.LinearSVC = ours


def no_warnings_expected(expected=Warning, *, warns=pytest.warns, **options):
    """Return what ``pytest.warns(None)`` was until pytest 8: a list of the warnings that come."""
    if expected is None:
        return warnings.catch_warnings(record=True, action="always")
    return warns(expected, **options)


def swap_metric_learn(files, kind):
    """Put ours into the lists of learners that the tests are made from."""
    pytest.warns = no_warnings_expected
    package = types.ModuleType("test")  # not Python's own
    package.__path__ = [str(Path(files[0]).parent)]
    sys.modules["test"] = package
    utils = importlib.import_module("test.test_utils")
    learners = {
        "supervised": (utils.build_classification, ss.TripletMetric, ss.HDSL),
        "triplets": (utils.build_triplets, ss.TripletLearner),
        "quadruplets": (utils.build_quadruplets, ss.QuadrupletLearner),
        "pairs": (utils.build_pairs, ss.PairLearner),
    }
    data, *ours = learners[kind]
    here = [(counted(one)(), data) for one in ours]
    names = {"supervised": ("supervised", "classifiers")}.get(kind, (kind, "tuples"))
    lists = {f"{name}_learners" if name != "classifiers" else name for name in names}
    lists |= {"metric_learners"}
    if kind in ("supervised", "pairs"):
        lists |= {"metric_learners_pipeline"}
    for name in [name for name in vars(utils) if name.startswith("ids_")]:
        chosen = here if name.removeprefix("ids_") in lists else []
        setattr(utils, name, [type(learner).__name__ for learner, _ in chosen])
        setattr(utils, name.removeprefix("ids_"), chosen)


def pytest_configure(config):
    suite = os.environ["SAFESCREEN_PEERS_SUITE"]
    peer, _, kind = suite.partition(" ")
    swaps = {
        "scikit-learn": swap_scikit_learn,
        "skglm": swap_skglm,
        "metric-learn": functools.partial(swap_metric_learn, kind=kind),
    }
    swaps[peer](config.args)
    config.told = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    MADE.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and MADE:
        text = ""
        if not report.passed or hasattr(report, "wasxfail"):
            error = call.excinfo
            said = f"{error.typename}: {error.value}".splitlines() if error else ["passed"]
            text = said[0][:160]
        item.config.told[f"{Path(item.path).stem}::{item.nodeid.partition('::')[2]}"] = text
    return report


def pytest_sessionfinish(session, exitstatus):
    if int(exitstatus) in (0, 1):
        told = json.dumps(session.config.told)
        Path(os.environ["SAFESCREEN_PEERS_TOLD"]).write_text(told, encoding="utf-8")
