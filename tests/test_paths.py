"""Paths: every setting certified, the grid that was asked for, the stopping rule, interruption,
the table, bad input.
"""

import inspect
import itertools

import numpy as np
import pytest

import safescreen as ss
from instances import KINDS, instance
from safescreen.solvers.reduction import Reduction

every = pytest.mark.parametrize("kind", KINDS)
RTOL = 1e-7


def grid(of, n=6):
    return of.lam(1.0) * 0.6 ** np.arange(n)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@every
def test_every_setting(kind, gamma):
    of = instance(kind)
    problem, lams = of.problem(gamma), grid(of)
    exact = [ss.solve(problem, lam, tol=0.0, rtol=1e-10, screening=()) for lam in lams]
    screenings = (("RRPB", "PGB"), ("MGB",), ("RRPB+halfspace",), ())
    settings = itertools.product(enumerate(screenings), (False, True), (False, True))
    # any two of three go together, and the next kind has the other half of all settings
    half = KINDS.index(kind) % 2
    for (number, screening), ranges, active_set in settings:
        if (number + ranges + active_set) % 2 != half:
            continue
        path = ss.path(
            problem,
            lams,
            tol=0.0,
            rtol=RTOL,
            screening=screening,
            ranges=ranges,
            active_set=active_set,
        )
        assert np.array_equal(path.lams, lams) and path.reason == "grid"
        for solution, best in zip(path, exact, strict=True):
            alpha = solution.alpha if solution.dual_point is not None else None
            assert solution.converged
            assert problem.gap(solution.x, solution.lam, alpha) <= RTOL * abs(solution.primal) * (
                1.0 + 1e-6
            )
            assert np.linalg.norm(solution.x - best.x) <= solution.eps + best.eps
            masks = solution.screened
            assert (masks.n_L, masks.n_R) == (solution.n_L, solution.n_R)
            margins = problem.terms.margins(solution.x)
            assert (margins[masks.in_L] <= 1.0 - gamma).all() and (margins[masks.in_R] >= 1.0).all()


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@every
def test_screens_before_the_first_iteration(kind, gamma):
    of = instance(kind)
    lams = of.lam(0.5) * 0.95 ** np.arange(6)
    for ranges in (False, True):
        path = ss.path(
            of.problem(gamma), lams, tol=0.0, rtol=1e-8, ranges=ranges, screening=("RRPB", "PGB")
        )
        assert path.path_rates[0] == 0.0 and min(path.path_rates[1:]) > 0.2
        assert all(rate <= s.screening_rate for rate, s in zip(path.path_rates, path, strict=True))
    assert (
        max(ss.path(of.problem(gamma), lams[:3], tol=0.0, rtol=1e-6, screening=()).path_rates)
        == 0.0
    )


@every
def test_with_ranges_the_last_solution_still_screens_the_rest(kind):
    of = instance(kind)
    lams = of.lam(0.5) * 0.9 ** np.arange(6)
    rates = [
        ss.path(
            of.problem(0.05),
            lams,
            tol=0.0,
            rtol=1e-8,
            ranges=ranges,
            screening=("RRPB",),
            extrapolate=False,
        ).path_rates
        for ranges in (False, True)
    ]
    assert (np.array(rates[1]) >= np.array(rates[0]) - 0.01).all()


def test_no_point_is_screened_from_twice(monkeypatch):
    of, points = instance("full"), []
    plain = Reduction.screen

    def screen(reduction, tests, reference_of, enlargement):
        points.append(reference_of(reduction.problem).evaluation.x)
        return plain(reduction, tests, reference_of, enlargement)

    monkeypatch.setattr(Reduction, "screen", screen)
    lams = of.lam(0.5) * 0.9 ** np.arange(4)
    path = ss.path(
        of.problem(0.05), lams, tol=0.0, rtol=1e-9, screening=("PGB",), extrapolate=False
    )
    assert len(points) > len(path) and len({id(x) for x in points}) == len(points)
    points.clear()
    ss.path(
        of.problem(0.05),
        lams,
        tol=0.0,
        rtol=1e-9,
        screening=("RRPB",),
        dynamic=("PGB",),
        extrapolate=False,
    )
    assert len({id(x) for x in points}) < len(points), "with another ball it is"


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@every
def test_ranges_hold_inside(kind, gamma):
    """What a range claims is found again by solving inside of it, near both ends."""
    of = instance(kind)
    problem, lam0 = of.problem(gamma), of.lam(0.3)
    at = ss.solve(problem, lam0, tol=0.0, rtol=1e-9, screening=("RRPB", "PGB"))
    ranges = ss.ranges.relaxed_path(problem, at.x, at.eps, lam0)
    found = ranges.at(lam0)
    assert found.rate > 0.3
    for ends, side in (((ranges.L_low, ranges.L_high), "L"), ((ranges.R_low, ranges.R_high), "R")):
        known = np.flatnonzero(~np.isnan(ends[0]))
        for t in known[:: max(1, known.size // 3)]:
            low, high = ends[0][t], min(ends[1][t], 30.0 * lam0)
            assert low < lam0 < high
            for lam in (max(low, 0.02 * lam0) * (1.0 + 1e-6), high * (1.0 - 1e-6)):
                best = ss.solve(problem, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB"))
                margin, reach = problem.terms.margins(best.x)[t], best.eps * problem.terms.norms[t]
                assert margin - reach < 1.0 - gamma if side == "L" else margin + reach > 1.0


@every
def test_default_grid_and_stopping_rule(kind):
    of = instance(kind)
    problem = of.problem(0.05)
    path = ss.path(problem, ratio=0.5, tol=0.0, rtol=1e-6, max_lams=12, screening=("RRPB", "PGB"))
    assert path.lams[0] == problem.lam_max() and np.allclose(path.lams[1:] / path.lams[:-1], 0.5)
    changes = [
        (a.loss - b.loss) / a.loss * a.lam / (a.lam - b.lam) for a, b in itertools.pairwise(path)
    ]
    assert path.reason in ("paper", "length")
    if path.reason == "paper":
        assert changes[-1] < 0.01 and all(change >= 0.01 for change in changes[:-1])
    free = ss.path(
        problem, ratio=0.5, tol=0.0, rtol=1e-6, max_lams=3, stop=None, screening=("RRPB", "PGB")
    )
    assert len(free) == 3 and free.reason == "length"


def test_the_stopping_rule_stops():
    terms = ss.Samples([[1.0], [1.0], [1.0]], [1, 1, -1])  # the loss cannot fall below 2
    path = ss.path(
        ss.Problem(terms, ss.SmoothedHinge(0.05)),
        ratio=0.5,
        rtol=1e-8,
        tol=0.0,
        screening=("RRPB", "PGB"),
    )
    assert path.reason == "paper" and len(path) < 20


def test_a_path_is_a_sequence_with_a_table():
    of = instance("full")
    path = ss.path(of.problem(0.05), grid(of, 4), tol=0.0, rtol=1e-6, screening=("RRPB", "PGB"))
    frame = path.to_frame()
    columns = "lam primal loss gap n_iter n_L n_R screening_rate converged path_rate seconds"
    assert set(frame.columns) == set(columns.split()) and len(frame) == len(path) == 4
    assert np.array_equal(frame["lam"], path.lams) and frame["converged"].all()
    assert (
        frame["primal"].is_monotonic_decreasing
        and path[1] is path.solutions[1]
        and len(path[1:3]) == 2
    )
    assert (
        ss.path(of.problem(0.05), grid(of, 2), keep_masks=False, screening=("RRPB", "PGB"))[
            1
        ].screened
        is None
    )


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_interruption_keeps_what_is_done(gamma):
    of, seen = instance("full"), []

    def callback(progress):
        seen.append(progress.solution)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="path interrupted: 3 of its solutions are returned"):
        path = ss.path(
            of.problem(gamma),
            grid(of),
            tol=0.0,
            rtol=1e-6,
            callback=callback,
            screening=("RRPB", "PGB"),
        )
    assert path.reason == "interrupted" and all(s.converged for s in path)
    assert [s.lam for s in path] == [s.lam for s in seen]
    assert [s.gap for s in path] == [s.gap for s in seen]


def test_callback_may_stop():
    of = instance("full")
    path = ss.path(
        of.problem(0.05),
        grid(of),
        callback=lambda progress: progress.lam < grid(of)[1],
        screening=("RRPB", "PGB"),
    )
    assert len(path) == 3 and path.reason == "callback"


def here():
    """Return the number of the line that calls."""
    return inspect.currentframe().f_back.f_lineno


def test_lams_that_are_given_are_all_solved_and_those_short_of_the_tolerance_counted():
    problem = instance("full").problem(0.05)
    lams = problem.lam_max() * 0.3 ** np.arange(4)
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"3 of 4 solves of the path did not converge, the first at lam = ",
    ) as caught:
        path, line = ss.path(problem, lams, tol=1e-7, max_iter=2, screening=("RRPB", "PGB")), here()
    assert [s.converged for s in path] == [True, False, False, False] and path.reason == "grid"
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]


def test_a_grid_of_its_own_ends_with_the_first_solve_that_does_not_converge():
    of = instance("full")
    with pytest.warns(
        ss.ConvergenceWarning,
        match=r"the path ends with solve \d+, which did not converge at lam = .* asked for",
    ) as caught:
        path, line = ss.path(of.problem(0.05), ratio=0.6, tol=1e-7, max_iter=20, stop=None), here()
    assert path.reason == path.stop_reason == "not converged" and len(path) > 3
    assert [s.converged for s in path] == [True] * (len(path) - 1) + [False]
    assert f"solve {len(path)}," in str(caught[0].message) and [
        (w.filename, w.lineno) for w in caught
    ] == [(__file__, line)]


def test_a_function_that_gives_lams_decides_when_to_end():
    of = instance("full")
    with pytest.warns(ss.ConvergenceWarning, match="of 3 solves") as caught:
        path = ss.path(
            of.problem(0.05),
            lambda found: None if len(found) == 3 else of.lam(0.5 ** len(found)),
            tol=1e-12,
            max_iter=2,
        )
    assert len(caught) == 1 and len(path) == 3 and path.reason == "grid" and not path[-1].converged


@pytest.mark.nojit
@pytest.mark.boundscheck
@every
def test_small(kind):
    of = instance(kind, n=8, d=2, k=1)
    for ranges in (False, True):
        path = ss.path(
            of.problem(0.5),
            grid(of, 3),
            tol=0.0,
            rtol=1e-5,
            ranges=ranges,
            screening=("RRPB", "PGB"),
        )
        assert all(s.converged for s in path)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lams": [1.0, 2.0]}, ValueError, "lams must be strictly decreasing"),
        ({"lams": [1.0, 1.0]}, ValueError, "lams must be strictly decreasing"),
        ({"lams": []}, ValueError, "lams must hold at least one value"),
        ({"lams": [1.0, 0.0]}, ValueError, "lams must be positive, found 0"),
        ({"lams": [1.0, np.nan]}, ValueError, "lams must be finite, got nan"),
        ({"lams": [[1.0]]}, ValueError, "lams must have shape"),
        ({"lams": ["a"]}, TypeError, "lams must hold real numbers"),
        ({"ratio": 1.0}, ValueError, "ratio must be less than 1"),
        ({"ratio": 0.0}, ValueError, "ratio must be greater than 0"),
        ({"stop": "never"}, ValueError, "stop must be 'paper' or None"),
        ({"screening": "NO"}, ValueError, "screening: unknown sphere 'NO'"),
        ({"screening": ("NO",)}, ValueError, "screening: unknown sphere 'NO'"),
        ({"tol": 0.0}, ValueError, "tol and rtol must not both be 0"),
        ({"freq": -1}, ValueError, "freq must be a positive int"),
        ({"callback": "x"}, TypeError, "callback must be a function or None, got str"),
        ({"prob": None}, TypeError, "prob must be a Problem"),
    ],
)
def test_bad_input_is_named(options, error, message):
    with pytest.raises(error, match=message):
        ss.path(**{"prob": instance("full").problem(0.05), **options})


def test_a_problem_without_lam_max_needs_lams():
    with pytest.raises(
        ValueError, match=r"lams must be given, because lam_max\(\) of this problem is inf"
    ):
        ss.path(instance("full").problem(1.0), screening=("RRPB", "PGB"))


def test_the_stopping_rule_sees_the_loss_of_all_terms():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 0] += 2.0 * y
    prob = ss.Problem(ss.Triplets.from_labels(X, y, k=5), ss.SmoothedHinge(0.05))
    plain = ss.path(prob, rtol=1e-7, tol=0.0, screening=())
    for options in ({}, {"ranges": True}, {"active_set": True}):
        other = ss.path(prob, rtol=1e-7, tol=0.0, **options)
        assert len(other) == len(plain) > 20 and other.reason == "paper"
        for one, two in zip(other, plain, strict=True):
            apart = one.lam * np.linalg.norm(two.x) * (one.eps + two.eps) + one.gap + two.gap
            assert abs(one.loss - two.loss) <= 1.01 * apart
        full = prob.loss.value(prob.terms.margins(other[-1].x)).sum()
        assert np.isclose(other[-1].loss, full, rtol=1e-12)
