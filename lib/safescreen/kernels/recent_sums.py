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

    def expansion(self, space, coef, at=None, near=None):
        """Return ``sum_j coef_j z_j`` and remember it. It is computed from the nearest remembered
        one if few coefficients differ.

        `near` is one more expansion that is known; it stands in for a remembered one with its
        coefficients. See :meth:`KernelSpace.expansion` for `at`, and for the cost that this saves.
        """
        n_used = int(np.count_nonzero(coef))
        if n_used == 0:
            return space.zeros()
        expansions = self.expansions
        if near is not None:
            others = [e for e in expansions if not np.array_equal(e.coef, near.coef)]
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
