"""Atoms of HDSL that no optimum uses: a ball that contains the slopes of every optimum, and what it
rules out, atom by atom and feature by feature.

For the mean loss ``f(M) = 1/T sum_t c_t loss(<A_t, M>)`` the slopes ``g_t = -loss'(<A_t, M>)`` are
the same at every optimum: ``g*``. With the Frank-Wolfe gap ``delta`` at M, and a loss whose slope
is ``1/smoothing``-Lipschitz, co-coercivity gives

    sum_t c_t (g_t - g*_t)^2 <= T delta / smoothing.

A slope of 0 can only rise, a largest one only fall. Put ``q = <A, B> - <A, M>`` for an atom B, and
leave out of its norm the terms whose slopes can only move the harmless way. Then B carries no
weight at any optimum if

    <G, B - M> > sqrt(delta / (T smoothing)) ||q||_c .

Notebook ``46-safe-screening-of-atoms`` derives both. In the code inner products with the gradient
are *values*, ``-T/scale <G, B>``, as in :mod:`safescreen.hdsl.forward`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact
from safescreen.losses import Loss
from safescreen.rounding import FLOOR, gamma, sqrt_upper, upper


@dataclass(frozen=True)
class Sizes:
    """What the bounds need of the constraints, whatever the iterate.

    Attributes
    ----------
    triplets : int array of shape (T, 3)
        Rows (x, y, z), in the order of the constraints.
    margins : array of shape (T,)
        Upper bounds of ``|<A_t, B>|/scale`` of every atom B.
    singles : array of shape (m,)
        Upper bounds of ``||x_i v_i||_c``, where x_i and v_i are feature i of the points x and of
        the differences y - z of all triplets.
    crosses : array of shape (m,)
        Upper bounds of ``||x_i v_j + x_j v_i||_c`` for every other feature j.
    allowances : array of shape (m,)
        The value of the atom of i and j, computed from slopes of at most 1, is off by at most
        ``allowances[i] + allowances[j]``.
    counts : CSR array of shape (n, n)
        Upper bounds of the sum of ``c_t`` over the triplets of each two points x, y or x, z.
    growth : float
        ``||x_i v_j + x_j v_i||_c^2`` is at most `growth` times the sum of `counts` times squares
        of entries: 2 if all entries of X have one sign, otherwise 4.
    """

    triplets: np.ndarray
    margins: np.ndarray
    singles: np.ndarray
    crosses: np.ndarray
    allowances: np.ndarray
    counts: sparse.csr_array
    growth: float

    @classmethod
    def of(cls, constraints: Constraints, triplets: ArrayLike) -> Sizes:
        """Measure the constraints of triplets; O(P s + T) for P pairs of points with s entries
        each.
        """
        X = constraints.X
        T = len(constraints)
        triplets = np.asarray(triplets)[constraints.order]
        factors = _factors(constraints)
        counts = _pair_sums(triplets, factors, factors, constraints.n)
        degrees = counts.sum(axis=0) + counts.sum(axis=1)
        n_sums = T + counts.nnz + constraints.n + 32
        n_ops = _roundings_of_a_value(triplets, counts)
        entries = X.data
        one_sign = bool(entries.min(initial=0.0) >= 0.0 or entries.max(initial=0.0) <= 0.0)
        growth = 2.0 if one_sign else 4.0
        squares = X.power(2)
        overlaps = squares.multiply(counts @ squares).sum(axis=0)
        singles = upper(np.sqrt(0.5 * growth * overlaps), n_sums)
        as_anchor = squares.T @ np.bincount(triplets[:, 0], factors, constraints.n)
        as_other = squares.T @ counts.sum(axis=0)
        largest = abs(X).max(axis=1).toarray().ravel()
        top = float(largest.max())
        of_difference = np.sqrt(0.5 * growth * as_other)
        spread = top if one_sign else 2.0 * top
        crosses = upper(np.sqrt(as_anchor) * spread + of_difference * top, n_sums) * (1.0 + 1e-9)
        norms = upper(constraints.column_norms**2, constraints.n + 8)
        x, y, z = largest[triplets.T]
        return cls(
            triplets=triplets,
            margins=upper(4.0 * x * (y + z), 8),
            singles=singles + FLOOR**0.5,
            crosses=crosses + FLOOR**0.5,
            allowances=upper(gamma(n_ops) * float(degrees.max()) * norms, n_ops) + FLOOR * n_ops,
            counts=(counts + counts.T) * upper(1.0, n_sums),
            growth=growth,
        )


@dataclass(frozen=True)
class SlopeBall:
    """A ball, in the norm ``||d||_c^2 = sum_t c_t d_t^2``, that contains the slopes of every
    optimum.

    Attributes
    ----------
    slopes : array of shape (T,)
        Its center: the slopes at the iterate, times c_t.
    factors : array of shape (T,)
        The weights c_t.
    radius : float
        Rounding included; NaN screens nothing.
    gap : float
        Upper bound of ``f(M) - f*``, rounding included.
    here : float
        Lower bound of the value of the iterate, ``-T/scale <G, M>``.
    margins : array of shape (T,)
        ``<A_t, M>`` of the iterate M.
    errors : array of shape (T,)
        Bounds of the errors of `margins` and of the margins of any atom, together.
    allowances : array of shape (m,)
        As in :class:`Sizes`, for these slopes.
    scale : float
        The lambda of HDSL19.
    rises, falls : bool arrays of shape (T,)
        Whether a slope may be larger, or smaller, at an optimum.
    """

    slopes: np.ndarray
    factors: np.ndarray
    radius: float
    gap: float
    here: float
    margins: np.ndarray
    errors: np.ndarray
    allowances: np.ndarray
    scale: float
    rises: np.ndarray
    falls: np.ndarray

    def distance(self, q: np.ndarray) -> float:
        """Return an upper bound of the norm of `q`, shape (T,), without the terms whose slopes
        can only move the harmless way; errors of `q` included.
        """
        harmful = np.where(q > 0.0, self.rises * q, self.falls * q)
        return _norm(harmful, self.factors) + _norm(self.errors, self.factors)


def slope_ball(
    constraints: Constraints,
    sizes: Sizes,
    loss: Loss,
    scale: float,
    atoms: np.ndarray,
    weights: np.ndarray,
) -> SlopeBall:
    """Return the ball of an iterate ``M = sum_k w_k B_k / sum_k w_k``.

    Parameters
    ----------
    constraints : Constraints
        Its slopes are set to those of the iterate.
    sizes : Sizes
    loss : SmoothedHinge or SquaredHinge
        With a positive smoothing.
    scale : float
    atoms : int array of shape (k, 3)
        Places of two features, and a sign.
    weights : array of shape (k,)

    Notes
    -----
    Cost: O(k T) for the margins of k atoms, and one exact forward direction. Safe in floating
    point: three errors enter the radius. The margins are off by at most `errors`; so the slopes
    differ by at most ``errors/smoothing`` from those of the iterate, which costs half of that norm;
    and values are off by at most their `allowances`, which enlarges the gap.
    """
    T = len(constraints)
    factors = _factors(constraints)
    margins = np.zeros(T)
    for (i, j, sign), weight in zip(np.asarray(atoms).tolist(), weights, strict=True):
        margins += weight * constraints.atom_scores(i, j, sign, scale)
    margins /= float(np.sum(weights))
    errors = upper(gamma(2 * len(weights) + 40) * scale * sizes.margins, 8) + FLOOR
    slopes = loss.alpha(margins)
    slack = np.clip(1.0 - margins, 0.0, 2.0 * loss.smoothing * loss.cap)
    moved = upper(errors + gamma(8) * slack, 4)
    weighted = factors * slopes
    constraints.set_slopes(weighted)
    allowances = upper(sizes.allowances * float(slopes.max()), 4) + FLOOR
    here_error = gamma(T + 16) * float(np.abs(weighted * margins).sum()) + float(weighted @ errors)
    here = (float(weighted @ margins) - upper(here_error, T + 16)) / scale
    here -= gamma(8) * abs(here)
    top = exact(constraints).value
    top += upper(4.0 * float(allowances.max()), 8) + gamma(8) * abs(top)
    fenchel = _norm(moved, factors) ** 2 / (2.0 * loss.smoothing)
    total = upper(scale * (top - here), 8) + upper(fenchel, T + 16)
    radius = sqrt_upper(upper(total / loss.smoothing, 4))
    radius += 0.5 * _norm(moved, factors) / loss.smoothing
    return SlopeBall(
        slopes=weighted,
        factors=factors,
        radius=upper(radius, 8),
        gap=upper(total / T, 4),
        here=here,
        margins=margins,
        errors=upper(2.0 * errors, 4),
        allowances=allowances,
        scale=scale,
        rises=slopes < loss.cap,
        falls=slopes > 0.0,
    )


def atoms_excluded(constraints: Constraints, ball: SlopeBall, atoms: np.ndarray) -> np.ndarray:
    """Return which atoms carry no weight at any optimum, bool of shape (k,).

    Parameters
    ----------
    constraints : Constraints
    ball : SlopeBall
    atoms : int array of shape (k, 3)
        Places of two features i < j, and a sign.

    Notes
    -----
    Cost: O(T) an atom. Safe in floating point: errors of the gradient and of margins are added.
    """
    atoms = np.asarray(atoms)
    constraints.set_slopes(ball.slopes)
    values = constraints.atom_values(atoms, np.empty(len(atoms)))
    highest = values + ball.allowances[atoms[:, 0]] + ball.allowances[atoms[:, 1]]
    highest += gamma(8) * np.abs(highest)
    distances = np.empty(len(atoms))
    for k, (i, j, sign) in enumerate(atoms.tolist()):
        scores = constraints.atom_scores(i, j, sign, ball.scale)
        distances[k] = ball.distance(scores - ball.margins)
    reach = upper(ball.radius * distances / ball.scale, 8)
    return ball.here - highest > reach


def features_excluded(constraints: Constraints, sizes: Sizes, ball: SlopeBall) -> np.ndarray:
    """Return which features no optimum uses, bool of shape (m,).

    The atom of features i and j is excluded if

        diag_i + diag_j + |row_ij| + r (s_i + s_j + n_ij) < here - r/scale ||u||,

    with the values of :class:`~safescreen.hdsl.forward.Direction`, norms ``s_i`` of
    ``x_i v_i`` and ``n_ij`` of ``x_i v_j + x_j v_i``, and the margins u of the iterate. A feature
    is excluded if that holds for all its partners. Column norms bound ``|row_ij|`` and ``n_ij`` for
    all partners at once. For features that these leave open their row is computed: the row of the
    gradient, and the same row of squares. Nothing costs d^2.

    Notes
    -----
    Cost: O(P s) for P pairs of points of s non-zeros, and O(nnz(X)) for a feature left open. Safe
    in floating point: errors of the gradient and of norms are added.
    """
    constraints.set_slopes(ball.slopes)
    radius = ball.radius
    limit = ball.here - upper(radius * ball.distance(-ball.margins) / ball.scale, 8)
    limit -= gamma(8) * abs(limit)
    alone = constraints.diagonal() + ball.allowances + upper(radius * sizes.singles, 8)
    alone += gamma(8) * np.abs(alone)
    excluded = np.zeros(alone.size, dtype=bool)
    heaviest = float(alone.max())
    if not float(alone.min()) + heaviest < limit:
        return excluded
    weights = _pair_sums(sizes.triplets, ball.slopes, -ball.slopes, constraints.n)
    norms = np.sqrt(((weights + weights.T) @ constraints.X).power(2).sum(axis=0))
    across = upper(norms * float(constraints.column_norms.max()) + radius * sizes.crosses, 16)
    across += 4.0 * float(ball.allowances.max())
    excluded = alone + heaviest + across < limit
    squares = constraints.X.power(2)
    columns = squares.tocsc()
    reach = upper(radius * np.sqrt(sizes.growth), 8)
    for i in np.flatnonzero(~excluded & (alone + heaviest < limit)):
        lengths = squares.T @ (sizes.counts @ columns[:, [i]].toarray().ravel())
        across = np.abs(constraints.row(i)) + reach * np.sqrt(lengths)
        below = alone[i] + alone + across * (1.0 + 1e-9) < limit
        below[i] = True  # a feature is no partner of its own
        excluded[i] = below.all()
    return excluded


def _factors(constraints):
    """Return the weights c_t, shape (T,)."""
    return np.ones(len(constraints)) if constraints.factors is None else constraints.factors


def _pair_sums(triplets, similar, different, n):
    """Return an n x n array: its entry a, b is the sum of ``similar_t`` over triplets (a, b, .),
    and of ``different_t`` over triplets (a, ., b).
    """
    x, y, z = triplets.T
    places = np.concatenate((x, x)), np.concatenate((y, z))
    return sparse.coo_array((np.concatenate((similar, different)), places), (n, n)).tocsr()


def _roundings_of_a_value(triplets, counts):
    """Return how many roundings are in a value: sums over the triplets of a pair of points, over
    pairs, over the pairs of a point, over points.
    """
    n = counts.shape[0]
    ones = np.ones(len(triplets))
    longest = int(_pair_sums(triplets, ones, ones, n).max())
    pairs_of_a_point = np.diff(counts.indptr) + np.bincount(counts.indices, minlength=n)
    return longest + counts.nnz + int(pairs_of_a_point.max()) + n + 32


def _norm(q, factors):
    """Return an upper bound of ``sqrt(sum_t c_t q_t^2)``."""
    return upper(np.sqrt(float(factors @ (q * q))), q.size + 8)
