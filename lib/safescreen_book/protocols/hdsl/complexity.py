"""Bounds of the distance between the risk of a learned similarity and its training risk, and
Rademacher complexities by Monte Carlo.

The class is the convex hull of the atoms ``scale (e_a +- e_b)(e_a +- e_b)'``, ``a < b``; there are
``d (d - 1)`` of them. A triplet is admissible when its first two points have one label and its
third another; the loss of any other triplet is zero. The first ``3 floor(n/3)`` points of a sample
make ``floor(n/3)`` independent triplets. Derived in the notebooks ``44b-complexity-of-atoms``
and ``44c-risk-of-a-learned-similarity``."""

import math
from dataclasses import dataclass

import numpy as np

from safescreen._checks import (
    LARGEST_INT,
    check_count,
    check_lam,
    check_points,
    check_scalar,
    check_vector,
)

ROOT = math.sqrt(2.0)


@dataclass(frozen=True)
class Bounds:  # numpydoc ignore=PR02
    """The bounds of HDSL19 section 4 for a non-negative 1-Lipschitz loss that is 1/2 at 0, both as
    printed and corrected.

    The printed bounds count the k atoms of one matrix. But the supremum chooses among all
    ``d (d - 1)`` atoms, so the corrected bounds are the same for every k.

    Parameters
    ----------
    n, d : int
        Size of the sample, at least 3, and dimension of the points, at least 2.
    scale : float > 0
        The factor of the atoms, lambda in the paper.
    entry_bound : float > 0
        ``B_X``, no entry of ``x (x' - x'')'`` is larger in size.

    Examples
    --------
    >>> bounds = Bounds(n=300, d=100, scale=1.0, entry_bound=1.0)
    >>> bounds.printed_complexity(k=1), round(bounds.complexity(), 3)
    (0.0, 0.858)
    """

    n: int
    d: int
    scale: float
    entry_bound: float

    def __post_init__(self):
        _check_size(self.n, "n", 3)
        _check_size(self.d, "d", 2)
        check_lam(self.scale, "scale")
        check_lam(self.entry_bound, "entry_bound")

    @property
    def unit(self):
        """``scale B_X``; no product of a triplet with the class is larger than four of it."""
        return self.scale * self.entry_bound

    def _tail(self, factor, delta):
        """``sqrt(log(factor/delta) / n)``."""
        return math.sqrt(
            math.log(
                factor / check_scalar(delta, "delta", low=0.0, high=1.0 - 1e-12, open_low=True)
            )
            / self.n
        )

    def complexity(self, admissible=0.25):
        """Return ``4 scale B_X sqrt(2 p log(d (d - 1)) / floor(n/3))`` (HDSL19 Lemma 1, corrected).

        `admissible` is the probability p that a triplet is admissible, at most 1/4 for any
        distribution of labels."""
        p = check_scalar(admissible, "admissible", low=0.0, high=0.25)
        return (
            4.0 * self.unit * math.sqrt(2.0 * p * math.log(self.d * (self.d - 1)) / (self.n // 3))
        )

    def deviation(self, delta):
        """Return twice the complexity and ``(1/2 + 4 scale B_X) sqrt(log(1/delta) / 2n)`` (HDSL19
        Theorem 1, corrected).

        With probability ``1 - delta`` no risk of the class exceeds its training risk by more.
        """
        return 2.0 * self.complexity() + (0.5 + 4.0 * self.unit) * self._tail(1.0, delta) / ROOT

    def excess(self, delta, optimization):
        """Return `optimization`, twice the complexity and ``8 scale B_X sqrt(2 log(1/delta) / n)``
        (HDSL19 Corollary 1, corrected).

        With probability ``1 - delta`` the risk of the solution exceeds the smallest risk of the
        class by no more. `optimization` bounds how far its training risk is from the smallest: a
        Frank-Wolfe gap, or ``8 L scale^2 / (k' + 2)`` after k' >= 1 steps that were not drop steps,
        at most ``16 L scale^2 / (k + 4)`` after k of any kind."""
        optimization = check_scalar(optimization, "optimization", low=0.0)
        return (
            optimization + 2.0 * self.complexity() + 8.0 * ROOT * self.unit * self._tail(1.0, delta)
        )

    def printed_complexity(self, k):
        """Return ``8 scale B_X sqrt(2 log(k) / floor(n/3))`` for k atoms (HDSL19 Lemma 1 as
        printed); true if ``k^16 >= d (d - 1)``.
        """
        return 8.0 * self.unit * math.sqrt(2.0 * math.log(check_count(k, "k")) / (self.n // 3))

    def printed_deviation(self, k, delta):
        """Return ``2 R_k + 12 scale B_X sqrt(2 log(2/delta) / n)`` (HDSL19 equation 13 with 14)."""
        return 2.0 * self.printed_complexity(k) + 12.0 * ROOT * self.unit * self._tail(2.0, delta)

    def printed_excess(self, k, delta, lipschitz):
        """Return ``16 L scale^2/(k + 2) + 2 R_k + 20 scale B_X sqrt(log(4/delta) / n)`` (HDSL19
        Corollary 1 as printed).

        k counts iterations; `lipschitz` is L of the gradient, the mean of ``|A_t|_F^2``.
        """
        slow = 16.0 * check_scalar(lipschitz, "lipschitz", low=0.0) * self.scale**2 / (k + 2)
        return slow + 2.0 * self.printed_complexity(k) + 20.0 * self.unit * self._tail(4.0, delta)


@dataclass(frozen=True)
class MonteCarlo:
    """Independent draws, shape (repeats,), their mean and its standard error."""

    draws: np.ndarray

    @property
    def mean(self):
        """The mean."""
        return float(np.mean(self.draws))

    @property
    def error(self):
        """The standard error of the mean."""
        return float(np.std(self.draws, ddof=1) / math.sqrt(len(self.draws)))


def largest_entry(X):
    """Return ``B_X = max |x_a (x'_b - x''_b)|`` over all triplets of given points and all pairs of
    features (HDSL19 section 4.1).

    >>> largest_entry([[1.0, 0.0], [0.0, 0.5]])
    1.0
    """
    X = check_points(X)
    return float(np.abs(X).max() * np.ptp(X, axis=0).max())


def largest_at_atoms(X, y, sigma, scale, loss=None):
    """Return the largest of ``1/m sum_i sigma_i loss(<A_i, B>)`` over all atoms B, for the m
    independent triplets of a sample.

    With ``m = floor(n/3)``, triplet i is ``(i, i + m, i + 2m)`` and
    ``A_i = x_i (x_(i+m) - x_(i+2m))'``. Exact up to rounding, in O(m d^2). Without a loss (the
    identity) it is the supremum over the whole convex hull: a linear function is largest at an
    atom.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        Points, n >= 3 and d >= 2, and labels; triplets that are not admissible count as zero.
    sigma : array of shape (m,)
        Signs, or factors in [-1, 1].
    scale : float > 0
        Factor of the atoms.
    loss : loss, optional

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> largest_at_atoms(X, [0, 0, 1], [1.0], scale=1.0)
    2.0
    """
    X = check_points(X)
    scale = check_lam(scale, "scale")
    y = np.asarray(y)
    n, d = X.shape
    _check_size(n, "the number of points", 3)
    _check_size(d, "the dimension of X", 2)
    m = n // 3
    sigma = check_vector(sigma, m, "sigma", low=-1.0, high=1.0)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {y.shape}")
    admissible = np.flatnonzero((y[:m] == y[m : 2 * m]) & (y[:m] != y[2 * m : 3 * m]))
    if admissible.size == 0:
        return 0.0
    x = X[admissible]
    step = X[admissible + m] - X[admissible + 2 * m]
    sigma = sigma[admissible]
    if loss is None:
        G = x.T @ (sigma[:, None] * step)
        values = np.diag(G)[:, None] + np.diag(G) + np.abs(G + G.T)
        return float(scale * values[np.triu_indices(d, 1)].max() / m)
    best = -math.inf
    for a in range(d - 1):
        for sign in (1.0, -1.0):
            u = (
                scale
                * (x[:, a, None] + sign * x[:, a + 1 :])
                * (step[:, a, None] + sign * step[:, a + 1 :])
            )
            best = max(best, float((sigma @ loss.value(u)).max()))
    return best / m


def rademacher(sample, n, scale, *, loss=None, repeats=200, seed=0):
    """Return the Rademacher complexity (HDSL19 equation 12) by Monte Carlo, every supremum exact, a
    :class:`MonteCarlo`.

    Parameters
    ----------
    sample : callable
        ``sample(n, rng)`` draws points of shape (n, d) and labels of shape (n,), independent and of
        one distribution.
    n : int >= 3
    scale : float > 0
    loss : loss, optional
        With it, the complexity of the losses of single atoms (k = 1), which is the smallest of all
        k. Left out: that of the products ``<A, M>``, the same for every k, which by contraction is
        at least that of the losses of any k.
    repeats : int >= 2
        Draws of sample and signs; each is used with its signs and with their negatives, so that
        ``loss(0)`` adds no variance.
    seed : int

    Examples
    --------
    >>> def sample(n, rng):
    ...     return rng.choice([-1.0, 1.0], (n, 5)), rng.integers(0, 2, n)
    >>> complexity = rademacher(sample, 30, scale=1.0)
    >>> complexity.mean < Bounds(30, 5, scale=1.0, entry_bound=2.0).complexity()
    True
    """
    _check_size(n, "n", 3)
    _check_size(repeats, "repeats", 2)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(repeats):
        X, y = sample(n, rng)
        sigma = rng.choice([-1.0, 1.0], n // 3)
        draws.append(
            0.5
            * (
                largest_at_atoms(X, y, sigma, scale, loss)
                + largest_at_atoms(X, y, -sigma, scale, loss)
            )
        )
    return MonteCarlo(np.array(draws))


def _check_size(value, name, low):
    """Raise for what is no number of things; a formula takes more of them than an array has."""
    countable = min(value, LARGEST_INT) if isinstance(value, int) else value
    if check_count(countable, name) < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
