"""Paths of support vector machines against LIBLINEAR, which starts anew for each C."""

import gc
import statistics
import sys
import time
import warnings

import numpy as np
from scipy import sparse

import safescreen as ss

__all__ = ["DATA", "OUTSIDE", "PATHS", "measure_samples", "render_samples"]

DATA = ("breast-cancer", "mushrooms", "ijcnn1")
"""Data sets; those that are not here are left out."""

RTOL, LENGTH, C_MAX = 1e-6, 100, 1e4
"""Relative duality gap to reach; a geometric grid of so many C from ``C_min`` up to `C_MAX`, as in SSS14."""

PATHS = {
    "none": {"screening": ()},
    "BT1": {"screening": ("MGB",), "dynamic": ()},
    "IT": {"screening": ("MGB&BT2",), "dynamic": ()},
    "MGB": {"screening": ("MGB",)},
    "IT, MGB": {"screening": ("MGB&BT2",), "dynamic": ("MGB",)},
    "RRPB ranges": {"screening": ("RRPB",), "ranges": True},
}
"""Screening before each C and while it is solved, as options of :func:`safescreen.path`."""

OUTSIDE, MAX_ITER = "LIBLINEAR", 20_000
"""The outside solver, and how many iterations it gets, twenty times its default."""

ROW = "  {:13} {:>8} {:>8} {:>9} {:>15} {:>11} {:>9}"

TOLERANCES = 10.0 ** -np.arange(1, 10)
"""LIBLINEAR's own tolerances, of which the largest that is good enough is timed."""


def measure_samples(data, repeats, quick):
    """Time the path of every method on one data set, and LIBLINEAR for every C.

    Parameters
    ----------
    data : str
    repeats : int
        Rounds.
    quick : bool
        Six values of C only.

    Returns
    -------
    dict
        Sizes and a list of records, one a method, LIBLINEAR last: CPU seconds, iterations, largest relative gap, mean rate of screening.
        LIBLINEAR's time is that of the largest of its tolerances with which the objective is within the relative gap of the optimum, for
        each C; the search for that tolerance is not counted, nor is the transformation of the data.
    """
    from safescreen_book import datasets

    X, y = datasets.load(data, return_X_y=True)
    y = np.where(y == np.unique(y)[0], -1.0, 1.0)
    if sparse.issparse(X):
        X = sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    prob = ss.Problem(ss.Samples(X, y), ss.Hinge())
    lams = prob.lam_max() * np.geomspace(0.98, 1.0 / (C_MAX * prob.lam_max()), 6 if quick else LENGTH)
    limits = {"tol": 1e-300, "rtol": RTOL}
    for options in PATHS.values():  # compile
        ss.path(prob, lams[[0, 2, -1]], **limits, **options)
    runs = {name: [] for name in PATHS}
    for _ in range(repeats):
        for name, options in PATHS.items():
            gc.collect()
            started = time.process_time()
            path = ss.path(prob, lams, **limits, **options)
            runs[name].append(time.process_time() - started)
            _say(f"{data}: samples {name}, {runs[name][-1]:.2f} s")
            if len(runs[name]) == 1:
                runs[name] = [path, runs[name][0]]
    records = [_record(name, path, seconds) for name, (path, *seconds) in runs.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)  # any dual value is a lower bound
        dual = np.array([s.primal - s.gap for s in ss.path(prob, lams, tol=1e-300, rtol=0.03 * RTOL)])
    records.append(_liblinear(prob, X, y, lams, dual, repeats))
    _say(f"{data}: {OUTSIDE}, {records[-1]['seconds']:.2f} s")
    return {"data": data, "samples": len(prob), "dimension": X.shape[1], "Cs": len(lams), "methods": records}


def _record(name, path, seconds):
    return {
        "name": name,
        "seconds": statistics.median(seconds),
        "best": min(seconds),
        "iterations": sum(s.n_iter for s in path),
        "gap": max(s.gap / s.primal for s in path),
        "screened": float(np.mean([s.screening_rate for s in path])),
    }


def _liblinear(prob, X, y, lams, dual, repeats):
    """Return the record of LIBLINEAR, cold for each C; `dual` are lower bounds of the optima."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    seconds, n_iter, off, missed, first = np.zeros(repeats), 0, 0.0, 0, 0
    for lam, lowest in zip(lams, dual, strict=True):
        for k in range(max(first - 1, 0), len(TOLERANCES)):
            model = LinearSVC(loss="hinge", C=1.0 / lam, fit_intercept=False, tol=TOLERANCES[k], max_iter=MAX_ITER, random_state=0)
            times = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                for _ in range(repeats):
                    started = time.process_time()
                    model.fit(X, y)
                    times.append(time.process_time() - started)
            primal = prob.primal(model.coef_.ravel(), lam)
            relative = (primal - lowest) / primal
            if relative <= RTOL or model.n_iter_ >= MAX_ITER:
                first = k
                break
        missed += relative > RTOL
        seconds += times
        n_iter, off = n_iter + int(model.n_iter_), max(off, relative)
    times = {"seconds": float(np.median(seconds)), "best": float(seconds.min())}
    return {"name": OUTSIDE, **times, "iterations": n_iter, "gap": off, "screened": 0.0, "missed": int(missed)}


def render_samples(found):
    """Return the lines of a table for each data set, and of the totals."""
    lines, total = [], {}
    for path in found:
        lines += ["", f"{path['data']}: {path['samples']:,} samples in {path['dimension']} dimensions, {path['Cs']} values of C"]
        lines.append(f"  from C_min to {C_MAX:g}; CPU seconds on one thread, median and least; relative gap {RTOL:g}")
        lines.append(f"  {OUTSIDE}: cold for each C, its own tolerance the largest with the objective within that of the optimum")
        lines.append(ROW.format("method", "seconds", "least", "off/this", OUTSIDE + "/this", "iterations", "screened"))
        seconds = {r["name"]: r["seconds"] for r in path["methods"]}
        for r in path["methods"]:
            total[r["name"]] = total.get(r["name"], 0.0) + r["seconds"]
            times = f"{r['seconds']:.3f}", f"{r['best']:.3f}"
            ratios = f"{seconds['none'] / r['seconds']:.2f}", f"{seconds[OUTSIDE] / r['seconds']:.2f}"
            lines.append(ROW.format(r["name"], *times, *ratios, r["iterations"], f"{r['screened']:.1%}"))
        if path["methods"][-1]["missed"]:
            lines.append(f"  {OUTSIDE} did not get there in {MAX_ITER:,} iterations for {path['methods'][-1]['missed']} values of C")
    lines += ["", f"In total ({', '.join(path['data'] for path in found)}), CPU seconds, and how many times faster than {OUTSIDE}:"]
    lines += [f"  {name:13} {seconds:8.3f} {total[OUTSIDE] / seconds:8.2f}" for name, seconds in total.items()]
    return lines


def _say(text):
    print(text, file=sys.stderr, flush=True)
