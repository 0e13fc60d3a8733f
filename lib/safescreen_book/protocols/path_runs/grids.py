"""The grid of lam of STS19: the part of a path on which there is something to screen."""

from dataclasses import dataclass, field

import numpy as np

import safescreen as ss


def algorithm(prob):
    """Return the options that make :func:`safescreen.solve` take the steps of STS19 Algorithm 1.

    They are projected gradient steps and need a smooth loss. For another loss, which the
    algorithm does not cover, the library chooses.
    """
    return {"method": "gradient" if prob.loss.gamma > 0.0 else "auto"}


@dataclass(frozen=True)
class LamGrid:
    """The lam of a path, the number of terms that can be screened at each of them, and the whole
    path from ``lam_max()`` on.

    `removable` counts the terms outside the quadratic piece of the loss at the solution: the
    denominator of the screening rate (STS19 section 7.1)."""

    lams: np.ndarray
    removable: np.ndarray
    path: ss.Path = field(repr=False)


def paper_grid(prob, ratio=0.9, n_lams=0, **options):
    """Return the :class:`LamGrid` of STS19 section 7.

    It is a part of the geometric sequence from ``prob.lam_max()``. It begins with the first lam at
    which a term is on the zero piece of the loss, and ends where the loss changes by less than 1 %
    relative to the step of lam.

    Parameters
    ----------
    prob : Problem
    ratio : float in (0, 1)
    n_lams : int
        The largest number of lam; 0 for no limit.
    **options
        For :func:`safescreen.path`: accuracy, and screening, which changes nothing but the time.
    """
    width = prob.loss.gamma
    counts = []
    zero = []

    def count(solution):
        margins = prob.terms.margins(solution.x)
        counts.append(int(np.count_nonzero((margins > 1.0) | (margins < 1.0 - width))))
        zero.append(bool((margins > 1.0).any()))
        return n_lams and sum(zero) >= n_lams

    path = ss.path(
        prob, ratio=ratio, keep_masks=False, callback=count, **{"max_lams": 20_000, **options}
    )
    if path.reason == "not converged":
        raise ValueError(
            "prob must reach the gap asked for at every lam of the paper's grid, and did not at "
            f"lam={path.lams[-1]:g}"
        )
    if True not in zero or path.reason == "length":
        found = "a path without end" if True in zero else "none"
        raise ValueError(
            "prob must have a term on the zero piece of the loss somewhere on its path, "
            f"found {found} at {len(zero)} lam"
        )
    start = zero.index(True)
    return LamGrid(path.lams[start:], np.array(counts[start:]), path)
