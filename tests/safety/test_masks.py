"""Masks, not only gaps: what rough and fine solves and paths screened, against certified optima,
terms at a kink of the loss included.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

import safescreen as ss
from instances import WITH_KERNEL, instance, points
from naive.features import size
from naive.harness import Truth, at_the_kink, truth
from naive.loop import begin, driven
from safescreen.paths import _Ahead, _Walk
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import SMOOTH, policy_of
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction, parse_screening, reference
from safescreen.solvers.setup import Setup
from safescreen.solvers.solve import solution_of, solve_screened
from safescreen.solvers.state import State
from safescreen.spheres.base import PathReference
from safescreen.spheres.path import reference_accuracy

GRID = 0.9 ** np.arange(2, 22)
TOLERANCES = (0.1, 0.01, 1e-4, 1e-8)
"""Relative gaps: the roughest are those of a user who wants a metric quickly."""
SCREENINGS = (("RRPB", "PGB"), ("RRPB",), ("MGB&RRPB",), ("GB+halfspace", "DGB"))


def problem_of(kind, gamma):
    """Return an instance with its problem and the lam of a path from where most terms are linear
    to where many are zero.
    """
    of = instance(kind, n=24 if kind in ("full", "diagonal") else 60, k=4, seed=3)
    return of, of.problem(gamma), of.lam(1.0) * GRID


@lru_cache
def optima(kind, gamma):
    """Return the certified optimum of each lam."""
    of, prob, lams = problem_of(kind, gamma)
    return [truth(prob, of.exact(gamma), lam)[1] for lam in lams]


def ended(prob, last, limits):
    """Return the state that a solve of the whole problem has ended with."""
    state = State.begin(Point(last.x), last.lam, limits)
    return state._replace(problem=prob, evaluation=prob.evaluate(last.x, last.lam), eps=last.eps)


def check(solution, known, prob, goal, is_accepted=True):
    """The masks are those of the optimum, and of x itself; the gap is that of the whole problem."""
    screened, x, lam = solution.screened, solution.x, solution.lam
    assert (screened.n_L, screened.n_R) == (solution.n_L, solution.n_R)
    assert known.right(screened), (lam, goal)
    if is_accepted and solution.dual_point is None:
        assert (solution.alpha[screened.in_L] == 1.0).all()
        assert (solution.alpha[screened.in_R] == 0.0).all()
    whole = prob.gap(x, lam, solution.alpha if solution.dual_point is not None else None)
    assert whole <= solution.gap * (1.0 + 1e-9) + 1e-12 * abs(solution.primal), (lam, goal)
    assert not solution.converged or whole <= goal * abs(solution.primal) * (1.0 + 1e-6)


def check_paths(kind, gamma, ranges, half):
    """Check one half of all tolerances and screenings: each of one meets two of the other, with
    and without dynamic screening.
    """
    _, prob, lams = problem_of(kind, gamma)
    counted = 0
    n_paths = 0
    for i, rtol in enumerate(TOLERANCES):
        for j, screening in enumerate(SCREENINGS):
            if (i + j) % 2 != half:
                continue
            path = ss.path(
                prob,
                lams,
                tol=0.0,
                rtol=rtol,
                screening=screening,
                dynamic=(None, ())[(i // 2 + j // 2) % 2],
                ranges=ranges,
            )
            n_paths += 1
            for solution, known in zip(path, optima(kind, gamma), strict=True):
                check(solution, known, prob, rtol)
                counted += solution.n_L + solution.n_R
    assert counted > 0.1 * len(prob) * len(lams) * n_paths


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_paths_at_any_tolerance(kind, gamma, ranges):
    check_paths(kind, gamma, ranges, half=int(ranges))


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_the_other_half_of_the_paths(kind, gamma, ranges):
    check_paths(kind, gamma, ranges, half=int(not ranges))


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_solves_at_any_tolerance(kind, gamma):
    _, prob, lams = problem_of(kind, gamma)
    pairs = list(zip(lams, optima(kind, gamma), strict=True))[::6]
    for number, (lam, known) in enumerate(pairs):
        for i, rtol in enumerate(TOLERANCES):
            for j, name in enumerate(
                ("GB", "PGB", "DGB", "CDGB", "MGB", "MGB&PGB", "PGB+halfspace")
            ):
                if (number + i + j) % 2:  # each tolerance meets each ball, at two of the lams
                    continue
                freq = (1, 7)[(number // 2 + i) % 2]
                found = ss.solve(prob, lam, tol=0.0, rtol=rtol, screening=(name,), freq=freq)
                check(found, known, prob, rtol)


@pytest.mark.parametrize("kind", WITH_KERNEL)
@pytest.mark.slow
def test_terms_at_the_kink_are_counted(kind):
    """Support vectors on the margin: a mask that takes one of them is found out, though its
    margin is 1 to the last digit.
    """
    found = 0
    for known in optima(kind, 0.0):
        neither = ~known.may_L & ~known.may_R
        found += neither.sum()
        for t in np.flatnonzero(neither):
            only = np.arange(neither.size) == t
            assert not known.right(ss.rules.Screened(only, ~only & False))
            assert not known.right(ss.rules.Screened(~only & False, only))
    assert found >= 10


@pytest.mark.filterwarnings("ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("kind", WITH_KERNEL)
@pytest.mark.slow
def test_an_enlargement_that_was_not_enough_is_noticed(kind):
    """Solutions further from the optimum than the balls were enlarged for, given masks among
    them, are judged on the whole problem.
    """
    of, prob, lams = problem_of(kind, 0.05)
    apart = 0
    for lam, known in list(zip(lams, optima(kind, 0.05), strict=True))[::4]:
        before = ss.solve(prob, 1.05 * lam, tol=0.0, rtol=1e-10, screening=("RRPB", "PGB"))
        near = PathReference(x0=before.x, eps=before.eps, lam0=before.lam)
        found = ss.rules.sphere(
            prob, ss.spheres.relaxed_path_bound(before.x, before.eps, before.lam, lam)
        )
        for rtol in (0.3, 0.1):
            solution = solve_screened(prob, lam, found, tol=0.0, rtol=rtol)
            check(solution, known, prob, rtol, is_accepted=False)
        limits = Limits.checked(1e-12, 0.0, 1)
        gradient = SMOOTH["gradient"]
        for scale in (0.5, 3.0):
            far = prob.cone.project(
                before.x + of.feasible(np.random.default_rng(0), scale * size(before.x))
            )
            reduction = Reduction(prob)
            reduction.screen(
                parse_screening(("RRPB",), prob),
                reference(prob.evaluate(before.x, lam), near),
                1e-9,
            )
            assert reduction.n_L + reduction.n_R > 0
            ended = driven(reduction, gradient, None, begin(far, lam), limits)
            solution = solution_of(reduction, ended)
            check(solution, known, prob, 1.0, is_accepted=False)
            apart += prob.gap(solution.x, lam) > reduction.problem.gap(solution.x, lam) * (
                1.0 + 1e-6
            )
    assert apart > 0


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_what_is_screened_before_a_lam_is_so_in_the_enlarged_ball(kind, ranges):
    """At the optimum of each lam and at all points within the accuracy it is solved to, for
    every reference within its accuracy.
    """
    _, prob, _ = problem_of(kind, 0.05)
    lams, norms, between = prob.lam_max() * 0.97 ** np.arange(80), prob.terms.norms, 0
    for rtol in (1e-1, 1e-3):
        limits = Limits.checked(0.0, rtol, 10_000)
        ahead = _Ahead(prob)
        gradient = SMOOTH["gradient"]
        policy = policy_of(("RRPB",), prob, gradient)
        walk = _Walk(prob, Setup(limits=limits, solver=gradient), before=policy)
        for lam in lams[30:]:
            last = ss.solve(prob, lam / 0.97, tol=0.0, rtol=rtol, screening=())
            here = prob.evaluate(last.x, lam)
            at = ended(prob, last, limits)
            reduced = ahead.reduction(at, lam, limits) if ranges else walk.screened_before(at, here)
            found = reduced.screened()
            spread = (last.lam - lam) / (2 * lam) * prob.cone.norm(
                last.x
            ) + last.lam / lam * last.eps
            reach = (spread + limits.accuracy(here.primal, lam)) * norms * (1.0 - 1e-9)
            if ranges:  # made from an earlier reference, for a stretch
                if ahead.start != last.lam:
                    continue
                spread = (last.lam - ahead.end) / (2 * ahead.end) * prob.cone.norm(
                    last.x
                ) + last.lam / ahead.end * last.eps
                reach = (
                    (spread + last.lam / ahead.end * limits.accuracy(last.primal, last.lam))
                    * norms
                    * (1.0 - 1e-9)
                )
            at = lam if not ranges else ahead.end
            q = (last.lam + at) / (2 * at) * prob.terms.margins(last.x)
            assert (q + reach < 1.0 - 0.05)[found.in_L].all() and (q - reach > 1.0)[
                found.in_R
            ].all()
            less = (
                reach
                - 0.5
                * last.lam
                / at
                * min(last.eps, limits.accuracy(last.primal, last.lam))
                * norms
            )
            between += np.sum((q + less < 1.0 - 0.05) & ~found.in_L) + np.sum(
                (q - less > 1.0) & ~found.in_R
            )
    assert between > 5, (
        "no term that half of the reference's accuracy would have decided: nothing was tried"
    )


@pytest.mark.parametrize("kind", WITH_KERNEL)
@pytest.mark.slow
def test_stretches_end_where_they_are_certified(kind):
    """Walking down with the solutions of a rough path, what a stretch says holds at each lam it
    is asked for.
    """
    of, prob, lams = problem_of(kind, 0.05)
    limits, ahead = Limits.checked(0.0, 1e-3, 10_000), _Ahead(prob)
    ends = []
    for before, lam, known in zip(lams, lams[1:], optima(kind, 0.05)[1:], strict=False):
        last = ss.solve(prob, before, tol=0.0, rtol=1e-3, screening=())
        found = ahead.reduction(ended(prob, last, limits), lam, limits)
        ends.append(ahead.end)
        assert ahead.end <= lam < ahead.start and known.right(found.screened())
        assert found.enlargement == ahead.base.enlargement * (ahead.start / lam)
    assert len(set(ends)) > 2


def test_reductions_there_and_back():
    prob = problem_of("dense", 0.0)[1]
    reduction, rng = Reduction(prob), np.random.default_rng(0)
    assert np.array_equal(reduction.restrict(np.arange(60.0)), np.arange(60.0))
    reduction.known(ss.rules.Screened(*(rng.random((2, 60)) < 0.4)))
    alpha = rng.random(len(reduction.problem))
    full, status = reduction.expand(alpha), reduction.status
    assert (full[status == 1] == 1.0).all() and (full[status == 2] == 0.0).all()
    assert np.array_equal(full[status == 0], alpha) and np.array_equal(
        reduction.restrict(full), alpha
    )


def test_the_enlargement_covers_what_the_limits_accept():
    _, prob, lams = problem_of("full", 0.05)
    e = prob.evaluate(
        ss.solve(prob, lams[5], tol=0.0, rtol=1e-3, screening=("RRPB", "PGB")).x, lams[5]
    )
    for tol, rtol in ((0.0, 0.1), (0.0, 1e-6), (1e-3, 0.0), (1e-3, 1e-9)):
        limits = Limits.checked(tol, rtol, 1)
        accepted = max(Fraction(tol), Fraction(rtol) * Fraction(abs(e.primal)))
        square = Fraction(limits.accuracy(e.primal, e.lam)) ** 2 * Fraction(e.lam) / 2
        assert accepted <= square <= accepted * (1 + Fraction(rtol) * 5 + Fraction(1, 10**12))
        assert (
            limits.enlargement(e)
            >= limits.accuracy(e.primal, e.lam) + 2.0 * e.x_error
            > limits.accuracy(e.primal, e.lam)
        )


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_reference_accuracy_is_attained(kind):
    """From x = 0 and with all terms linear, gap and strong convexity leave nothing: the optimum
    is as far as DGB says.
    """
    _, prob, _ = problem_of(kind, 0.05)
    lam = 2.0 * prob.lam_max()
    eps = reference_accuracy(prob.evaluate(prob.cone.zeros(), lam))
    assert 1.0 <= eps / prob.cone.norm(prob.all_linear() / lam) < 1.0 + 1e-6


def families():
    """Yield further families of terms by name: they are judged by solutions in double precision."""
    rng = np.random.default_rng(7)
    X, y = points(n=24, d=3, seed=4)
    index = ss.Triplets.from_labels(X, y, k=4).index
    four = np.column_stack([index, rng.permutation(index[:, 0])])
    weights = rng.uniform(0.1, 3.0, len(index))
    for diagonal in (False, True):
        kind = "diagonal" if diagonal else "full"
        yield (
            f"quadruplets {kind}",
            ss.Quadruplets(X, four[four[:, 2] != four[:, 3]], diagonal=diagonal),
        )
        yield (
            f"pairs {kind}",
            ss.Pairs(X, index[::2, :2], index[::2, ::2], upper=1.0, lower=3.0, diagonal=diagonal),
        )
        yield f"weighted {kind}", ss.Triplets(X, index, weights=weights, diagonal=diagonal)
        yield (
            f"thresholds {kind}",
            ss.Triplets(X, index, diagonal=diagonal).with_threshold(
                rng.uniform(-0.5, 2.0, len(index))
            ),
        )
        yield (
            f"contradictions {kind}",
            ss.Triplets(X, np.vstack([index, index[:40, [0, 2, 1]], index[:9]]), diagonal=diagonal),
        )
    signs = 2.0 * y - 1.0
    yield "weighted samples", ss.Samples(X, signs, weights=rng.uniform(0.1, 3.0, len(y)))
    yield (
        "kernel rbf",
        ss.KernelSamples.from_points(X, signs, "rbf", weights=rng.uniform(0.1, 3.0, len(y))),
    )


FAMILIES = dict(families())


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [ss.Hinge(), ss.SmoothedHinge(0.05), ss.SquaredHinge()],
    ids=["hinge", "smoothed", "squared"],
)
@pytest.mark.parametrize("name", FAMILIES)
def test_other_families_at_any_tolerance(name, loss):
    terms = FAMILIES[name]
    prob, decided, possible = ss.Problem(terms, loss), 0, 0
    products = np.abs(terms.margins(prob.all_linear()))
    lams = np.sqrt(np.median(products) * products.max()) * 0.8 ** np.arange(0, 8, 2)
    # such a loss has no linear region: only terms in R are decided, if there are any
    lams = 0.02 * lams if loss.cap == np.inf else lams
    for number, lam in enumerate(lams):
        best = ss.solve(prob, lam, tol=0.0, rtol=1e-11 if loss.smoothing else 1e-9, screening=())
        u, reach, tau = (
            terms.margins(best.x),
            best.eps * terms.norms * (1.0 + 1e-9) + 1e-12,
            terms.threshold,
        )
        possible += np.sum(u + reach < tau - loss.width) + np.sum(u - reach > tau)
        known = Truth([], 0.0, u - reach < tau - loss.width, u + reach > tau, None, None)
        known = at_the_kink(prob, best, known) if loss.smoothing == 0.0 else known
        for i, rtol in enumerate((0.1, 1e-3, 1e-7)):
            options = {"tol": 0.0, "rtol": rtol}
            if (number + i) % 2:
                solution = ss.solve(prob, lam, screening=("CDGB", "MGB"), freq=1, **options)
            else:
                options |= {"ranges": rtol < 0.1, "screening": ("RRPB", "PGB")}
                solution = ss.path(prob, [1.1 * lam, lam], **options)[1]
            check(solution, known, prob, rtol)
            decided += solution.n_L + solution.n_R
    assert decided >= 0.05 * possible
