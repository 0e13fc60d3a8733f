"""Atoms that no optimum uses: a ball that contains the slopes of every optimum, and what it rules
out, atom by atom and feature by feature.

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

from dataclasses import dataclass, replace

import numpy as np

from safescreen._numba import njit
from safescreen.hdsl import _kernels as kernels
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.forward import exact
from safescreen.hdsl.losses import MarginLoss
from safescreen.rounding import FLOOR, gamma, sqrt_upper, upper

SCREENED_LOSSES = ("smoothed_hinge", "squared_hinge")
"""Losses whose slopes are Lipschitz and reach an end of their range."""


@dataclass(frozen=True)
class Sizes:
    """What the bounds need of the constraints, whatever the iterate.

    Attributes
    ----------
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
    counts : array of shape (P,)
        Sum of ``c_t`` over the triplets of each pair of points.
    growth : float
        ``||x_i v_j + x_j v_i||_c^2`` is at most `growth` times the sum of `counts` times squares
        of entries: 2 if all entries of X have one sign, otherwise 4.
    """

    margins: np.ndarray
    singles: np.ndarray
    crosses: np.ndarray
    allowances: np.ndarray
    counts: np.ndarray
    growth: float

    def restricted(self, places: np.ndarray) -> Sizes:
        """Return the sizes of the constraints restricted to the features at `places`."""
        return replace(
            self,
            singles=self.singles[places],
            crosses=self.crosses[places],
            allowances=self.allowances[places],
        )

    @classmethod
    def of(cls, constraints: Constraints) -> Sizes:
        """Measure constraints; O(P s + T) for P pairs of points with s entries each."""
        X = constraints.X
        n = constraints.n
        T = len(constraints)
        factors = np.ones(T) if constraints.factors is None else constraints.factors
        same = constraints._same
        other = constraints._other
        n_pairs = constraints.weights.size
        counts = np.bincount(same, factors, n_pairs) + np.bincount(other, factors, n_pairs)
        anchors = np.repeat(np.arange(n), np.diff(constraints._anchor_ptr))
        largest = np.zeros(n)
        np.maximum.at(largest, np.repeat(np.arange(n), np.diff(X.indptr)), np.abs(X.data))
        ends = np.repeat(np.arange(n), np.diff(constraints._near[0]))
        near_counts = counts[constraints._near_pair]
        degrees = np.bincount(ends, near_counts, n)
        longest = int(np.bincount(np.concatenate((same, other))).max())
        # roundings of a value: sums over the triplets of a pair, over pairs, over points
        n_ops = longest + n_pairs + int(np.diff(constraints._near[0]).max()) + n + 32
        squares = upper(constraints.column_norms**2, n + 8)
        one_sign = bool(X.data.min(initial=0.0) >= 0.0 or X.data.max(initial=0.0) <= 0.0)
        growth = 2.0 if one_sign else 4.0
        n_sums = T + n_pairs + n + 32
        singles = upper(np.sqrt(0.5 * growth * _squared_overlaps(constraints, counts)), n_sums)
        of_anchors = np.bincount(anchors, factors, n)
        of_others = degrees - np.bincount(anchors, 2.0 * factors, n)
        columns = constraints._columns[1]
        entries = np.repeat(np.arange(X.shape[1]), np.diff(constraints._columns[0]))
        data = constraints._columns[2] ** 2
        m = X.shape[1]
        as_anchor = np.bincount(entries, data * of_anchors[columns], m)
        as_other = np.bincount(entries, data * np.maximum(of_others[columns], 0.0), m)
        top = float(largest.max(initial=0.0))
        of_difference = np.sqrt(0.5 * growth * as_other)
        spread = top if one_sign else 2.0 * top
        crosses = upper(np.sqrt(as_anchor) * spread + of_difference * top, n_sums) * (1.0 + 1e-9)
        floor = FLOOR * n_ops
        return cls(
            margins=upper(
                4.0
                * largest[anchors]
                * (largest[constraints._similar] + largest[constraints._different]),
                8,
            ),
            singles=singles + FLOOR**0.5,
            crosses=crosses + FLOOR**0.5,
            allowances=upper(gamma(n_ops) * float(degrees.max()) * squares, n_ops) + floor,
            counts=upper(counts, n_sums),
            growth=growth,
        )


@dataclass(frozen=True)
class SlopeBall:
    """A ball, in the norm ``||d||_c^2 = sum_t c_t d_t^2``, that contains the slopes of every
    optimum.

    Attributes
    ----------
    slopes : array of shape (T,)
        Its center: the slopes at the iterate.
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
    radius: float
    gap: float
    here: float
    margins: np.ndarray
    errors: np.ndarray
    allowances: np.ndarray
    scale: float
    rises: np.ndarray
    falls: np.ndarray

    def distance(self, q: np.ndarray, factors: np.ndarray | None) -> float:
        """Return an upper bound of the norm of `q`, shape (T,), without the terms whose slopes
        can only move the harmless way; errors of `q` included.
        """
        harmful = np.where(q > 0.0, self.rises * q, self.falls * q)
        return _norm(harmful, factors) + _norm(self.errors, factors)


def slope_ball(
    constraints: Constraints,
    sizes: Sizes,
    loss: MarginLoss,
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
    loss : MarginLoss
        One of :data:`SCREENED_LOSSES`.
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
    factors = constraints.factors
    margins = np.zeros(T)
    for (i, j, sign), weight in zip(np.asarray(atoms).tolist(), weights, strict=True):
        margins += weight * constraints.atom_scores(i, j, sign, scale)
    margins /= float(np.sum(weights))
    errors = upper(gamma(2 * len(weights) + 40) * scale * sizes.margins, 8) + FLOOR
    slopes = loss.alpha(margins)
    cap = loss.cap
    slack = np.clip(1.0 - margins, 0.0, 2.0 * loss.smoothing * cap)
    moved = upper(errors + gamma(8) * slack, 4)
    weighted = slopes if factors is None else factors * slopes
    constraints.set_slopes(weighted)
    allowances = upper(sizes.allowances * float(slopes.max()), 4) + FLOOR
    products = np.abs(weighted * margins)
    here_error = gamma(T + 16) * float(products.sum()) + float(weighted @ errors)
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
        radius=upper(radius, 8),
        gap=upper(total / T, 4),
        here=here,
        margins=margins,
        errors=upper(2.0 * errors, 4),
        allowances=allowances,
        scale=scale,
        rises=slopes < cap,
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
    scores = np.empty(len(constraints))
    factors = np.ones(scores.size) if constraints.factors is None else constraints.factors
    for k, (i, j, sign) in enumerate(atoms.tolist()):
        constraints.atom_scores(i, j, sign, ball.scale, scores)
        distances[k] = _square(scores, ball.margins, factors, ball.rises, ball.falls)
    distances = upper(np.sqrt(distances), scores.size + 8) + _norm(ball.errors, constraints.factors)
    reach = upper(ball.radius * distances / ball.scale, 8)
    return ball.here - highest > reach


def features_excluded(constraints: Constraints, sizes: Sizes, ball: SlopeBall) -> np.ndarray:
    """Return which features no optimum uses, bool of shape (m,).

    The atom of features i and j is excluded if

        diag_i + diag_j + |row_ij| + r (s_i + s_j + n_ij) < here - r/scale ||u||,

    with the values of :class:`~safescreen.hdsl.forward.Direction`, norms ``s_i`` of
    ``x_i v_i`` and ``n_ij`` of ``x_i v_j + x_j v_i``, and the margins u of the iterate. A feature
    is excluded if that holds for all its partners. Column norms bound ``|row_ij|`` and ``n_ij`` for
    all partners at once, in O(P s). For features that these leave open their row is computed: the
    row of the gradient, and the same row of squares, in O(nnz(X)) at most each. Nothing costs d^2.

    Notes
    -----
    Cost: O(P s) for P pairs of points of s non-zeros, and O(nnz(X)) for a feature left open. Safe
    in floating point: errors of the gradient and of norms are added.
    """
    constraints.set_slopes(ball.slopes)
    diagonal = constraints.diagonal()
    radius = ball.radius
    limit = ball.here - upper(
        radius * ball.distance(-ball.margins, constraints.factors) / ball.scale, 8
    )
    limit -= gamma(8) * abs(limit)
    alone = diagonal + ball.allowances + upper(radius * sizes.singles, 8)
    alone += gamma(8) * np.abs(alone)
    excluded = np.zeros(alone.size, dtype=bool)
    heaviest = float(alone.max())
    if not float(alone.min()) + heaviest < limit:
        return excluded
    norms = np.empty(alone.size)
    kernels._sum_norms(*constraints._near, *constraints._columns, constraints._sums, norms)
    across = upper(norms * float(constraints.column_norms.max()) + radius * sizes.crosses, 16)
    across += 4.0 * float(ball.allowances.max())
    excluded = alone + heaviest + across < limit
    near_counts = sizes.counts[constraints._near_pair]
    work = np.zeros((2, constraints.n))
    rows = np.zeros((2, alone.size))
    _exclude_by_rows(
        np.flatnonzero(~excluded & (alone + heaviest < limit)),
        alone,
        heaviest,
        limit,
        upper(radius * np.sqrt(sizes.growth), 8),
        *constraints._near,
        near_counts,
        *constraints._columns,
        *constraints._rows,
        work,
        rows,
        excluded,
    )
    return excluded


def _norm(q, factors):
    """Return an upper bound of ``sqrt(sum_t c_t q_t^2)``."""
    square = float(q @ q) if factors is None else float(factors @ (q * q))
    return upper(np.sqrt(square), q.size + 8)


def _squared_overlaps(constraints, counts):
    """Return ``sum over pairs (a, b) of counts x_ai^2 x_bi^2``, shape (m,)."""
    sums = np.zeros(constraints.features.size)
    indptr, indices, data = constraints._rows
    kernels._overlaps(
        counts,
        sums,
        constraints._pair_ptr,
        constraints._partner,
        indptr,
        indices,
        data * data,
        np.zeros(sums.size),
        np.zeros(counts.size + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0),
    )
    return sums


@njit
def _square(scores, margins, factors, rises, falls):
    """Return ``sum_t c_t q_t^2``, ``q = scores - margins``, over slopes that can do harm."""
    total = 0.0
    for t in range(scores.size):
        q = scores[t] - margins[t]
        if rises[t] if q > 0.0 else falls[t]:
            total += factors[t] * q * q
    return total


@njit
def _exclude_by_rows(
    features,
    alone,
    heaviest,
    limit,
    reach,
    near_ptr,
    near,
    near_weights,
    near_counts,
    colptr,
    rows,
    values,
    indptr,
    indices,
    data,
    sums,
    row,
    excluded,
):
    """Mark the features among `features` whose atoms all lie below the limit.

    `sums` (2, n) and `row` (2, m) are zero before and after: the row of ``X'(B + B')X``, and that
    of squares of entries and `near_counts`."""
    for i in features:
        for q in range(colptr[i], colptr[i + 1]):
            b = rows[q]
            square = values[q] * values[q]
            for p in range(near_ptr[b], near_ptr[b + 1]):
                sums[0, near[p]] += near_weights[p] * values[q]
                sums[1, near[p]] += near_counts[p] * square
        for a in range(sums.shape[1]):
            if sums[0, a] != 0.0 or sums[1, a] > 0.0:
                for q in range(indptr[a], indptr[a + 1]):
                    row[0, indices[q]] += sums[0, a] * data[q]
                    row[1, indices[q]] += sums[1, a] * data[q] * data[q]
        below = alone[i] + heaviest < limit
        for a in range(sums.shape[1]):
            if sums[0, a] != 0.0 or sums[1, a] > 0.0:
                for q in range(indptr[a], indptr[a + 1]):
                    j = indices[q]
                    if j != i:
                        across = abs(row[0, j]) + reach * np.sqrt(row[1, j])
                        below = below and alone[i] + alone[j] + across * (1.0 + 1e-9) < limit
                    row[0, j] = 0.0
                    row[1, j] = 0.0
                sums[0, a] = 0.0
                sums[1, a] = 0.0
        excluded[i] = below
