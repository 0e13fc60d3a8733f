"""What the searches prove of all values between those of their grid, against solves in between."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from safescreen import SafeSVC, SafeSVCCV, TripletMetric, TripletMetricCV

SETTINGS = {
    "linear": {"kernel": "linear"},
    "squared": {"kernel": "linear", "loss": "squared_hinge", "fit_intercept": False},
    "smooth": {"kernel": "linear", "smoothing": 0.2, "intercept": "free"},
    "rbf": {"kernel": "rbf", "gamma": 0.5, "intercept": "penalised"},
    "free": {"kernel": "rbf", "gamma": 0.5},
}


def labelled(seed, n_classes=2):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(24, 40))
    X = rng.normal(size=(n, 2))
    if seed % 2:
        X = np.round(X)
    noisy = X[:, 0] + rng.normal(0.0, 0.7, n)
    y = np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy)
    y[: 3 * n_classes] = np.repeat(np.arange(n_classes), 3)
    weights = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else None
    return X, y, weights, list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))


def svc_faults(name, seed, n_classes):
    """Return what a dense grid of solves contradicts, as a list of words, and `epsilon_`."""
    X, y, weights, cv = labelled(seed, n_classes)
    Cs = np.geomspace(0.02, 20.0, 4)
    model = SafeSVC(tol=1e-7, **SETTINGS[name])
    search = SafeSVCCV(model, Cs, cv=cv, intervals=6, refit=False).fit(X, y, weights)
    own = float(search.score_bounds_[1].mean(axis=0)[search.best_index_])
    faults = []
    for place in range(3):
        between = np.geomspace(Cs[place], Cs[place + 1], 6)
        dense = SafeSVCCV(model, between, cv=cv, refit=False).fit(X, y, weights)
        low, high = dense.score_bounds_.mean(axis=1)
        least, most = search.interval_bounds_[:, place]
        if (high < least - 1e-12).any() or (low > most + 1e-12).any():
            faults.append(f"bounds of interval {place}")
        if (low > own + search.epsilon_ + 1e-12).any():
            faults.append(f"epsilon in interval {place}")
    return faults, search.epsilon_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_no_C_between_is_better_than_proved(name):
    epsilons = []
    for seed in (0, 3):
        faults, epsilon = svc_faults(name, seed, 3 if seed == 3 else 2)
        assert faults == [], seed
        epsilons.append(epsilon)
    assert min(epsilons) < 0.4  # it proves something


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_no_C_between_is_better_than_proved_in_100_problems(name):
    seeds = range(4, 104)
    assert {s: f for s in seeds if (f := svc_faults(name, s, 2 + s % 2)[0])} == {}


def test_gammas_have_intervals_too():
    X, y, weights, cv = labelled(1)
    model = SafeSVC(kernel="rbf")
    search = SafeSVCCV(model, [0.1, 1.0, 10.0], gammas=[0.1, 1.0], cv=cv, intervals=3)
    search.fit(X, y)
    assert search.interval_bounds_.shape == (2, 2, 2)
    for number, gamma in enumerate([0.1, 1.0]):
        between = SafeSVCCV(SafeSVC(kernel="rbf", gamma=gamma, tol=1e-8), [0.3, 3.0], cv=cv)
        low, high = between.fit(X, y).score_bounds_.mean(axis=1)
        assert (search.interval_bounds_[0, :, number] <= high).all()
        assert (search.interval_bounds_[1, :, number] >= low).all()


def test_the_grid_counts_too():
    """A single C has no interval; its own bounds remain."""
    X, y, weights, cv = labelled(2)
    search = SafeSVCCV(SafeSVC(), [1.0], cv=cv, intervals=2).fit(X, y)
    assert search.interval_bounds_.shape == (2, 0)
    least, most = search.score_bounds_.mean(axis=1)[:, 0]
    assert search.epsilon_ == pytest.approx(most - least)


def test_what_has_no_intervals():
    X, y, weights, cv = labelled(2)
    with pytest.raises(ValueError, match="accuracy"):
        SafeSVCCV(SafeSVC(), [1.0], scoring="f1", intervals=2).fit(X, y)
    with pytest.raises(ValueError, match="intervals must be a positive int"):
        SafeSVCCV(SafeSVC(), [1.0], intervals=0).fit(X, y)
    with pytest.raises(ValueError, match="fit_triplets"):
        TripletMetricCV(TripletMetric(k=2), [1.0], intervals=2).fit(X, y)
    wide = np.random.default_rng(0).normal(size=(5, 9))
    with pytest.raises(ValueError, match="as many points as features"):
        search = TripletMetricCV(lams=[1.0], cv=2, intervals=2)
        search.fit_triplets(wide, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0]])


# ------------------------------------------------------------------ judgements


def judged(seed):
    rng = np.random.default_rng(seed)
    n, n_triplets = 14, 36
    X = np.round(2.0 * rng.normal(size=(n, 3))) if seed % 2 else rng.normal(size=(n, 3))
    index = np.array([rng.permutation(n)[:3] for _ in range(n_triplets)])
    apart = [[np.sum((X[i] - X[j])[:2] ** 2) for j in others] for i, *others in index]
    swap = np.ptp(apart, axis=1) * (1 if seed % 4 else -1) > 0.0
    swap = (np.diff(apart, axis=1)[:, 0] < 0.0) ^ (rng.random(n_triplets) < 0.2) & swap
    index[swap] = index[swap][:, [0, 2, 1]]
    weights = rng.integers(0, 3, n_triplets).astype(float) if seed % 3 == 0 else None
    return X, index, weights


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("diagonal", [False, True])
def test_no_lam_between_agrees_more_than_proved(diagonal):
    epsilons = []
    for seed in (0, 2):
        X, index, weights = judged(seed)
        cv = KFold(3, shuffle=True, random_state=seed)
        lams = np.geomspace(100.0, 1.0, 4)
        model = TripletMetric(diagonal=diagonal, tol=1e-8)
        search = TripletMetricCV(model, lams, cv=cv, intervals=6, refit=False)
        search.fit_triplets(X, index, weights)
        low, high = search.score_bounds_
        assert (low <= search.scores_ + 1e-12).all() and (search.scores_ <= high + 1e-12).all()
        own = float(high.mean(axis=0)[search.best_index_])
        for place in range(3):
            between = np.geomspace(lams[place], lams[place + 1], 5)
            dense = TripletMetricCV(model, between, cv=cv, intervals=1, refit=False)
            low, high = dense.fit_triplets(X, index, weights).score_bounds_.mean(axis=1)
            least, most = search.interval_bounds_[:, place]
            assert (high >= least - 1e-12).all() and (low <= most + 1e-12).all(), seed
            assert (low <= own + search.epsilon_ + 1e-12).all(), seed
        epsilons.append(search.epsilon_)
    assert min(epsilons) < 0.4


def test_lams_that_are_relative_to_each_fold():
    X, index, _ = judged(2)
    search = TripletMetricCV(lams=4, cv=3, intervals=4).fit_triplets(X, index)
    assert search.interval_bounds_.shape == (2, 3) and search.score_bounds_.shape == (2, 3, 4)
    least, most = search.interval_bounds_
    low, high = search.score_bounds_.mean(axis=1)
    assert (least <= most).all()
    # an interval holds its two ends
    assert (least <= high[:-1]).all() and (least <= high[1:]).all()
    assert (most >= low[:-1]).all() and (most >= low[1:]).all()
    assert search.certified_ in (True, False) and search.epsilon_ >= 0.0


def test_an_interval_holds_its_two_ends():
    """At one end all is the larger class, at the other all is right."""
    X = np.concatenate([np.linspace(-3.0, -1.0, 20), np.linspace(1.0, 3.0, 5)])[:, None]
    y = (X[:, 0] > 0.0).astype(int)
    model = SafeSVC(kernel="linear", intercept="free")
    for intervals in (1, 5):
        search = SafeSVCCV(model, [1e-4, 1.0], cv=5, intervals=intervals).fit(X, y)
        assert search.scores_.mean(axis=0) == pytest.approx([0.8, 1.0])
        least, most = search.interval_bounds_[:, 0]
        assert least <= 0.8 and most >= 1.0
