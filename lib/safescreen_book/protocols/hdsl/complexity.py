"""How far the risk of a learned similarity can be from its training risk: Rademacher complexities by Monte Carlo, and bounds.

The class is the convex hull of the atoms ``scale (e_a +- e_b)(e_a +- e_b)'``, ``a < b``; there are ``d (d - 1)`` of them. A triplet is
admissible when its first two points have one label and its third another; the loss of any other triplet is zero. The first
``3 floor(n/3)`` points of a sample make ``floor(n/3)`` independent triplets.
"""

import math
from dataclasses import dataclass

import numpy as np

from safescreen._checks import check_lam, check_points, check_scalar, check_vector

__all__ = ["Bounds", "MonteCarlo", "largest_at_atoms", "largest_entry", "rademacher"]


@dataclass(frozen=True)
class Bounds:
    """Bounds of HDSL19 section 4, as printed and as they hold.

    Parameters
    ----------
    n : int >= 3
        Size of the sample.
    d : int >= 2
        Dimension of the points.
    scale : float > 0
        The factor of the atoms, lambda in the paper.
    entry_bound : float > 0
        ``B_X``, no entry of ``x (x' - x'')'`` is larger in size.
    loss_at_zero : float >= 0
        ``loss(0)`` of a loss that is non-negative and 1-Lipschitz; 1/2 for the smoothed hinge with gamma = 1.

    Notes
    -----
    The printed bounds count the k atoms of one matrix, where the supremum chooses among all ``d (d - 1)``. Those that hold are the same
    for every k. Derived in the notebook ``44-hdsl-generalization``.

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
    loss_at_zero: float = 0.5

    def __post_init__(self):
        _check_int(self.n, "n", 3)
        _check_int(self.d, "d", 2)
        check_lam(self.scale, "scale")
        check_scalar(self.entry_bound, "entry_bound", low=0.0, open_low=True)
        check_scalar(self.loss_at_zero, "loss_at_zero", low=0.0)

    @property
    def unit(self):
        """Return ``scale B_X``; no product of a triplet with the class is larger than four of it."""
        return self.scale * self.entry_bound

    def complexity(self, admissible=0.25):
        """Return ``4 scale B_X sqrt(2 p log(d (d - 1)) / floor(n/3))`` (HDSL19 Lemma 1, corrected).

        Parameters
        ----------
        admissible : float in [0, 1/4]
            Probability p that a triplet is admissible, which is at most 1/4 for any distribution of labels.

        Returns
        -------
        float
        """
        p = check_scalar(admissible, "admissible", low=0.0, high=0.25)
        return 4.0 * self.unit * math.sqrt(2.0 * p * math.log(self.d * (self.d - 1)) / (self.n // 3))

    def deviation(self, delta):
        """Return twice the complexity and ``(loss(0) + 4 scale B_X) sqrt(log(1/delta) / 2n)`` (HDSL19 Theorem 1, corrected).

        Parameters
        ----------
        delta : float in (0, 1)
            With probability ``1 - delta`` no risk of the class exceeds its training risk by more.

        Returns
        -------
        float
        """
        delta = _check_delta(delta)
        return 2.0 * self.complexity() + (self.loss_at_zero + 4.0 * self.unit) * math.sqrt(math.log(1.0 / delta) / (2.0 * self.n))

    def excess(self, delta, optimization):
        """Return `optimization`, twice the complexity and ``8 scale B_X sqrt(2 log(1/delta) / n)`` (HDSL19 Corollary 1, corrected).

        Parameters
        ----------
        delta : float in (0, 1)
        optimization : float >= 0
            Bound of how far the training risk of the solution is from the smallest: a Frank-Wolfe gap, or ``8 L scale^2 / (k' + 2)``
            after k' >= 1 steps that were not drop steps, at most ``16 L scale^2 / (k + 4)`` after k of any kind.

        Returns
        -------
        float
            With probability ``1 - delta`` the risk of the solution exceeds the smallest risk of the class by no more.
        """
        delta, optimization = _check_delta(delta), check_scalar(optimization, "optimization", low=0.0)
        return optimization + 2.0 * self.complexity() + 8.0 * self.unit * math.sqrt(2.0 * math.log(1.0 / delta) / self.n)

    def printed_complexity(self, k):
        """Return ``8 scale B_X sqrt(2 log(k) / floor(n/3))`` (HDSL19 Lemma 1 as printed); true if ``k^16 >= d (d - 1)``.

        Parameters
        ----------
        k : int >= 1
            Number of atoms.

        Returns
        -------
        float
        """
        return 8.0 * self.unit * math.sqrt(2.0 * math.log(_check_int(k, "k", 1)) / (self.n // 3))

    def printed_deviation(self, k, delta):
        """Return ``2 R_k + 12 scale B_X sqrt(2 log(2/delta) / n)`` (HDSL19 equation 13 with 14).

        Parameters
        ----------
        k : int >= 1
        delta : float in (0, 1)

        Returns
        -------
        float
        """
        tail = math.sqrt(2.0 * math.log(2.0 / _check_delta(delta)) / self.n)
        return 2.0 * self.printed_complexity(k) + 12.0 * self.unit * tail

    def printed_excess(self, k, delta, lipschitz):
        """Return ``16 L scale^2/(k + 2) + 2 R_k + 20 scale B_X sqrt(log(4/delta) / n)`` (HDSL19 Corollary 1 as printed).

        Parameters
        ----------
        k : int >= 1
            Number of iterations.
        delta : float in (0, 1)
        lipschitz : float >= 0
            L of the gradient, the mean of ``|A_t|_F^2``.

        Returns
        -------
        float
        """
        lipschitz = check_scalar(lipschitz, "lipschitz", low=0.0)
        tail = math.sqrt(math.log(4.0 / _check_delta(delta)) / self.n)
        return 16.0 * lipschitz * self.scale**2 / (k + 2) + 2.0 * self.printed_complexity(k) + 20.0 * self.unit * tail


@dataclass(frozen=True)
class MonteCarlo:
    """A mean over independent draws.

    Parameters
    ----------
    draws : array of shape (repeats,)
        One value a draw.
    """

    draws: np.ndarray

    @property
    def mean(self):
        """Return the mean."""
        return float(np.mean(self.draws))

    @property
    def error(self):
        """Return the standard error of the mean."""
        return float(np.std(self.draws, ddof=1) / math.sqrt(len(self.draws)))


def largest_entry(X):
    """Return ``B_X = max |x_a (x'_b - x''_b)|`` over all triplets of given points and all pairs of features (HDSL19 section 4.1).

    Parameters
    ----------
    X : array of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> largest_entry([[1.0, 0.0], [0.0, 0.5]])
    1.0
    """
    X = check_points(X)
    return float(np.abs(X).max() * np.ptp(X, axis=0).max())


def largest_at_atoms(X, y, sigma, scale, loss=None):
    """Return the largest of ``1/m sum_i sigma_i loss(<A_i, B>)`` over all atoms B, for the m independent triplets of a sample.

    Parameters
    ----------
    X : array of shape (n, d)
        Points, n >= 3 and d >= 2. With ``m = floor(n/3)``, triplet i is ``(i, i + m, i + 2m)`` and ``A_i = x_i (x_(i+m) - x_(i+2m))'``.
    y : array of shape (n,)
        Labels; triplets that are not admissible count as zero.
    sigma : array of shape (m,)
        Signs, or factors in [-1, 1].
    scale : float > 0
        Factor of the atoms.
    loss : loss, optional
        With ``value``. Left out: the identity, and then the result is the supremum over the whole convex hull, since a linear function is
        largest at an atom.

    Returns
    -------
    float

    Notes
    -----
    O(m d^2), exact up to rounding.

    Examples
    --------
    >>> largest_at_atoms(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0, 0, 1], [1.0], scale=1.0)
    2.0
    """
    X, scale = check_points(X), check_lam(scale, "scale")
    n, d = X.shape
    m = n // 3
    _check_int(n, "the number of points", 3)
    _check_int(d, "the dimension of X", 2)
    y, sigma = np.asarray(y), check_vector(sigma, m, "sigma", low=-1.0, high=1.0)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {y.shape}")
    admissible = np.flatnonzero((y[:m] == y[m : 2 * m]) & (y[:m] != y[2 * m : 3 * m]))
    if admissible.size == 0:
        return 0.0
    x, step, sigma = X[admissible], X[admissible + m] - X[admissible + 2 * m], sigma[admissible]
    if loss is None:
        G = x.T @ (sigma[:, None] * step)
        values = np.diag(G)[:, None] + np.diag(G) + np.abs(G + G.T)
        return float(scale * values[np.triu_indices(d, 1)].max() / m)
    best = -math.inf
    for a in range(d - 1):
        for sign in (1.0, -1.0):
            u = scale * (x[:, a, None] + sign * x[:, a + 1 :]) * (step[:, a, None] + sign * step[:, a + 1 :])
            best = max(best, float((sigma @ loss.value(u)).max()))
    return best / m


def rademacher(sample, n, scale, *, loss=None, repeats=200, seed=0):
    """Return the Rademacher complexity (HDSL19 equation 12) by Monte Carlo, every supremum exact.

    Parameters
    ----------
    sample : callable
        ``sample(n, rng)`` draws points of shape (n, d) and labels of shape (n,), independent and of one distribution.
    n : int >= 3
        Size of the sample.
    scale : float > 0
        Factor of the atoms.
    loss : loss, optional
        With it, the complexity of the losses of single atoms (k = 1), which is the smallest of all k. Left out: that of the products
        ``<A, M>``, the same for every k, which by contraction is at least that of the losses of any k.
    repeats : int >= 2
        Number of draws of sample and signs; each is used with its signs and with their negatives, so that ``loss(0)`` adds no variance.
    seed : int

    Returns
    -------
    MonteCarlo

    Examples
    --------
    >>> def sample(n, rng):
    ...     return rng.choice([-1.0, 1.0], (n, 5)), rng.integers(0, 2, n)
    >>> complexity = rademacher(sample, 30, scale=1.0)
    >>> complexity.mean < Bounds(30, 5, scale=1.0, entry_bound=2.0).complexity()
    True
    """
    _check_int(n, "n", 3)
    _check_int(repeats, "repeats", 2)
    rng = np.random.default_rng(seed)
    draws = np.empty(repeats)
    for r in range(repeats):
        X, y = sample(n, rng)
        sigma = rng.choice([-1.0, 1.0], n // 3)
        draws[r] = 0.5 * (largest_at_atoms(X, y, sigma, scale, loss) + largest_at_atoms(X, y, -sigma, scale, loss))
    return MonteCarlo(draws)


def _check_int(value, name, low):
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    return value


def _check_delta(delta):
    delta = check_scalar(delta, "delta", low=0.0, open_low=True)
    if delta >= 1.0:
        raise ValueError(f"delta must be less than 1, got {delta:g}")
    return delta
