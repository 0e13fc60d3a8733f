"""The program of the authors of STS18 and STS19 beside this library: the same triplets, the same
lam, the same relative gap, one core, CPU seconds.

    python benchmarks/authors.py FOLDER     # writes benchmarks/authors.csv, and the picture of it
    python benchmarks/authors.py --draw     # only the picture

FOLDER is their folder `SafeScreening`, in which `make` has compiled `run`; beside it lies their
`dataset/`, from which both sides read the points. The program is theirs and not part of this
checkout; CITATION.cff names the paper that it belongs to.

Their seconds are those that they print, of the path alone. Ours hold the building of the triplets
too. At every lam the two objectives are compared: they differ by no more than the two gaps and the
six digits that the program prints, or nothing is written.
"""

import argparse
import csv
import hashlib
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
PICTURE = HERE.parent / "notebooks" / "figures" / "gains.png"
TIMES = HERE.parent / "outputs" / "paper" / "51-path-time"
SETS = ("iris", "wine", "segment", "satimage", "phishing")
"""Of STS19 Figure 9, whose paths were run at the stop that the paper prints."""
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
    """Measure, compare, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", nargs="?", help="their folder SafeScreening, compiled")
    parser.add_argument("--draw", action="store_true", help="draw what has been measured")
    options = parser.parse_args()
    if options.folder:
        write([row for name in DATASETS for row in measured(Path(options.folder), name)])
    elif not options.draw:
        parser.error("give their folder, or --draw")
    draw(read())


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


def tables():
    """Return by data set the table of its paths at the papers' stop."""
    found = {}
    for name in SETS:
        with (TIMES / name / "table_time.csv").open(encoding="utf-8", newline="") as file:
            found[name] = {row["method"]: row for row in csv.DictReader(file)}
    return found


def checksum():
    """Return the checksum of what is drawn, which the picture names as its source."""
    paths = [ROWS, *(TIMES / name / "table_time.csv" for name in SETS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def draw(rows):
    """Draw how many times faster screening makes paths, here and in the paper, and the seconds of
    wine with two solvers, with and without screening.
    """
    import matplotlib.pyplot as plt

    ours, theirs, plain = "#1f6fb2", "#8a8f98", "#a9c7e3"
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.3), layout="constrained", gridspec_kw={"width_ratios": (1, 1.15)}
    )
    for place, (_, table) in enumerate(tables().items()):
        bars = (("factor of the paper", theirs, 0.2), ("factor", ours, -0.2))
        for key, colour, shift in bars:
            value = float(table["RRPB"][key])
            left.barh(place + shift, value, height=0.38, color=colour)
            left.text(value + 0.1, place + shift, f"{value:.1f}", va="center", fontsize=9)
    left.set_yticks(range(len(SETS)), SETS)
    left.invert_yaxis()
    left.set_xlim(0.0, 9.5)
    left.axvline(1.0, color="black", linewidth=0.8, linestyle=":")
    left.set_xlabel("times faster with RRPB than without screening")
    left.set_title("what screening gains", loc="left", fontsize=11)
    for label, colour in (("this library", ours), ("in the paper", theirs)):
        left.barh([0], [0], color=colour, label=label)
    left.legend(frameon=False, loc="lower right", fontsize=9)

    labels = {"authors": "authors' program", "safescreen": "this library"}
    chosen = [one for one in rows if one["dataset"] == "wine" and "auto" not in one["method"]]
    longest = max(float(one["seconds"]) for one in chosen)
    for place, one in enumerate(chosen):
        seconds = float(one["seconds"])
        is_plain = "no screening" in one["method"]
        colour = theirs if one["who"] == "authors" else (plain if is_plain else ours)
        right.barh(place, seconds, color=colour, height=0.66)
        text = f"{float(f'{seconds:.2g}'):g} s"
        right.text(seconds + 0.01 * longest, place, text, va="center", fontsize=9)
    methods = [one["method"].replace("triplets, ", "") for one in chosen]
    names = [labels[one["who"]] for one in chosen]
    ticks = [f"{name}: {method}" for name, method in zip(names, methods, strict=True)]
    right.set_yticks(range(len(chosen)), ticks)
    right.invert_yaxis()
    right.set_xlim(right=1.2 * longest)
    right.set_xlabel("CPU seconds of one core, a path over wine")
    right.set_title("what the solver gains", loc="left", fontsize=11)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=144, metadata={"Source": checksum(), "Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
