"""The optimal face of a small HDSL problem in exact fractions: all atoms that an optimum may use.

A guess of the optimum comes from an outside solver. The optimality conditions are then solved in
fractions on a basis of its atoms, and checked in fractions for all terms and all atoms. What is
returned is certain; where a guess cannot be completed None is."""

import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import optimize


def all_atoms(d):
    """Return all (i, j, sign), i < j."""
    return [(i, j, s) for i, j in combinations(range(d), 2) for s in (1, -1)]


def exact_scores(X, triplets, scale, atoms):
    """Return ``<A_t, B>`` by term and atom, lists of fractions."""
    points = [[Fraction(float(v)) for v in row] for row in np.asarray(X)]
    scores = []
    for x, y, z in np.asarray(triplets).tolist():
        row = []
        for i, j, s in atoms:
            p, q, r = (points[a][i] + s * points[a][j] for a in (x, y, z))
            row.append(Fraction(float(scale)) * p * (q - r))
        scores.append(row)
    return scores


def solve(matrix, right):
    """Solve a square system of fractions; None if it is singular."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                factor = rows[r][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def guess(scores, counts, width, cap):
    """Return margins, nearly optimal, from an outside solver."""
    import cvxpy as cp

    P = np.array(scores, dtype=float)
    weights = cp.Variable(P.shape[1], nonneg=True)
    slack = cp.pos(1.0 - P @ weights)
    losses = cp.square(slack) if cap is None else cp.huber(slack, width)
    program = cp.Problem(cp.Minimize(counts @ losses), [cp.sum(weights) == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate guess is judged in fractions
        program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return P @ weights.value


def sort_out(scores, counts, width, cap, u, tol):
    """Return which terms are on the quadratic piece, and the atoms of the face, within `tol`."""
    inside = (u < 1.0 + tol) & (u > (-np.inf if cap is None else 1.0 - width - tol))
    slopes = np.clip((1.0 - u) / width, 0.0, np.inf if cap is None else 1.0)
    products = -(counts * slopes) @ np.array(scores, dtype=float)
    size = max(1.0, np.abs(products).max())
    return inside, np.flatnonzero(products <= products.min() + 10.0 * tol * size)


def basis(P, u, inside, face, tol):
    """Return few atoms of the face whose combination has the margins u where they matter."""
    equal = np.vstack((P[inside][:, face], np.ones(face.size)))
    aim = np.append(u[inside], 1.0)
    size = np.maximum(np.abs(equal).max(axis=1), 1.0)[:, None]
    above, below = ~inside & (u >= 1.0), ~inside & (u < 1.0)
    limits = np.vstack((-P[above][:, face], P[below][:, face]))
    bounds = np.append(-u[above], u[below]) + tol
    m = len(aim)
    # the deviation from the margins that matter is made as small as it can be
    program = optimize.linprog(
        np.append(np.zeros(face.size), np.ones(2 * m)),
        A_ub=np.hstack((limits, np.zeros((len(limits), 2 * m)))) if len(limits) else None,
        b_ub=bounds if len(limits) else None,
        A_eq=np.hstack((equal / size, np.eye(m), -np.eye(m))),
        b_eq=aim / size[:, 0],
        method="highs-ds",
    )
    if program.status != 0:
        return None
    return face[program.x[: face.size] > 1e-9]


def optimal_face(X, triplets, scale, gamma=1.0, weights=None, squared=False):
    """Return the exact slopes and the set of atoms of the optimal face, or None.

    The face is ``argmin <G*, B>``, with the gradient that all optima share."""
    atoms = all_atoms(np.shape(X)[1])
    scores = exact_scores(X, triplets, scale, atoms)
    T = len(scores)
    counts = np.ones(T) if weights is None else np.asarray(weights, dtype=float)
    cap = None if squared else Fraction(1)
    width = Fraction(float(gamma))
    u = guess(scores, counts, float(width), cap)
    for tol in (1e-7, 1e-5, 1e-3, 1e-9):
        inside, face = sort_out(scores, counts, float(width), cap, u, tol)
        used = basis(np.array(scores, dtype=float), u, inside, face, tol)
        if used is None or not used.size:
            continue
        found = complete(scores, [Fraction(float(c)) for c in counts], width, cap, u, inside, used)
        if found is not None:
            slopes, best, products = found
            return slopes, {a for a, v in zip(atoms, products, strict=True) if v == best}
    return None


def complete(scores, counts, width, cap, u, inside, used):
    """Solve the optimality conditions on the atoms `used`, and check them for all."""
    rows, right = [], []
    for a in used:
        row = [Fraction(0)] * len(used) + [Fraction(-1)]
        fixed = Fraction(0)
        for t, c in enumerate(counts):
            if inside[t]:
                fixed -= c * scores[t][a] / width
                for k, b in enumerate(used):
                    row[k] += c * scores[t][a] * scores[t][b] / width
            elif u[t] < 1.0:
                fixed -= c * scores[t][a]
        rows.append(row)
        right.append(-fixed)
    rows.append([Fraction(1)] * len(used) + [Fraction(0)])
    right.append(Fraction(1))
    answer = solve(rows, right)
    if answer is None or min(answer[:-1]) < 0:
        return None
    slopes = []
    for t in range(len(scores)):
        margin = sum(w * scores[t][a] for w, a in zip(answer, used, strict=False))
        slope = max(Fraction(0), (1 - margin) / width)
        slopes.append(slope if cap is None else min(slope, cap))
    products = [
        -sum(c * g * row[k] for c, g, row in zip(counts, slopes, scores, strict=True))
        for k in range(len(scores[0]))
    ]
    best = min(products)
    if any(products[a] != best for a in used):
        return None
    return slopes, best, products
