"""Bookkeeping of screening: which terms are certain, and the problem that is left."""

import numpy as np

from safescreen.rules import RULES, Screened
from safescreen.rules.ball import reach
from safescreen.spheres import SPHERES, Reference

__all__ = ["Reduction", "parse_screening", "reference"]

SHRINK = 0.05
"""Screened terms leave the arrays once they are this part of what is left."""


def parse_screening(screening):
    """Return ``[(sphere family, rule)]`` of names such as ``"PGB"`` or ``"GB+halfspace"``.

    The sphere's name comes from ``SPHERES``, the rule's from ``RULES`` ("sphere" where none is given).
    """
    if isinstance(screening, str):
        raise TypeError(f"screening must be a sequence of names, got the string {screening!r}; write ({screening!r},)")
    parsed = []
    for name in screening:
        sphere, _, rule = str(name).partition("+")
        rule = rule or "sphere"
        if sphere not in SPHERES:
            raise ValueError(f"screening: unknown sphere {sphere!r}, the known ones are {', '.join(SPHERES)}")
        if rule not in RULES:
            raise ValueError(f"screening: unknown rule {rule!r}, the known ones are {', '.join(RULES)}")
        parsed.append((SPHERES[sphere], rule))
    return parsed


class Reduction:
    """A problem, what is known of its terms, and the reduced problem that follows.

    Attributes
    ----------
    whole, problem : Problem
        The problem passed in, and the one that is left.
    status : int8 array of shape (T,) or None
        0 undecided, 1 certainly linear, 2 certainly zero; None when terms are screened in blocks.
    """

    def __init__(self, whole, status=None):
        self.whole = self.problem = whole
        self.explicit = whole.terms.explicit
        self.n_L = self.n_R = 0
        self._ids = None
        self.status = None
        if self.explicit:
            self.status = np.zeros(len(whole), dtype=np.int8) if status is None else status
            if status is not None:
                self.n_L, self.n_R = int(np.count_nonzero(status == 1)), int(np.count_nonzero(status == 2))
                self._compress(status)

    def screen(self, families, reference_of):
        """Screen with each family in turn.

        Parameters
        ----------
        families : list of (SphereFamily, rule name)
        reference_of : callable
            ``reference_of(problem) -> Reference`` for the problem that is left.

        Returns
        -------
        bool
            Whether the problem that is left has changed.
        """
        changed = False
        for family, rule in families:
            if len(self.problem) == 0:
                break
            ball = family.build(reference_of(self.problem))
            if reach(ball):
                changed |= self.apply(ball, rule)
        return changed

    def apply(self, ball, rule="sphere"):
        """Screen the terms that are left with one ball; return whether the problem changed."""
        if not self.explicit:
            return self._apply_blocks(ball)
        found = RULES[rule](self.problem, ball)
        return self.record(found)

    def record(self, found):
        """Take up masks over the terms that are left; return whether the problem changed."""
        here = self.status if self._ids is None else self.status[self._ids]
        new_L, new_R = found.in_L & (here == 0), found.in_R & (here == 0)
        self.n_L += int(np.count_nonzero(new_L))
        self.n_R += int(np.count_nonzero(new_R))
        here[new_L], here[new_R] = 1, 2
        if self._ids is not None:
            self.status[self._ids] = here
        if np.count_nonzero(here) < max(1.0, SHRINK * here.size):
            return False
        self._compress(here)
        return True

    def _compress(self, here):
        self.problem = self.problem.reduce(here == 1, here == 2)
        left = np.flatnonzero(here == 0).astype(np.int32)
        self._ids = left if self._ids is None else self._ids[left]

    def _apply_blocks(self, ball):
        left, total, error, n_L, n_R = self.problem.terms.screen_blocks(ball, self.problem.loss)
        if n_L + n_R == 0:
            return False
        self.n_L, self.n_R = self.n_L + n_L, self.n_R + n_R
        constant = n_L * (float(left.threshold) - 0.5 * self.problem.loss.gamma)
        self.problem = self.problem.with_linear_part(left, total, error, constant)
        return True

    def screened(self):
        """Return the masks over all terms."""
        return Screened(self.status == 1, self.status == 2)

    def expand(self, alpha):
        """Return a dual point of the whole problem from one of the problem that is left."""
        if self._ids is None:
            return alpha
        full = (self.status == 1).astype(np.float64)
        full[self._ids] = alpha
        return full

    def restrict(self, alpha):
        """Return the entries of a dual point of the whole problem that belong to the terms that are left."""
        return alpha if self._ids is None else alpha[self._ids]


def reference(evaluation, path=None):
    """Return a function that makes a :class:`Reference` of whatever problem is left at an evaluated point."""
    return lambda problem: Reference(problem, evaluation, path)
