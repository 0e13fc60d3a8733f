"""Screening that counts operations: samples of the terms, what is screened where it pays, and that
no clock decides.
"""

import time
from functools import partial

import numpy as np
import pytest

import safescreen as ss
from safescreen.rules import Screened
from safescreen.solvers.counted import Counted
from safescreen.solvers.drive import screen
from safescreen.solvers.ledger import Ledger
from safescreen.solvers.point import Point
from safescreen.solvers.reduction import Reduction
from safescreen.solvers.setup import Moment
from safescreen.terms import base


def labelled(n, d=4, apart=1.5):
    y = np.arange(n) % 2
    return np.random.default_rng(0).standard_normal((n, d)) + apart * y[:, None], y


def triplets(n=150):
    return ss.Problem(ss.Triplets.from_labels(*labelled(n)), ss.SmoothedHinge(0.05))


def samples(n=40_000, d=6, gamma=0.05):
    X, y = labelled(n, d, 0.5)
    return ss.Problem(ss.Samples(X, 2.0 * y - 1.0), ss.SmoothedHinge(gamma))


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


def decisions(solutions):
    return [decision for solution in solutions for decision in solution.decisions]


@pytest.mark.parametrize("make", [triplets, partial(samples, d=20, gamma=0.0)])
@pytest.mark.slow
def test_screening_where_it_pays(make):
    prob = make()
    lams = prob.lam_max() * (0.7 ** np.arange(25) if make is triplets else 0.5 ** np.arange(1, 15))
    path = ss.path(prob, lams, rtol=1e-9, tol=0.0)
    plain = ss.path(prob, lams, rtol=1e-9, tol=0.0, screening=())
    assert any(d.screens for d in decisions(path)) and any(s.n_L + s.n_R for s in path)
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
        prob = triplets()
        path = ss.path(prob, prob.lam_max() * 0.7 ** np.arange(12), tol=1e-6)
        taken.append(decisions(path))
    assert taken[0] == taken[1] and taken[0]


def test_operations_are_counted():
    """Those of each evaluation; those of the neighbouring lam pay for the first trial of features,
    and tell, at half their weight, how many evaluations an iteration takes.
    """
    prob = samples(400)
    work = prob.terms.costs().evaluation
    first = Ledger().after(prob, Point(None, iterations=7))
    second = first.after(prob, Point(None, iterations=1, others=8))
    assert second.done == pytest.approx(16.0 * work) == second.since_features
    assert (first.evaluations_of(1e3), second.evaluations_of(1e3)) == (1e3, 2e3)
    following = second.at_next_lam(8).after(prob, Point(None))
    assert following.since_features == pytest.approx(8.0 * work)
    assert following.done == second.done and following.evaluations_of(1.0) == 2.0
    assert Ledger() == Ledger(0.0)  # no call changes a ledger


def test_masks_of_a_look_are_not_decisions():
    """What is screened on the sample stays there; what is decided is remembered, and by that alone
    the next look at the same stage of another lam is not needed.
    """
    prob = samples(400)
    policy = Counted(call=0.0, profit=0.0, budget=np.inf)
    evaluation = prob.evaluate(np.full(6, 0.2), 1e3)
    reduction = Reduction(prob)
    moment = Moment(
        problem=prob,
        evaluation=evaluation,
        enlargement=0.0,
        left=1e9,
        memory=policy.begin(None),
    )
    _, memory, _ = screen(reduction, policy, moment)
    assert moment.memory == policy.begin(None), "the memory of before is as it was"
    (decision,) = memory.decisions
    assert decision.screens and isinstance(reduction.screened(), Screened)
    assert decision.saved == pytest.approx(
        1.0 - reduction.problem.terms.costs().evaluation / prob.terms.costs().evaluation
    )
