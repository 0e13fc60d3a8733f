"""What is timed: data sets with their grids of lam, and methods."""

from dataclasses import dataclass

import numpy as np

__all__ = ["CASES", "ELSEWHERE", "GAMMA", "METHODS", "QUICK", "RTOL", "Case", "Method"]

GAMMA, RTOL, FREQ = 0.05, 1e-6, 10
"""Width of the smoothed hinge, relative duality gap to reach, iterations between screenings."""

TOL = 1e-300
"""Absolute gap: none, in effect."""


@dataclass(frozen=True)
class Case:
    """A data set, every `every`-th point of it, and a geometric grid of lam that ends above `end`."""

    data: str
    start: float
    end: float
    ratio: float = 0.9
    every: int = 1

    def points(self):
        """Return (X, y), each feature scaled to [-1, 1]."""
        from safescreen_book import datasets

        X, y = datasets.load(self.data, return_X_y=True)
        return np.ascontiguousarray(X[:: self.every]), y[:: self.every]

    @property
    def lams(self):
        """Grid of lam, decreasing."""
        n = int(np.log(self.start / self.end) / np.log(1.0 / self.ratio)) + 1
        return self.start * self.ratio ** np.arange(n)

    def tiny(self):
        """Return a small case of the same dimension, for compiling."""
        return Case(self.data, 3e4, 30.0, 0.4, 6)


@dataclass(frozen=True)
class Method:
    """Terms ("triplets", "products" or "plain") and how they are screened."""

    terms: str
    screening: tuple = ()
    ranges: bool = False

    @property
    def name(self):
        """Spheres joined by +, and whether ranges are kept."""
        return ("+".join(self.screening) or "none") + (" ranges" if self.ranges else "")


CASES = {"iris": Case("iris", 1.3e7, 2.3e1), "wine": Case("wine", 2.0e7, 5.1e1)}
QUICK = {name: Case(name, 3e4, 30.0, 0.6, 4) for name in CASES}

METHODS = (
    Method("triplets"),
    Method("triplets", ("GB",)),
    Method("triplets", ("PGB",)),
    Method("triplets", ("DGB",)),
    Method("triplets", ("MGB",)),
    Method("triplets", ("RRPB",)),
    Method("triplets", ("RRPB", "PGB")),
    Method("triplets", ("RRPB",), ranges=True),
    Method("products"),
    Method("products", ("MGB",)),
)

PLAIN = (Method("plain"), Method("plain", ("RRPB",)))

ELSEWHERE = {"iris": {"none": 55.6, "PGB": 19.5, "RRPB": 12.5}, "wine": {"none": 274.3, "RRPB": 65.9}}
"""CPU seconds of the C++ program of the authors of STS19 on the same grids, on another machine with two cores."""
