"""Certificates from what scikit-learn has fitted, against its own accurate solutions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import safescreen as ss
from safescreen_book import datasets


def data(seed=0, n=300):
    return make_classification(
        n,
        5,
        n_informative=4,
        n_redundant=0,
        flip_y=0.05,
        class_sep=1.0,
        weights=[0.65],
        random_state=seed,
    )


def check(model, whole, X, y, found, accuracy=1e-6):
    """Assert that what was found is right at an accurate solution, and that dropping R changes
    nothing.
    """
    margins = np.where(y == whole.classes_[1], 1.0, -1.0) * whole.decision_function(X)
    assert (margins[found.in_R] > 1.0 - accuracy).all() and (
        margins[found.in_L] < 1.0 + accuracy
    ).all()
    part = model.fit(X[~found.in_R], y[~found.in_R])
    np.testing.assert_allclose(part.decision_function(X), whole.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("factor", [1.0, 1.05, 0.9, 2.0])
def test_svc_with_its_free_intercept(kernel, factor, tol):
    for seed in range(3):
        X, y = data(seed)
        X += 3.0 if kernel == "linear" else 0.0
        options = {"kernel": kernel, "gamma": 0.2, "degree": 2}
        found = ss.screen_fitted(SVC(C=0.5, tol=tol, **options).fit(X, y), X, y, 0.5 * factor)
        whole = SVC(C=0.5 * factor, tol=1e-10, **options).fit(X, y)
        assert (
            found.intercept[0] <= whole.intercept_[0] + 1e-7
            and whole.intercept_[0] - 1e-7 <= found.intercept[1]
        )
        check(SVC(C=0.5 * factor, tol=1e-10, **options), whole, X, y, found)
        if factor == 1.0 and tol == 1e-8:
            margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
            assert found.in_R.sum() >= 0.95 * (margins > 1.0 + 1e-3).sum() > 0.0
            assert found.in_L.sum() >= 0.95 * (margins < 1.0 - 1e-3).sum() > 0.0
            assert 0.0 < found.gap_rounding <= found.gap


def test_svc_weights_and_sparse():
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.2, 3.0, y.size)
    options = {"kernel": "linear", "class_weight": {0: 1.0, 1: 2.5}}
    model = SVC(C=0.2, tol=1e-6, **options).fit(X, y, sample_weight=weights)
    found = ss.screen_fitted(model, X, y, 0.21, sample_weight=weights)
    whole = SVC(C=0.21, tol=1e-10, **options).fit(X, y, sample_weight=weights)
    assert found.in_R.mean() > 0.2
    margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
    assert (margins[found.in_R] > 1.0 - 1e-6).all() and (margins[found.in_L] < 1.0 + 1e-6).all()
    X = np.where(X > 0.0, X, 0.0)
    csr = sparse.csr_matrix(X)
    found = ss.screen_fitted(SVC(kernel="linear", C=0.2, tol=1e-6).fit(csr, y), csr, y, 0.21)
    assert found.in_R.any()
    check(
        SVC(kernel="linear", C=0.21, tol=1e-10),
        SVC(kernel="linear", C=0.21, tol=1e-10).fit(csr, y),
        csr,
        y,
        found,
    )


@pytest.mark.parametrize("offset", [3.0, 20.0])
def test_sparse_points_far_from_the_origin(offset):
    """They are centred as dense ones are, without being written out."""
    X, y = data()
    X += offset
    options = {"kernel": "linear", "C": 0.5, "tol": 1e-8}
    rows = sparse.csr_array(X)
    found, csr = (
        ss.screen_fitted(SVC(**options).fit(points, y), points, y) for points in (X, rows)
    )
    assert csr.in_R.sum() >= found.in_R.sum() - 2 > 50 and csr.in_L.any()
    check(SVC(**options), SVC(**options).fit(X, y), X, y, csr, 1e-5)
    # 2.5 GB if written out
    wide = sparse.csr_array((rows.data, rows.indices, rows.indptr), (len(X), 1 << 20))
    found = ss.screen_fitted(SVC(**options).fit(wide, y), wide, y)
    assert found.gap == pytest.approx(csr.gap, rel=1e-3) and found.in_R.any()


def test_the_ball_holds_the_solution_and_not_by_far():
    """The distance of the solution is below the radius, and above 70 % of it somewhere: a
    smaller one would be wrong.
    """
    shares = []
    for seed in range(6):
        X, y = data(seed)
        model = SVC(C=0.5, kernel="rbf", gamma=0.2, tol=1e-8).fit(X, y)
        for C in (0.55, 1.0, 2.0):
            found, whole = (
                ss.screen_fitted(model, X, y, C),
                SVC(C=C, kernel="rbf", gamma=0.2, tol=1e-10).fit(X, y),
            )
            ball, signs = found.balls[0], np.where(y == model.classes_[1], 1.0, -1.0)
            center = (
                signs * 0.5 * (1.0 + C / 0.5) * (model.decision_function(X) - model.intercept_[0])
            )
            # of what the intercept adds to a margin
            ends = np.sort(np.outer(found.intercept, signs), axis=0)
            assert (center + ends[0] - ball.radius > 1.0)[found.in_R].all() and (
                center + ends[1] + ball.radius < 1.0
            )[found.in_L].all()
            points = np.vstack([X, whole.support_vectors_])
            coef = np.concatenate([signs * np.asarray(ball.center), -whole.dual_coef_[0]])
            shares.append(np.sqrt(coef @ rbf_kernel(points, gamma=0.2) @ coef) / ball.radius)
    assert 0.7 < max(shares) <= 1.0


def test_one_after_the_other():
    X, y = data(n=500)
    model, kept = (
        SVC(kernel="rbf", gamma=0.1, C=1.0, tol=1e-6).fit(X, y),
        np.ones(y.size, dtype=bool),
    )
    for C in 1.0 * 1.03 ** np.arange(1, 6):
        kept = ~ss.screen_fitted(model, X, y, C, kept=kept).in_R
        assert not kept.all()
        model, whole = (
            SVC(kernel="rbf", gamma=0.1, C=C, tol=1e-6).fit(X[rows], y[rows])
            for rows in (kept, slice(None))
        )
        np.testing.assert_allclose(
            model.decision_function(X), whole.decision_function(X), atol=1e-4
        )
    with pytest.raises(ValueError, match="if samples were taken out, use kept"):
        ss.screen_fitted(model, X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_svc(loss, intercept):
    X, y = data(n=600)
    options = {
        "loss": loss,
        "fit_intercept": intercept,
        "intercept_scaling": 2.0,
        "random_state": 0,
        "max_iter": 1_000_000,
    }
    model = LinearSVC(C=0.1, tol=1e-4, **options).fit(X, y)
    for C in (0.1, 0.11):
        found, whole = (
            ss.screen_fitted(model, X, y, C),
            LinearSVC(C=C, tol=1e-9, **options).fit(X, y),
        )
        assert found.in_R.any() and found.in_L.any() == (loss == "hinge")
        margins = np.where(y == 1, 1.0, -1.0) * whole.decision_function(X)
        assert found.in_R.sum() >= 0.9 * (margins > 1.0 + 0.3).sum() > 0.0
        check(LinearSVC(C=C, tol=1e-9, **options), whole, X, y, found, 1e-5)


def test_same_as_from_the_coefficients():
    X, y = datasets.load("breast-cancer", return_X_y=True)
    model = LinearSVC(C=0.1, loss="hinge", random_state=0, max_iter=1_000_000).fit(X, y)
    one = ss.screen_fitted(model, X, y, 0.12)
    two = ss.screen_samples(X, y, model.coef_[0], 0.12, C0=0.1, intercept=model.intercept_[0])
    np.testing.assert_array_equal(one.in_R, two.in_R)
    assert one.gap == two.gap


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (SVC(kernel="sigmoid"), ValueError, "kernel linear, poly or rbf, got 'sigmoid'"),
        (
            SVC(),
            ValueError,
            "gamma='scale' would change .* fit with the number it stands for, gamma=0",
        ),
        (SVC(kernel="linear", class_weight="balanced"), ValueError, "give it as a dict of numbers"),
        (LinearSVC(penalty="l1"), ValueError, "penalty 'l2', got 'l1'"),
    ],
)
def test_errors(model, error, text):
    X, y = data()
    with pytest.raises(error, match=text):
        ss.screen_fitted(model.fit(X, y), X, y, 1.0)


def test_errors_of_the_call():
    X, y = data()
    model = SVC(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="found other support vectors"):
        ss.screen_fitted(model, X[::-1].copy(), y)
    with pytest.raises(ValueError, match="other classes or another number of columns"):
        ss.screen_fitted(model, X[:, 1:], y)
    with pytest.raises(ValueError, match="model must be fitted: call"):
        ss.screen_fitted(SVC(), X, y)
    with pytest.raises(
        TypeError,
        match=(
            "LinearSVC, an SVC, a SafeSVC or a SafeSVCCV, or a Pipeline that ends in one, got str"
        ),
    ):
        ss.screen_fitted("svc", X, y)
    with pytest.raises(ValueError, match="no sample of class 2"):
        ss.screen_fitted(SVC(kernel="linear").fit(X, np.arange(y.size) % 3), X, y)
    with pytest.raises(ValueError, match="must be positive"):
        ss.screen_fitted(model, X, y, sample_weight=np.zeros(y.size))


# ------------------------------------------------------------------ each allowance for rounding


def test_all_intercepts_between_are_optimal():
    """A small C puts all samples at their bounds: any b between the largest and the smallest
    kink is optimal, and certified.
    """
    X = np.array([[0.3, 0.1], [0.1, 0.4], [-0.2, 0.3], [-0.5, -0.1], [0.2, -0.3], [-0.1, -0.4]])
    y = np.array([1, 1, 1, 0, 0, 0])
    signs = 2.0 * y - 1.0
    model = SVC(kernel="linear", C=1e-3, tol=1e-10).fit(X, y)
    low, high = ss.screen_fitted(model, X, y).intercept
    losses = [
        np.maximum(1.0 - signs * (X @ model.coef_[0] + b), 0.0).sum() for b in (-0.998, 0.0, 0.998)
    ]
    assert np.allclose(losses, losses[0], rtol=0, atol=1e-12)
    assert -1.01 < low < -0.998 and 0.998 < high < 1.01


def test_weights_other_than_those_of_the_fit_are_noticed():
    """With smaller ones the dual point would be outside its box, and what it proves wrong."""
    X, y = data()
    model = SVC(kernel="linear", C=0.2).fit(X, y, sample_weight=np.full(y.size, 2.0))
    assert ss.screen_fitted(model, X, y, sample_weight=np.full(y.size, 2.0)).in_R.any()
    with pytest.raises(ValueError, match="sample_weight must be what the model was fitted with"):
        ss.screen_fitted(model, X, y)


# ------------------------------------------------------------------ estimators of this library

GAMMA = 0.2
KERNELS = {
    "linear": lambda X: X @ X.T,
    "rbf": lambda X: rbf_kernel(X, gamma=GAMMA),
    "poly": lambda X: polynomial_kernel(X, degree=2, gamma=GAMMA, coef0=1.0),
    "precomputed": lambda X: rbf_kernel(X, gamma=GAMMA),
}
LOSSES = {
    "hinge": ss.Hinge(),
    "smoothed": ss.SmoothedHinge(0.3),
    "squared_hinge": ss.SquaredHinge(0.5),
}


def safe_svc(C, kernel="linear", loss="hinge", **options):
    """Return a SafeSVC with the kernel and the loss of those names."""
    smoothing = 0.3 if loss == "smoothed" else 0.0
    loss = "hinge" if loss == "smoothed" else loss
    return ss.SafeSVC(
        C, kernel=kernel, gamma=GAMMA, degree=2, loss=loss, smoothing=smoothing, **options
    )


def random_case(seed):
    """Return labelled points, some of them repeated, weights, the value of the constant feature,
    C and a tolerance.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    X[:10] = np.round(X[10:20])
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0.0, "yes", "no")
    weights = None if seed % 2 else rng.uniform(0.2, 3.0, 60)
    constant = [0.0, 1.0, 5.0][seed % 3]
    return X, y, weights, constant, 10.0 ** rng.uniform(-2.0, 1.5), 10.0 ** -rng.uniform(0.0, 8.0)


def unsafe(found, problem, K, signs, C):
    """Return how many decisions the certified solution of the problem contradicts, beyond what
    its own gap leaves open.
    """
    solution = ss.solve(problem, 1.0 / C, tol=1e-300, rtol=1e-9, screening=())
    margins = signs * (K @ (signs * np.asarray(solution.x)))
    open_ = solution.eps * np.sqrt(K.diagonal()) + 1e-10 * (1.0 + np.abs(margins))
    linear = 1.0 - problem.loss.smoothing
    return np.count_nonzero(found.in_R & (margins + open_ < 1.0)) + np.count_nonzero(
        found.in_L & (margins - open_ > linear)
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_safe_svc_beside_certified_solutions(kernel, loss):
    """Poses the problem from a kernel matrix of scikit-learn, with the constant feature and the
    weights in their definition.
    """
    decided = []
    for seed in range(6):
        X, y, weights, constant, C0, tol = random_case(seed)
        points = KERNELS[kernel](X) if kernel == "precomputed" else X
        model = safe_svc(
            C0,
            kernel,
            loss,
            tol=tol,
            class_weight={"no": 2.0},
            fit_intercept=constant > 0.0,
            intercept="penalised",
            intercept_scaling=constant or 1.0,
        )
        model.fit(points, y, weights)
        K, signs = KERNELS[kernel](X) + constant**2, np.where(y == "yes", 1.0, -1.0)
        factors = np.where(y == "no", 2.0, 1.0) * (1.0 if weights is None else weights)
        problem = ss.Problem(ss.KernelSamples(K, signs, weights=factors), LOSSES[loss])
        for C in C0 * np.array([1.0, 1.02, 0.8, 1.5]):
            found = ss.screen_fitted(model, points, y, C, sample_weight=weights)
            assert unsafe(found, problem, K, signs, C) == 0
            assert found.lam == 1.0 / C and 0.0 <= found.gap_rounding <= found.gap
            decided.append(found.rate)
        own = ss.screen_fitted(model, points, y, sample_weight=weights)
        np.testing.assert_array_equal(
            own.in_R, ss.screen_fitted(model, points, y, C0, sample_weight=weights).in_R
        )
        masks = ss.rules.Screened(found.in_L, np.ones(60, dtype=bool))
        assert unsafe(masks, problem, K, signs, C) > 0  # what is certain is not everything
    assert np.mean(decided) > (0.02 if loss == "squared_hinge" else 0.15)


def test_accurate_safe_svc_decides_nearly_all():
    X, y = data()
    for kernel in ("linear", "rbf"):
        model = safe_svc(0.5, kernel, tol=1e-10).fit(X, y)
        found, margins = (
            ss.screen_fitted(model, X, y),
            np.where(y == 1, 1.0, -1.0) * model.decision_function(X),
        )
        np.testing.assert_array_equal(
            found.in_R[np.abs(margins - 1.0) > 1e-3], (margins > 1.0)[np.abs(margins - 1.0) > 1e-3]
        )
        np.testing.assert_array_equal(
            found.in_L[np.abs(margins - 1.0) > 1e-3], (margins < 1.0)[np.abs(margins - 1.0) > 1e-3]
        )
        assert found.in_L.any() and found.in_R.any()


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_safe_svc_is_the_same_as_its_coefficients(intercept):
    X, y = data()
    options = {"fit_intercept": intercept, "intercept_scaling": 3.0, "keep_problem": True}
    model = safe_svc(0.5, **options).fit(X, y)
    one = ss.screen_fitted(model, X, y, 0.52)
    b = model.intercept_[0] if intercept else None
    alpha = np.asarray(model.solutions_[0].alpha)
    two = ss.screen_samples(X, y, model.coef_[0], 0.52, alpha, intercept=b, intercept_scaling=3.0)
    np.testing.assert_array_equal(one.in_R, two.in_R)
    assert one.gap == pytest.approx(two.gap, rel=1e-9) and one.in_R.any()
    # of such points a model keeps the columns with an entry
    wide = sparse.csr_array(np.hstack([X, np.zeros((len(X), 50))]))
    three = ss.screen_fitted(
        safe_svc(0.5, fit_intercept=intercept, intercept_scaling=3.0).fit(wide, y), wide, y, 0.52
    )
    np.testing.assert_array_equal(three.in_R, one.in_R)


@pytest.mark.parametrize("kernel", KERNELS)
def test_safe_svc_one_after_the_other(kernel):
    X, y = data(n=400)
    points = KERNELS[kernel](X) if kernel == "precomputed" else X

    def fit(C, rows):
        part = points[np.ix_(rows, rows)] if kernel == "precomputed" else points[rows]
        return safe_svc(C, kernel, tol=1e-8).fit(part, y[rows])

    model, kept = fit(0.2, np.ones(y.size, dtype=bool)), np.ones(y.size, dtype=bool)
    for C in 0.2 * 1.01 ** np.arange(1, 4):
        kept = ~ss.screen_fitted(model, points, y, C, kept=kept).in_R
        assert not kept.all()
        model, whole = fit(C, kept), fit(C, np.ones(y.size, dtype=bool))
        rows = points[:, kept] if kernel == "precomputed" else points
        np.testing.assert_allclose(
            model.decision_function(rows), whole.decision_function(points), atol=2e-3
        )
    with pytest.raises(ValueError, match="X must|X and y must"):
        ss.screen_fitted(model, points, y)


def test_the_best_estimator_of_a_search():
    X, y = data()
    search = ss.SafeSVCCV(safe_svc(1.0), [0.1, 0.3], cv=2).fit(X, y)
    found, own = (
        ss.screen_fitted(search, X, y),
        ss.screen_fitted(search.best_estimator_, X, y, search.C_),
    )
    np.testing.assert_array_equal(found.in_R, own.in_R)
    assert found.in_R.any()
    for other in (
        ss.SafeSVCCV(),
        ss.SafeSVCCV(safe_svc(1.0), [0.1, 0.3], cv=2, refit=False).fit(X, y),
    ):
        with pytest.raises(ValueError, match="model must have a best_estimator_: .* refit=True"):
            ss.screen_fitted(other, X, y)


LAST = [
    SVC(kernel="linear", C=0.5),
    LinearSVC(C=0.5, loss="hinge", random_state=0, max_iter=100_000),
    safe_svc(0.5),
    safe_svc(0.5, "rbf"),
    ss.SafeSVCCV(safe_svc(1.0), [0.5, 0.50001], cv=2),
]


@pytest.mark.parametrize("last", LAST, ids=lambda model: type(model).__name__)
def test_pipelines(last):
    X, y = data()
    X = X * np.array([1.0, 30.0, 1.0, 5.0, 1.0]) + 7.0
    model = make_pipeline(
        StandardScaler(), "passthrough", make_pipeline(StandardScaler(), last)
    ).fit(X, y)
    found = ss.screen_fitted(model, X, y, 0.51)
    alone = ss.screen_fitted(model[-1][-1], model[-1][0].transform(model[0].transform(X)), y, 0.51)
    np.testing.assert_array_equal(found.in_R, alone.in_R)
    assert found.in_R.any() and found.gap == alone.gap
    points = StandardScaler().fit_transform(X)
    alone = ss.screen_fitted(last.fit(points, y), points, y, 0.51)
    np.testing.assert_array_equal(
        ss.screen_fitted(make_pipeline(last), points, y, 0.51).in_R, alone.in_R
    )


def test_what_safe_svc_is_refused_for():
    X, y = data(n=60)
    model = ss.SafeSVC(kernel="rbf").fit(X, y)
    with pytest.raises(
        ValueError, match=f"gamma='scale' would change .* gamma={1.0 / (5 * X.var()):.6g}"
    ):
        ss.screen_fitted(model, X, y)
    with pytest.raises(ValueError, match="give it as a dict of numbers"):
        ss.screen_fitted(ss.SafeSVC(class_weight="balanced").fit(X, y), X, y)
    with pytest.raises(ValueError, match="model must be fitted: call"):
        ss.screen_fitted(ss.SafeSVC(), X, y)
    K, weights = X @ X.T, np.linspace(0.5, 2.0, 60)
    for points, kernel in ((X, "linear"), (X, "poly"), (K, "precomputed")):
        model = safe_svc(0.1, kernel).fit(points, y, weights)
        for given in (None, 2.0 * weights):
            with pytest.raises(
                ValueError, match="y and sample_weight must be what the model was fitted with"
            ):
                ss.screen_fitted(model, points, y, sample_weight=given)
        with pytest.raises(ValueError, match="must be what the model was fitted"):
            ss.screen_fitted(model, points, 1 - y, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    with pytest.raises(
        ValueError, match="found other support vectors; if samples were taken out, use kept"
    ):
        ss.screen_fitted(ss.SafeSVC().fit(scaled, y), X, y)
    with pytest.raises(
        ValueError, match="what the model was fitted to, 59 samples, found 60; .* use kept"
    ):
        ss.screen_fitted(ss.SafeSVC().fit(X[1:], y[1:]), X, y)


def test_metrics_say_what_to_call():
    X, y = load_iris(return_X_y=True)
    metric = ss.TripletMetric(k=2, keep_problem=True).fit(X, y)
    for model in (
        metric,
        ss.TripletMetricCV(),
        make_pipeline(StandardScaler(), ss.TripletMetric(k=2)).fit(X, y),
    ):
        with pytest.raises(
            TypeError,
            match=r"TripletMetric.*, which has triplets: use screen_triplets\(.*"
            r"keep_problem=True screen\(",
        ):
            ss.screen_fitted(model, X, y)
    problem = metric.solution_.problem
    one = ss.screen(problem, metric.solution_.x, metric.lam_)
    two = ss.screen_triplets(X, problem.terms.index, metric.get_mahalanobis_matrix(), metric.lam_)
    assert one.rate > 0.5 and two.rate > 0.5
    with pytest.raises(
        TypeError, match="got HDSL: Frank-Wolfe screens nothing, its certificate is dual_gap_"
    ):
        ss.screen_fitted(ss.HDSL(), X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_other_labels_than_those_of_the_fit_are_refused(kernel):
    """The dual point stands for the labels of the fit: with another one its objective bounds
    nothing.
    """
    X, y = data(n=60)
    model = SVC(kernel=kernel, gamma=0.3, C=1.0).fit(X, y)
    other = y.copy()
    other[model.support_[0]] = 1 - other[model.support_[0]]
    with pytest.raises(ValueError, match="y must be what the model was fitted to"):
        ss.screen_fitted(model, X, other, C=1.1)


@pytest.mark.parametrize("model", [ss.SafeSVC(0.5), LinearSVC(C=0.5)])
def test_sparse_coefficients_are_those_of_the_array(model):
    X, y = load_iris(return_X_y=True)
    X = X[50:] * (X[50:] > 1.5)
    model = clone(model).fit(sparse.csr_array(X), y[50:])
    told = ss.screen_fitted(model, X, y[50:])
    same = ss.screen_fitted(model.sparsify(), X, y[50:])
    np.testing.assert_array_equal(same.in_R, told.in_R)
    assert told.in_R.any()


@pytest.mark.parametrize("refit", [True, False])
def test_a_search_names_its_best_estimator(refit):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(ss.SafeSVC(), {"C": [0.1, 1.0]}, cv=2, refit=refit)
    for model in (search, clone(search).fit(X[50:], y[50:])):
        with pytest.raises(TypeError, match="got GridSearchCV: use its best_estimator_"):
            ss.screen_fitted(model, X[50:], y[50:])
