"""When to screen follows from counted operations: arithmetic of the decision, samples, what is
left, and what a path does with it.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import safescreen as ss
from safescreen.records import Iteration
from safescreen.rules import Screened
from safescreen.solvers.counted import CANDIDATES, Counted
from safescreen.solvers.drive import Moment, screen
from safescreen.solvers.limits import Limits
from safescreen.solvers.methods import policy_of, solver_of
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.trace import Point, Start, Trace, iterations_left
from safescreen.spheres.base import PathReference
from safescreen.terms import base


def labelled(n, d=4, apart=1.5):
    y = np.arange(n) % 2
    return np.random.default_rng(0).standard_normal((n, d)) + apart * y[:, None], y


def triplets(n=150):
    return ss.Problem(ss.Triplets.from_labels(*labelled(n)), ss.SmoothedHinge(0.05))


def samples(n=40_000, d=6):
    X, y = labelled(n, d, 0.5)
    return ss.Problem(ss.Samples(X, 2.0 * y - 1.0), ss.SmoothedHinge(0.05))


class Priced(ss.Samples):
    """Samples that say how many operations they take."""

    work, screening_work, preparation_work = 1e7, 2e7, 0.0

    def select(self, keep):
        part = super().select(keep)
        part.__class__ = Priced
        part.work = self.work * keep.mean()
        return part


# ------------------------------------------------------------------ how many iterations are left


def history(*pairs):
    return [Iteration(n, 1.0, gap, 1, 0, 0, 0.0) for n, gap in pairs]


def test_iterations_left():
    assert iterations_left([], 7.0, 1.0, 1e-3) == 7.0
    assert iterations_left([], 7.0, 1e-4, 1e-3) == 0.0
    # a tenth every five iterations in the second half, three more tenths to go
    assert iterations_left(
        history((0, 1e9), (10, 1e2), (20, 1.0)), 0.0, 1.0, 1e-3
    ) == pytest.approx(15.0)
    # the first half does not count
    assert iterations_left(
        history((0, 1e2), (10, 1e2), (20, 1.0)), 0.0, 1.0, 1e-3
    ) == pytest.approx(15.0)
    # not falling, or too early to tell: as many as expected or as there were
    assert iterations_left(history((0, 1.0), (10, 1.0), (20, 1.0)), 0.0, 1.0, 1e-3) == 20.0
    assert iterations_left(history((0, 1.0), (2, 0.5)), 9.0, 0.5, 1e-3) == 7.0
    # slow: no more than ten times what was done
    assert iterations_left(history((0, 1.0), (10, 1.0), (20, 0.999)), 0.0, 0.999, 1e-9) == 200.0


# ------------------------------------------------------------------ samples of terms


@pytest.mark.parametrize("family", ["triplets", "samples"])
def test_sample_is_spread(family):
    terms = triplets().terms if family == "triplets" else samples().terms
    where, sample = terms._spread(), terms.sample()
    assert len(sample) == where.size == base.SAMPLE and len(terms) > 2 * base.SAMPLE
    assert np.all(np.diff(where) >= 1) and where[0] == 0 and where[-1] == len(terms) - 1
    assert np.diff(where).max() <= 1.1 * base.RUN * len(terms) / base.SAMPLE
    x = np.eye(4) if family == "triplets" else np.arange(6.0)
    assert np.array_equal(sample.margins(x), terms.margins(x)[where])
    if family == "triplets":
        assert terms._norms is None and np.array_equal(sample.norms, terms.norms[where])


def test_small_families_are_their_own_sample():
    terms = samples(2 * base.SAMPLE).terms
    assert len(terms.sample()) == len(terms)


# ------------------------------------------------------------------ decisions

CALL = Counted.call
PROFIT = Counted.profit


def test_names_and_policies():
    prob = samples(50)
    solver = solver_of("hybrid", prob)
    assert isinstance(policy_of("auto", prob, solver), Counted)
    own = Counted()
    assert policy_of(own, prob, solver) is own
    assert policy_of((), prob, solver) is None
    one, several = (policy_of(name, prob, solver) for name in ("MGB", ("MGB",)))
    assert one.use == several.use, "a name is a name"


def test_named_spheres_are_used_each_so_many_iterations_or_when_the_gap_has_fallen():
    prob = triplets(30)
    gradient = policy_of(("MGB",), prob, solver_of("gradient", prob), 7)
    assert gradient.freq == 7
    coordinate = policy_of(("MGB",), samples(50), solver_of("coordinate", samples(50)), 7)
    assert coordinate.factor == 0.3
    for policy, due in ((gradient, [0, 7, 14]), (coordinate, [0, 3, 6])):
        trace = Trace(Start(np.zeros(6), 1.0), Limits(0.0, 1e-6, 100))
        asked = []
        e = samples(50).evaluate(np.zeros(6), 1.0)
        for n in range(15):
            now = replace(e, gap=e.gap * 0.65**n)
            trace.move(None, Point(e.x, iterations=min(n, 1), evaluation=now))
            if policy.is_due(trace):
                asked.append(trace.n_iter)
                trace.note_trial()
        assert asked[:3] == due


def test_no_screening_where_little_is_left():
    policy = Counted()
    prob = ss.Problem(ss.Triplets.from_labels(*labelled(30)), ss.SmoothedHinge(0.05))
    path = ss.path(prob, prob.lam_max() * 0.8 ** np.arange(10), tol=1e-6, screening=policy)
    assert not policy.decisions and not any(s.n_L + s.n_R for s in path)


@pytest.mark.parametrize("make", [triplets, partial(samples, d=20)])
@pytest.mark.slow
def test_screening_where_it_pays(make):
    prob = make()
    policy = Counted()
    lams = prob.lam_max() * (0.7 ** np.arange(25) if make is triplets else 0.5 ** np.arange(1, 15))
    path = ss.path(prob, lams, rtol=1e-9, tol=0.0, screening=policy)
    plain = ss.path(prob, lams, rtol=1e-9, tol=0.0, screening=())
    assert any(d.screens for d in policy.decisions) and any(s.n_L + s.n_R for s in path)
    for one, two in zip(path, plain, strict=True):
        assert one.converged and np.linalg.norm(one.x - two.x) <= one.eps + two.eps
        if one.screened is not None:
            margins = prob.terms.margins(two.x)
            slack = two.eps * prob.terms.norms
            assert not np.any(one.screened.in_R & (margins + slack < 1.0))
            assert not np.any(one.screened.in_L & (margins - slack > 1.0 - prob.loss.width))


def test_the_clock_has_no_say(monkeypatch):
    taken = []
    for speed in (1.0, 1e6):
        ticks = iter(np.arange(10**6) * speed)
        monkeypatch.setattr(time, "perf_counter", lambda ticks=ticks: float(next(ticks)))
        policy = Counted()
        prob = triplets()
        ss.path(prob, prob.lam_max() * 0.7 ** np.arange(12), tol=1e-6, screening=policy)
        taken.append(policy.decisions)
    assert taken[0] == taken[1] and taken[0]


class Fixed(Counted):
    """A policy whose look sees what it is told, so that the arithmetic around it can be seen."""

    def __init__(self, saved, done=1e12):
        super().__init__()
        self.saved = saved
        self.done = done
        self.looks = 0

    def _look(self, *args):
        self.looks += 1
        return CANDIDATES[0], self.saved


def priced(**operations):
    prob = samples(400)
    prob.terms.__class__ = Priced
    for name, value in operations.items():
        setattr(prob.terms, name, value)
    return prob


def ask(policy, prob, left, lams_to_come=0.0, near=None):
    """Screen at x = 0 as the policy says; return the reduction."""
    evaluation = prob.evaluate(np.zeros(6), 1.0)
    reduction = Reduction(prob)
    moment = Moment(prob, evaluation, 0.0, left, lams_to_come=lams_to_come, near=near)
    screen(reduction, policy, moment)
    return reduction


def decide(policy, left, lams_to_come=0.0, **operations):
    ask(policy, priced(**operations), left, lams_to_come)
    return policy.decisions[-1] if policy.decisions else None


def test_profit():
    pays = PROFIT * (2e7 + CALL) / (0.5 * 1e7)
    assert not decide(Fixed(0.5), 0.99 * pays).screens
    assert decide(Fixed(0.5), 1.01 * pays).screens
    assert not decide(Fixed(0.0), 1e9).screens


def test_promises_of_a_sample_that_were_not_kept():
    """Half of all that the terms save is believed after a pass that saved nothing."""
    pays = PROFIT * (2e7 + CALL) / (0.5 * 1e7)
    policy = Fixed(0.5)
    assert decide(policy, 1.9 * pays).screens and policy.decisions[-1].saved == 0.0
    assert not decide(policy, 1.9 * pays).screens
    assert decide(policy, 2.1 * pays).screens


def test_what_only_screening_needs_is_paid_once_it_has_been_missed():
    policy = Fixed(0.5)
    left = 20.0
    once = 2e8
    profit = left * 0.5 * 1e7 - PROFIT * (2e7 + CALL)
    for n in range(1, 20):
        if decide(policy, left, preparation_work=once).screens:
            break
        assert policy.missed == pytest.approx(n * profit)
    assert (n - 1) * profit < once <= n * profit
    assert decide(Fixed(0.5), left, 3.0, preparation_work=3.9 * profit).screens
    assert not decide(Fixed(0.5), left, preparation_work=3.9 * profit).screens


def test_looks_are_paid_from_what_has_been_done():
    look = CALL + 2e7  # the sample is everything here, and one ball is looked at
    for done, seen in ((0.99 * look / Counted.budget, 0), (1.01 * look / Counted.budget, 1)):
        policy = Counted()
        policy.done = done
        ask(policy, priced(), 1e6)
        assert len(policy.decisions) == seen
    # a look that led to nothing is spent
    is_worth_it = policy.decisions[0].saved * 1e13 >= PROFIT * (2e7 + CALL)
    assert policy.spent == (0.0 if is_worth_it else look)
    poor = Counted()
    poor.done = 1e12
    pays = PROFIT * (2e7 + CALL + look) / 1e7
    ask(poor, priced(), 0.99 * pays)
    assert not poor.decisions
    ask(poor, priced(), 1.01 * pays)
    assert poor.decisions


def test_iterations_are_counted():
    policy = Fixed(0.5, done=0.0)
    prob = samples(400)
    policy.count(prob, Point(None, iterations=7))
    assert policy.done == pytest.approx(7 * (prob.terms.work + 0.05 * CALL))
    assert decide(policy, 1e3).left == 1e3
    policy.count(prob, Point(None, iterations=1, others=8))
    assert policy.done == pytest.approx(16 * (prob.terms.work + 0.05 * CALL))
    assert decide(policy, 1e3).left == 2e3


def test_what_a_stage_of_the_last_lam_saved_is_not_looked_at_again():
    """A policy looks at each stage of the first lam; at the next one it looks at none of those that
    saved enough.
    """
    policy = Fixed(0.5)
    near = PathReference(x0=np.zeros(6), eps=0.0, lam0=2.0)
    for stage, looks in ((near, 1), (None, 2), (near, 2), (None, 2)):
        ask(policy, priced(), 1e3, near=stage)
        policy._saved = {k: (test, 0.5) for k, (test, _) in policy._saved.items()}
        assert policy.looks == looks


def test_one_look_a_halving_of_the_gap():
    prob = samples(400)
    e = prob.evaluate(np.zeros(6), 1.0)
    for tried, due in ((np.inf, True), (e.gap / 0.49, True), (e.gap / 0.51, False)):
        trace = Trace(Start(e.x, 1.0, tried=tried), Limits(0.0, 1e-6, 100))
        trace.move(prob, Point(e.x))
        assert Counted().is_due(trace) == due
        trace.note_trial()
        assert trace.tried == e.gap and not Counted().is_due(trace)


def test_masks_of_a_look_are_not_decisions():
    policy = Fixed(1.0)
    prob = samples(400)
    reduction = ask(policy, prob, 1e9)
    assert policy.decisions[0].screens and isinstance(reduction.screened(), Screened)
    assert policy.decisions[0].saved == pytest.approx(
        1.0 - reduction.problem.terms.work / prob.terms.work
    )
