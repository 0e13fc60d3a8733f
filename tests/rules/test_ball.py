"""The sphere rule against the definition: in integers, at thresholds shared or not, over more
terms than a chunk.
"""

import numpy as np
import pytest

import safescreen as ss
from safescreen.rules import Screened, sphere
from safescreen.terms.base import CHUNK


def both_ways(terms, thresholds, gamma, ball):
    """Return masks with a threshold for each term, and term by term with that of one term for
    all.
    """
    loss = ss.SmoothedHinge(gamma)
    own = sphere(ss.Problem(terms.with_threshold(thresholds), loss), ball)
    shared = [
        sphere(ss.Problem(terms.with_threshold(float(tau)), loss), ball) for tau in thresholds
    ]
    return (
        own,
        [found.in_L[t] for t, found in enumerate(shared)],
        [found.in_R[t] for t, found in enumerate(shared)],
    )


@pytest.mark.parametrize("far", [1, 1 << 20])
def test_integers_around_a_threshold(far):
    """A margin of large integers is not what is computed; integers, compared exactly, know its
    side of a threshold.
    """
    rng, wrong, decided = np.random.default_rng(2), 0, 0
    for _ in range(30):
        rows = rng.integers(-far, far + 1, size=(16, 5)) * (1 << 12) + rng.integers(
            -9, 10, size=(16, 5)
        )
        center = rng.integers(-far, far + 1, size=5) * 3 + rng.integers(1, 9, size=5)
        signs = np.where(np.arange(16) % 2, -1.0, 1.0)
        terms, ball = ss.Samples(rows * signs[:, None], signs), ss.Sphere(center.astype(float), 0.0)
        exact = [sum(int(v) * int(c) for v, c in zip(row, center, strict=True)) for row in rows]
        for ulps in (-256, -1, 0, 1, 256):
            tau = np.array([float(v) for v in exact])
            tau = tau + ulps * np.spacing(np.abs(tau))
            own, L, R = both_ways(terms, tau, 0.0, ball)
            for in_L, in_R in ((own.in_L, own.in_R), (L, R)):
                assert not any(in_R[t] and exact[t] <= float(tau[t]) for t in range(16))
                assert not any(in_L[t] and exact[t] >= float(tau[t]) for t in range(16))
                decided += sum(in_L) + sum(in_R)
            computed = rows.astype(float) @ center.astype(float)
            wrong += sum(computed[t] > tau[t] and exact[t] <= float(tau[t]) for t in range(16))
    assert decided > 1000
    assert wrong > 0 or far == 1  # what rounding would do


@pytest.mark.parametrize("kind", ["full", "diagonal", "samples"])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_decisions_turn_at_the_extremes(kind, gamma):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(10, 3)), np.arange(10) % 2
    terms = (
        ss.Samples(X, 2 * y - 1)
        if kind == "samples"
        else ss.Triplets.from_labels(X, y, k=2, diagonal=kind == "diagonal")
    )
    a = terms.elements(np.arange(len(terms)))[0].reshape(len(terms), -1)
    Q = rng.normal(size=terms.cone.shape)
    Q, reach = Q + Q.T, 0.6 * np.linalg.norm(a, axis=1)
    for side, extremes, inside in (
        ("in_R", a @ Q.ravel() - reach, -1e-10),
        ("in_L", a @ Q.ravel() + reach + gamma, 1e-10),
    ):
        for shift, expected in ((inside, True), (-inside, False)):
            own, L, R = both_ways(
                terms, extremes + shift * (1.0 + np.abs(extremes)), gamma, ss.Sphere(Q, 0.6)
            )
            assert (getattr(own, side) == expected).all()
            assert set(R if side == "in_R" else L) == {expected}


def test_more_terms_than_a_chunk():
    rng, n = np.random.default_rng(4), 2 * CHUNK + 5
    rows = rng.normal(size=(n, 2)) * rng.uniform(0.1, 10.0, size=(n, 1))
    terms = ss.Samples(
        rows * np.where(np.arange(n) % 2, -1.0, 1.0)[:, None], np.where(np.arange(n) % 2, -1.0, 1.0)
    )
    center, margins, reach = (
        np.array([0.3, 0.4]),
        rows @ [0.3, 0.4],
        0.2 * np.linalg.norm(rows, axis=1),
    )
    tau = rng.uniform(0.0, 1.0, size=n)
    for threshold in (0.5, tau):
        found = sphere(
            ss.Problem(terms.with_threshold(threshold), ss.SmoothedHinge(0.1)),
            ss.Sphere(center, 0.2),
        )
        assert (found.in_R == (margins - reach > threshold)).all() and (
            found.in_L == (margins + reach < threshold - 0.1)
        ).all()
        assert found.n_L > 100 and found.n_R > 100 and found.rate == (found.n_L + found.n_R) / n


def test_two_terms_with_thresholds_of_their_own():
    terms = ss.Samples([[1.0], [-1.0]], [1, -1]).with_threshold(np.array([0.5, 5.0]))
    found = sphere(ss.Problem(terms, ss.Hinge()), ss.Sphere(np.ones(1), 0.1))
    assert found.in_R.tolist() == [True, False] and found.in_L.tolist() == [False, True]


def test_the_rate_of_one_term_and_of_none():
    yes, no = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
    assert Screened(yes, no).rate == Screened(no, yes).rate == 1.0
    assert Screened(no[:0], no[:0]).rate == 0.0
