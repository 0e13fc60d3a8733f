"""Linear machines of one C beside LIBLINEAR, ReHLine and Snap ML at an equal objective: CPU seconds
on one thread.

LIBLINEAR has its defaults. Every other solver gets the largest of its own tolerances with which its
objective is as low as that, or else the smallest; the search for it is not timed. The intercept is
a constant feature, penalised, as LIBLINEAR has it."""

import importlib.util
import time
import warnings
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.svm import LinearSVC

import safescreen as ss
from cases import load
from safescreen.terms import add_intercept

pytestmark = pytest.mark.benchmark(timer=time.process_time)

DATA = ("a9a", "ijcnn1", "phishing", "mushrooms", "pcmac", "shuttle", "text")
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
PACKAGES = ("scipy", "sklearn", "numpy", "pandas", "sympy", "matplotlib", "numba")
"""Whose source is the text, a class each: pieces of 60 lines."""


def _safe(X, y, tol):
    model = ss.SafeSVC(tol=tol).fit(X, y)
    return np.column_stack([model.coef_, model.intercept_])


@contextmanager
def _at_its_limit():
    """Let a rival end at its limit of iterations, which is no error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _liblinear(X, y, tol=1e-4):
    with _at_its_limit():
        model = LinearSVC(loss="hinge", tol=tol, random_state=0).fit(X, y)
    return np.column_stack([model.coef_, model.intercept_])


def _rehline(X, y, tol):
    from rehline import plqERM_Ridge

    A = add_intercept(X)
    with _at_its_limit():
        fitted = [
            plqERM_Ridge(loss={"name": "svm"}, C=1.0, tol=tol, max_iter=10_000).fit(A, signs)
            for signs in _signs(y)
        ]
    return np.array([model.coef_ for model in fitted])


def _snapml(X, y, tol):
    from snapml import SupportVectorMachine

    A = sparse.csr_matrix(add_intercept(X)) if sparse.issparse(X) else add_intercept(X)
    options = {"regularizer": 1.0, "fit_intercept": False, "max_iter": 1000, "n_jobs": 1}
    fitted = [SupportVectorMachine(tol=tol, **options).fit(A, signs) for signs in _signs(y)]
    return np.array([np.ravel(model.coef_) for model in fitted])


METHODS = {"LIBLINEAR": _liblinear, "SafeSVC": _safe, "rehline": _rehline, "snapml": _snapml}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", DATA)
def bench_linear(timed, small, data, method):
    if method in ("rehline", "snapml"):
        pytest.importorskip(method)
    if method == "rehline" and data == "text":
        pytest.skip("it takes dense points only")
    X, y = _case(data, small)
    best = _best(data, small)
    fit = partial(METHODS[method], X, y)
    limit = _objective(_liblinear(X, y), X, y)
    tol = 1e-4
    if method != "LIBLINEAR":
        tol = next((t for t in TOLERANCES if _objective(fit(t), X, y) <= limit), TOLERANCES[-1])
    coefs = timed(
        f"linear: {data}, {X.shape[0]:,} x {X.shape[1]:,}, {len(_signs(y))} machines",
        method,
        lambda: fit(tol),
        reference="LIBLINEAR",
    )
    excess = (_objective(coefs, X, y) - best) / best
    timed.facts.update({"tol": tol, "excess": excess})
    assert excess > -1e-6


@cache
def _case(data, small):
    """Return points and labels; sparse ones with indices of 32 bits, which LIBLINEAR wants."""
    every = 8 if small else 1
    X, y = _text(small) if data == "text" else load(data.replace("pcmac", "pcmac_asu"), every)
    if sparse.issparse(X):
        indices = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = sparse.csr_matrix((X.data, *indices), X.shape)
    return X, y


@cache
def _best(data, small):
    """Return the smallest objective, up to a relative 1e-7."""
    X, y = _case(data, small)
    return _objective(_safe(X, y, 1e-7), X, y)


def _signs(y):
    """Return the labels of each machine, a class against the others."""
    classes = np.unique(y)
    positive = classes[1:] if classes.size == 2 else classes
    return [np.where(y == label, 1.0, -1.0) for label in positive]


def _objective(coefs, X, y):
    """Return the sum of the objectives of all machines."""
    total = 0.0
    for w, signs in zip(coefs, _signs(y), strict=True):
        margins = signs * (X @ w[:-1] + w[-1])
        total += 0.5 * float(w @ w) + float(np.maximum(0.0, 1.0 - margins).sum())
    return total


def _text(small):
    """Return hashed words of the source of installed packages, and which package it is."""
    pieces = []
    labels = []
    for number, name in enumerate(PACKAGES):
        spec = importlib.util.find_spec(name)
        if spec is None:
            pytest.skip(f"no {name}, whose source is part of the text")
        found = []
        for file in sorted(Path(spec.origin).parent.rglob("*.py")):
            lines = file.read_text(errors="ignore").splitlines()
            found += ["\n".join(lines[at : at + 60]) for at in range(0, len(lines), 60)]
        order = np.random.default_rng(number).permutation(len(found))[: 100 if small else 2429]
        pieces += [found[i] for i in order]
        labels += [number] * order.size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HashingVectorizer(n_features=2**20).transform(pieces), np.array(labels)
