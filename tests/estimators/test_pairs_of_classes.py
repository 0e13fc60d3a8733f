"""Several classes as problems of two classes each, beside SVC attribute by attribute."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from safescreen import SafeSVC, screen_fitted
from safescreen.estimators import _machines, _votes
from safescreen.kernels import checked

KERNEL = {"gamma": 0.2, "coef0": 1.0, "degree": 2}


def data(load=load_wine):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["white", "red", "rose"])[y]


def both(X, y, weights=None, C=1.0, **options):
    theirs = SVC(C=C, tol=1e-10, **KERNEL, **options)
    ours = SafeSVC(C, tol=1e-11, multi_class="ovo", intercept="free", **KERNEL, **options)
    return theirs.fit(X, y, weights), ours.fit(X, y, weights)


def assert_same_answers(ours, theirs, points, atol):
    for shape in ("ovr", "ovo"):
        values = [
            model.set_params(decision_function_shape=shape).decision_function(points)
            for model in (ours, theirs)
        ]
        np.testing.assert_allclose(*values, atol=atol)
    np.testing.assert_array_equal(ours.predict(points), theirs.predict(points))


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "precomputed"])
@pytest.mark.parametrize("class_weight", [None, {"red": 3.0}, "balanced"])
def test_the_layout_is_that_of_svc(kernel, class_weight):
    X, y = data()
    weights = None
    if class_weight != "balanced":  # SVC's factors do not know of weights
        weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    points = X @ X.T if kernel == "precomputed" else X
    options = {"kernel": kernel, "class_weight": class_weight}
    theirs, ours = both(points, y, weights, **options)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert ours.dual_coef_.shape == (2, ours.support_.size)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ours.n_iter_.shape == theirs.n_iter_.shape == (3,)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_same_answers(ours, theirs, points, atol=1e-5)


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
def test_four_classes_and_rows_that_are_computed_when_they_are_wanted(monkeypatch):
    """Each pair has its own points: with six pairs no row is that of another class."""
    X, y = make_blobs(200, 3, centers=4, cluster_std=4.0, random_state=1)
    y[:3] = 3  # classes of different sizes
    theirs, ours = both(X, y, kernel="rbf")
    monkeypatch.setattr(_machines, "WHOLE", 60)
    monkeypatch.setattr(checked, "WHOLE", 60)
    _, by_rows = both(X, y, kernel="rbf")
    _, sparse_points = both(sparse.csr_array(X), y, kernel="rbf")
    for model in (ours, by_rows, sparse_points):
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-4)
        assert_same_answers(model, theirs, X, atol=1e-4)
    assert ours.intercept_.size == 6 and ours.dual_coef_.shape[0] == 3
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)


def test_defaults_are_those_of_svc_with_a_kernel_and_of_linear_svc_without():
    X, y = data(load_iris)
    assert SafeSVC(kernel="rbf").fit(X, y).n_iter_.size == 3
    linear = SafeSVC(tol=1e-8).fit(X, y)
    theirs = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(linear.coef_, theirs.coef_, atol=1e-3)
    assert SafeSVC(multi_class="ovo").fit(X, y).dual_coef_.shape[0] == 2
    ovr = SafeSVC(kernel="rbf", multi_class="ovr").fit(X, y)
    assert ovr.dual_coef_.shape[0] == 3


def test_classes_are_chosen_by_votes():
    values = np.array(list(product((-1.5, 0.25, 2.0), repeat=6)))
    votes, sums = np.zeros((2, len(values), 4))
    for (first, second), value in zip(combinations(range(4), 2), values.T, strict=True):
        votes[:, first] += value >= 0.0
        votes[:, second] += value < 0.0
        sums[:, first] += value
        sums[:, second] -= value
    by_definition = votes + sums / (3.0 * (np.abs(sums) + 1.0))
    np.testing.assert_allclose(_votes.confidences(values, 4), by_definition, rtol=1e-12)
    counts = _votes.votes(values, 4)
    np.testing.assert_array_equal(counts.sum(axis=1), 6)
    np.testing.assert_array_equal(_votes.ordered(counts).argmax(axis=1), counts.argmax(axis=1))
    np.testing.assert_array_equal(
        np.sign(_votes.ordered(counts)[:, 0] - _votes.ordered(counts)[:, 1]),
        np.where(counts[:, 0] >= counts[:, 1], 1, -1),
    )


def test_bounds_of_votes_hold_all_that_is_possible():
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.integers(-2, 2, (1, 6)).astype(float)
        high = low + rng.integers(0, 3, (1, 6))
        fewest, most = _votes.bounds(low, high, 4)
        choices = product(
            *(np.unique([a, (a + b) / 2, b]) for a, b in zip(*low, *high, strict=True))
        )
        counts = _votes.votes(np.array(list(choices)), 4)
        assert (fewest <= counts.min(axis=0)).all() and (counts.max(axis=0) <= most).all()
        is_open = ((low <= 0.0) & (high >= 0.0)).sum()
        assert most.sum() - fewest.sum() == 2 * is_open
    fewest, most = _votes.bounds(np.array([[np.nan]]), np.array([[np.nan]]), 2)
    assert fewest.tolist() == [[0.0, 0.0]] and most.tolist() == [[1.0, 1.0]]


def test_equal_votes():
    X, y = make_blobs(30, cluster_std=3.0, random_state=0)
    grid = np.array(list(product(np.linspace(-10, 10, 40), repeat=2)))
    options = {"kernel": "poly", "gamma": 0.1, "coef0": 1.0, "degree": 2, "tol": 1e-9}
    ours = SafeSVC(**options).fit(X, y)
    theirs = SVC(**options).fit(X, y)
    for model in (ours, theirs):
        model.set_params(decision_function_shape="ovo")
    counts = _votes.votes(theirs.decision_function(grid), 3)
    assert 100 < (counts.max(axis=1) == 1).sum() < 500  # each class has one vote
    np.testing.assert_array_equal(ours.predict(grid), theirs.predict(grid))
    with pytest.raises(ValueError, match="break_ties must be False when"):
        ours.set_params(break_ties=True).predict(grid)
    for model in (ours, theirs):
        model.set_params(decision_function_shape="ovr", break_ties=True)
    surest = ours.predict(grid)
    assert (surest != counts.argmax(axis=1)).any()
    np.testing.assert_array_equal(surest, theirs.predict(grid))
    np.testing.assert_array_equal(surest, ours.decision_function(grid).argmax(axis=1))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_a_class_without_weight_has_no_pairs(kernel, missing):
    X, y = make_blobs(80, 3, centers=4, cluster_std=4.0, random_state=0)
    keep = y != missing
    options = {"kernel": kernel, "gamma": 0.1, "multi_class": "ovo"}
    model = SafeSVC(**options).fit(X, y, keep.astype(float))
    alone = SafeSVC(**options).fit(X[keep], y[keep])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    assert model.n_support_[missing] == 0 and model.intercept_.size == 3
    known = alone.decision_function(X)
    values = model.decision_function(X)
    np.testing.assert_array_equal(np.delete(values, missing, axis=1), known)
    np.testing.assert_array_equal(values[:, missing], known.min(axis=1) - 1.0)
    for each in (model, alone):
        each.set_params(decision_function_shape="ovo")
    first, second = np.triu_indices(4, 1)
    values = model.decision_function(X)
    are_there = (first != missing) & (second != missing)
    np.testing.assert_array_equal(values[:, are_there], alone.decision_function(X))
    np.testing.assert_array_equal(values[:, first == missing], -1.0)
    np.testing.assert_array_equal(values[:, second == missing], 1.0)


def test_two_of_four_classes():
    X, y = make_blobs(80, 3, centers=4, cluster_std=4.0, random_state=0)
    keep = y % 2 == 1
    options = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-9}
    model = SafeSVC(**options).fit(X, y, keep.astype(float))
    alone = SafeSVC(**options).fit(X[keep], y[keep])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    f = model.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(f[:, 4], -alone.decision_function(X), atol=1e-4)  # of 1 and 3
    np.testing.assert_array_equal(f[:, 1], 0.0)  # of 0 and 2


def test_a_class_of_one_point():
    X, y = data(load_iris)
    X = X + np.random.default_rng(0).normal(size=X.shape) / 100.0  # no points are equal
    y = np.where(np.arange(150) == 7, "other", y)
    theirs, ours = both(X, y, kernel="rbf")
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_threads_and_warm_starts(multi_class):
    X, y = data()
    options = {"kernel": "rbf", "gamma": 0.1, "multi_class": multi_class, "tol": 1e-8}
    plain = SafeSVC(2.0, **options).fit(X, y)
    f = plain.decision_function(X)
    threads = SafeSVC(2.0, n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(threads.decision_function(X), f)
    warm = SafeSVC(1.9, warm_start=True, **options).fit(X, y).set_params(C=2.0)
    np.testing.assert_allclose(warm.fit(X, y).decision_function(X), f, atol=1e-3)
    again = warm.fit(X, y)
    assert again.n_iter_.max() == 0  # each problem starts at its own solution
    other = warm.fit(X[:100], y[:100])  # other sizes, other classes
    np.testing.assert_allclose(
        other.decision_function(X),
        SafeSVC(2.0, **options).fit(X[:100], y[:100]).decision_function(X),
        atol=1e-3,
    )


def test_a_deadline_is_that_of_all_pairs():
    X, y = data()
    model = SafeSVC(100.0, kernel="rbf", tol=1e-12, max_seconds=0.0)
    with pytest.warns(ss.ConvergenceWarning, match="max_seconds=0.0 is reached"):
        model.fit(X, y)
    assert model.reason_ == "time" and model.n_iter_.size == 3 and model.dual_gap_ > 0.0


def decided(model, X, y, C, kept=None, weights=None):
    """Return what :func:`screen_fitted` decides."""
    return screen_fitted(model, X, y, C, kept=kept, sample_weight=weights)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("make", [SVC, SafeSVC])
def test_a_certificate_of_all_pairs(make, kernel):
    X, y = data()
    options = {"kernel": kernel, "C": 0.5, "tol": 1e-5, **KERNEL}
    more = {"multi_class": "ovo", "intercept": "free"} if make is SafeSVC else {}
    model = make(**options, **more).fit(X, y)
    found = decided(model, X, y, 0.52)
    exact = SVC(**{**options, "C": 0.52, "tol": 1e-11}).fit(X, y)
    is_support = np.isin(np.arange(y.size), exact.support_)
    assert found.in_R.any() and not is_support[found.in_R].any()
    bounded = np.isclose(np.abs(exact.dual_coef_), 0.52).all(axis=0)
    assert bounded[np.isin(exact.support_, np.flatnonzero(found.in_L))].all()
    assert is_support[found.in_L].all()
    low, high = np.transpose(found.intercept)
    assert (low <= exact.intercept_ + 1e-6).all() and (exact.intercept_ - 1e-6 <= high).all()
    keep = ~found.in_R
    fewer = make(**options, **more).fit(X[keep], y[keep])
    again = decided(fewer, X, y, 0.5, kept=keep)
    assert not is_support[again.in_R].any()


@pytest.mark.parametrize(
    "model",
    [LinearSVC(C=0.1, loss="hinge", max_iter=10**5), SafeSVC(0.1), SafeSVC(0.1, kernel="rbf")],
)
def test_certificates_of_several_classes(model):
    X, y = data()
    if isinstance(model, SafeSVC) and model.kernel == "rbf":
        model.set_params(gamma=0.05, multi_class="ovr", intercept="penalised")
    found = screen_fitted(model.fit(X, y), X, y)
    assert found.in_R.any()
    fewer = X[~found.in_R], y[~found.in_R]
    exact = [
        model.set_params(tol=1e-9).fit(*points).decision_function(X) for points in ((X, y), fewer)
    ]
    np.testing.assert_allclose(*exact, atol=1e-3)


def test_certificates_are_not_given_for_other_data():
    X, y = data()
    model = SafeSVC(kernel="rbf", gamma=0.1).fit(X, y)
    for points, labels in ((X[::-1], y), (X, np.roll(y, 5)), (X[:-1], y[:-1])):
        with pytest.raises(ValueError, match="must be what the model was fitted"):
            screen_fitted(model, points, labels)
    with pytest.raises(ValueError, match="no sample of class 'white'"):
        screen_fitted(model, X[y != "white"], y[y != "white"])


def random_problem(seed):
    """Return ``(X, y, weights, model, C)``: three to five classes, ties and repeated points."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(3, 6))
    n = int(rng.integers(6 * n_classes, 50))
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) if rng.integers(2) else rng.integers(-2, 3, (n, d)).astype(float)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    weights = rng.integers(1, 4, n).astype(float) if rng.integers(2) else None
    options = {
        "kernel": str(rng.choice(["linear", "rbf", "poly"])),
        "gamma": 0.5,
        "degree": 2,
        "tol": 10.0 ** -rng.integers(2, 9),
        "multi_class": "ovo",
        "intercept": str(rng.choice(["free", "penalised"])),
        "screening": [(), ("MGB",), "auto"][rng.integers(3)],
    }
    C0, C = 10.0 ** rng.uniform(-2, 2, 2)
    if rng.integers(2):
        C = C0 * rng.uniform(0.9, 1.1)
    return X, y, weights, SafeSVC(C0, **options), C


def unsafe(seed):
    """Return how many decisions of a certificate, and of the fit itself, are wrong."""
    X, y, weights, model, C = random_problem(seed)
    model.set_params(keep_problem=True).fit(X, y, weights)
    masks = screen_fitted(model, X, y, C, sample_weight=weights)
    wrong = 0
    classes = np.unique(y)
    in_all = np.ones((2, y.size), dtype=bool)
    for k, (i, j) in enumerate(np.transpose(np.triu_indices(classes.size, 1))):
        rows = np.concatenate((np.flatnonzero(y == i), np.flatnonzero(y == j)))
        assert len(model.solutions_[k].problem) == rows.size
        for at, screened in ((model.C, model.screening_[k]), (C, None)):
            exact = ss.solve(model.solutions_[k].problem, 1.0 / at, rtol=1e-12, screening=())
            slack = np.sqrt(2.0 * exact.gap * at) * model.solutions_[k].problem.terms.norms + 1e-9
            margins = model.solutions_[k].problem.terms.inner_products(exact.x)
            values = margins.chunk(0, rows.size)[0]
            if exact.intercept is not None:
                signs = np.where(y[rows] == i, 1.0, -1.0)
                values = values + signs * exact.intercept
                slack = slack + 2.0 * slack.max()
            is_above = values > 1.0 + slack
            is_below = values < 1.0 - slack
            if screened is not None:
                wrong += np.count_nonzero(screened.in_R & is_below)
                wrong += np.count_nonzero(screened.in_L & is_above)
            else:
                in_all[0, rows] &= ~is_below
                in_all[1, rows] &= ~is_above
    wrong += np.count_nonzero(masks.in_R & ~in_all[0])
    return wrong + np.count_nonzero(masks.in_L & ~in_all[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("start", range(0, 40, 20))
def test_no_decision_is_unsafe(start):
    seeds = range(start, start + 20)
    assert {seed: wrong for seed in seeds if (wrong := unsafe(seed))} == {}


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_no_decision_is_unsafe_in_2000_problems(start):
    seeds = range(start, start + 100)
    assert {seed: wrong for seed in seeds if (wrong := unsafe(seed))} == {}
