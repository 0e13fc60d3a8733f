"""Every wrong value gets a TypeError or a ValueError that names the argument: each argument of what
is exported and of the methods of estimators, by its annotation in the signature.
"""

import inspect
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import safescreen as ss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3))
y = np.tile([-1, 1], 12)
INDEX = [[0, 2, 1], [1, 3, 0], [2, 4, 5], [4, 6, 7]]
QUADRUPLETS = [[0, 2, 1, 3], [1, 3, 0, 4]]
PAIRS = X[np.array([[0, 2], [1, 3], [4, 7], [5, 8], [9, 2], [3, 11]])]
SIGNS = [1, 1, 1, -1, -1, -1]
SAMPLES = ss.Samples(X, y)
PROBLEM = ss.Problem(SAMPLES, ss.SmoothedHinge(0.5))
TRIPLETS = ss.Triplets(X, INDEX)
METRIC = ss.Problem(TRIPLETS, ss.SmoothedHinge(0.05))
SOLUTION = ss.solve(PROBLEM, 1.0)
M_SOLUTION = ss.solve(METRIC, 1.0)
SPHERE = ss.spheres.midpoint_gap_bound(PROBLEM, SOLUTION.x, 1.0)
M_SPHERE = ss.spheres.midpoint_gap_bound(METRIC, M_SOLUTION.x, 1.0)
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
HOURS = np.timedelta64(3, "h")
RAGGED = [[1], [1, 2]]
DICTS = np.array([{"a": i} for i in range(24)], dtype=object)

ANYTHING = {
    "ragged": RAGGED,
    "dicts": DICTS,
    "dict": {},
    "text": "x",
    "object": object(),
    "complex": 1j,
    "duration": HOURS,
}
"""Values that are wrong for an array, for a number and for a flag."""

ARRAYS = {"array": X, "frame": FRAME, "list": [1.0, 2.0]}
NUMBERS = {**ANYTHING, **ARRAYS, "0-d text": np.array("x"), "true": True, "nan": np.nan}
WORDS = {
    **{name: value for name, value in ANYTHING.items() if name != "dict"},
    **ARRAYS,
    "0-d array": np.array("auto"),
    "0-d number": np.array(np.nan),
    "number": 3,
}
POINTS = {
    **ANYTHING,
    "durations": np.full(X.shape, HOURS),
    "no array": None,
    "words": [["a", "b"]] * 24,
}
SEEDS = {name: value for name, value in NUMBERS.items() if name not in ("ragged", "true")}
WRONG = {
    "float": NUMBERS | {"none": None},
    "float | None": NUMBERS,
    "int": NUMBERS | {"none": None, "half": 2.5},
    "int | None": NUMBERS | {"half": 2.5},
    "bool": ANYTHING | ARRAYS | {"none": None},
    "bool | None": ANYTHING | ARRAYS,
    "str": WORDS | {"none": None},
    "str | None": WORDS,
    "ArrayLike": POINTS,
    "PointsLike": POINTS,
    "ElementLike": POINTS,
    "NDArray": POINTS,
    "ArrayLike | None": {n: v for n, v in POINTS.items() if v is not None},
    "ElementLike | None": {n: v for n, v in POINTS.items() if v is not None},
    "NDArray | None": {n: v for n, v in POINTS.items() if v is not None},
    "Callable[[Progress], Any] | None": ANYTHING | ARRAYS,
    "Problem": ANYTHING | ARRAYS | {"none": None},
    "Terms": ANYTHING | ARRAYS | {"none": None},
    "Loss": ANYTHING | ARRAYS | {"none": None},
    "Loss | None": ANYTHING | ARRAYS,
    "Sphere": ANYTHING | ARRAYS | {"none": None},
    "Solution": ANYTHING | ARRAYS | {"none": None},
    "ReferenceLike": ANYTHING | ARRAYS | {"none": None},
    "ReferenceLike | float": ANYTHING | ARRAYS | {"none": None},
    "ReferenceLike | Sequence[ReferenceLike]": ANYTHING | ARRAYS | {"none": None},
    "str | tuple[str, ...]": WORDS | {"none": None},
    "tuple[str, ...]": WORDS | {"none": None},
    "str | Iterable[str] | Policy": WORDS | {"none": None},
    "str | Iterable[str] | Policy | None": WORDS,
    "float | str": {n: v for n, v in NUMBERS.items() if n != "nan"} | {"none": None},
    "dict | str | None": {n: v for n, v in (ANYTHING | ARRAYS).items() if n != "dict"},
    "int | ArrayLike": POINTS,
    "bool | str": ANYTHING | ARRAYS | {"none": None},
    "bool | str | Callable": {n: v for n, v in (ANYTHING | ARRAYS).items() if n != "text"},
    "tuple[float, float]": POINTS,
    "int | np.random.Generator": SEEDS,
    "int | np.random.RandomState | None": SEEDS,
    "SafeSVC | None": ANYTHING | ARRAYS,
    "TripletMetric | None": ANYTHING | ARRAYS,
    "LinearSVC | SVC | SafeSVC | SafeSVCCV | Pipeline": ANYTHING | ARRAYS | {"none": None},
    "np.ndarray": POINTS,
    "np.ndarray | None": {n: v for n, v in POINTS.items() if v is not None},
    "ArrayLike | Callable[[list[Solution]], float | None] | None": {
        n: v for n, v in POINTS.items() if v is not None
    },
    "Callable[[SparseSimilarity], float] | None": ANYTHING | ARRAYS,
    "SparseSimilarity | None": ANYTHING | ARRAYS,
    "dict | None": {n: v for n, v in (ANYTHING | ARRAYS).items() if n != "dict"},
}
"""By annotation: the name of each wrong value, and the value."""


RESULTS = {
    "Certificate",
    "ConvergenceWarning",
    "Hinge",
    "Loss",
    "MarginBounds",
    "Path",
    "Progress",
    "Screened",
    "ShardedTriplets",
    "Solution",
    "Sphere",
}
"""What the library makes, what takes no argument, and what needs a cluster."""

LEFT = {"densify", "fit_transform", "sparsify"}
"""Methods without an argument of their own."""


def estimators():
    yield "SafeSVC", ss.SafeSVC, {"kernel": "rbf"}, (X, y)
    yield "SafeSVC without a kernel", ss.SafeSVC, {}, (X, y)
    yield "SafeSVCCV", ss.SafeSVCCV, {"Cs": [0.1, 1.0], "cv": 2}, (X, y)
    yield "TripletMetric", ss.TripletMetric, {"k": 2}, (X, y)
    yield "TripletMetricCV", ss.TripletMetricCV, {"lams": [1.0, 2.0], "cv": 2}, (X, y)
    yield "TripletMetric with a path", ss.TripletMetric, {"k": 2, "with_path": True}, (X, y)
    yield "HDSL that stops early", ss.HDSL, {"max_iter": 5, "early_stopping": True}, (X, y)
    yield "HDSL", ss.HDSL, {"max_iter": 5}, (X, y)
    yield "TripletLearner", ss.TripletLearner, {}, (X[np.array(INDEX)],)
    yield "QuadrupletLearner", ss.QuadrupletLearner, {}, (X[np.array(QUADRUPLETS)],)
    yield "PairLearner", ss.PairLearner, {}, (PAIRS, SIGNS)


def fitted(kind, parameters, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**parameters).fit(*data)


def made(kind, data, **parameters):
    return kind(**parameters).fit(*data)


def calls():
    """Yield ``(name, function, valid arguments)``."""
    at = {"x": SOLUTION.x, "lam": 1.0}
    svm = {"terms": SAMPLES}
    reference = ss.svm.reference(SOLUTION)
    yield "path", ss.path, {"prob": PROBLEM, "lams": [2.0, 1.0]}
    yield "path.ratio", ss.path, {"prob": PROBLEM, "max_lams": 2}
    yield "solve", ss.solve, {"prob": PROBLEM, "lam": 1.0}
    yield "pull", ss.pull, {"X": X, "pairs": [[0, 1]]}
    yield "screen", ss.screen, {"prob": PROBLEM, **at}
    yield "screen_samples", ss.screen_samples, {"X": X, "y": y, "w": SOLUTION.x, "C": 1.0}
    yield (
        "screen_triplets",
        ss.screen_triplets,
        {"X": X, "triplets": INDEX, "M": np.eye(3), "lam": 1.0},
    )
    yield "screen_fitted", ss.screen_fitted, {"model": ss.SafeSVC().fit(X, y), "X": X, "y": y}
    yield "Samples", ss.Samples, {"X": X, "y": y}
    yield "Triplets", ss.Triplets, {"X": X, "index": INDEX}
    yield "Triplets.from_labels", ss.Triplets.from_labels, {"X": X, "y": y, "k": 2}
    yield (
        "Pairs",
        ss.Pairs,
        {"X": X, "similar": [[0, 1]], "dissimilar": [[0, 2]], "upper": 1.0, "lower": 2.0},
    )
    yield "Quadruplets", ss.Quadruplets, {"X": X, "index": QUADRUPLETS}
    yield "ProductTriplets", ss.ProductTriplets, {"X": X, "y": y, "k": 2}
    yield "KernelSamples", ss.KernelSamples, {"K": X @ X.T + np.eye(24), "y": y}
    yield "KernelSamples.from_points", ss.KernelSamples.from_points, {"X": X, "y": y}
    yield "FreeIntercept", ss.FreeIntercept, {"terms": SAMPLES, "y": y, "constant": 1.0}
    yield (
        "FreeIntercept.from_points",
        ss.FreeIntercept.from_points,
        {"X": X, "y": y, "kernel": "rbf"},
    )
    yield "Problem", ss.Problem, {"terms": SAMPLES, "loss": ss.Hinge()}
    for name in ("primal", "gap"):
        yield f"Problem.{name}", getattr(PROBLEM, name), at
    yield "Problem.alpha", PROBLEM.alpha, {"x": SOLUTION.x}
    for name in ("dual", "x_of"):
        yield f"Problem.{name}", getattr(PROBLEM, name), {"alpha": SOLUTION.alpha, "lam": 1.0}
    masks = SOLUTION.screened
    yield "Problem.reduce", PROBLEM.reduce, {"in_L": masks.in_L, "in_R": masks.in_R}
    yield "HeldOut", ss.HeldOut, {"prob": PROBLEM, "terms": SAMPLES}
    held_out = ss.HeldOut(PROBLEM, SAMPLES)
    held_out.keep(SOLUTION)
    yield "HeldOut.keep", held_out.keep, {"solution": SOLUTION}
    yield "HeldOut.error", held_out.error, {"low": 1.0, "high": 2.0}
    yield "HeldOut.margins", held_out.margins, {"low": 1.0, "high": 2.0}
    bounds = ss.MarginBounds(np.zeros(2), np.ones(2))
    yield "MarginBounds.error", bounds.error, {}
    yield "SmoothedHinge", ss.SmoothedHinge, {"gamma": 0.5}
    yield "SquaredHinge", ss.SquaredHinge, {"gamma": 0.5}
    for name in ("FreeSpace", "NonNegativeCone", "PSDCone"):
        yield name, getattr(ss, name), {"d": 3}
    for name in ("duality_gap", "gradient", "midpoint_gap"):
        yield (
            f"ranges.{name}",
            getattr(ss.ranges, name),
            {"prob": PROBLEM, "x": SOLUTION.x, "lam0": 1.0, "accuracy": 1e-3},
        )
    yield (
        "ranges.relaxed_path",
        ss.ranges.relaxed_path,
        {"prob": PROBLEM, "x0": SOLUTION.x, "eps": 1e-3, "lam0": 1.0},
    )
    known = ss.ranges.relaxed_path(PROBLEM, SOLUTION.x, 1e-3, 1.0)
    yield "ranges.Ranges.at", known.at, {"lam": 1.0}
    yield "rules.sphere", ss.rules.sphere, {"prob": PROBLEM, "ball": SPHERE}
    yield "rules.cone_halfspace", ss.rules.cone_halfspace, {"prob": METRIC, "ball": M_SPHERE}
    yield "rules.semidefinite", ss.rules.semidefinite, {"prob": METRIC, "ball": M_SPHERE}
    yield (
        "rules.halfspace",
        ss.rules.halfspace,
        {"prob": PROBLEM, "ball": SPHERE, "normal": SOLUTION.x, "offset": 0.0},
    )
    yield (
        "rules.intersection",
        ss.rules.intersection,
        {"prob": PROBLEM, "ball1": SPHERE, "ball2": SPHERE},
    )
    diagonal = ss.Problem(ss.Triplets(X, INDEX, diagonal=True), ss.SmoothedHinge(0.05))
    yield "rules.features", ss.rules.features, {"prob": diagonal, "x": np.zeros(3), "lam": 1.0}
    for name in (
        "duality_gap_bound",
        "gradient_bound",
        "midpoint_gap_bound",
        "projected_gradient_bound",
    ):
        yield f"spheres.{name}", getattr(ss.spheres, name), {"prob": PROBLEM, **at}
    yield (
        "spheres.constrained_duality_gap_bound",
        ss.spheres.constrained_duality_gap_bound,
        {"prob": METRIC, "alpha": M_SOLUTION.alpha, "lam": 1.0},
    )
    yield "spheres.path_bound", ss.spheres.path_bound, {"x0": SOLUTION.x, "lam0": 1.0, "lam1": 0.5}
    yield (
        "spheres.relaxed_path_bound",
        ss.spheres.relaxed_path_bound,
        {"x0": SOLUTION.x, "eps": 0.1, "lam0": 1.0, "lam1": 0.5},
    )
    yield "hdsl.FrankWolfe", ss.hdsl.FrankWolfe, {"scale": 1.0}
    solver = ss.hdsl.FrankWolfe(1.0, max_iter=3)
    yield "hdsl.FrankWolfe.fit", solver.fit, {"X": X, "triplets": INDEX}
    yield (
        "hdsl.NeighborError",
        ss.hdsl.NeighborError,
        {"X": X, "y": y, "X_new": X, "y_new": y, "k": 2},
    )
    yield "hdsl.default_scale", ss.hdsl.default_scale, {"X": X, "triplets": INDEX}
    yield (
        "hdsl.nearest_triplets",
        ss.hdsl.nearest_triplets,
        {"X": X, "y": y, "n_targets": 2, "n_impostors": 2},
    )
    yield "hdsl.predict_neighbors", ss.hdsl.predict_neighbors, {"products": X @ X.T, "y": y, "k": 2}
    yield "hdsl.random_triplets", ss.hdsl.random_triplets, {"y": y, "n_per_point": 2}
    similarity = ss.HDSL(max_iter=3).fit(X, y).similarity_
    yield "hdsl.SparseSimilarity.margins", similarity.margins, {"X": X, "triplets": INDEX}
    yield "hdsl.SparseSimilarity.transform", similarity.transform, {"X": X}
    yield "svm.add_intercept", ss.svm.add_intercept, {"X": X}
    yield "svm.c_min", ss.svm.c_min, svm
    yield "svm.path", ss.svm.path, {**svm, "Cs": [0.5, 1.0]}
    yield "svm.eps_path", ss.svm.eps_path, {**svm, "C_max": 0.5, "eps": 0.5}
    yield "svm.ball_1", ss.svm.ball_1, {**svm, "C": 1.5, "reference": reference}
    yield "svm.ball_test_1", ss.svm.ball_test_1, {**svm, "C": 1.5, "reference": reference}
    yield "svm.choose_s", ss.svm.choose_s, {**svm, "C": 1.5, "reference": reference}
    yield "svm.s_bounds", ss.svm.s_bounds, {**svm, "C": 1.5, "references": [reference]}
    s = ss.svm.choose_s(SAMPLES, 1.5, reference)
    yield "svm.ball_2", ss.svm.ball_2, {**svm, "C": 1.5, "feasible": SOLUTION.x, "s": s}
    yield "svm.ball_test_2", ss.svm.ball_test_2, {**svm, "C": 1.5, "feasible": SOLUTION.x, "s": s}
    yield (
        "svm.intersection_test",
        ss.svm.intersection_test,
        {**svm, "C": 1.5, "reference": reference, "s": s},
    )
    yield "svm.dome", ss.svm.dome, {**svm, "reference_a": reference, "bound": reference}
    yield "svm.dome_test", ss.svm.dome_test, {**svm, "reference_a": reference, "bound": reference}
    yield (
        "svm.safe_screening",
        ss.svm.safe_screening,
        {**svm, "reference_a": reference, "feasible": SOLUTION.x},
    )
    yield "svm.eps_next_C", ss.svm.eps_next_C, {**svm, "reference": reference, "eps": 0.1}
    yield "svm.solution_below_c_min", ss.svm.solution_below_c_min, {**svm, "C": 1e-6}
    yield "svm.total_loss", ss.svm.total_loss, {**svm, "w": SOLUTION.x}
    yield "svm.reference", ss.svm.reference, {"solution": SOLUTION}
    yield "svm.Reference", ss.svm.Reference, {"w": SOLUTION.x, "alpha": SOLUTION.alpha, "C": 1.0}
    for name, kind, parameters, data in estimators():
        yield name, partial(made, kind, data), parameters
        model = fitted(kind, parameters, data)
        valid = dict(zip(("X", "y"), data, strict=False))
        methods = [n for n, _ in inspect.getmembers(model, inspect.ismethod) if n not in LEFT]
        for method in methods:
            if method.startswith(("_", "set_", "get_")) or method.endswith("_"):
                continue
            function = getattr(fitted(kind, parameters, data), method)
            names = inspect.signature(function).parameters
            given = {its: value for its, value in valid.items() if its in names}
            if "triplets" in names:
                given |= {"X": X, "triplets": INDEX}
            if "pairs" in names:
                given |= {"pairs": PAIRS}
            if method == "transform":
                given |= {"X": X}
            yield f"{name}.{method}", function, given
            if method == "calibrate_threshold":
                rate = {"strategy": "max_tpr", "min_rate": 0.5}
                yield f"{name}.{method} for a rate", function, {**given, **rate}
                yield f"{name}.{method} for f_beta", function, {**given, "strategy": "f_beta"}


CALLS = {name: (function, given) for name, function, given in calls()}
CLASSES = {name: kind for name, kind, *_ in estimators()}
UNUSED = {
    "HDSL": {"validation_fraction"},
    "PairLearner.calibrate_threshold": {"beta", "min_rate"},
    "PairLearner.calibrate_threshold for a rate": {"beta"},
    "PairLearner.calibrate_threshold for f_beta": {"min_rate"},
    "SafeSVC": {"cache_size", "intercept_scaling"},
    "SafeSVC without a kernel": {"cache_size", "coef0", "degree", "gamma", "max_gigabytes"},
    "SafeSVCCV.fit": {"groups"},
    "TripletMetric": {"path_ratio"},
    "TripletMetricCV.fit": {"groups"},
}
"""Arguments that a call does not look at, beside its others; another call does."""


UNTRIED = {
    ("X", "type"),
    ("cv", "Any"),
    ("options", "Any"),
    ("params", "Any"),
    ("preprocessor", "Any"),
    ("random_state", "NoneType"),
    ("sample_weight", "NoneType"),
    ("scoring", "Any"),
    ("y", "type"),
}
"""Arguments without an annotation of ours, or without a wrong value: what methods of scikit-learn's
mixins take and scikit-learn checks, keywords that are passed on, and what is not looked at.
"""


def annotation_of(argument, parameter):
    """The annotation as text; points that may be sparse too are Any in some signatures."""
    annotation = parameter.annotation
    if annotation is parameter.empty:  # keywords of SVC, methods of mixins
        annotation = type(parameter.default)
    if isinstance(annotation, type):
        annotation = annotation.__name__
    return "PointsLike" if annotation == "Any" and argument in ("X", "X_new") else annotation


def signature_of(name):
    return inspect.signature(CLASSES.get(name) or CALLS[name][0])


def cases():
    """Yield ``(name of a call, argument, what is wrong, value)``."""
    for name in CALLS:
        for argument, parameter in signature_of(name).parameters.items():
            if argument in UNUSED.get(name, ()):
                continue
            for what, value in WRONG.get(annotation_of(argument, parameter), {}).items():
                yield name, argument, what, value


def fault(name, argument, value):
    """What is wrong with the answer to a wrong value, "" if nothing is."""
    function, given = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**{**given, argument: value})
        except (TypeError, ValueError) as error:
            names_it = re.search(rf"\b{argument}\b", str(error))
            return "" if names_it else f"{type(error).__name__}: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return "no error"


def test_every_annotation_has_wrong_values():
    """Without them an argument would pass untried."""
    untried = set()
    for name in CALLS:
        for argument, parameter in signature_of(name).parameters.items():
            if argument not in UNUSED.get(name, ()):
                untried.add((argument, annotation_of(argument, parameter)))
    assert {(a, kind) for a, kind in untried if kind not in WRONG} == UNTRIED


def test_valid_calls():
    """What is wrong below is the one wrong value."""
    for function, given in CALLS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**given)


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_argument(name):
    found = {
        f"{argument}, {what}": fault(name, argument, value)
        for call, argument, what, value in cases()
        if call == name
    }
    assert {case: text for case, text in found.items() if text} == {}


def test_what_is_looked_at():
    """All that is exported but results, and modules, whose functions are."""
    names = {name.split(" ")[0] for name in CALLS}
    for exported in ss.__all__:
        if exported not in RESULTS and callable(getattr(ss, exported)):
            assert exported in names
    for module in (ss.hdsl, ss.ranges, ss.rules, ss.spheres, ss.svm):
        for exported in module.__all__:
            value = getattr(module, exported)
            if inspect.isfunction(value):
                assert f"{module.__name__.split('.')[1]}.{exported}" in names
    assert len(list(cases())) > 7000


KNOWN = {
    "a ragged list of points": ("X", lambda: ss.Samples([[1], [1, 2]], y)),
    "an array for a flag": ("diagonal", lambda: ss.Triplets(X, INDEX, diagonal=X)),
    "an array for a word": ("stop", lambda: ss.path(PROBLEM, stop=X)),
    "a duration": ("lam", lambda: ss.solve(PROBLEM, HOURS)),
    "labels that are dicts": ("y", lambda: ss.SafeSVC().fit(X, DICTS)),
    "a number for names": ("screening", lambda: ss.solve(PROBLEM, 1.0, screening=np.array(np.nan))),
    "text for weights": ("sample_weight", lambda: ss.SafeSVCCV().fit(X, y, sample_weight="")),
    "a dict for weights": ("sample_weight", lambda: ss.SafeSVC().fit(X, y, sample_weight={})),
    "text for points": ("X", lambda: ss.SafeSVC().fit(X, y).predict("x")),
    "an array for refit": ("refit", lambda: ss.SafeSVCCV(refit=X).fit(X, y)),
    "too large a ratio": (
        "lam_ratio",
        lambda: ss.TripletMetric(lam_ratio=1e308, k=2).fit(5 * X, y),
    ),
    "an array that a callback returns": (
        "callback",
        lambda: ss.solve(PROBLEM, 1.0, callback=lambda progress: X),
    ),
}


@pytest.mark.parametrize("what", KNOWN)
def test_known_inputs(what):
    argument, call = KNOWN[what]
    with pytest.raises((TypeError, ValueError), match=rf"\b{argument}\b"):
        call()
