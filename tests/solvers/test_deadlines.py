"""A deadline ends work, and so may a callback; neither chooses anything."""

import math
import time
from contextlib import suppress
from functools import partial
from operator import attrgetter

import numpy as np
import pytest
from sklearn.base import clone

import safescreen as ss
from instances import WITH_KERNEL, instance, points
from safescreen.estimators import HDSL, SafeSVC, TripletMetric
from safescreen.kernels import Expansion, working_sets
from safescreen.problem import Problem
from safescreen.solvers.methods import ITERATIVE, SMOOTH
from safescreen.terms import samples


def look(progress):
    """Read all that there is to read, as a curious callback does."""
    assert progress.primal >= 0.0 and progress.gap >= 0.0
    if isinstance(progress.x, Expansion):
        progress.x.known_at()


UNREACHED = ({"max_seconds": 1e6}, {"callback": look})


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Ask for the time after each sweep, and after working sets of a few coordinates."""
    monkeypatch.setattr(samples, "PIECE", 1.0)
    monkeypatch.setattr(working_sets, "WORKING_SET", 4)
    monkeypatch.setattr(working_sets, "LARGEST_SET", 6)


X, Y = points(n=24)
FAMILIES = {
    **{kind: lambda kind=kind: instance(kind, n=24).terms for kind in WITH_KERNEL},
    "products": lambda: ss.ProductTriplets(X, Y, k=2),
    "free": lambda: ss.FreeIntercept.from_points(X, 2 * Y - 1),
    "free kernel": lambda: ss.FreeIntercept.from_points(X, 2 * Y - 1, "rbf", gamma=1.0),
}


def problem(family, gamma):
    """Return a problem and a lam that is hard enough for some steps of every solver."""
    prob = ss.Problem(FAMILIES[family](), ss.SmoothedHinge(gamma))
    lam_max = prob.lam_max()
    return prob, 0.02 * lam_max if lam_max < math.inf else 0.1


def solves(prob, lam, **options):
    """Return functions that solve with the given options, one for each method, with active sets
    and without, that the terms of a problem allow.
    """
    able = []
    for method in SMOOTH:
        for active_set in (False, True) if method in ITERATIVE else (False,):
            run = partial(ss.solve, prob, lam, method=method, active_set=active_set, **options)
            with suppress(TypeError):
                run(max_iter=1)
                able.append(run)
    return able


def numbers(solution):
    """Return all numbers of a solution but its seconds, as bytes."""
    history = [tuple(state)[:-1] for state in solution.history]
    alpha = solution.alpha if solution.problem.terms.explicit else 0.0
    parts = (np.asarray(solution.x), alpha, solution.gap, solution.primal, solution.n_iter, history)
    return [np.asarray(part, dtype=float).tobytes() for part in parts]


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore::safescreen.records.ConvergenceWarning")
def test_what_is_not_reached_changes_nothing(family, gamma):
    prob, lam = problem(family, gamma)
    screening = ("MGB",) if prob.terms.explicit else ()
    able = solves(prob, lam, rtol=1e-9, screening=screening, freq=2, max_iter=50)
    assert able
    for run in able:
        alone = numbers(run())
        for limit in UNREACHED:
            assert numbers(run(**limit)) == alone, run


@pytest.mark.parametrize("limit", UNREACHED, ids=["deadline", "callback"])
@pytest.mark.parametrize("family", ["full", "dense", "kernel", "free kernel"])
def test_paths_are_the_same_too(family, limit):
    prob, lam = problem(family, 0.05)
    lams = lam * 0.5 ** np.arange(6)
    for solve in (
        partial(ss.path, prob, lams, screening=("RRPB", "MGB"), freq=2),
        partial(ss.svm.path, prob.terms, 1.0 / lams) if prob.cone.is_whole_space else None,
    ):
        if solve is not None:
            for one, other in zip(solve(**limit), solve(), strict=True):
                assert numbers(one) == numbers(other)


LEARNER = HDSL(20.0, max_iter=30, check_every=10, forward="exact", random_state=0)
MODELS = (
    (SafeSVC(kernel="rbf"), ("dual_coef_", "intercept_")),
    (SafeSVC(kernel="linear"), ("coef_", "intercept_")),
    (TripletMetric(k=2), ("components_",)),
    (LEARNER, ("similarity_.weights", "similarity_.atoms", "dual_gap_")),
)


@pytest.mark.parametrize("limit", UNREACHED, ids=["deadline", "callback"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model[0]).__name__)
@pytest.mark.filterwarnings("ignore::safescreen.records.ConvergenceWarning")
def test_estimators_are_the_same_too(model, limit):
    model, names = model
    one = clone(model).fit(X, Y)
    other = clone(model).set_params(**limit).fit(X, Y)
    assert np.array_equal(one.n_iter_, other.n_iter_)
    for name in names:
        value = attrgetter(name)
        assert np.array_equal(value(one), value(other))


class Clock:
    """A clock that stands still, but for one second at each call of a function."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def ticks_at(self, owner, name):
        function = getattr(owner, name)

        def counted(*args, **options):
            self.now += 1.0
            return function(*args, **options)

        self.monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("part", [1.0, 1e-4])
@pytest.mark.filterwarnings("ignore::safescreen.records.ConvergenceWarning")
def test_what_is_reached_is_overrun_by_an_iteration(family, gamma, part, monkeypatch):
    """Each evaluation takes a second here, and an iteration a few of them."""
    prob, lam = problem(family, gamma)
    able = solves(prob, part * lam, tol=1e-300, screening=(), max_iter=1000)
    clock = Clock(monkeypatch)
    clock.ticks_at(Problem, "assemble")
    for run in able:
        for seconds in (0.0, 3.0):
            clock.now = 0.0
            run(max_seconds=seconds)
            assert clock.now <= seconds + 5.0, run


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("family", ["dense", "csr", "kernel", "tiles", "free kernel"])
@pytest.mark.filterwarnings("ignore::safescreen.records.ConvergenceWarning")
def test_sweeps_end_in_time(family, gamma, monkeypatch):
    """Each sweep or working set takes a second, and there are many between two looks at the gap."""
    prob, lam = problem(family, gamma)
    run = partial(ss.solve, prob, 0.01 * lam, tol=1e-300, screening=(), method="coordinate")
    clock = Clock(monkeypatch)
    has_kernel = family in ("kernel", "tiles", "free kernel")
    owner, name = (working_sets, "minimise") if has_kernel else (samples, "sweep")
    clock.ticks_at(owner, name)
    run()
    assert clock.now > 5.0
    clock.now = 0.0
    assert run(max_seconds=1.0).reason == "time" and clock.now == 1.0
