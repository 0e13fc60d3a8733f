"""Small random and adversarial problems, each with its elements written out: what the tests of
the core share.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse

import safescreen as ss
from naive import Naive, sample_elements, triplet_elements
from naive.exact import Exact, exact_samples, exact_triplets
from naive.features import FEATURES, size

KINDS = ("full", "diagonal", "dense", "csr")
WITH_KERNEL = (*KINDS, "kernel", "tiles")
"""Beside them, samples known through their products alone, of a matrix or computed when wanted;
their elements are not arrays.
"""
CONES = {
    "full": "psd",
    "diagonal": "nonneg",
    "dense": "free",
    "csr": "free",
    "kernel": "free",
    "tiles": "free",
}
GAMMAS = (0.0, 0.05, 0.5, 1.0)
ADVERSARIAL = (
    "duplicates",
    "near",
    "zeros",
    "ties",
    "tiny",
    "huge",
    "offset",
    "collinear",
    "outlier",
)


def points(data="normal", n=12, d=3, seed=0, offset=1e6):
    """Return labelled points ``(X, y)``, labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + 1.2 * y[:, None] * (np.arange(d) == 0)
    half = n // 2
    if data == "duplicates":
        X[half:] = X[: n - half]
    elif data == "near":  # the pairs of a triplet are nearly the same vector
        X[half:] = X[: n - half] + 1e-9 * rng.standard_normal((n - half, d))
    elif data == "zeros":
        X[:: max(2, n // 4)] = 0.0
    elif data == "ties":
        X = np.round(X)
    elif data == "tiny":
        X *= 1e-8
    elif data == "huge":
        X *= 1e8
    elif data == "offset":
        X += offset
    elif data == "collinear":
        X = np.outer(X[:, 0] + 3.0 * y, np.arange(1.0, d + 1.0))
    elif data == "outlier":
        X[1, 0] += 1e4
    elif data != "normal":
        raise ValueError(data)
    return X, y


@dataclass(frozen=True, eq=False)
class Instance:
    """Terms of a kind with the data they come from."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    index: np.ndarray | None
    terms: ss.terms.Terms

    @property
    def cone(self):
        return CONES[self.kind]

    @cached_property
    def A(self):
        if self.index is None:
            return sample_elements(self.X, self.y)
        return triplet_elements(self.X, self.index, self.kind == "diagonal")

    @cached_property
    def exact_elements(self):
        if self.index is None:
            return exact_samples(self.X, self.y)
        return exact_triplets(self.X, self.index, self.kind == "diagonal")

    def problem(self, gamma, **options):
        return ss.Problem(self.terms, ss.SmoothedHinge(gamma), **options)

    def naive(self, gamma, **options):
        return Naive(self.A, self.cone, gamma, **options)

    def exact(self, gamma, **options):
        return Exact(self.exact_elements, self.cone, gamma, **options)

    def lam(self, fraction):
        """Return a regularization parameter: `fraction` of the geometric mean of the median and
        the largest ``|<a_t, [sum_s a_s]_K>|``.
        """
        products = np.abs(self.terms.margins(self.problem(0.0).all_linear()))
        return fraction * float(np.sqrt(np.median(products)) * np.sqrt(products.max()))

    def feasible(self, rng, scale=1.0):
        """Return a random element of the cone with norm `scale`."""
        d = self.X.shape[1]
        if self.kind == "full":
            L = rng.standard_normal((d, rng.integers(1, d + 1)))
            x = L @ L.T
        else:
            x = rng.standard_normal(d)
            x = np.maximum(x, 0.0) if self.kind == "diagonal" else x
        if self.kind in ("kernel", "tiles"):
            x = self.terms.cone.check(rng.standard_normal(len(self.terms)))
        length = size(x)
        return x * (scale / length) if length else x


@lru_cache
def instance(kind, data="normal", n=None, d=3, k=3, seed=0):
    """Return the :class:`Instance` of a kind: triplets with a full or diagonal metric, dense or
    sparse samples.
    """
    if kind in ("full", "diagonal"):
        X, y = points(data, n or 12, d, seed)
        terms = ss.Triplets.from_labels(X, y, k=k, diagonal=kind == "diagonal")
        return Instance(kind, X, y, terms.index, terms)
    X, y = points(data, n or 40, d, seed, offset=50.0)  # not centred: conditioning is offset^2
    signs = 2.0 * y - 1.0
    if kind in ("kernel", "tiles"):
        # less than the matrix takes
        limit = {"max_gigabytes": 7.9e-9 * len(X) ** 2} if kind == "tiles" else {}
        terms = ss.KernelSamples.from_points(X, signs, "linear", **limit)
        FEATURES[terms.cone] = exact_samples(X, signs)
        return Instance(kind, X, signs, None, terms)
    return Instance(
        kind, X, signs, None, ss.Samples(X if kind == "dense" else sparse.csr_matrix(X), signs)
    )
