"""This version beside an earlier one, in turn: CPU seconds of one thread, both to the same gaps.

    git worktree add ../earlier COMMIT
    python benchmarks/versions.py ../earlier               # some forty minutes
    python benchmarks/versions.py ../earlier -k "rbf"      # works whose name contains this

Each version is a process of its own. A work is done once by both, which compiles it, and then in
turn until it has taken `ENOUGH` seconds, three to nine times. The table has the least seconds of
each, their ratio, and the largest gap that each certifies, relative to the objective. At the end
new processes import and fit once: with kernels that were kept, and with none.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
ENOUGH = 20.0
"""Seconds after which a work is not done again."""

FIRST = {
    "SafeSVC": "SafeSVC().fit(X, y)",
    "SafeSVC, rbf": "SafeSVC(kernel='rbf').fit(X, y)",
    "TripletMetric": "TripletMetric().fit(X, y)",
    "path": "path(ss.Problem(ss.Triplets.from_labels(X, y, 3), ss.SmoothedHinge()), max_lams=9)",
}
"""What a new process does first, by name."""

START = """
import time
started = time.process_time()
import numpy as np
import safescreen as ss
X = np.random.default_rng(0).standard_normal((100, 5))
y = np.where(X[:, 0] + X[:, 1] > 0.0, 1, -1)
ss.{work}
print(time.process_time() - started)
"""


def rows(name, every=1, classes=None):
    """Return points and labels; the labels are -1 and 1 for two classes, of the halves of them."""
    from safescreen_book import datasets

    X, y = datasets.load(name, return_X_y=True)
    X, y = X[::every].copy(), y[::every]
    if classes == 2:
        y = np.where(np.isin(y, np.unique(y)[: np.unique(y).size // 2]), -1, 1)
    return X, y


def of_path(family, X, y, loss, lams, **options):
    """Return a work: terms and a path, and the largest gap of its solutions."""
    import safescreen as ss

    def work():
        path = ss.path(ss.Problem(family(X, y), loss), lams, rtol=1e-6, tol=0.0, **options)
        return max(s.gap / s.primal for s in path)

    return work


def triplets(name, k, length, *, every=1, ratio=0.9, hinge=False, family=None, **options):
    """Return a path of triplets from the largest lam down; the family is that of listed ones."""
    import safescreen as ss

    X, y = rows(name, every)
    X = X.toarray() if hasattr(X, "toarray") else X
    loss = ss.Hinge() if hinge else ss.SmoothedHinge(0.05)
    family = family or (lambda X, y: ss.Triplets.from_labels(X, y, k))
    lams = ss.Problem(family(X, y), loss).lam_max() * ratio ** np.arange(length)
    return of_path(family, X, y, loss, lams, **options)


def products(X, y):
    """Return all triplets of points as products."""
    import safescreen as ss

    return ss.ProductTriplets(X, y)


def diagonal(X, y):
    """Return triplets of 20 neighbours for a diagonal metric."""
    import safescreen as ss

    return ss.Triplets.from_labels(X, y, 20, diagonal=True)


def samples(name, length, every=1, kernel=False, **options):
    """Return a path of samples, from C = 0.01 to 100."""
    import safescreen as ss

    X, y = rows(name, every, classes=2)
    family = ss.KernelSamples.from_points if kernel else ss.Samples
    return of_path(family, X, y, ss.Hinge(), 1.0 / np.geomspace(0.01, 100.0, length), **options)


def fit(name, most, make, classes=None):
    """Return the fit of an estimator to standardised rows, at most so many."""
    from sklearn.preprocessing import StandardScaler

    X, y = rows(name, classes=classes)
    X = X.toarray() if hasattr(X, "toarray") and X.shape[1] < 1000 else X
    chosen = np.random.default_rng(0).permutation(y.size)[:most]
    X, y = X[chosen], y[chosen]
    X = StandardScaler().fit_transform(X) if isinstance(X, np.ndarray) else X

    def work():
        model = make(X).fit(X, y)
        return getattr(model, "best_estimator_", model).relative_gap_

    return work


def svc(C=1.0, scale=1.0, **options):
    """Return what makes a SafeSVC with the rbf kernel for points."""
    import safescreen as ss

    return lambda X: ss.SafeSVC(C, kernel="rbf", gamma=scale / X.shape[1], **options)


def search(name, most, kernel):
    """Return a search over C, and with a kernel over gamma."""
    import safescreen as ss

    def make(X):
        if kernel:
            gammas = np.geomspace(0.1, 10.0, 5) / X.shape[1]
            Cs = np.geomspace(0.01, 100.0, 5)
            return ss.SafeSVCCV(ss.SafeSVC(kernel="rbf"), Cs, gammas=gammas)
        return ss.SafeSVCCV(ss.SafeSVC(), np.geomspace(1e-3, 10.0, 31))

    return fit(name, most, make)


def metrics(name, most, cv=False):
    """Return the fit of a metric, or a search for its lam."""
    import safescreen as ss

    return fit(name, most, lambda X: ss.TripletMetricCV() if cv else ss.TripletMetric())


def frank_wolfe(name):
    """Return 1,000 iterations of Frank-Wolfe, and their gap."""
    from safescreen import hdsl

    X, y = rows(name)
    drawn = hdsl.random_triplets(y, 20, 0)
    return lambda: hdsl.FrankWolfe(100.0, max_iter=1000, random_state=0).fit(X, drawn).gap_


WORKS = {
    "iris, all triplets, 120 lam": lambda: triplets("iris", None, 120),
    "iris, all triplets, no screening": lambda: triplets("iris", None, 120, screening=()),
    "iris, all triplets, RRPB with ranges": lambda: triplets(
        "iris", None, 120, screening=("RRPB",), ranges=True
    ),
    "wine, all triplets, 120 lam": lambda: triplets("wine", None, 120),
    "wine, products, 120 lam": lambda: triplets("wine", None, 120, family=products),
    "segment, k = 20, 60 lam": lambda: triplets("segment", 20, 60),
    "segment, k = 20, active set": lambda: triplets("segment", 20, 60, active_set=True),
    "segment, k = 20, diagonal": lambda: triplets("segment", 20, 60, family=diagonal),
    "phishing, k = 7, 40 lam": lambda: triplets("phishing", 7, 40, every=2),
    "wine, hinge, k = 5, 30 lam": lambda: triplets("wine", 5, 30, hinge=True),
    "wine, hinge, k = 5, to 3e-8": lambda: triplets("wine", 5, 50, hinge=True, ratio=0.7),
    "breast-cancer, k = 5, to 3e-8": lambda: triplets("breast-cancer", 5, 50, ratio=0.7),
    "breast-cancer, 50 C": lambda: samples("breast-cancer", 50),
    "mushrooms, 50 C, MGB": lambda: samples("mushrooms", 50, screening=("MGB",)),
    "ijcnn1, 20 C": lambda: samples("ijcnn1", 20),
    "a9a, every third, 8 C": lambda: samples("a9a", 8, 3),
    "ijcnn1, every 20th, kernel, 10 C": lambda: samples("ijcnn1", 10, 20, kernel=True),
    "SafeSVC, a9a": lambda: fit("a9a", 40_000, _linear, 2),
    "SafeSVC, phishing": lambda: fit("phishing", 40_000, _linear, 2),
    "SafeSVC, shuttle, seven classes": lambda: fit("shuttle", 50_000, _linear),
    "SafeSVC, iris": lambda: fit("iris", 150, _linear),
    "SafeSVC, rbf, magic, 1,000 rows": lambda: fit("magic", 1000, svc()),
    "SafeSVC, rbf, magic, 6,000 rows, C = 100": lambda: fit("magic", 6000, svc(100.0)),
    "SafeSVC, rbf, usps, 2,000 rows": lambda: fit("usps", 2000, svc(10.0)),
    "SafeSVC, rbf, satimage, six classes": lambda: fit("satimage", 5000, svc()),
    "SafeSVC, rbf, a9a, 8,000 rows, 10/d": lambda: fit("a9a", 8000, svc(10.0, 10.0), 2),
    "SafeSVCCV, rbf, splice, 5 x 5": lambda: search("splice", 1000, True),
    "SafeSVCCV, rbf, magic, 1,000 rows, 5 x 5": lambda: search("magic", 1000, True),
    "SafeSVCCV, phishing, 31 C": lambda: search("phishing", 12_000, False),
    "TripletMetric, digits": lambda: metrics("digits", 2000),
    "TripletMetric, segment": lambda: metrics("segment", 2310),
    "TripletMetricCV, wine": lambda: metrics("wine", 178, cv=True),
    "FrankWolfe, dexter": lambda: frank_wolfe("dexter"),
}


def _linear(_):
    import safescreen as ss

    return ss.SafeSVC()


def serve():
    """Do the works that are named on standard input; print the seconds and the gap of each."""
    made = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in made:
            made = {name: WORKS[name]()}
        started = time.process_time()
        gap = made[name]()
        print(json.dumps([time.process_time() - started, gap]), file=sys.__stdout__, flush=True)


def environment(root, **more):
    """Return the variables of a process of the version that lies in a folder."""
    one = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    return os.environ | one | {"PYTHONPATH": str(root / "lib"), "PYTHONWARNINGS": "ignore"} | more


def asked(process, name):
    """Return the seconds and the gap of a work by a version."""
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def compare(processes, name):
    """Print the row of a work."""
    for process in processes:
        asked(process, name)
    spent, found = 0.0, []
    while len(found) < 3 or (len(found) < 9 and spent < ENOUGH):
        order = processes if len(found) % 2 else processes[::-1]
        pair = {process: asked(process, name) for process in order}
        found.append([pair[process] for process in processes])
        spent += sum(seconds for seconds, _ in found[-1])
    seconds, gaps = np.moveaxis(np.array(found, dtype=float), 2, 0)
    tell(name, *seconds.min(axis=0), *gaps.max(axis=0))


def tell(name, earlier, now, *gaps):
    """Print seconds of both versions, their ratio and gaps."""
    cells = [f"{earlier:.3g}", f"{now:.3g}", f"{now / earlier:.2f}", *(f"{g:.0e}" for g in gaps)]
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def first(roots, work, rounds, *, empty=False):
    """Return the least CPU seconds of new processes that import and fit, by version, in turn; with
    `empty` each has an empty folder for kernels.
    """
    command = [sys.executable, "-c", START.format(work=work)]
    found = []
    for _ in range(rounds):
        for root in roots:
            with tempfile.TemporaryDirectory() as folder:
                env = environment(root, **({"NUMBA_CACHE_DIR": folder} if empty else {}))
                found.append(float(subprocess.check_output(command, env=env, cwd=folder)))
    return np.reshape(found, (rounds, -1)).min(axis=0)


def main():
    """Print a table of all works, and one of first fits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("earlier", type=Path, help="a checkout of the earlier version")
    parser.add_argument("-k", default="", help="only works whose name contains this")
    args = parser.parse_args()
    roots = [args.earlier.resolve(), ROOT]
    command = [sys.executable, __file__, "--serve"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=environment(root), **pipes) for root in roots]
    print("| work | earlier, s | now, s | ratio | gap, earlier | gap, now |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in WORKS:
        if args.k in name:
            compare(processes, name)
    for process in processes:
        process.stdin.close()
        process.wait()
    print("\n| first fit of a process | earlier, s | now, s | ratio |\n|---|---:|---:|---:|")
    for name, work in FIRST.items():
        if args.k in name:
            first(roots, work, 1)  # keeps the kernels
            tell(name, *first(roots, work, 5))
            tell(f"{name}, nothing compiled", *first(roots, work, 2, empty=True))


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
