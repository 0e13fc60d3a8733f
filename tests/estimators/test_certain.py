"""What SafeSVCCV calls certain is so: references in extended precision judge it, and fractions."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import StratifiedKFold

from naive import machines
from safescreen import SafeSVC, SafeSVCCV

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
    options["multi_class"] = ("ovo", "ovr")[seed % 2]
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
    or votes the first class is predicted.
    """
    weights = np.ones(y.size) if weights is None else weights
    train = train[weights[train] > 0.0]
    K, rows = kernel(options, X[train], X[train]), kernel(options, X[test], X[train])
    norms = np.sqrt(np.diag(kernel(options, X[test], X[test])))
    lows, highs = [], []
    pairs = list(combinations(range(y.max() + 1), 2))
    in_pairs = options["multi_class"] == "ovo" and len(pairs) > 1
    classes = [1] if y.max() == 1 else range(y.max() + 1)
    for first, *others in pairs if in_pairs else [(k,) for k in classes]:
        own = np.isin(y[train], [first, *others]) if others else np.ones(train.size, dtype=bool)
        signs = np.where(y[train] == first, 1.0, -1.0)[own]
        among = K[np.ix_(own, own)]
        coefs, radius = machines.reference(
            among, signs, weights[train][own], C, options["loss"] == "squared_hinge"
        )
        rounding = 1e-14 * np.sqrt(abs(coefs) @ abs(among) @ abs(coefs))  # of kernel values
        values = rows[:, own].astype(np.longdouble) @ coefs
        lows.append(values - norms * (radius + rounding))
        highs.append(values + norms * (radius + rounding))
    if len(lows) == 1:
        lows, highs = [-highs[0], lows[0]], [-lows[0], highs[0]]
    right, possible = np.empty(test.size, dtype=bool), np.empty(test.size, dtype=bool)
    for i, own in enumerate(y[test]):
        if in_pairs:
            winners = possible_winners(pairs, [low[i] for low in lows], [high[i] for high in highs])
            right[i], possible[i] = winners == {own}, own in winners
            continue
        others = [k for k in range(len(lows)) if k != own]
        right[i] = all(
            lows[own][i] > highs[k][i] if k < own else lows[own][i] >= highs[k][i] for k in others
        )
        possible[i] = all(
            highs[own][i] > lows[k][i] if k < own else highs[own][i] >= lows[k][i] for k in others
        )
    parts = weights[test].astype(int)
    return [Fraction(int(parts[where].sum()), int(parts.sum())) for where in (right, possible)]


def possible_winners(pairs, lows, highs):
    """Return the classes that may have the most votes, of equal ones the first."""
    choices = [
        [*([first] if high > 0.0 else []), *([second] if low <= 0.0 else [])]
        for (first, second), low, high in zip(pairs, lows, highs, strict=True)
    ]
    n_classes = pairs[-1][1] + 1
    return {int(np.argmax(np.bincount(votes, minlength=n_classes))) for votes in product(*choices)}


def contradictions(seed):
    """Return what is wrong with a search, as a list of words, and whether it is certified."""
    X, y, weights, options, Cs = problem(seed)
    cv = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
    tol = 10.0 ** -np.random.default_rng(seed).integers(2, 11)
    search = SafeSVCCV(SafeSVC(tol=tol, **options), Cs, cv=cv, refit=False).fit(X, y, weights)
    truth = np.array(
        [[reference_bounds(X, y, weights, options, C, *split) for C in Cs] for split in cv]
    )
    found = []
    least, most = search.score_bounds_
    if not (least <= truth[..., 1].astype(float)).all():
        found.append("a lower bound above the score")
    if not (truth[..., 0].astype(float) <= most).all():
        found.append("an upper bound below the score")
    low, high = truth[..., 0].sum(axis=0), truth[..., 1].sum(axis=0)
    best = search.best_index_
    earlier = low >= high[best]
    earlier[best:] = low[best:] > high[best]
    if search.certified_ and earlier.any():
        found.append("certified, and not the best")
    return found, bool(search.certified_)


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 20, 5))
def test_nothing_certain_is_wrong(start):
    results = {seed: contradictions(seed) for seed in range(start, start + 5)}
    assert {seed: wrong for seed, (wrong, _) in results.items() if wrong} == {}
    assert start or any(certified for _, certified in results.values())


LONG = [pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1049, 1150, 1873)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("seed", [181, 1239, 1781, *LONG])
def test_what_rounding_leaves_open_is_open(seed):
    """Kernel values that are equal up to 1e-10, and three classes: no gap that can be reached
    decides.
    """
    assert contradictions(seed)[0] == []


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_nothing_certain_is_wrong_in_2000_problems(start):
    seeds = range(start, start + 100)
    assert {seed: wrong for seed in seeds if (wrong := contradictions(seed)[0])} == {}
