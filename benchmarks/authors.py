"""The program of the authors of STS18 and STS19 beside this library: the same triplets, the same
lam, the same relative gap, one core, CPU seconds.

    python benchmarks/authors.py FOLDER     # writes benchmarks/authors.csv

FOLDER is their folder `SafeScreening`, in which `make` has compiled `run`; beside it lies their
`dataset/`, from which both sides read the points. The program is theirs and not part of this
checkout; CITATION.cff names the paper that it belongs to.

Their seconds are those that they print, of the path alone. Ours hold the building of the triplets
too. At every lam the two objectives are compared: they differ by no more than the two gaps and the
six digits that the program prints, or nothing is written.
"""

import argparse
import csv
import re
import subprocess
import time
from datetime import date
from pathlib import Path
from statistics import median

import numpy as np

import safescreen as ss
from cases import GAMMA, GRIDS, LOSS, RTOL

HERE = Path(__file__).resolve().parent
ROWS = HERE / "authors.csv"
DATASETS = ("iris", "wine")
BOUNDS = {"RRPB": "RRPB"}
"""Of their balls, the one that the paper finds fastest on these data (STS19 Figure 9)."""
OURS = {
    "triplets, no screening": (ss.Triplets.from_labels, ()),
    "triplets, RRPB": (ss.Triplets.from_labels, ("RRPB",)),
    "triplets, auto": (ss.Triplets.from_labels, "auto"),
    "products, no screening": (ss.ProductTriplets, ()),
}
"""Rows of this library: a family of terms, and the screening of the path."""

FREQ = 10
"""They screen each ten iterations, as their own script does."""

PRINTED = 1e-5
"""Twice the rounding of six printed digits."""

ROUNDS = 2
"""Of each path; the median and the least are written."""


def main():
    """Measure, compare and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", help="their folder SafeScreening, compiled")
    folder = Path(parser.parse_args().folder)
    write([row for name in DATASETS for row in measured(folder, name)])


def measured(folder, name):
    """Yield the rows of one data set: theirs, then ours."""
    X, y = points(folder.parent / "dataset" / name)
    lams = None
    common = {"dataset": name, "n_triplets": len(ss.ProductTriplets(X, y)), "rtol": RTOL}
    theirs = {}
    for bound, method in BOUNDS.items():
        theirs[method] = their_path(folder, name, bound)
        lams = theirs[method]["lams"]
    for method, path in theirs.items():
        yield common | row("authors", method, path)
    triplet_path = path_of(X, y, lams)
    for method, (family, screening) in OURS.items():
        path = triplet_path(family, screening)
        for other in theirs.values():
            compare(path, other)
        yield common | row("safescreen", method, path)


def points(path):
    """Return points and labels of a file of theirs: a label, then the features."""
    table = np.loadtxt(path)
    return table[:, 1:], table[:, 0]


def their_path(folder, name, bound):
    """Run their program over its whole path; return lam, objectives, gaps and seconds."""
    start = GRIDS[name][1]
    command = ["./run", name, "999999", f"{start:g}", str(FREQ), bound, f"{RTOL:g}"]
    seconds = []
    for _ in range(ROUNDS):
        text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        seconds.append(float(re.search(r"Total time = (\S+)", text.stdout)[1]))
    solves = text.stdout.split("*******************")[1:]
    found = [re.findall(r"primal = (\S+), +dual = \S+, +gap = (\S+)", solve) for solve in solves]
    ratio = GRIDS[name][2]
    return {
        "lams": start * ratio ** np.arange(len(solves)),
        "primal": np.array([float(points[-1][0]) for points in found]),
        "gap": np.array([float(points[-1][1]) for points in found]),
        "iterations": sum(map(len, found)),
        "seconds": seconds,
    }


def path_of(X, y, lams):
    """Return a function that solves the path with a family of terms and a screening."""

    def path(family, screening):
        seconds = []
        for _ in range(ROUNDS + 1):  # the first compiles
            began = time.process_time()
            problem = ss.Problem(family(X, y), LOSS)
            solutions = ss.path(problem, lams, tol=0.0, rtol=RTOL, screening=screening)
            seconds.append(time.process_time() - began)
        return {
            "lams": lams,
            "primal": np.array([solution.primal for solution in solutions]),
            "gap": np.array([solution.gap for solution in solutions]),
            "iterations": sum(solution.n_iter for solution in solutions),
            "seconds": seconds[1:],
        }

    return path


def compare(ours, theirs):
    """Raise AssertionError where the two objectives cannot belong to the same optimum."""
    off = np.abs(ours["primal"] - theirs["primal"])
    allowed = ours["gap"] + theirs["gap"] + PRINTED * theirs["primal"]
    assert (off <= allowed).all(), f"they differ at lam {ours['lams'][off > allowed]}"


def row(who, method, path):
    """Return what is written of one path."""
    return {
        "who": who,
        "method": method,
        "n_lams": len(path["lams"]),
        "seconds": f"{median(path['seconds']):.4g}",
        "least": f"{min(path['seconds']):.4g}",
        "iterations": path["iterations"],
        "largest_relative_gap": f"{(path['gap'] / path['primal']).max():.2g}",
        "gamma": GAMMA,
        "version": ss.__version__,
        "machine": processor(),
        "day": date.today().isoformat(),
    }


def processor():
    """Return the name of the processor."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return re.search(r"model name\s*: (.*)", text)[1]


def write(rows):
    """Write the rows."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read():
    """Return the rows that are written."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
