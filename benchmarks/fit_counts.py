"""Counted operations beside measured nanoseconds: what ``screening="auto"`` decides by.

    python benchmarks/fit_counts.py            # problems whose data are at hand, two minutes
    python benchmarks/fit_counts.py --small    # small parts of them

Each row is a problem, or a random part of its terms, as they are left after screening. `eval` is an
evaluation, `pass` a pass of screening with one ball, leaving out what it finds included: measured
microseconds, and the counted operations (terms.costs()) over measured
nanoseconds, 1 where they agree. Below them are the costs of a fit by non-negative least squares of
relative errors: nanoseconds for an entry of a product with the points, a coordinate of a pair, a
pair and a term, to be compared with the constants in the families.
"""

import argparse
import time
import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

import safescreen as ss
from bench_auto import CASES
from safescreen.solvers.counted import candidates
from safescreen.solvers.reduction import Reduction, reference

PARTS = (1.0, 0.3, 0.1, 0.03)
"""Which parts of the terms are left."""

TERMS = {
    "triplets": (
        "segment, relative gap",
        "iris, relative gap",
        "wine, relative gap",
        "wine, hinge",
        "phishing, triplets",
    ),
    "samples": ("shuttle", "ijcnn1", "a9a, sparse", "a9a, hinge", "breast-cancer"),
    "kernels": ("shuttle, kernel", "ijcnn1, kernel, hinge", "satimage, rows of a kernel"),
}


def main():
    """Print the table and the fits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small parts of the data")
    small = parser.parse_args().small
    rng = np.random.default_rng(0)
    warnings.simplefilter("ignore", ss.ConvergenceWarning)
    with threadpool_limits(1):
        for family, cases in TERMS.items():
            rows = []
            for case in cases:
                try:
                    rows += measured(case, small, rng)
                except pytest.skip.Exception as missing:
                    print(f"{case}: {missing}")
            if rows:
                show(family, rows)


def measured(case, small, rng):
    """Return for parts of a problem features, counts and nanoseconds of evaluations and passes."""
    budget = 0.02 if small else 0.5
    least = 50 if small else 500
    prob, lams, _ = CASES[case](small)
    lam = lams[len(lams) // 2]
    rows = []
    for part in PARTS:
        keep = rng.random(len(prob)) < part
        terms = prob.terms.select(keep) if part < 1.0 else prob.terms
        if len(terms) < least:
            break
        left = ss.Problem(terms, prob.loss)
        x = ss.solve(left, lam, rtol=1e-5, screening=()).x
        evaluation = left.evaluate(x, lam)
        test = candidates(left)[0]
        removed = []

        def screen(left=left, evaluation=evaluation, test=test, removed=removed):
            reduction = Reduction(left)
            reduction.screen((test,), reference(evaluation))
            removed.append(1.0 - len(reduction.problem) / len(left))

        rows.append(
            {
                "case": f"{case}, {len(terms):,} terms",
                "features": features(left),
                "eval": nanoseconds(lambda left=left, x=x: left.evaluate(x, lam), budget),
                "pass": nanoseconds(screen, budget),  # from the second on: norms are known
                "counted eval": terms.costs().evaluation,
                "counted pass": terms.costs().screening,
                "removed": removed[-1],
            }
        )
    return rows


def features(prob):
    """Return what operations are counted of."""
    terms = prob.terms
    if isinstance(terms, ss.Triplets):
        n, d = terms.points.X.shape
        n_pairs = len(terms.same_pairs) + len(terms.other_pairs)
        return {"n d^2": n * d * d, "pairs d": n_pairs * d, "pairs": n_pairs, "terms": len(terms)}
    if isinstance(terms, ss.Samples):
        return {"numbers": terms.stored, "terms": len(terms)}
    return {"terms": len(terms)}


def nanoseconds(work, budget):
    """Return the least processor time of a call, of as many as fit into a budget of seconds."""
    work()
    best = np.inf
    began = time.perf_counter()
    while time.perf_counter() - began < budget:
        start = time.process_time_ns()
        work()
        best = min(best, time.process_time_ns() - start)
    return float(best)


def show(family, rows):
    """Print the table of a family, and the fit."""
    print(f"\n{family}: microseconds, and counted over measured")
    for row in rows:
        evaluation = row["counted eval"] / row["eval"]
        screening = row["counted pass"] / row["pass"]
        print(
            f"  {row['case']:50s} eval {row['eval'] / 1e3:10.1f} {evaluation:5.2f}"
            f"   pass {row['pass'] / 1e3:10.1f} {screening:5.2f}"
            f"   removed {100.0 * row['removed']:3.0f} %"
        )
    names = list(rows[0]["features"])
    matrix = np.array([[row["features"][name] for name in names] for row in rows], dtype=float)
    matrix = np.column_stack((matrix, np.ones(len(rows))))
    for what in ("eval", "pass"):
        seconds = np.array([row[what] for row in rows])
        fitted, _ = nnls(matrix / seconds[:, None], np.ones(len(rows)))
        costs = zip([*names, "call"], fitted, strict=True)
        print(f"  fitted nanoseconds, {what}: " + ", ".join(f"{n} {cost:.3g}" for n, cost in costs))


if __name__ == "__main__":
    main()
