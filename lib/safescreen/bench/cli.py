"""The command ``python -m safescreen.bench``: each measurement in a process of its own, with its number of threads."""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from safescreen.bench.cases import CASES, METHODS
from safescreen.bench.report import render, summarize
from safescreen.bench.samples import DATA

__all__ = ["main", "run"]

MEMORY = tuple(m for m in METHODS if m.terms == "triplets" and m.screening in ((), ("RRPB",), ("RRPB", "PGB")))
"""Paths whose memory is measured."""

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

EVALUATION_THREADS, CALLS = 2, 7
"""Threads of the evaluations of products, and how many calls are timed for each metric."""


def run(data=tuple(CASES), repeats=3, quick=False):
    """Measure everything.

    Parameters
    ----------
    data : sequence of str
        Data sets of the paths, from ``CASES``.
    repeats : int
        Rounds of timing.
    quick : bool
        Small instances, to see that it works.

    Returns
    -------
    dict
        Plain Python, ready for JSON: versions, machine, `paths`, `summary`, `memory`, `evaluations`, `samples`.

    Raises
    ------
    RuntimeError
        When a measurement fails; its own message is on the standard error.
    """
    from safescreen_book.datasets import available
    from safescreen_book.runner.fingerprint import environment

    found = environment()
    threads = {"paths": 1, "memory": 1, "samples": 1, "evaluations": min(EVALUATION_THREADS, found["cores"])}
    paths = [_measure("paths", threads, data=name, repeats=repeats, quick=quick) for name in data]
    memory = [_measure("memory", threads, data=data[0], method=METHODS.index(m), quick=quick) for m in MEMORY]
    samples = [_measure("samples", threads, data=name, repeats=repeats, quick=quick) for name in DATA if available(name)]
    evaluations = _measure("evaluations", threads, data="digits", calls=2 if quick else CALLS, quick=quick)
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "repeats": repeats,
        "cpu": _processor(),
        "cores": found["cores"],
        "machine": found["machine"],
        "versions": found["versions"],
        "threads": threads,
        "paths": paths,
        "summary": summarize(paths),
        "memory": memory,
        "samples": samples,
        "evaluations": {**evaluations, "threads": threads["evaluations"]},
    }


def main(argv=None):
    """Print the tables, and write JSON where asked to; return 0."""
    about = "Time and memory against a plain implementation, and time against LIBLINEAR."
    parser = argparse.ArgumentParser(prog="python -m safescreen.bench", description=about)
    parser.add_argument("--data", nargs="+", choices=list(CASES), default=list(CASES), help="data sets of the paths")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of timing, 3 if left out; the plain baseline always runs once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here too")
    parser.add_argument("--quick", action="store_true", help="small instances, to see that it works")
    args = parser.parse_args(argv)
    if args.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {args.repeats}")
    if args.json and not args.json.resolve().parent.is_dir():
        parser.error(f"--json: there is no folder {args.json.parent}")
    result = run(list(dict.fromkeys(args.data)), args.repeats, args.quick)
    print(render(result), end="")
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _measure(task, threads, **job):
    library = str(Path(__file__).resolve().parents[2])
    found = os.pathsep.join(filter(None, (library, os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": found, **dict.fromkeys(THREAD_VARIABLES, str(threads[task]))}
    command = [sys.executable, "-m", "safescreen.bench.worker", json.dumps({"task": task, **job})]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"measuring {task} of {job['data']} failed with code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def _processor():
    """Return the processor's name, as the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
