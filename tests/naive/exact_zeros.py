"""Which coordinates are 0 at the optimum over the non-negative cone, in 50 digits."""

import mpmath
import numpy as np
from mpmath import mpf

from naive.extremes import dot


def polished(exact_problem, x, lam):
    """Return the optimum that has the support of x and the terms of x in their regions: the
    solution of a linear system in 50 digits. The loss is smooth.
    """
    weight = mpf(float(lam))
    gamma = exact_problem.gamma
    support = [j for j, v in enumerate(x) if v > 0]
    system = mpmath.matrix(len(support), len(support))
    right = mpmath.matrix(len(support), 1)
    linear = list(exact_problem.linear)
    for a, m, tau in zip(exact_problem.A, exact_problem.margins(x), exact_problem.tau, strict=True):
        if m > tau:
            continue
        curved = m >= tau - gamma
        factor = tau / gamma if curved else mpf(1)
        linear = [c + factor * v for c, v in zip(linear, a, strict=True)]
        if curved:
            for p, j in enumerate(support):
                for q, k in enumerate(support):
                    system[p, q] += a[j] * a[k] / gamma
    for p, j in enumerate(support):
        system[p, p] += weight
        right[p] = linear[j]
    out = [mpf(0)] * len(x)
    if support:
        for j, v in zip(support, mpmath.lu_solve(system, right), strict=True):
            out[j] = max(v, mpf(0))
    return out


def certified(exact_problem, x, lam):
    """Return ``(best, may_be_zero)``: the better one of x and what it is polished to, and the
    features that may be 0 at the optimum, by a ball of slopes in 50 digits.
    """
    best = polished(exact_problem, x, lam)
    gaps = [exact_problem.gap(v, lam, exact_problem.alpha(v)) for v in (best, x)]
    if gaps[1] < gaps[0]:
        best = x
    reach = mpmath.sqrt(max(min(gaps), mpf(0)) / exact_problem.gamma) + mpf(10) ** -40
    H = exact_problem.H(exact_problem.alpha(best))
    columns = zip(*exact_problem.A, strict=True)
    norms = [mpmath.sqrt(dot(column, column)) for column in columns]
    return best, np.array([h - reach * n <= 0 for h, n in zip(H, norms, strict=True)])
