"""When to screen follows from counted operations: arithmetic of the decision, samples, what is
left, and what a path does with it.
"""

import time
from functools import partial

import numpy as np
import pytest

import safescreen as ss
from safescreen.rules import Screened
from safescreen.solvers import schedule as module
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.schedule import BUDGET, CALL, PROFIT, Schedule, iterations_left, schedule_of
from safescreen.solvers.solution import Iteration
from safescreen.terms import base


def labelled(n, d=4, apart=1.5):
    y = np.arange(n) % 2
    return np.random.default_rng(0).standard_normal((n, d)) + apart * y[:, None], y


def triplets(n=150):
    return ss.Problem(ss.Triplets.from_labels(*labelled(n)), ss.SmoothedHinge(0.05))


def samples(n=40_000, d=6):
    X, y = labelled(n, d, 0.5)
    return ss.Problem(ss.Samples(X, 2.0 * y - 1.0), ss.SmoothedHinge(0.05))


class Counted(ss.Samples):
    """Samples that say how many operations they take."""

    work, screening_work, preparation_work = 1e7, 2e7, 0.0

    def select(self, keep):
        part = super().select(keep)
        part.__class__ = Counted
        part.work = self.work * keep.mean()
        return part


# ------------------------------------------------------------------ how many iterations are left


def history(*pairs):
    return [Iteration(n, 1.0, gap, 1, 0, 0, 0.0) for n, gap in pairs]


class At:
    def __init__(self, gap):
        self.gap = gap


def test_iterations_left():
    assert iterations_left([], 7.0, At(1.0), 1e-3) == 7.0
    assert iterations_left([], 7.0, At(1e-4), 1e-3) == 0.0
    # a tenth every five iterations in the second half, three more tenths to go
    assert iterations_left(
        history((0, 1e9), (10, 1e2), (20, 1.0)), 0.0, At(1.0), 1e-3
    ) == pytest.approx(15.0)
    # the first half does not count
    assert iterations_left(
        history((0, 1e2), (10, 1e2), (20, 1.0)), 0.0, At(1.0), 1e-3
    ) == pytest.approx(15.0)
    # not falling, or too early to tell: as many as expected or as there were
    assert iterations_left(history((0, 1.0), (10, 1.0), (20, 1.0)), 0.0, At(1.0), 1e-3) == 20.0
    assert iterations_left(history((0, 1.0), (2, 0.5)), 9.0, At(0.5), 1e-3) == 7.0
    # slow: no more than ten times what was done
    assert iterations_left(history((0, 1.0), (10, 1.0), (20, 0.999)), 0.0, At(0.999), 1e-9) == 200.0


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


def test_names_and_schedules():
    prob = samples(50)
    assert schedule_of("auto", prob).automatic and not schedule_of(("MGB",), prob).automatic
    own = Schedule()
    assert schedule_of(own, prob) is own and own and not Schedule(())
    assert schedule_of("MGB", prob).tests == schedule_of(("MGB",), prob).tests, "a name is a name"


def test_no_screening_where_little_is_left():
    schedule = Schedule()
    prob = ss.Problem(ss.Triplets.from_labels(*labelled(30)), ss.SmoothedHinge(0.05))
    found = ss.path(prob, prob.lam_max() * 0.8 ** np.arange(10), tol=1e-6, screening=schedule)
    assert not schedule.decisions and not any(s.n_L + s.n_R for s in found)


@pytest.mark.parametrize("make", [triplets, partial(samples, d=20)])
def test_screening_where_it_pays(make):
    prob, schedule = make(), Schedule()
    lams = prob.lam_max() * (0.7 ** np.arange(25) if make is triplets else 0.5 ** np.arange(1, 15))
    found = ss.path(prob, lams, rtol=1e-9, tol=0.0, screening=schedule)
    plain = ss.path(prob, lams, rtol=1e-9, tol=0.0, screening=())
    assert any(d.screens for d in schedule.decisions) and any(s.n_L + s.n_R for s in found)
    for one, two in zip(found, plain, strict=True):
        assert one.converged and np.linalg.norm(one.x - two.x) <= one.eps + two.eps
        if one.screened is not None:
            alpha = prob.alpha(two.x)
            margins, slack = prob.terms.margins(two.x), two.eps * prob.terms.norms
            assert not np.any(one.screened.in_R & (margins + slack < 1.0)) and alpha.size == len(
                prob
            )
            assert not np.any(one.screened.in_L & (margins - slack > 1.0 - prob.loss.width))


def test_the_clock_has_no_say(monkeypatch):
    taken = []
    for speed in (1.0, 1e6):
        ticks = iter(np.arange(10**6) * speed)
        monkeypatch.setattr(time, "perf_counter", lambda ticks=ticks: float(next(ticks)))
        schedule, prob = Schedule(), triplets()
        ss.path(prob, prob.lam_max() * 0.7 ** np.arange(12), tol=1e-6, screening=schedule)
        taken.append(schedule.decisions)
    assert taken[0] == taken[1] and taken[0]


class Fixed(Schedule):
    """A schedule whose look finds what it is told, so that the arithmetic around it can be seen."""

    def __init__(self, saved, done=1e12):
        super().__init__()
        self.saved, self.done, self.looks = saved, done, 0

    def _look(self, *args):
        self.looks += 1
        return module.CANDIDATES[0], self.saved


def decide(schedule, left, near=None, **operations):
    prob = samples(400)
    terms = prob.terms
    terms.__class__ = Counted
    for name, value in operations.items():
        setattr(terms, name, value)
    evaluation = prob.evaluate(np.zeros(6), 1.0)
    schedule.screen(Reduction(prob), evaluation, 0.0, left, near)
    return schedule.decisions[-1] if schedule.decisions else None


def test_profit():
    pays = PROFIT * (2e7 + CALL) / (0.5 * 1e7)
    assert not decide(Fixed(0.5), 0.99 * pays).screens
    assert decide(Fixed(0.5), 1.01 * pays).screens
    assert not decide(Fixed(0.0), 1e9).screens


def test_promises_of_a_sample_that_were_not_kept():
    """Half of all that the terms save is believed after a pass that saved nothing."""
    pays = PROFIT * (2e7 + CALL) / (0.5 * 1e7)
    schedule = Fixed(0.5)
    assert decide(schedule, 1.9 * pays).screens and schedule.decisions[-1].saved == 0.0
    assert not decide(schedule, 1.9 * pays).screens
    assert decide(schedule, 2.1 * pays).screens


def test_what_only_screening_needs_is_paid_once_it_has_been_missed():
    schedule = Fixed(0.5)
    left, once = 20.0, 2e8
    profit = left * 0.5 * 1e7 - PROFIT * (2e7 + CALL)
    for n in range(1, 20):
        if decide(schedule, left, preparation_work=once).screens:
            break
        assert schedule.missed == pytest.approx(n * profit)
    assert (n - 1) * profit < once <= n * profit
    ahead = Fixed(0.5)
    ahead.to_come = 3.0
    assert decide(ahead, left, preparation_work=3.9 * profit).screens
    assert not decide(Fixed(0.5), left, preparation_work=3.9 * profit).screens


def test_looks_are_paid_from_what_has_been_done():
    prob = samples(400)
    prob.terms.__class__ = Counted
    evaluation = prob.evaluate(np.zeros(6), 1.0)
    look = 2.0 * CALL + 0.02 * (2e7 + CALL)
    for done, seen in ((0.99 * look / BUDGET, 0), (1.01 * look / BUDGET, 1)):
        schedule = Schedule()
        schedule.done = done
        schedule.screen(Reduction(prob), evaluation, 0.0, 1e6)
        assert len(schedule.decisions) == seen
    # a look that found nothing is spent
    assert schedule.spent == (
        0.0 if schedule.decisions[0].saved * 1e13 >= PROFIT * (2e7 + CALL) else look
    )
    poor = Schedule()
    poor.done = 1e12
    poor.screen(Reduction(prob), evaluation, 0.0, (PROFIT * (2e7 + CALL) + 4.9 * look) / 1e7)
    assert not poor.decisions


def test_iterations_are_counted():
    schedule, prob = Schedule(), samples(400)
    schedule.count(prob, 7)
    assert schedule.done == pytest.approx(7 * (prob.terms.work + 0.03 * CALL))
    named = Schedule(())
    named.count(prob, 7)
    assert named.done == 0.0


def test_one_look_a_halving_of_the_gap():
    prob, schedule = samples(400), Fixed(0.0)
    evaluation, reduction = prob.evaluate(np.zeros(6), 1.0), None
    reduction = Reduction(prob)
    for tried, looks in ((np.inf, 1), (evaluation.gap / 0.49, 2), (evaluation.gap / 0.51, 2)):
        reduction.tried = tried
        schedule.screen(reduction, evaluation, 0.0, 10.0)
        assert schedule.looks == looks
    assert reduction.tried == evaluation.gap / 0.51


def test_masks_of_a_look_are_not_decisions():
    prob, schedule = samples(400), Fixed(1.0)
    reduction = Reduction(prob)
    schedule.screen(reduction, prob.evaluate(np.zeros(6), 1.0), 0.0, 1e9)
    assert schedule.decisions[0].screens and isinstance(reduction.screened(), Screened)
    assert schedule.decisions[0].saved == pytest.approx(
        1.0 - reduction.problem.terms.work / prob.terms.work
    )
