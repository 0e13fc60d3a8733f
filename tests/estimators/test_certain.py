"""What SafeSVCCV calls certain is so: an exhaustive search judges it by references in extended
precision.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import StratifiedKFold

from naive import machines
from safescreen import HDSL, HDSLCV, SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV

CS = {"few": np.geomspace(1e-2, 1e2, 5), "many": np.geomspace(1e-3, 1e3, 13)}


def problem(seed):
    """Return ``(X, y, weights, options, Cs)`` of a small random problem."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(14, 41)), int(rng.integers(1, 4))
    n_classes = int(rng.choice([2, 2, 2, 3]))
    kind = rng.choice(["integers", "normal", "tiny", "copies"])
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "copies":
        X = np.repeat(rng.normal(size=(n // 2 + 1, d)), 2, axis=0)[:n]
    else:
        X = rng.normal(size=(n, d)) * (
            1.0 if kind == "normal" else 10.0 ** -int(rng.integers(2, 8))
        )
    noise = rng.normal(0.0, 1.0, n) * np.abs(X).max()
    y = np.searchsorted(
        np.quantile(X[:, 0] + noise, np.arange(1, n_classes) / n_classes), X[:, 0] + noise
    )
    y[: 3 * n_classes] = np.repeat(np.arange(n_classes), 3)
    options = {
        "loss": str(rng.choice(["hinge", "squared_hinge"])),
        "fit_intercept": bool(rng.integers(2)),
    }
    options["intercept_scaling"] = float(rng.choice([1.0, 10.0]))
    options["kernel"] = str(rng.choice(["linear", "linear", "rbf", "poly"]))
    options |= {"gamma": 0.5, "degree": 2, "coef0": 1.0, "intercept": "penalised"}
    weights = None
    if rng.integers(2):
        weights = rng.integers(0, 3, n).astype(float)
        weights[: 3 * n_classes] = 1.0
    return X, y, weights, options, CS["many" if rng.integers(4) == 0 else "few"]


def kernel(options, X, Z):
    made = {
        "linear": lambda: X @ Z.T,
        "rbf": lambda: rbf_kernel(X, Z, gamma=options["gamma"]),
        "poly": lambda: polynomial_kernel(X, Z, 2, options["gamma"], options["coef0"]),
    }
    return made[options["kernel"]]() + options["fit_intercept"] * options["intercept_scaling"] ** 2


def reference_bounds(X, y, weights, options, C, train, test):
    """Return bounds of the accuracy of one fold at the exact solutions; of equal decision values
    the first class is predicted.
    """
    weights = np.ones(y.size) if weights is None else weights
    train = train[weights[train] > 0.0]
    K, rows = kernel(options, X[train], X[train]), kernel(options, X[test], X[train])
    norms = np.sqrt(np.diag(kernel(options, X[test], X[test])))
    lows, highs = [], []
    for label in [1] if y.max() == 1 else range(y.max() + 1):
        signs = np.where(y[train] == label, 1.0, -1.0)
        coefs, radius = machines.reference(
            K, signs, weights[train], C, options["loss"] == "squared_hinge"
        )
        rounding = 1e-14 * np.sqrt(abs(coefs) @ abs(K) @ abs(coefs))  # of kernel values
        values = rows.astype(np.longdouble) @ coefs
        lows.append(values - norms * (radius + rounding))
        highs.append(values + norms * (radius + rounding))
    if len(lows) == 1:
        lows, highs = [-highs[0], lows[0]], [-lows[0], highs[0]]
    right, possible = np.empty(test.size, dtype=bool), np.empty(test.size, dtype=bool)
    for i, own in enumerate(y[test]):
        others = [k for k in range(len(lows)) if k != own]
        right[i] = all(
            lows[own][i] > highs[k][i] if k < own else lows[own][i] >= highs[k][i] for k in others
        )
        possible[i] = all(
            highs[own][i] > lows[k][i] if k < own else highs[own][i] >= lows[k][i] for k in others
        )
    parts = weights[test]
    return (parts * right).sum() / parts.sum(), (parts * possible).sum() / parts.sum()


def contradictions(seed):
    """Return what is wrong with the two ways to choose C, as a list of words."""
    X, y, weights, options, Cs = problem(seed)
    cv = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
    quick, plain = (
        SafeSVCCV(SafeSVC(**options), Cs, cv=cv, refit=False, certify=certify).fit(X, y, weights)
        for certify in (True, False)
    )
    found = []
    if (quick.C_, quick.best_score_) != (plain.C_, plain.best_score_):
        found.append(f"another choice: C={quick.C_:g}, certify=False C={plain.C_:g}")
    both = ~np.isnan(quick.scores_)
    if not np.array_equal(quick.scores_[both], plain.scores_[both]):
        found.append("another score")
    truth = np.array(
        [[reference_bounds(X, y, weights, options, C, *split) for C in Cs] for split in cv]
    )
    low, high = truth[..., 0].mean(axis=0), truth[..., 1].mean(axis=0)
    for model in (quick, plain):
        name = f"certify={model.certify}"
        if (
            not (model.score_bounds_[0] <= truth[..., 1]).all()
            or not (truth[..., 0] <= model.score_bounds_[1]).all()
        ):
            found.append(f"{name}: bounds without the score")
        known = ~np.isnan(model.scores_)
        if not (
            (model.score_bounds_[0] <= model.scores_) & (model.scores_ <= model.score_bounds_[1])
        )[known].all():
            found.append(f"{name}: a score outside its bounds")
        best = int(np.flatnonzero(Cs == model.C_)[0])
        surely = [
            c
            for c in range(Cs.size)
            if (low[c] > high[:c]).all() and (low[c] >= high[c + 1 :]).all()
        ]
        if surely and model.certified_out_[surely[0]]:
            found.append(f"{name}: the best C is certified out")
        if surely and model.certified_ and best != surely[0]:
            found.append(f"{name}: certified, and not the best")
        if model.certified_out_[best]:
            found.append(f"{name}: the choice is certified out")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 20, 5))
def test_nothing_certain_is_wrong(start):
    assert {
        seed: wrong for seed in range(start, start + 5) if (wrong := contradictions(seed))
    } == {}


LONG = [pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1049, 1150, 1873)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [181, 1239, 1781, *LONG])
def test_what_rounding_leaves_open_is_scored_in_one_way(seed):
    """Kernel values that are equal up to 1e-10, and three classes: no gap that can be reached
    decides.
    """
    assert contradictions(seed) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_nothing_certain_is_wrong_in_2000_problems(start):
    assert {
        seed: wrong for seed in range(start, start + 100) if (wrong := contradictions(seed))
    } == {}


# -------------------------------------------------- metrics and similarities, which certify nothing


def labelled_points(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 40)), int(rng.integers(2, 4))
    X = rng.integers(-2, 3, (n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(0.0, 1.0, n) > 0).astype(int)
    y[:6] = [0, 1] * 3
    return X, y, list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))


def choice_contradictions(seed):
    """Return what of the two other searches is not what an exhaustive search by single models
    gives, as a list of words.
    """
    X, y, cv = labelled_points(seed)
    found = []
    prototype = TripletMetric(k=2, diagonal=seed % 3 == 0)
    search = TripletMetricCV(prototype, [30.0, 3.0, 0.3], cv=cv).fit(X, y)
    best = search.scores_.mean(axis=0).argmax()  # of equal scores the largest lam comes first
    if (search.lam_, search.best_index_) != (
        search.lams_[best],
        best,
    ) or search.best_estimator_.lam_ != search.lam_:
        found.append("another choice of a metric")
    single = clone(prototype).set_params(lam=search.lam_).fit(X, y)
    apart = np.linalg.norm(single.get_mahalanobis_matrix() - search.get_mahalanobis_matrix())
    if apart > single.solution_.eps + search.best_estimator_.solution_.eps:
        found.append("another metric")
    scales = np.array([1.0, 10.0, 100.0])
    search = HDSLCV(HDSL(max_iter=20), scales, cv=cv).fit(X, y)
    scores = [
        [
            HDSL(scale, max_iter=20).fit(X[train], y[train]).score(X[test], y[test])
            for scale in scales
        ]
        for train, test in cv
    ]
    if not np.array_equal(search.scores_, scores):
        found.append("another score of a similarity")
    # of equal scores the smallest scale comes first
    if search.scale_ != scales[np.mean(scores, axis=0).argmax()]:
        found.append("another choice of a similarity")
    return found


def test_other_searches_choose_as_they_say():
    assert {seed: wrong for seed in range(6) if (wrong := choice_contradictions(seed))} == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(6, 306, 50))
def test_other_searches_choose_as_they_say_in_300_problems(start):
    assert {
        seed: wrong for seed in range(start, start + 50) if (wrong := choice_contradictions(seed))
    } == {}
