"""The last sums of samples with a kernel, from which the next sums are computed."""

import threading

import numpy as np

REMEMBERED = 4
"""How many sums are remembered. Each takes two numbers a sample, all together 64 bytes a sample."""


class RecentSums(threading.local):
    """The last expansions that were computed.

    A sum that is computed from them depends on them in its last digits. So each thread has a memory
    of its own, a copy has an empty memory, and a solve begins with an empty one
    (:meth:`Terms.afresh`).
    """

    def __init__(self):
        self.expansions = []

    def __reduce__(self):
        return RecentSums, ()

    def n_changes(self, coef):
        """Return in how many coefficients a sum differs from the nearest remembered one, or from 0
        if that is nearer.
        """
        changes = [np.count_nonzero(coef != known.coef) for known in self.expansions]
        return min([np.count_nonzero(coef), *changes])

    def expansion(self, space, coef, at=None, near=None):
        """Return ``sum_j coef_j z_j`` and remember it. It is computed from the nearest remembered
        one if few coefficients differ.

        `near` is one more expansion that is known; it stands in for a remembered one with its
        coefficients, unless that is known better. See :meth:`KernelSpace.expansion` for `at`, and
        for the cost that this saves.
        """
        n_used = int(np.count_nonzero(coef))
        if n_used == 0:
            return space.zeros()
        expansions = self.expansions
        if near is not None:
            others = []
            for known in expansions:
                if not np.array_equal(known.coef, near.coef):
                    others.append(known)
                elif known.error < near.error and _knows_as_much(known, near):
                    near = known
            expansions = [near, *others]
        changes = [int(np.count_nonzero(coef != known.coef)) for known in expansions]
        nearest = int(np.argmin(changes)) if changes else 0
        expansion = None
        if changes and 2 * changes[nearest] <= n_used:
            expansion = space.updated(expansions[nearest], coef, at)
        if expansion is None:
            expansion = space.expansion(coef, at)
        else:
            # a sequence of expansions keeps one place
            expansions = expansions[:nearest] + expansions[nearest + 1 :]
        self.expansions = [*expansions[1 - REMEMBERED :], expansion]
        return expansion


def _knows_as_much(one, other):
    """Return whether the image of an expansion is known wherever that of another one is."""
    return not (np.isnan(one.image) & ~np.isnan(other.image)).any()
