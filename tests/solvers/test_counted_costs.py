"""The decisions of the policies that count operations, on made-up counts: when a look is paid for,
when a pass is, who goes on with a solve, and which solver has which name.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import safescreen as ss
from safescreen.solvers import counted, methods
from safescreen.solvers.active_set import ActiveSet
from safescreen.solvers.budgeted import Budgeted, Contest
from safescreen.solvers.counted import CANDIDATES, Counted, candidates
from safescreen.solvers.every import Every
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import check_method, policy_of, solver_of
from safescreen.solvers.proximal_hinge import ProximalHinge
from safescreen.solvers.proximal_intercept import ProximalIntercept
from safescreen.solvers.trace import Point, Start
from safescreen.solvers.when_fallen import WhenFallen

# ------------------------------------------------------------------------------- counted operations


class Costs:
    """A problem that is nothing but its counts; ``sample`` is what `with_terms` leads to."""

    def __init__(self, work, screening=0.0, once=0.0, sample=None, whole=True):
        self.terms = SimpleNamespace(
            work=work,
            screening_work=screening,
            preparation_work=once,
            explicit=True,
            sample=lambda: sample,
        )
        self.cone = SimpleNamespace(is_whole_space=whole)
        self.loss = None

    def with_terms(self, terms, loss):
        assert terms is not None
        return terms


def moment(problem, left=8.0, near=None, lams_to_come=0.0):
    evaluation = SimpleNamespace(lam=0.5, gap=0.25)
    return SimpleNamespace(
        problem=problem,
        evaluation=evaluation,
        enlargement=0.125,
        left=left,
        lams_to_come=lams_to_come,
        near=near,
    )


class Told(Counted):
    """A policy that is told what a look would see."""

    promise = 0.5

    def _look(self, moment, worth, cost):
        self.looked = (worth, cost)
        return (None, 0.0) if self.promise is None else (CANDIDATES[0], self.promise)


def told(promise=0.5, **options):
    policy = Told(call=4.0, profit=1.25, **options)
    policy.promise = promise
    return policy


def test_the_parameters_of_the_policy_of_auto():
    policy = Counted()
    assert policy.fallen == 0.5 and policy.budget == 0.02 and policy.profit == 1.25
    assert policy.call == pytest.approx(2e5, rel=1e-3)
    assert (policy.done, policy.spent, policy.missed) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("gap", "due"), [(0.9, True), (1.0, False), (1.1, False)])
def test_a_look_is_due_when_the_gap_has_fallen(gap, due):
    trace = SimpleNamespace(evaluation=SimpleNamespace(gap=gap), tried=4.0)
    assert Counted(fallen=0.25).is_due(trace) == due


def test_what_is_done_is_counted():
    """Each evaluation costs an iteration, and a twentieth of a call."""
    policy = Counted(call=40.0)
    policy.count(Costs(6.0), Point(None, iterations=3, others=5))
    assert policy.done == 8 * (6.0 + 2.0)
    assert policy._left(moment(None, left=9.0)) == 9.0 * 8 / 3
    policy.count(Costs(14.0), Point(None, iterations=1))
    assert policy.done == 8 * 8.0 + 16.0
    assert policy._left(moment(None, left=8.0)) == 8.0 * 9 / 4


def test_what_is_left_without_any_iteration():
    assert Counted()._left(moment(None, left=9.0)) == 9.0
    policy = Counted()
    policy.count(Costs(1.0), Point(None, iterations=1))
    assert policy._left(moment(None, left=9.0)) == 9.0


@pytest.mark.parametrize("what", ["_n_iter", "_n_evaluations"])
def test_the_last_lam_says_most_of_the_next_one(what):
    policy = told(None)
    policy.count(Costs(1.0), Point(None, iterations=8, others=8))
    before = getattr(policy, what)
    policy.tests(moment(Costs(1.0)))
    assert getattr(policy, what) == before
    policy.tests(moment(Costs(1.0), near="a solution"))
    assert getattr(policy, what) == 0.5 * before


@pytest.mark.parametrize(
    ("left", "screens"), [(0.0, False), (7.9, False), (8.0, False), (8.1, True), (99.0, True)]
)
def test_a_pass_has_to_save_more_than_it_costs(left, screens):
    """Evaluations left times work times the part that is saved, against 1.25 costs."""
    problem = Costs(10.0, screening=28.0)
    policy = told()
    tests = policy.tests(moment(problem, left))
    decision = policy.decisions[-1]
    assert tests == ((CANDIDATES[0],) if screens else ()) and decision.screens == screens
    assert policy.looked == (left * 10.0, 32.0)
    assert (decision.lam, decision.gap, decision.left) == (0.5, 0.25, left)
    assert (decision.work, decision.cost, decision.saved) == (10.0, 32.0, 0.5)
    assert decision.ball == CANDIDATES[0].spheres[0].title
    missed = left * 10.0 * 0.5 - 1.25 * 32.0
    assert policy.missed == (0.0 if screens else max(missed, 0.0))


@pytest.mark.parametrize(
    ("once", "to_come", "screens"),
    [
        (19.0, 0.0, True),
        (20.0, 0.0, True),
        (21.0, 0.0, False),
        (60.0, 2.0, True),
        (61.0, 2.0, False),
    ],
)
def test_what_only_screening_needs_has_to_be_saved_by_what_is_to_come(once, to_come, screens):
    policy = told()
    left = 12.0  # saves 60, for 40
    decided = policy.tests(moment(Costs(10.0, 28.0, once), left, lams_to_come=to_come))
    assert bool(decided) == screens and policy.decisions[-1].cost == 32.0 + once
    assert policy.missed == (0.0 if screens else 20.0)


def test_what_was_missed_counts():
    policy = told()
    problem = Costs(10.0, 28.0, 60.0)
    assert [bool(policy.tests(moment(problem, 12.0))) for _ in range(3)] == [False, False, True]
    assert policy.missed == 40.0


def test_nothing_to_save_is_nothing_missed():
    policy = told()
    policy.tests(moment(Costs(10.0, 28.0), 1.0))
    assert policy.missed == 0.0
    policy.tests(moment(Costs(10.0, 28.0), 8.125))
    assert policy.missed == 0.0 and policy.decisions[-1].screens
    # a profit that is less than 1
    policy.tests(moment(Costs(10.0, 28.0, 60.0), 8.125))
    assert policy.missed == 0.625


def test_without_a_look_nothing_is_decided():
    policy = told(None)
    assert policy.tests(moment(Costs(10.0, 28.0), 1e9)) == () and not policy.decisions


@pytest.mark.parametrize(
    ("kept_before", "work_after", "kept"),
    [(1.0, 5.0, 1.0), (1.0, 7.5, 0.75), (1.0, 10.0, 0.5), (1.0, 2.0, 1.0), (0.5, 7.5, 0.5)],
)
def test_what_is_saved_is_compared_with_what_was_promised(kept_before, work_after, kept):
    """Half of the difference is believed; more than was promised is as good as that."""
    policy = told()
    policy._kept = kept_before
    asked = moment(Costs(10.0, 28.0), 99.0)
    policy.tests(asked)
    assert policy.decisions[-1].saved == kept_before * 0.5
    policy.learn(asked, Costs(work_after))
    saved = 1.0 - work_after / 10.0
    assert policy._kept == kept and policy.decisions[-1].saved == pytest.approx(saved)
    assert policy._saved == {1: (CANDIDATES[0], pytest.approx(saved))}


def test_stages_are_numbered_from_the_neighbouring_lam_on():
    policy = told()
    for near in ("first", None, None, "second", None):
        asked = moment(Costs(10.0, 28.0), 99.0, near)
        policy._saved = {}
        policy.tests(asked)
        policy.learn(asked, Costs(5.0))
        policy.stages = [*getattr(policy, "stages", []), *policy._saved]
    assert policy.stages == [0, 1, 2, 0, 1]


def test_a_stage_of_the_last_lam_is_believed_where_it_pays():
    """Without a look, down to where it just pays; nothing was promised then, and nothing kept."""
    other = CANDIDATES[1]
    for saved, looks in ((0.5, False), (0.25, False), (0.24, True)):
        policy = told(0.75)
        policy._kept = 0.5
        policy._saved = {1: (other, saved)}
        policy.looked = None
        asked = moment(Costs(10.0, 28.0), 16.0)  # a pass costs 40
        policy.tests(asked)
        assert (policy.looked is not None) == looks
        assert policy.decisions[-1].saved == (0.5 * 0.75 if looks else saved)
        policy.learn(asked, Costs(10.0))
        assert policy._kept == (0.25 if looks else 0.5)
        assert policy._saved[1] == (CANDIDATES[0] if looks else other, 0.0)


def test_work_and_cost_are_asked_for_once_a_problem():
    policy = Counted(call=4.0)
    one, two = Costs(10.0, 28.0), Costs(20.0, 56.0)
    assert policy._operations(one) == (10.0, 32.0)
    one.terms.work = 11.0
    assert policy._operations(one) == (10.0, 32.0) and policy._operations(two) == (20.0, 60.0)


def look(monkeypatch, worth, cost=32.0, sees=(0.5, 0.25), done=1e9, spent=0.0, screening=3.0):
    """Return what a look at a sample of 8 operations returns, what is spent, and whether the
    sample was looked at; each ball saves what it is said to.
    """
    looks = []

    class Trial:
        def __init__(self, problem):
            self.problem = problem

        def screen(self, tests, ball, enlargement):
            looks.append((tests, ball, enlargement))
            saved = sees[CANDIDATES.index(tests[0])]
            self.problem = Costs(8.0 * (1.0 - saved))

    monkeypatch.setattr(counted, "Reduction", Trial)
    monkeypatch.setattr(counted, "reference", lambda evaluation: evaluation.lam)
    policy = Counted(call=4.0, budget=0.25, profit=1.25)
    policy.done = done
    policy.spent = spent
    policy._kept = 0.5
    problem = Costs(10.0, sample=Costs(8.0, screening), whole=len(sees) == 1)
    choice = policy._look(moment(problem), worth, cost)
    assert looks in ([], [((test,), 0.5, 0.125) for test in CANDIDATES[: len(sees)]])
    return *choice, policy.spent, bool(looks)


@pytest.mark.parametrize(
    ("sees", "ball", "saved"),
    [((0.5,), 0, 0.5), ((0.5, 0.25), 0, 0.5), ((0.25, 0.5), 1, 0.5), ((0.5, 0.5), 0, 0.5)],
)
def test_a_look_chooses_what_saves_most(monkeypatch, sees, ball, saved):
    assert look(monkeypatch, 1e6, sees=sees) == (CANDIDATES[ball], saved, 0.0, True)


def test_a_look_that_sees_nothing_is_spent(monkeypatch):
    assert look(monkeypatch, 1e6, sees=(0.0, 0.0)) == (CANDIDATES[0], 0.0, 14.0, True)
    assert look(monkeypatch, 1e6, sees=(0.0,), spent=1.0) == (CANDIDATES[0], 0.0, 8.0, True)


@pytest.mark.parametrize(("worth", "spent"), [(159.0, 14.0), (160.0, 0.0), (161.0, 0.0)])
def test_a_look_is_spent_where_a_pass_does_not_pay(monkeypatch, worth, spent):
    """Half of what a sample promises is believed here: worth/4 is saved, and a pass costs 40."""
    assert look(monkeypatch, worth)[2:] == (spent, True)


@pytest.mark.parametrize(
    ("worth", "screening", "seen"),
    [(57.5, 3.0, True), (57.0, 3.0, False), (50.0, 0.0, True), (49.0, 0.0, False)],
)
def test_no_look_where_a_pass_cannot_pay_for_it(monkeypatch, worth, screening, seen):
    """All that is left is worth less than a pass of 32 and a look of 8, and 2 on the sample."""
    choice = look(monkeypatch, worth, screening=screening)
    assert choice[3] == seen and (seen or choice[:3] == (None, 0.0, 0.0))


@pytest.mark.parametrize(
    ("done", "spent", "screening", "seen"),
    [
        (56.0, 0.0, 3.0, True),
        (55.0, 0.0, 3.0, False),
        (60.0, 1.0, 3.0, True),
        (59.0, 1.0, 3.0, False),
        (31.0, 0.0, 0.0, False),
        (32.0, 0.0, 0.0, True),
    ],
)
def test_looks_are_paid_from_a_part_of_what_is_done(monkeypatch, done, spent, screening, seen):
    choice = look(monkeypatch, 1e6, done=done, spent=spent, screening=screening)
    assert choice[3] == seen and (seen or choice[:3] == (None, 0.0, spent))


def test_a_look_at_calls_alone_takes_no_sample():
    policy = Counted(call=4.0, budget=0.25)
    problem = Costs(10.0)
    problem.with_terms = None
    policy.done = 1.0
    assert policy._look(moment(problem), 1e9, 1.0) == (None, 0.0)


def test_a_sample_without_work_saves_nothing(monkeypatch):
    """Not even a quotient of zeros."""

    class Trial:
        problem = Costs(0.0)

        def __init__(self, problem):
            pass

        def screen(self, *args):
            pass

    monkeypatch.setattr(counted, "Reduction", Trial)
    monkeypatch.setattr(counted, "reference", lambda evaluation: None)
    policy = Counted(call=4.0)
    policy.done = 1e9
    problem = Costs(10.0, sample=Costs(0.5))
    Trial.problem = Costs(0.25)
    assert policy._look(moment(problem), 1e9, 1.0) == (CANDIDATES[0], 0.75)


def test_a_sample_is_taken_once_a_problem():
    policy = Counted()
    one, two = Costs(1.0, sample=Costs(2.0)), Costs(1.0, sample=Costs(3.0))
    first = policy._sample(one)
    assert first.terms.work == 2.0
    one.terms.sample = None
    assert policy._sample(one) is first and policy._sample(two).terms.work == 3.0


@pytest.mark.parametrize(
    ("whole", "explicit", "n"),
    [(True, True, 1), (True, False, 1), (False, False, 1), (False, True, 2)],
)
def test_balls_that_may_pay(whole, explicit, n):
    problem = Costs(1.0, whole=whole)
    problem.terms.explicit = explicit
    assert candidates(problem) == CANDIDATES[:n]


# --------------------------------------------------------------------------- budgets of two solvers


class Steps:
    """A solver whose steps are numbered, and that ends after two."""

    needs = ("steps",)
    pace = 0.125

    def init(self, problem, start, trace):
        return Point("start"), 0

    def step(self, problem, trace, state):
        return (Point(state), state + 1) if state < 2 else None

    def reduce(self, problem, state, kept):
        return kept


class Rival:
    """A rival whose step takes 7 operations."""

    near = 0.1

    def __init__(self, able=True):
        self.able = able

    def is_able(self, problem):
        return self.able

    def work(self, problem):
        return 7.0


def trace_of(n_iter=0, expected=0.0, gap=1.0, left=0.0, primal=-4.0):
    best = SimpleNamespace(gap=gap, primal=primal)
    limits = Limits(tol=0.25, rtol=0.0, max_iter=99)

    def iterations_left(goal):
        assert goal == 0.25
        return left

    return SimpleNamespace(
        n_iter=n_iter, expected=expected, best=best, limits=limits, iterations_left=iterations_left
    )


def is_beaten(trace, able=True, work=2.0, has_lost=False):
    solver = Budgeted(Steps(), Rival(able))
    problem = SimpleNamespace(terms=SimpleNamespace(work=work))
    following = solver.step(problem, trace, Contest(0, has_lost))
    assert following is None or following[0].x == 0
    return following is None


FAR, NEAR = 20 * 7.0, 8 * 7.0
"""What the rival costs from a gap above a tenth of the objective, and from that on."""


@pytest.mark.parametrize(
    ("gap", "price"), [(1.0, FAR), (0.41, FAR), (0.4, NEAR), (0.39, NEAR), (0.01, NEAR)]
)
def test_a_solver_gives_up_once_it_has_cost_as_much_and_would_cost_as_much(gap, price):
    n = 25
    enough, half = price / n, 0.5 * price
    for work, left, beaten in (
        (enough, price / enough, True),
        (1.01 * enough, price / (1.01 * enough) * 1.0001, True),
        (0.99 * enough, half, False),
        (2.0 * enough, 0.99 * price / (2.0 * enough), False),
        (2.0 * enough, price / (2.0 * enough), True),
    ):
        assert is_beaten(trace_of(n, gap=gap, left=left), work=work) == beaten, (work, left)


@pytest.mark.parametrize(
    ("n_iter", "expected", "beaten"),
    [(19, 0.0, False), (20, 0.0, True), (3, 19.5, False), (3, 20.0, True), (21, 1.0, True)],
)
def test_not_before_as_many_iterations_as_the_rival_takes(n_iter, expected, beaten):
    trace = trace_of(n_iter, expected, left=1e9)
    assert is_beaten(trace, work=1e3) == beaten


def test_nobody_gives_up_for_a_rival_that_is_not_able():
    for has_lost in (False, True):
        assert is_beaten(trace_of(40, left=1e9), work=1e3, has_lost=has_lost)
        assert not is_beaten(trace_of(40, left=1e9), False, 1e3, has_lost)
    assert is_beaten(trace_of(), has_lost=True)


@pytest.mark.parametrize(
    ("expected", "step", "has_lost"),
    [
        (0.0, None, False),
        (5.0, None, True),
        (0.5, None, True),
        (5.0, 0.1, False),
        (0.0, 0.1, False),
    ],
)
def test_who_solved_the_neighbouring_lam(expected, step, has_lost):
    """It ended with a gradient step where the solver did, and without one where the rival did."""
    solver = Budgeted(Steps(), Rival())
    point, state = solver.init(None, Start(0.0, 1.0, step=step, expected=expected), None)
    assert point.x == "start" and state == Contest(0, has_lost)


def test_a_solver_with_a_rival_is_itself():
    solver = Budgeted(Steps(), Rival())
    assert solver.needs == ("steps",) and solver.pace == 0.125
    state = Contest(0, False)
    assert solver.step(None, trace_of(), state)[1] is state and state.state == 1
    assert solver.step(None, trace_of(), state) is not None
    assert solver.step(None, trace_of(), state) is None
    assert solver.reduce(None, state, "kept").state == "kept"


# -------------------------------------------------------------------------------- methods by name


def families():
    """Return terms over the whole space, over a cone, and of numbers nobody knows."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    y = np.arange(6) % 2
    return {
        "samples": ss.Samples(X, 2.0 * y - 1.0),
        "triplets": ss.Triplets.from_labels(X, y, k=1),
        "products": ss.ProductTriplets(X, y),
        "intercept": ss.FreeIntercept.from_points(X, 2.0 * y - 1.0),
    }


FAMILIES = families()
HINGE, SMOOTHED = ss.Hinge(), ss.SmoothedHinge(0.5)


@pytest.mark.parametrize(
    ("family", "loss", "largest", "method"),
    [
        ("samples", HINGE, 10, "hybrid"),
        ("samples", SMOOTHED, 10, "hybrid"),
        ("intercept", HINGE, 10, "hybrid"),
        ("triplets", HINGE, 10, "handover"),
        ("triplets", SMOOTHED, 10, "handover"),
        ("triplets", HINGE, 0, "semismooth"),
        ("triplets", SMOOTHED, 0, "gradient"),
        ("products", SMOOTHED, 10, "handover"),
        ("products", HINGE, 10, None),
    ],
)
def test_the_method_of_auto(monkeypatch, family, loss, largest, method):
    """Newton where the space is whole; over a cone interior-point steps have to be possible."""
    able = methods.InteriorPoint(largest=largest)
    monkeypatch.setattr(methods, "InteriorPoint", lambda: able)
    problem = ss.Problem(FAMILIES[family], loss)
    if method is None:
        can_bend = problem.terms.offers.issuperset(methods.SMOOTH["semismooth"].needs)
        method = "semismooth" if can_bend else "gradient"
    assert check_method("auto", problem) == method


def test_the_hinge_of_terms_without_a_curvature_takes_gradient_steps():
    class Flat(ss.Triplets):
        offers = ss.Triplets.offers - {"curvature", "systems"}

    problem = ss.Problem(FAMILIES["triplets"], HINGE)
    problem.terms.__class__ = Flat
    try:
        assert check_method("auto", problem) == "gradient"
    finally:
        problem.terms.__class__ = ss.Triplets


@pytest.mark.parametrize("method", ["gradient", "semismooth", "handover", "interior", "newton"])
def test_the_solver_of_a_method(method):
    family = "samples" if method == "newton" else "triplets"
    for loss, solvers in ((HINGE, methods.HINGE), (SMOOTHED, methods.SMOOTH)):
        problem = ss.Problem(FAMILIES[family], loss)
        assert solver_of(method, problem) is solvers[method]
        active = solver_of(method, problem, active_set=True, freq=7)
        if method in ("gradient", "semismooth", "handover"):
            inner = ActiveSet(freq=7)
            assert active == (ProximalHinge(inner) if loss is HINGE else inner)
        else:
            assert active is solvers[method]
    inner = solver_of("coordinate", ss.Problem(FAMILIES["samples"], HINGE))
    with_intercept = solver_of("coordinate", ss.Problem(FAMILIES["intercept"], HINGE))
    assert with_intercept == ProximalIntercept(inner)


def test_newton_steps_of_the_hinge_are_on_a_narrow_width_and_exact():
    solver = methods.NEWTON_HINGE
    assert solver.width < 0.01 and solver.accuracy < 1e-4 and solver.pace == 0.3


@pytest.mark.parametrize(
    ("screening", "pace", "expected"),
    [
        ("auto", None, Counted(fallen=0.5)),
        ("auto", 0.25, Counted(fallen=0.25)),
        ("auto", 0.75, Counted(fallen=0.5)),
        ((), None, None),
        ((), 0.25, None),
    ],
)
def test_the_policy_of_auto_and_of_nothing(screening, pace, expected):
    problem = ss.Problem(FAMILIES["samples"], HINGE)
    assert policy_of(screening, problem, SimpleNamespace(pace=pace)) == expected


@pytest.mark.parametrize("screening", ["MGB", ("MGB",)])
def test_the_policy_of_names(screening):
    problem = ss.Problem(FAMILIES["samples"], HINGE)
    every = policy_of(screening, problem, SimpleNamespace(pace=None), 7)
    assert isinstance(every, Every) and every.freq == 7
    fallen = policy_of(screening, problem, SimpleNamespace(pace=0.25), 7)
    assert isinstance(fallen, WhenFallen) and fallen.factor == 0.25
    assert policy_of(fallen, problem, SimpleNamespace(pace=None)) is fallen
