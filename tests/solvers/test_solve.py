"""The solver: converges in every setting, its certificate is that of the whole problem, its
record is consistent; bad input.
"""

import inspect
import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import safescreen as ss
from instances import ADVERSARIAL, KINDS, instance, points
from safescreen.rules import Screened
from safescreen.solvers import solve_screened

SCREENINGS = ((), ("RRPB", "PGB"), ("DGB", "MGB"), ("GB+halfspace", "CDGB"), ("GB+semidefinite",))
every = pytest.mark.parametrize("kind", KINDS)
RTOL = 1e-7


def certified(problem, solution, tol=0.0, rtol=RTOL):
    """Check a solution on the problem as it was given."""
    goal = max(tol, rtol * abs(solution.primal))
    assert solution.converged and solution.gap <= goal
    alpha = solution.alpha if solution.dual_point is not None else None
    assert problem.gap(solution.x, solution.lam, alpha) <= goal * (1.0 + 1e-6)
    assert solution.primal == pytest.approx(problem.primal(solution.x, solution.lam), rel=1e-11)
    dual = problem.dual(solution.alpha, solution.lam)
    assert -1e-11 * abs(dual) <= solution.primal - dual <= 1.5 * goal + 1e-11 * abs(dual)
    masks = solution.screened
    assert (masks.n_L, masks.n_R) == (solution.n_L, solution.n_R)
    assert solution.screening_rate == pytest.approx((masks.n_L + masks.n_R) / len(problem))
    assert not (masks.in_L & masks.in_R).any()
    if solution.dual_point is None:
        alpha = solution.alpha
        assert (alpha[masks.in_L] == 1.0).all() and (alpha[masks.in_R] == 0.0).all()
    margins = problem.terms.margins(solution.x)
    assert (margins[masks.in_L] <= 1.0 - problem.loss.gamma).all() and (
        margins[masks.in_R] >= 1.0
    ).all()
    counts = [(it.n_L, it.n_R) for it in solution.history]
    assert counts == sorted(counts) and solution.history[-1].n_terms <= len(problem)
    steps = [it.iteration for it in solution.history]
    assert steps == sorted(steps) and solution.n_iter >= steps[-1]


@pytest.mark.parametrize("gamma", [0.0, 0.05, 1.0])
@every
@pytest.mark.slow
def test_every_setting(kind, gamma):
    of = instance(kind)
    problem, lam = of.problem(gamma), of.lam(0.1)
    exact = ss.solve(problem, lam, tol=0.0, rtol=1e-11, screening=())
    settings = itertools.product(enumerate(SCREENINGS), (False, True), (1, 10))
    for (number, screening), active_set, freq in settings:
        if (number + active_set + freq) % 2:  # any two of three go together
            continue
        solution = ss.solve(
            problem, lam, tol=0.0, rtol=RTOL, screening=screening, active_set=active_set, freq=freq
        )
        certified(problem, solution)
        assert np.linalg.norm(solution.x - exact.x) <= solution.eps + exact.eps
        last = solution.history[-1]
        assert screening or last.n_L == last.n_R == 0
        if screening and freq == 1 and gamma < 1.0:
            assert last.n_L + last.n_R > 0.2 * len(problem), screening


@pytest.mark.parametrize("data", ADVERSARIAL)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", KINDS[:3])
def test_hostile_data(kind, gamma, data):
    of = instance(kind, data)
    problem, lam = of.problem(gamma), of.lam(0.3)
    certified(
        problem, ss.solve(problem, lam, tol=0.0, rtol=1e-5, screening=("RRPB", "PGB")), rtol=1e-5
    )


@pytest.mark.nojit
@pytest.mark.parametrize("gamma", [0.0, 0.5])
@every
def test_small(kind, gamma):
    of = instance(kind, n=8, d=2, k=1)
    problem = of.problem(gamma)
    certified(
        problem,
        ss.solve(problem, of.lam(0.3), tol=0.0, rtol=1e-5, freq=3, screening=("RRPB", "PGB")),
        rtol=1e-5,
    )


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_the_objective_of_products(gamma):
    X, y = points(n=30, seed=2)
    problem = ss.Problem(ss.ProductTriplets(X, y), ss.SmoothedHinge(gamma))
    for lam in problem.lam_max() * np.array([0.5, 0.2, 0.05]):
        solution = ss.solve(problem, lam, tol=0.0, rtol=1e-5)
        assert solution.converged
        assert solution.primal == pytest.approx(problem.primal(solution.x, lam), rel=1e-11)


@every
def test_absolute_tolerance_and_warm_starts(kind):
    of = instance(kind)
    problem, lam = of.problem(0.05), of.lam(0.1)
    solution = ss.solve(problem, lam, tol=1e-6, screening=("RRPB", "PGB"))
    certified(problem, solution, tol=1e-6, rtol=0.0)
    again = ss.solve(problem, lam, tol=1e-6, x0=solution.x, screening=("RRPB", "PGB"))
    assert again.n_iter <= 1 and again.gap <= 1e-6


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@every
def test_problems_with_a_linear_term_and_thresholds(kind, gamma):
    of, rng = instance(kind), np.random.default_rng(0)
    terms = of.terms.with_threshold(rng.uniform(-0.5, 2.0, len(of.terms)))
    lam = of.lam(0.2)
    linear = of.feasible(rng, np.linalg.norm(of.problem(gamma).all_linear()))
    problem = ss.Problem(terms, ss.SmoothedHinge(gamma), linear=linear, constant=3.0)
    solution = ss.solve(problem, lam, tol=0.0, rtol=RTOL, screening=("RRPB", "PGB"))
    alpha = solution.alpha if solution.dual_point is not None else None
    assert solution.converged and problem.gap(solution.x, lam, alpha) <= RTOL * abs(
        solution.primal
    ) * (1.0 + 1e-6)
    inner = problem.cone.inner
    assert solution.loss == pytest.approx(
        solution.primal - lam / 2 * inner(solution.x, solution.x) + inner(linear, solution.x),
        rel=1e-10,
    )


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_not_converging_warns_with_the_gap(gamma):
    of = instance("full")
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"lam = .*: duality gap .* after \d+ iterations, asked for 1e-09",
    ):
        solution = ss.solve(
            of.problem(gamma), of.lam(0.05), tol=1e-9, max_iter=2, screening=("RRPB", "PGB")
        )
    assert not solution.converged and solution.gap > 1e-9
    alpha = solution.alpha if solution.dual_point is not None else None
    assert of.problem(gamma).gap(solution.x, solution.lam, alpha) <= solution.gap * (1.0 + 1e-6)


@pytest.mark.parametrize("active_set", [False, True])
def test_a_gap_that_roundings_keep_up_is_given_up(active_set):
    of = instance("full")
    with pytest.warns(ss.ConvergenceWarning, match="asked for 1e-300"):
        solution = ss.solve(
            of.problem(0.05), of.lam(0.1), tol=1e-300, active_set=active_set, method="gradient"
        )
    assert solution.reason == "stalled" and solution.gap < 1e-10 * solution.primal


@pytest.mark.parametrize(
    ("seed", "part"),
    [(0, 1e-3), (5, 1e-3), (8, 1e-3), (9, 1e-2), (9, 1e-3), (19, 1e-2), (25, 1e-3), (34, 1e-2)],
)
def test_a_working_set_does_not_go_round_in_a_circle(seed, part):
    """On few points the terms with a loss at one look are not those of the next one. If terms may
    leave at every look, they leave and come back for ever on each of these problems, which gradient
    steps on all terms solve in less than 60 iterations.
    """
    problem = ss.Problem(few_points_of_iris(seed), ss.SmoothedHinge(0.05))
    options = {"rtol": 1e-8, "max_iter": 2000, "method": "gradient"}
    assert ss.solve(problem, part * problem.lam_max(), active_set=True, **options).converged


def few_points_of_iris(seed):
    """Return all triplets of 9 to 29 points."""
    rng = np.random.default_rng(seed)
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    some = rng.choice(150, int(rng.integers(9, 30)), replace=False)
    return ss.Triplets.from_labels(X[some], y[some], None)


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize(("seed", "smoothing"), [(23, 0.05), (30, 0.05), (49, 0.05), (30, 0.0)])
def test_what_a_working_set_cannot_reach_interior_points_do(seed, smoothing):
    """After 3,000 gradient steps on a working set these relative gaps are 2e-7 to 2e-3."""
    terms = few_points_of_iris(seed)
    lam = 1e-5 * ss.Problem(terms, ss.SmoothedHinge(0.05)).lam_max()
    problem = ss.Problem(terms, ss.SmoothedHinge(smoothing))
    options = {"rtol": 1e-8, "max_iter": 1000, "active_set": True}
    assert not ss.solve(problem, lam, method="gradient", **options).converged
    assert ss.solve(problem, lam, **options).converged


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("part", [0.005, 0.002])
def test_a_gap_that_is_not_rounding_is_not_given_up(part):
    """The features of wine differ by a factor of 1000: for thousands of steps the objective
    falls, before the gap does.
    """
    terms = ss.Triplets(load_wine().data, [[0, 1, 70], [70, 71, 0]])
    problem = ss.Problem(terms, ss.SmoothedHinge(0.05))
    solution = ss.solve(problem, part * problem.lam_max(), rtol=1e-2)
    assert solution.converged or solution.n_iter == 10_000


def test_the_warning_is_at_the_line_of_the_caller():
    of = instance("full")
    nothing = np.zeros(len(of.terms), dtype=bool)
    options = {"tol": 1e-12, "max_iter": 2}
    problem, lam = of.problem(0.05), of.lam(0.05)
    machine = instance("dense").terms
    with pytest.warns(ss.ConvergenceWarning) as caught:
        line = inspect.currentframe().f_lineno
        ss.solve(problem, lam, **options)
        solve_screened(problem, lam, Screened(nothing, nothing), **options)
        ss.svm.path(machine, [1.0], tol=1e-12, max_iter=1)
    places = [(w.filename, w.lineno) for w in caught]
    assert places == [(__file__, line + number) for number in (1, 2, 3)]


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_callback_sees_iterates_and_may_stop(gamma):
    of, seen = instance("full"), []
    problem, lam = of.problem(gamma), of.lam(0.1)

    def callback(progress):
        seen.append(progress)
        return len(seen) == 4

    with pytest.warns(ss.ConvergenceWarning):
        solution = ss.solve(problem, lam, tol=1e-9, callback=callback, screening=("RRPB", "PGB"))
    assert len(seen) == 4
    for progress, kept in zip(seen, solution.history, strict=True):
        assert (
            kept == pytest.approx(tuple(getattr(progress, name) for name in kept._fields), rel=1e-9)
            and progress.lam == lam
            and progress.solution is None
        )
        assert progress.primal == pytest.approx(
            problem.primal(problem.cone.check_feasible(progress.x), lam), rel=1e-10
        )
        assert progress.gap > 0.0 and progress.n_terms + progress.n_L + progress.n_R >= len(problem)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lam": 0.0}, ValueError, "lam must be greater than 0"),
        ({"lam": np.nan}, ValueError, "lam must be finite"),
        ({"lam": "1"}, TypeError, "lam must be a real number"),
        ({"tol": -1.0}, ValueError, "tol must be at least 0"),
        ({"rtol": np.nan}, ValueError, "rtol must be finite"),
        ({"tol": 0.0}, ValueError, "tol and rtol must not both be 0"),
        ({"screening": None}, TypeError, "screening must be 'auto'"),
        ({"screening": "PGX"}, ValueError, "screening: unknown sphere 'PGX'"),
        ({"screening": ("PGX",)}, ValueError, "screening: unknown sphere 'PGX'"),
        ({"screening": ("PGB+magic",)}, ValueError, "screening: unknown rule 'magic'"),
        ({"freq": 0}, ValueError, "freq must be a positive int"),
        ({"freq": 2.5}, TypeError, "freq must be a positive int"),
        ({"max_iter": 0}, ValueError, "max_iter must be a positive int"),
        ({"x0": -np.eye(3)}, ValueError, "x0 must lie in the PSDCone"),
        ({"x0": np.eye(2)}, ValueError, "x0 must have shape"),
        ({"x0": np.full((3, 3), np.nan)}, ValueError, "x0 must be finite"),
        ({"callback": "x"}, TypeError, "callback must be a function or None, got str"),
        ({"prob": np.eye(3)}, TypeError, "prob must be a Problem"),
    ],
)
def test_bad_input_is_named(options, error, message):
    arguments = {"prob": instance("full").problem(0.05), "lam": 1.0, **options}
    with pytest.raises(error, match=message):
        ss.solve(**arguments)


def test_a_start_from_an_earlier_dual_point():
    """The hinge goes on where an earlier solution ended, and needs no further sweep."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    problem = ss.Problem(ss.Samples(rng.standard_normal((60, 3)) + 0.5 * y[:, None], y), ss.Hinge())
    first = ss.solve(problem, 1.0, rtol=1e-8)
    again = ss.solve(problem, 1.0, x0=first.x, rtol=1e-8, alpha0=first.alpha)
    assert first.n_iter > 0 == again.n_iter and again.converged
    assert ss.solve(problem, 1.0, x0=first.x, rtol=1e-8).n_iter > 0
    for wrong in (first.alpha[1:], first.alpha + 1.0):
        with pytest.raises(ValueError, match="alpha0"):
            ss.solve(problem, 1.0, x0=first.x, alpha0=wrong)
