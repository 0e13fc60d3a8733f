"""Certificates that no point of the intersection of a ball and a cone has ``<a, x> >= C``, for a
batch of terms at once.

Weak duality: for every ``y >= 0``, with ``Z = Q + y a = Z_+ - Z_-`` split by the cone, each point
of the cone with ``<a, x> >= C`` has::

    ||x - Q||^2 >= g(y) = 2 y (C - <a, Q>) - y^2 ||a||^2 + ||Z_-||^2 = 2 y C + ||Q||^2 - ||Z_+||^2,
    g'(y) = 2 (C - <a, Z_+>)

so ``g(y) > r^2`` at any y decides the term. g is concave. The choice of y affects the speed only.
"""

from dataclasses import dataclass, fields

import numpy as np

from safescreen.rounding import UNIT, gamma
from safescreen.rules._splits import PAIR_FROM, split_all, split_one

LARGEST = 1e140
"""Limit of ``y ||a||``: squares of larger numbers leave the range of double precision. A term that
would need more stays undecided.
"""


@dataclass(frozen=True)
class Region:
    """Ball in the form that certificates use.

    `center` is Q, and `square` an upper bound of the squared radius. The bounds are ``norm_low <=
    ||Q|| <= norm``. ``minus_norm`` is ``||Q_-||``, and `split_error` the error of a split of an
    element of norm 1.
    """

    center: np.ndarray
    square: float
    norm_low: float
    norm: float
    minus_norm: float
    split_error: float


@dataclass(frozen=True)
class Claims:
    """Batch of claims that ``<a, x> < C`` holds at all points of the region, with one row per
    claim.

    `a` is a term, or minus the term for claims of the zero region. ``q`` is ``<a, Q>``, `n` an
    upper bound of ``||a||``, and ``product = <a, [Q]_K>`` is below C. `a_error`, `q_error` and
    `C_error` bound the errors of `a`, `q` and `C`.
    """

    a: np.ndarray
    a_error: np.ndarray
    q: np.ndarray
    q_error: np.ndarray
    n: np.ndarray
    C: np.ndarray
    C_error: np.ndarray
    product: np.ndarray

    def take(self, mask):
        return Claims(*(getattr(self, f.name)[mask] for f in fields(self)))


def passes(region, claims, y, plus, minus):
    """Return where a lower bound of ``g(y)`` is above ``r^2``, given the computed norms of the
    parts of Z.

    Both forms of g are evaluated: the first form does not cancel for small y, and the second form
    does not cancel for large y. The computed parts belong to an element whose distance from Z is at
    most `error` (rounding of a, of Z and of the split), and projections do not expand distances. A
    `minus` that is too small, or a `plus` that is too large, only weakens the bound.
    """
    norm = region.norm + y * claims.n
    error = (
        y * claims.a_error
        + (region.split_error + 4.0 * UNIT + gamma(region.center.size + 4)) * norm
    )
    minus = np.maximum(minus - error, 0.0)
    plus = plus + error
    linear = 2.0 * y * (claims.C - claims.q)
    square = (y * claims.n) ** 2
    allowance = (
        2.0
        * y
        * (claims.C_error + claims.q_error + 4.0 * UNIT * (np.abs(claims.C) + np.abs(claims.q)))
    )
    first = linear - square + minus**2 - 16.0 * UNIT * (np.abs(linear) + square + minus**2)
    constant = 2.0 * y * claims.C
    second = constant + region.norm_low * region.norm_low - plus**2
    second -= 16.0 * UNIT * (np.abs(constant) + region.norm_low * region.norm_low + plus**2)
    return np.maximum(first, second) - (allowance + 1e-300) * (1.0 + 8.0 * UNIT) > region.square


def certify_semidefinite(region, claims, max_iter):
    """Return which claims are certified, by dual ascent with a bracketed secant method in batches.

    A step costs a full eigendecomposition, or, for larger matrices and a center in the cone, only
    the lowest eigenpair. A claim is given up when ``Z_+`` is itself a counter-example, when the
    tangents of g at both ends of the bracket keep its maximum below ``r^2``, or after `max_iter`
    steps.
    """
    certified = np.zeros(claims.q.size, dtype=np.bool_)
    numbers = np.arange(claims.q.size)
    inside = region.minus_norm <= region.split_error * region.norm
    split = split_one if inside and len(region.center) >= PAIR_FROM else split_all
    bracket = _Bracket.start(region, claims)
    vectors = None
    y = np.maximum(claims.C - claims.q, claims.C - claims.product) / claims.n**2
    for _ in range(max_iter):
        # rounding may bring y below 0, where nothing is certified
        keep = (y >= 0.0) & (y * claims.n < LARGEST)
        numbers, claims, bracket, y, vectors = _take(keep, numbers, claims, bracket, y, vectors)
        if not numbers.size:
            break
        parts, vectors = split(region.center + y[:, None, None] * claims.a, claims.a, vectors)
        passed = passes(region, claims, y, parts.plus, parts.minus)
        certified[numbers[passed]] = True
        square = (y * claims.n) ** 2 + 2.0 * y * parts.minus_product + parts.minus**2
        counter = (parts.plus_product >= claims.C) & (square <= region.square)
        value = 2.0 * y * (claims.C - claims.q) - (y * claims.n) ** 2 + parts.minus**2
        bracket.update(y, value, claims.C - parts.plus_product)
        keep = ~passed & ~counter & (bracket.highest_value() > region.square)
        y = bracket.next(claims.n)
        numbers, claims, bracket, y, vectors = _take(keep, numbers, claims, bracket, y, vectors)
    return certified


def _take(mask, numbers, claims, bracket, y, vectors):
    """Return the state of a batch, restricted to the claims of a mask."""
    return (
        numbers[mask],
        claims.take(mask),
        bracket.take(mask),
        y[mask],
        None if vectors is None else vectors[mask],
    )


def certify_orthant(region, claims, max_iter):
    """Return which claims are certified. The best y is computed in one step from the points at
    which a coordinate of Z changes sign; `max_iter` is not used.

    ``<a, Z_+>`` is piecewise linear and does not decrease with y. The piece on which it reaches C
    follows from prefix sums, O(d log d) per claim.
    """
    Q = region.center
    a = claims.a
    enters = (a > 0.0) & (Q < 0.0)
    leaves = (a < 0.0) & (Q > 0.0)
    change = np.where(enters, 1.0, 0.0) - np.where(leaves, 1.0, 0.0)
    active = (Q > 0.0) | ((Q == 0.0) & (a > 0.0))
    breaks = np.where(change != 0.0, -Q / a, np.inf)
    order = np.argsort(breaks, axis=1)
    breaks = np.take_along_axis(breaks, order, axis=1)
    level = _on_pieces(a * Q, active, change, order)
    slope = _on_pieces(a * a, active, change, order)
    reached = level[:, :-1] + breaks * slope[:, :-1]
    piece = np.count_nonzero(np.isfinite(breaks) & (reached < claims.C[:, None]), axis=1)
    rows = np.arange(piece.size)
    level = level[rows, piece]
    slope = slope[rows, piece]
    y = (claims.C - level) / slope
    # at slope 0 no point of the cone reaches C, and g(y) >= 2 y (C - level) for all larger y
    beyond = (region.square + region.norm * region.norm) / (claims.C - level)
    y = np.where(slope > 1e-14 * claims.n**2, y, beyond)
    Z = Q + y[:, None] * a
    Z_plus = np.maximum(Z, 0.0)
    slope = np.where(Z > 0.0, a * a, 0.0).sum(axis=1)
    polished = y + (claims.C - (a * Z_plus).sum(axis=1)) / slope
    out = np.zeros(y.size, dtype=np.bool_)
    for candidate in (y, polished):
        usable = (candidate >= 0.0) & (candidate * claims.n < LARGEST)
        Z = Q + candidate[:, None] * a
        parts = (np.linalg.norm(np.maximum(sign * Z, 0.0), axis=1) for sign in (1.0, -1.0))
        out |= usable & passes(region, claims, candidate, *parts)
    return out


CERTIFICATES = {"eigenvalues": certify_semidefinite, "entries": certify_orthant}
"""Certificates by the value of :attr:`safescreen.cones.Cone.nonnegative`."""


def _on_pieces(values, active, change, order):
    """Return the sum of the values of the coordinates that are positive on each piece, shape (n,
    pieces). The `active` coordinates are positive on the first piece; `change` says which
    coordinates become positive (1) or stop being positive (-1), in the given `order`.
    """
    first = np.where(active, values, 0.0).sum(axis=1)
    changes = np.take_along_axis(change * values, order, axis=1)
    return np.column_stack((first, first[:, None] + np.cumsum(changes, axis=1)))


@dataclass(frozen=True)
class _Bracket:
    """Interval that contains the maximum of g: both ends, with g and half its slope at each end.
    The upper end may be infinite.
    """

    low: np.ndarray
    low_value: np.ndarray
    low_slope: np.ndarray
    high: np.ndarray
    high_value: np.ndarray
    high_slope: np.ndarray
    guess: np.ndarray
    same_side: np.ndarray

    @classmethod
    def start(cls, region, claims):
        size = claims.q.size
        return cls(
            low=np.zeros(size),
            low_value=np.full(size, region.minus_norm * region.minus_norm),
            low_slope=claims.C - claims.product,
            high=np.full(size, np.inf),
            high_value=np.full(size, np.nan),
            high_slope=np.full(size, np.nan),
            guess=np.full(size, np.nan),
            same_side=np.zeros(size, dtype=np.int64),
        )

    def take(self, mask):
        return _Bracket(*(getattr(self, f.name)[mask] for f in fields(self)))

    def update(self, y, value, slope):
        """Move one end to y, and keep the estimate of the secant method for :meth:`next`."""
        rising = slope > 0.0
        # the other point of the secant: the far end if it is finite, else the former lower end
        use_high = np.isfinite(self.high) & rising
        other = np.where(use_high, self.high, self.low)
        other_slope = np.where(use_high, self.high_slope, self.low_slope)
        self.guess[:] = y + slope * (y - other) / (other_slope - slope)
        up = np.maximum(self.same_side, 0) + 1
        down = np.minimum(self.same_side, 0) - 1
        self.same_side[:] = np.where(rising, up, down)
        for end, new in (("low", rising), ("high", ~rising)):
            for name, value_at_y in ((end, y), (f"{end}_value", value), (f"{end}_slope", slope)):
                np.copyto(getattr(self, name), value_at_y, where=new)

    def highest_value(self):
        """Return an upper bound of the maximum of g, at which the tangents at both ends meet."""
        a = 2.0 * self.low_slope
        b = 2.0 * self.high_slope
        step = (self.high_value - self.low_value - b * (self.high - self.low)) / (a - b)
        top = self.low_value + a * np.clip(step, 0.0, self.high - self.low)
        return np.where(np.isfinite(self.high), top, np.inf)

    def next(self, n):
        """Return the next y: the estimate of the secant method, or the middle after two steps on
        one side.

        ``0 <= -g''/2 <= n^2`` bounds the root on either side.
        """
        low, high = self.low + self.low_slope / n**2, self.high + self.high_slope / n**2
        bounded = np.isfinite(self.high)
        limit = np.where(bounded, high, 8.0 * low)
        middle = np.where(bounded, 0.5 * (low + high), limit)
        stuck = bounded & (np.abs(self.same_side) >= 2)
        return np.clip(np.where(np.isfinite(self.guess) & ~stuck, self.guess, middle), low, limit)
