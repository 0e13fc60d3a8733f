"""Run the mutants of `mutants.yml`: each is an error in the library that its guards must notice.

    - {id: gamma-low, file: rounding.py, in: gamma, guards: "tests/test_rounding.py::test_gamma",
       from: "nu / (1.0 - nu) * SAFETY", to: "nu * (1.0 - 1e-12)"}

`file` is a module below lib/safescreen and `in` a function, a class or a method, `Class.method`;
without `in` it is the code outside of all of them. `from` stands there once, or it is place `nth`
of several, from 1. `from` and `to` are two expressions, or both are statements: `pass` deletes one,
`a = b; c = d` are two that follow each other, and `if a > b: ...` is the first line of one, whose
body stays. They are compared as syntax trees (`replacement.py`): layout, comments and parentheses
do not matter.

A guard is a test (``tests/.../test_x.py::test_y``), a tagged cell
(``notebooks/11-gradient-bound::tag``), or a claim of the ledger, which means its tagged cell. A
tagged cell has to fail itself: cells before it may fail too, a name that they left undefined does
not count. Every guard is run once on the library as it is, where it must pass, and once for each of
its mutants, in a copy of the project, several copies at a time.

    python tests/mutation/mutants.py                 all of them
    python tests/mutation/mutants.py -k ranges       those whose id, file or guard contains a word
"""

import argparse
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import yaml

from replacement import replaced

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutants.yml")
PARTS = ("lib", "tests", "notebooks", "data", "pyproject.toml")
IMPORTED = (
    "jupytext",
    "IPython.core.interactiveshell",
    "matplotlib.pyplot",
    "sklearn.datasets",
    "sklearn.svm",
    "scipy.optimize",
)
IMPORTED += ("scipy.sparse.linalg", "numba", "pandas", "sympy", "mpmath", "pytest")
"""What guards import of other projects."""

LEAVE = shutil.ignore_patterns("__pycache__", "*.ipynb", "*.egg-info")
CAUGHT = ("failed", "timeout")
# exit codes where cells before the tagged one left it without a name, and where it fails itself
BEFORE, IN_CELL = 3, 4


@dataclass(frozen=True)
class Mutant:
    """One change: `new` takes the place of `old` in a function; every guard must fail."""

    id: str
    file: str
    old: str
    new: str
    guards: tuple[str, ...]
    within: str = ""
    nth: int = 0
    quick: bool = False

    def apply(self, source: str) -> str:
        """Return the changed source; a ValueError says what does not fit."""
        try:
            return replaced(source, self.old, self.new, self.within, self.nth)
        except ValueError as error:
            raise ValueError(f"{self.id}, {self.file}: {error}") from None


FIELDS = {"in": "within", "from": "old", "to": "new"}
"""Keys of the list that are no names in Python."""


def load(path: Path = LIST) -> list[Mutant]:
    """Read the list, claims replaced by the cells that the ledger names for them."""
    # the loader of libyaml takes a sixth of the time
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    ledger = yaml.load((ROOT / "notebooks" / "claims.yml").read_text(encoding="utf-8"), loader)
    claims = [claim for paper in ledger.values() for claim in paper if "notebook" in claim]
    cells = {
        claim["id"]: f"notebooks/{claim['notebook']}::{claim.get('cell', claim['id'])}"
        for claim in claims
    }
    entries = yaml.load(path.read_text(encoding="utf-8"), loader)
    twins = [name for name, count in Counter(e["id"] for e in entries).items() if count > 1]
    if twins:
        raise ValueError(f"{path.name}: twice in the list: {', '.join(twins)}")
    loaded = []
    for entry in entries:
        fields = {FIELDS.get(key, key): value for key, value in entry.items()}
        names = fields["guards"]
        names = [names] if isinstance(names, str) else names
        loaded.append(Mutant(**fields | {"guards": tuple(cells.get(name, name) for name in names)}))
    return loaded


def run_cell(notebook: Path, tag: str) -> int:
    """Run the code cells of a percent notebook up to the last one with a tag; return 0, `BEFORE`
    or `IN_CELL`.
    """
    import jupytext
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    os.chdir(notebook.parent)
    cells = [cell for cell in jupytext.read(notebook).cells if cell.cell_type == "code"]
    tagged = [number for number, cell in enumerate(cells) if tag in cell.metadata.get("tags", ())]
    for number, cell in enumerate(cells[: tagged[-1] + 1]):
        done = shell.run_cell(cell.source)
        if number in tagged and not done.success:
            return BEFORE if isinstance(done.error_in_exec, NameError) else IN_CELL
    return 0


def run_test(names: str) -> int:
    """Run a test, or several with a name a line; return pytest's exit code."""
    import pytest

    options = "-q -x -p no:cacheprovider -o addopts= --import-mode=importlib -W error".split()
    return int(pytest.main([*options, *names.splitlines()]))


def serve() -> None:
    """Answer each line ``[guard, output]`` with the exit code of the guard, run in a fork
    in which all else is imported.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        guard, output = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 99
            try:
                file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, 1)
                os.dup2(file, 2)
                place, _, name = guard.partition("::")
                code = (
                    run_cell(Path.cwd() / f"{place}.py", name)
                    if place.startswith("notebooks/")
                    else run_test(guard)
                )
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


class Copy:
    """A copy of the project in which one mutant at a time is run; unchanged kernels are compiled
    once.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=LEAVE, dirs_exist_ok=True)
            else:
                shutil.copy2(source, folder / part)
        variables = {
            "PYTHONPATH": str(folder / "lib"),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            "MPLBACKEND": "Agg",
        }
        variables |= {
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command, pipe = [sys.executable, "tests/mutation/mutants.py", "--serve"], subprocess.PIPE
        self.server = subprocess.Popen(
            command, cwd=folder, env=os.environ | variables, stdin=pipe, stdout=pipe, text=True
        )

    def run(self, guard: str, limit: float | None = None) -> str:
        """Run a guard; return ``passed``, ``failed``, ``timeout``, or what else happened."""
        output = self.folder / "output.txt"
        self.server.stdin.write(json.dumps([guard, str(output)]) + "\n")
        self.server.stdin.flush()
        child = int(self.server.stdout.readline())
        timer = threading.Timer(limit or 3600.0, os.kill, (child, signal.SIGKILL))
        timer.start()
        code = int(self.server.stdout.readline())
        timer.cancel()
        if code == -signal.SIGKILL:
            return "timeout"
        cell = guard.startswith("notebooks/")
        if code in (0, IN_CELL if cell else 1):
            return "failed" if code else "passed"
        tail = output.read_text(encoding="utf-8", errors="replace")[-1500:]
        return (
            "a name is missing in the tagged cell"
            if cell and code == BEFORE
            else f"exit code {code}"
        ) + f"\n{tail}"

    def kill(self, mutant: Mutant, guard: str, limit: float) -> str:
        """Run a guard on a changed library; return as `run`."""
        path = Path(os.path.normpath(self.folder / "lib" / "safescreen" / mutant.file))
        kept = ROOT / "lib" / "safescreen" / mutant.file
        try:
            path.write_text(mutant.apply(kept.read_text(encoding="utf-8")), encoding="utf-8")
            return self.run(guard, limit)
        finally:
            shutil.copy2(kept, path)


def run(
    mutants: list[Mutant], folder: Path, jobs: int = 2, report=print
) -> list[tuple[Mutant, str, str]]:
    """Run all guards of all mutants in copies below a folder; return (mutant, guard, outcome),
    one of `CAUGHT` where it should be.
    """
    guarded, done = defaultdict(list), []
    for mutant in mutants:
        for guard in mutant.guards:
            guarded[guard].append(mutant)
    free = SimpleQueue()
    for k in range(jobs):
        (folder / str(k) / "cache").mkdir(parents=True, exist_ok=True)
        free.put(Copy(folder / str(k)))
    with ThreadPoolExecutor(jobs) as pool:

        def work(guard, its):
            copy = free.get()
            try:
                start = time.perf_counter()
                alone = copy.run(guard)
                limit = 120.0 + 10.0 * (time.perf_counter() - start)
                for mutant in its:
                    outcome = (
                        copy.kill(mutant, guard, limit)
                        if alone == "passed"
                        else f"the guard itself: {alone}"
                    )
                    done.append((mutant, guard, outcome))
                    report(f"{mutant.id:40} {guard:70} {outcome}")
            finally:
                free.put(copy)

        for future in [
            pool.submit(work, *pair)
            for pair in sorted(guarded.items(), key=lambda pair: -len(pair[1]))
        ]:
            future.result()
    for _ in range(jobs):
        with free.get().server as server:  # closes its pipes and waits for its end
            server.stdin.close()
    return done


def main(arguments=None) -> int:
    """Run the list, print a line a mutant and the sums; return 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only mutants whose id, file or guard contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies at a time")
    parser.add_argument("--file", type=Path, default=LIST, help="another list")
    parser.add_argument(
        "--keep",
        type=Path,
        help="keep the copies and their compiled kernels in this folder",
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve()
        return 0
    chosen = [m for m in load(options.file) if options.k in " ".join((m.id, m.file, *m.guards))]
    for mutant in chosen:
        mutant.apply((ROOT / "lib" / "safescreen" / mutant.file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        done = run(
            chosen, options.keep or Path(folder), options.jobs, lambda line: print(line, flush=True)
        )
    kinds = Counter(
        "tagged cell" if guard.startswith("notebooks/") else "test"
        for _, guard, outcome in done
        if outcome in CAUGHT
    )
    survivors = sorted({mutant.id for mutant, _, outcome in done if outcome not in CAUGHT})
    print(
        f"{len(chosen)} mutants, {len(chosen) - len(survivors)} killed; guards that caught "
        f"one: {dict(kinds)}"
    )
    print(f"survivors: {', '.join(survivors) or 'none'}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
