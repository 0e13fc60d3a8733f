"""Whatever the data and the options: an answer with its certificate, or an error that names the
argument; never a hang or noise.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st

import safescreen as ss
from safescreen import HDSL, SafeSVC, TripletMetric
from safescreen_book import datasets

POINTS = st.fixed_dictionaries(
    {
        "n": st.sampled_from([3, 4, 7, 12]),
        "d": st.sampled_from([1, 2, 3, 15]),
        "offset": st.sampled_from([0.0, 1e3, 1e8, 1e12]),
        "scale": st.sampled_from([1e-160, 1e-80, 1e-8, 1.0, 1e8, 1e80, 1e160]),
        "constant": st.booleans(),
        "repeated": st.booleans(),
        "single": st.booleans(),
        "seed": st.integers(0, 99),
    }
)
METRIC = st.fixed_dictionaries(
    {
        "lam": st.sampled_from([None, 1e-300, 1e-12, 1.0, 1e12, 1e300]),
        "lam_ratio": st.sampled_from([1e-6, 0.01, 1.0, 10.0]),
        "k": st.sampled_from([1, 3, None]),
        "diagonal": st.booleans(),
        "product": st.sampled_from([True, False, "auto"]),
        "smoothing": st.sampled_from([1e-6, 0.05, 1.0]),
        "with_path": st.booleans(),
        "screening": st.sampled_from(["auto", (), ("RRPB", "MGB"), ("GB",)]),
        "active_set": st.booleans(),
        "max_iter": st.just(60),
        "path_ratio": st.just(0.01),
    }
)
SIMILARITY = st.fixed_dictionaries(
    {
        "scale": st.sampled_from([None, 1e-300, 1e-6, 1.0, 1e6, 1e300]),
        "triplets": st.sampled_from(["nearest", "random"]),
        "loss": st.sampled_from(["smoothed_hinge", "squared_hinge", "log_loss", "exponential"]),
        "forward": st.sampled_from(["heuristic", "exact"]),
        "variant": st.sampled_from(["away", "pairwise", "plain"]),
        "max_iter": st.just(30),
        "early_stopping": st.booleans(),
    }
)
MACHINE = st.fixed_dictionaries(
    {
        "C": st.sampled_from([1e-300, 1e-8, 1.0, 1e8, 1e300]),
        "kernel": st.sampled_from(["linear", "rbf", "poly"]),
        "gamma": st.sampled_from(["scale", "auto", 1e-8, 1e8]),
        "loss": st.sampled_from(["hinge", "squared_hinge"]),
        "fit_intercept": st.booleans(),
        "class_weight": st.sampled_from([None, "balanced"]),
        "method": st.sampled_from(["auto", "newton", "gradient"]),
        "screening": st.sampled_from(["auto", (), ("MGB",), "DGB"]),
        "max_iter": st.just(60),
    }
)
LIBRARY = st.fixed_dictionaries(
    {
        "family": st.sampled_from(["triplets", "products", "samples", "kernel"]),
        "loss": st.sampled_from(
            [ss.Hinge(), ss.SmoothedHinge(1e-6), ss.SmoothedHinge(0.05), ss.SquaredHinge(0.5)]
        ),
        "lam": st.sampled_from([1e-300, 1e-30, 1e-12, 1.0, 1e12, 1e30, 1e150, 1e300]),
        "screening": st.sampled_from(["auto", (), ("MGB",), ("RRPB", "PGB")]),
        "ranges": st.booleans(),
    }
)
TINY = {
    "n": 4,
    "d": 2,
    "offset": 1e8,
    "scale": 1e-80,
    "constant": True,
    "repeated": False,
    "single": True,
    "seed": 8,
}
SQUARED = {
    "C": 1e-8,
    "kernel": "poly",
    "loss": "squared_hinge",
    "gamma": 1e-8,
    "fit_intercept": False,
    "class_weight": "balanced",
    "method": "newton",
    "screening": (),
    "max_iter": 60,
}
QUICK = settings(
    max_examples=120,
    suppress_health_check=list(HealthCheck),
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
NAMES = {"feature(s)", *TripletMetric().get_params(), *HDSL().get_params(), *SafeSVC().get_params()}
NAMES |= {
    "X",
    "y",
    "sample_weight",
    "triplets",
    "kernel",
    "terms",
    "gamma",
    "tol",
    "rtol",
    "points",
}
NAMES |= {"ranges", "lam", "lams", "method", "ProductTriplets"}


def points(n, d, offset, scale, constant, repeated, single, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    if constant:
        X[:, 0] = 1.0
    if repeated:
        X[n // 2 :] = X[0]
    if single:
        y[:-1] = 0
        y[-1] = 1
    return (X + offset) * scale, y


def answer(model, *data, fit="fit"):
    """Return the fitted model, or None where it refuses with an error that names an argument."""
    try:
        return getattr(model, fit)(*data)
    except (ValueError, TypeError) as error:
        assert any(
            name in str(error).replace("'", " ").replace(":", " ").replace("=", " ").split()
            for name in NAMES
        ), error


@settings(QUICK)
@given(POINTS, METRIC)
@example(
    TINY,
    {
        "lam_ratio": 10.0,
        "diagonal": True,
        "smoothing": 1e-6,
        "with_path": True,
        "path_ratio": 0.01,
        "screening": ("GB",),
    },
)
@pytest.mark.filterwarnings(
    "ignore::safescreen.ConvergenceWarning",
    "ignore:k=:UserWarning",
    "ignore:X has columns:UserWarning",
)
def test_metric(data, options):
    X, y = points(**data)
    model = answer(TripletMetric(**options, keep_problem=True), X, y)
    if model is None:
        return
    assert np.isfinite(model.components_).all() and model.dual_gap_ >= 0.0
    assert set(model.predict(X)) <= {0, 1}
    best = model.solution_
    least = best.primal - best.gap
    assert least <= best.problem.primal(best.problem.cone.zeros(), best.lam) * (1.0 + 1e-3), (
        "what the gap says of another metric"
    )


def test_points_whose_distances_vanish_are_refused():
    X, y = np.random.default_rng(0).standard_normal((12, 2)), np.arange(12) % 2
    with pytest.raises(ValueError, match="differences of at least"):
        TripletMetric().fit(1e-31 * X, y)
    TripletMetric().fit(1e-29 * X, y)


@settings(QUICK)
@given(POINTS, SIMILARITY)
@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.slow
def test_similarity(data, options):
    X, y = points(**data)
    model = answer(HDSL(**options), X, y)
    if model is not None:
        assert np.isfinite(model.components_.data).all() and model.dual_gap_ >= 0.0
        assert set(model.predict(X)) <= {0, 1}


@settings(QUICK)
@given(POINTS, MACHINE)
@example(TINY, SQUARED | {"C": 1e-300, "method": "auto"})
@example(
    TINY | {"n": 7, "d": 3, "offset": 1e12, "scale": 1e8, "repeated": True, "seed": 2}, SQUARED
)
@pytest.mark.filterwarnings(
    "ignore:.*duality gap:UserWarning", "ignore:(overflow|invalid|divide):RuntimeWarning"
)
@pytest.mark.slow
def test_machine(data, options):
    X, y = points(**data)
    model = answer(SafeSVC(**options), X, y)
    if model is not None:
        assert np.isfinite(model.decision_function(X)).all() and model.dual_gap_ >= 0.0
        assert set(model.predict(X)) <= {0, 1}


@settings(QUICK)
@given(POINTS, LIBRARY)
@pytest.mark.filterwarnings(
    "ignore::safescreen.ConvergenceWarning", "ignore:(overflow|invalid|divide):RuntimeWarning"
)
@pytest.mark.slow
def test_solve_and_path(data, options):
    X, y = points(**data)
    families = {
        "triplets": lambda: ss.Triplets.from_labels(X, y),
        "products": lambda: ss.ProductTriplets(X, y),
        "samples": lambda: ss.Samples(X, 2 * y - 1),
        "kernel": lambda: ss.KernelSamples.from_points(X, 2 * y - 1, "rbf", gamma=1.0),
    }
    lam, screening = options["lam"], options["screening"]

    def work():
        prob = ss.Problem(families[options["family"]](), options["loss"])
        found = ss.solve(prob, lam, max_iter=60, screening=screening)
        return [
            found,
            *ss.path(
                prob, [10.0 * lam, lam], max_iter=60, screening=screening, ranges=options["ranges"]
            ),
        ]

    for solution in answer(SimpleNamespace(fit=work)) or ():
        assert solution.gap >= 0.0 and not (solution.converged and np.isinf(solution.gap))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(40))
@pytest.mark.parametrize(
    "test",
    [test_metric, test_similarity, test_machine, test_solve_and_path],
    ids=lambda test: test.__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_exhaustively(test, part):
    """Another 625 cases in each of the parts."""
    inner = test.hypothesis.inner_test
    strategies = {
        test_metric: METRIC,
        test_similarity: SIMILARITY,
        test_machine: MACHINE,
        test_solve_and_path: LIBRARY,
    }[test]
    settings(QUICK, max_examples=625, derandomize=False, phases=(Phase.generate,))(
        seed(part)(given(POINTS, strategies)(inner))
    )()


@settings(QUICK, max_examples=60)
@given(POINTS, METRIC, st.integers(0, 99))
@pytest.mark.filterwarnings(
    "ignore::safescreen.ConvergenceWarning", "ignore:X has columns:UserWarning"
)
def test_judgements(data, options, number):
    (X, _), rng = points(**data), np.random.default_rng(number)
    triplets = np.array([rng.choice(len(X), 3, replace=False) for _ in range(8)])
    weights = rng.integers(0, 3, 8)
    model = answer(
        TripletMetric(**options), X, triplets, weights + (np.arange(8) == 0), fit="fit_triplets"
    )
    if model is not None:
        assert 0.0 <= model.score_triplets(X, triplets) <= 1.0 and model.dual_gap_ >= 0.0


@pytest.mark.parametrize(
    "options", [{}, {"diagonal": True}, {"product": True}, {"with_path": True}]
)
@pytest.mark.parametrize("lam", [1e5, 1e300])
def test_active_set_of_no_triplets(options, lam):
    X, y = datasets.load("iris", return_X_y=True)
    top = ss.Problem(ss.Triplets.from_labels(X, y, k=5), ss.SmoothedHinge(0.05)).lam_max()
    for value in (lam, 1.5 * top, top):
        one, two = (
            TripletMetric(lam=value, active_set=active, **options).fit(X, y)
            for active in (True, False)
        )
        assert one.dual_gap_ <= 1e-4 * one.solution_.primal
        np.testing.assert_allclose(one.components_, two.components_, rtol=1e-2)
