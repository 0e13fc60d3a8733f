"""Ball tests 1 and 2 in rational arithmetic: machines whose solution is known exactly, the printed
balls, and what the library makes of them (notebook 32-ball-tests-1-and-2).
"""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import safescreen as ss
from safescreen import svm

pytestmark = pytest.mark.slow


def machine(Z):
    labels = np.where(np.arange(len(Z)) % 2, 1, -1)
    return ss.Samples(Z.astype(float) * labels[:, None], labels)


def exact_optimum(Z, C):
    """The solution and a dual point in fractions; the conditions of optimality are verified."""
    problem = ss.Problem(machine(Z), ss.Hinge())
    margins = Z.astype(float) @ ss.solve(problem, float(1 / C), tol=0.0, rtol=1e-10).x
    on_step = np.abs(margins - 1.0) < 1e-5
    alpha = np.array([Fraction(int(v)) for v in (margins < 1.0) & ~on_step])
    if on_step.any():
        E = Z[on_step]
        found = sp.Matrix(E @ E.T).LUsolve(sp.Matrix(1 / C - E @ (Z.T @ alpha)))
        alpha[on_step] = [Fraction(int(v.p), int(v.q)) for v in found]
    w = C * (Z.T @ alpha)
    assert all(0 <= a <= 1 for a in alpha)
    assert all(u == 1 or a == (1 if u < 1 else 0) for u, a in zip(Z @ w, alpha, strict=True))
    return w, alpha


def fractions(values, denominator=16):
    flat = [Fraction(int(v), denominator) for v in np.ravel(values)]
    return np.array(flat).reshape(np.shape(values))


def exactly(values):
    return np.array([Fraction(v) for v in np.ravel(values).tolist()]).reshape(np.shape(values))


def nearby(C):
    """A C not above the given one whose 1/C is a multiple of 1/64 and survives rounding of both."""
    k = int(np.ceil(float(64 / C)))
    while Fraction(1.0 / float(Fraction(64, k))) != Fraction(k, 64):
        k += 1
    return Fraction(64, k)


@pytest.fixture(scope="module")
def instances():
    """Twelve machines, four C each, with exact solutions."""
    rng, made = np.random.default_rng(32), []
    for _ in range(12):
        n, d = int(rng.integers(6, 15)), int(rng.integers(2, 4))
        Z = fractions(rng.integers(-32, 33, (n, d))) + Fraction(1, 2)
        smallest = 1 / max(Z @ Z.sum(axis=0))
        Cs = [nearby(smallest * factor) for factor in (Fraction(1, 2), 2, 3, 30)]
        made.append((Z, [(C, *exact_optimum(Z, C)) for C in Cs]))
    return made


def total_loss(Z, w):
    return np.maximum(0, 1 - Z @ w).sum()


def printed_ball_1(Z, C, w0, C0, w):
    m = (w + C / C0 * w0) / 2
    return m, m @ m - C / C0 * (w0 @ w0) + C * (total_loss(Z, w) - total_loss(Z, w0))


def printed_ball_2(Z, C, s, w):
    m = (w + C * (s @ Z)) / 2
    return m, m @ m + C * (total_loss(Z, w) - s.sum())


def somewhere(rng, *near):
    """Zero, given points, a multiple of each, and three drawn at random."""
    d = len(near[0])
    yield fractions(np.zeros(d))
    for w in near:
        yield w
        yield w * Fraction(9, 8)
    yield from fractions(rng.integers(-40, 41, (3, d)), 32)


class Tally:
    """Counts balls, those with the solution on their surface, and decisions; asserts all else."""

    def __init__(self):
        self.balls = self.surface = self.decided = 0

    def add(self, Z, w_star, printed, ball, found):
        m, square = printed
        distance = (w_star - m) @ (w_star - m)
        assert distance <= square  # the theorem, without any tolerance
        self.balls += 1
        self.surface += distance == square
        away, u = w_star - exactly(ball.center), Z @ w_star
        assert away @ away <= Fraction(ball.radius) ** 2
        assert not np.any(found.in_R & (u <= 1))
        assert not np.any(found.in_L & (u >= 1))
        self.decided += found.n_R + found.n_L
        # the printed decisions, but for samples within 1e-6 of the threshold
        middle = (Z @ m).astype(float)
        reach = float(square) ** 0.5 * np.linalg.norm(Z.astype(float), axis=1)
        clear = np.minimum(abs(middle - reach - 1.0), abs(middle + reach - 1.0)) > 1e-6
        np.testing.assert_array_equal(found.in_R[clear], (middle - reach > 1.0)[clear])
        np.testing.assert_array_equal(found.in_L[clear], (middle + reach < 1.0)[clear])
        tiny = 1e-6 * (1.0 + np.linalg.norm(m.astype(float)))
        assert np.linalg.norm(ball.center - m.astype(float)) < tiny
        assert abs(ball.radius - float(square) ** 0.5) < tiny


def test_ball_test_1(instances):
    rng, tally = np.random.default_rng(6), Tally()
    for Z, solutions in instances:
        terms = machine(Z)
        for C, w_star, _ in solutions:
            for C0, w0, alpha0 in solutions:
                known = svm.Reference(w0.astype(float), alpha0.astype(float), float(C0))
                for w in somewhere(rng, w0, w_star):
                    given = terms, float(C), known, w.astype(float)
                    printed = printed_ball_1(Z, C, w0, C0, w)
                    tally.add(Z, w_star, printed, svm.ball_1(*given), svm.ball_test_1(*given))
                m, square = printed_ball_1(Z, C, w0, C0, w0)
                assert square == (C - C0) ** 2 / (4 * C0**2) * (w0 @ w0)
                short = svm.ball_1(terms, float(C), known)  # without a point: the reference's own
                assert abs(short.radius - float(square) ** 0.5) <= 1e-6 * (1.0 + short.radius)
                np.testing.assert_allclose(short.center, m.astype(float), rtol=1e-12, atol=1e-12)
    assert (tally.balls, tally.surface > 160, tally.decided > 6800) == (1536, True, True)


def test_ball_test_2(instances):
    rng, tally, fractional = np.random.default_rng(7), Tally(), Tally()
    for Z, solutions in instances:
        terms = machine(Z)
        for C, w_star, alpha in solutions:
            for w in somewhere(rng, w_star):
                by_margin = np.array([Fraction(int(u < 1)) for u in Z @ w])
                binary = (by_margin, *fractions(rng.integers(0, 2, (3, len(Z))), 1))
                between = (alpha, *fractions(rng.integers(0, 17, (3, len(Z)))))
                for into, ways in ((tally, binary), (fractional, between)):
                    for s in ways:
                        given = terms, float(C), w.astype(float), s.astype(float)
                        printed = printed_ball_2(Z, C, s, w)
                        into.add(Z, w_star, printed, svm.ball_2(*given), svm.ball_test_2(*given))
    assert tally.surface > 40
    assert fractional.decided > 400
