"""One measurement in a process of its own: ``python -m safescreen.bench.worker '{"task": "paths", ...}'``.

The number of threads is fixed by the environment before the first import. The last line printed is the result as JSON; progress goes
to the standard error.
"""

import gc
import json
import statistics
import sys
import time

import numpy as np

import safescreen as ss
from safescreen.bench import cases, memory
from safescreen.bench.baseline import plain_path
from safescreen.bench.samples import measure_samples

__all__ = ["main", "measure_evaluations", "measure_memory", "measure_paths"]


def measure_paths(data, repeats, quick):
    """Time the path of every method on one data set.

    Parameters
    ----------
    data : str
    repeats : int
        Rounds over the library's methods; the plain baseline runs once.
    quick : bool
        The small instance.

    Returns
    -------
    dict
        Sizes, seconds of compiling, and a list of records, one a method, the plain baseline last.
    """
    case = (cases.QUICK if quick else cases.CASES)[data]
    X, y = case.points()
    lams, methods = case.lams, cases.METHODS + cases.PLAIN
    started = time.process_time()
    tiny = case.tiny()
    for method in methods:
        _run(method, *tiny.points(), tiny.lams)
    compiling = time.process_time() - started
    runs = {method: [] for method in methods}
    for n in range(repeats):
        for method in methods if n == 0 else cases.METHODS:
            gc.collect()
            runs[method].append(_run(method, X, y, lams))
            _say(f"{data}: {method.terms} {method.name}, {runs[method][-1]['seconds']:.2f} s")
    records = [_record(method, found) for method, found in runs.items()]
    reference = np.array(records[0]["primal"])
    for record in records:
        record["objective_off"] = float(np.max(np.abs(np.array(record.pop("primal")) - reference) / reference))
    sizes = {"points": len(X), "dimension": X.shape[1], "triplets": len(ss.ProductTriplets(X, y))}
    grid = {"lam_first": lams[0], "lam_last": lams[-1], "ratio": case.ratio, "lams": len(lams)}
    return {"data": data, **sizes, **grid, "compile_seconds": compiling, "methods": records}


def measure_memory(data, method, quick):
    """Return the growth of memory at the peak of building explicit triplets and a path over them, `method` its place in ``METHODS``."""
    case = (cases.QUICK if quick else cases.CASES)[data]
    X, y = case.points()
    tiny, method = case.tiny(), cases.METHODS[method]
    _run(method, *tiny.points(), tiny.lams)
    before = memory.reset()
    _run(method, X, y, case.lams)
    growth, n = memory.peak() - before, len(ss.ProductTriplets(X, y))
    return {"data": data, "name": method.name, "triplets": n, "growth_bytes": growth, "bytes_per_triplet": growth / n}


def measure_evaluations(data, calls, quick):
    """Time calls that give primal, dual and gradient of all triplets of a data set as products, at three metrics.

    Parameters
    ----------
    data : str
    calls : int
        How many for each metric.
    quick : bool
        Every eighth point.

    Returns
    -------
    dict
        Sizes, for each metric (the all-linear solution at a part of ``lam_max``) median and least wall seconds, memory growth in bytes.
    """
    X, y = cases.Case(data, 1.0, 1.0, every=8 if quick else 1).points()
    loss = ss.SmoothedHinge(cases.GAMMA)
    small = ss.Problem(ss.ProductTriplets(X[:200], y[:200]), loss)  # large enough for threads
    small.evaluate(small.all_linear(), 1.0)
    before = memory.reset()
    started = time.perf_counter()
    prob = ss.Problem(ss.ProductTriplets(X, y), loss)
    build = time.perf_counter() - started
    lam_max, total = prob.lam_max(), prob.all_linear()
    points = []
    for part in (1.0, 1e-2, 1e-4):
        lam, seconds = part * lam_max, []
        for _ in range(calls):
            started = time.perf_counter()
            e = prob.evaluate(total / lam, lam)
            seconds.append(time.perf_counter() - started)
        _say(f"{data}: products at {part:g} lam_max, {min(seconds):.3f} s a call")
        values = {"primal": e.primal, "dual": e.dual}
        points.append({"part": part, "seconds": statistics.median(seconds), "best": min(seconds), **values})
    sizes = {"points": len(X), "dimension": X.shape[1], "triplets": len(prob)}
    return {"data": data, **sizes, "build_seconds": build, "calls": points, "growth_bytes": memory.peak() - before}


def _run(method, X, y, lams):
    """Return CPU seconds of building the terms and of the path, and what the path reached."""
    started = time.process_time()
    if method.terms == "products":
        terms = ss.ProductTriplets(X, y)
    else:
        terms = ss.Triplets.from_labels(X, y)
    if method.terms == "plain":
        index = terms.index
        started = time.process_time()  # a list of triplets is taken as given
        solutions = plain_path(X, index, lams, cases.GAMMA, cases.RTOL, screening=bool(method.screening))
        rates = [s.n_screened / len(index) for s in solutions]
        build, seconds = 0.0, time.process_time() - started
    else:
        built = time.process_time()
        prob = ss.Problem(terms, ss.SmoothedHinge(cases.GAMMA))
        limits = {"tol": cases.TOL, "rtol": cases.RTOL, "freq": cases.FREQ}
        solutions = ss.path(prob, lams, screening=method.screening, ranges=method.ranges, **limits)
        rates = [s.screening_rate for s in solutions]
        build, seconds = built - started, time.process_time() - built
    return {
        "build": build,
        "seconds": build + seconds,
        "iterations": sum(s.n_iter for s in solutions),
        "gap": max(s.gap / abs(s.primal) for s in solutions),
        "screened": float(np.mean(rates)),
        "primal": [s.primal for s in solutions],
    }


def _record(method, runs):
    seconds = [run["seconds"] for run in runs]
    last = {key: runs[-1][key] for key in ("iterations", "gap", "screened", "primal")}
    times = {"seconds": statistics.median(seconds), "best": min(seconds), "runs": seconds}
    times["build"] = statistics.median(run["build"] for run in runs)
    return {"terms": method.terms, "name": method.name, **times, **last}


def _say(text):
    print(text, file=sys.stderr, flush=True)


TASKS = {"samples": measure_samples, "paths": measure_paths, "memory": measure_memory, "evaluations": measure_evaluations}


def main(argv=None):
    """Run the task described by one JSON argument and print its result as JSON; returns 0."""
    [text] = sys.argv[1:] if argv is None else argv
    job = json.loads(text)
    print(json.dumps(TASKS[job.pop("task")](**job)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
