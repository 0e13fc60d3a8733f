"""Run notebooks, tests and experiments again in the rounding of other machines.

Other processors round differently: their BLAS has other kernels, numba compiles other instructions,
numpy sums with other widths. Variables of the environment make this processor round as older ones
do. Whatever passes here only is not a guard.

    python tests/elsewhere.py --kinds "Haswell; Prescott" --parts notebooks,solvers

prints a table of what passed and what failed, and writes it, with the output of each command, to
outputs/elsewhere/. The exit code is 1 if something failed. A kind that this processor or its BLAS
cannot run is named, and left out."""

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "outputs" / "elsewhere"

ONE = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
TWO = {"OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
GENERIC = {"NUMBA_CPU_NAME": "generic"}
NARROW = {"NPY_DISABLE_CPU_FEATURES": "all"}
"""Stands for all extensions that numpy would choose on this processor."""

KINDS = {
    "x86_64": {
        "host, one thread": ONE,
        "host, two threads": TWO,
        "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"} | GENERIC | ONE,
        "Haswell": {"OPENBLAS_CORETYPE": "Haswell"} | GENERIC | NARROW | ONE,
        "Zen": {"OPENBLAS_CORETYPE": "Zen"} | TWO,
        "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge", "NUMBA_CPU_NAME": "sandybridge"} | ONE,
        "Prescott": {"OPENBLAS_CORETYPE": "Prescott"} | GENERIC | NARROW | TWO,
    },
    "other": {
        "host, one thread": ONE,
        "host, two threads": TWO,
        "generic": GENERIC | NARROW | ONE,
    },
}
"""What is set, by kind of machine and kind of rounding."""

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadscope")
NUMERICAL = "cones hdsl interior kernels products ranges rules safety spheres svm terms estimators"
ALONE = "losses paths problem rounding screening validation blocks cholesky"

RUN = ("-m", "safescreen", "run", "--force", "--profile")

PARTS = {
    "notebooks": (*PYTEST, "notebooks/[!567]*.ipynb"),
    "experiments": (*PYTEST, "--nbval-lax", "-m", "", "notebooks/[567]*.ipynb"),
    "solvers": (*PYTEST, "tests/solvers"),
    "tests": (
        *PYTEST,
        *(f"tests/{name}" for name in NUMERICAL.split()),
        *(f"tests/test_{name}.py" for name in ALONE.split()),
    ),
    "smoke": (*RUN, "smoke", "--outputs"),
    "laptop": (*RUN, "laptop", "--outputs"),
}
"""Arguments of Python; a pattern stands for its files. `laptop` is what `make reproduce` runs."""

PROBE = """
import json, numba, numpy as np, scipy.linalg
from threadpoolctl import threadpool_info
np.ones((64, 64)) @ scipy.linalg.inv(2.0 * np.eye(64))
found = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
blas = sorted({one.get("architecture", one["internal_api"]) for one in threadpool_info()
               if one["user_api"] == "blas"})
print(json.dumps({"blas": blas, "numba": numba.config.CPU_NAME or "host", "numpy": found}))
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a part under a kind of rounding."""

    kind: str
    part: str
    passed: int
    failed: tuple[str, ...]
    seconds: float


def known_kinds() -> Mapping[str, Mapping[str, str]]:
    """Return the kinds that this sort of machine may have."""
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return KINDS["x86_64" if is_x86 else "other"]


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this environment with the variables of a kind."""
    environment = {**os.environ, **variables, "PYTHONPATH": str(ROOT / "lib")}
    if "NPY_DISABLE_CPU_FEATURES" in variables:
        environment["NPY_DISABLE_CPU_FEATURES"] = " ".join(probed(os.environ)["numpy"])
    return environment


def probed(environment: Mapping[str, str]) -> dict:
    """Return what BLAS, numba and numpy say of the instructions that they use; nothing where this
    processor cannot run them.
    """
    command = [sys.executable, "-c", PROBE]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    return json.loads(found.stdout) if found.returncode == 0 else {}


def why_not(kind: Mapping[str, str], found: Mapping, host: Mapping) -> str:
    """Return why a kind of rounding is not to be had here; empty if it is."""
    if not found:
        return "this processor cannot run it"
    asked = kind.get("OPENBLAS_CORETYPE")
    if asked and asked not in found["blas"] and found["blas"] == host["blas"]:
        return f"BLAS uses {', '.join(found['blas'])} all the same"
    return ""


def run_part(kind: str, part: str, environment: Mapping[str, str]) -> Outcome:
    """Run a part, keep its output, and return what became of it."""
    name = f"{kind.replace(', ', '-').replace(' ', '-')}-{part}"
    report = FOLDER / f"{name}.xml"
    report.unlink(missing_ok=True)
    arguments = list(_expanded(PARTS[part]))
    if PARTS[part][-1] == "--outputs":
        arguments.append(str(FOLDER / name))
    else:
        arguments.append(f"--junitxml={report}")
    began = time.monotonic()
    with (FOLDER / f"{name}.log").open("w", encoding="utf-8") as log:
        streams = {"stdout": log, "stderr": subprocess.STDOUT}
        code = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=environment, **streams
        ).returncode
    passed, failed = _counted(report) if report.is_file() else (0, ())
    if code and not failed:
        failed = (f"exit code {code}",)
    return Outcome(kind, part, passed, failed, round(time.monotonic() - began, 1))


def _expanded(arguments: tuple[str, ...]) -> Iterator[str]:
    for argument in arguments:
        if "*" in argument:
            yield from sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(argument))
        else:
            yield argument


def _counted(report: Path) -> tuple[int, tuple[str, ...]]:
    """Return how many tests of a report passed, and the names of those that failed."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return len(cases) - len(failed) - skipped, tuple(failed)


def _written(outcomes: list[Outcome]) -> None:
    with (FOLDER / "table.csv").open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["kind", "part", "passed", "failed", "seconds", "which"])
        for one in outcomes:
            which = " ".join(one.failed)
            rows.writerow([one.kind, one.part, one.passed, len(one.failed), one.seconds, which])


def _listed(text: str, known: Mapping, what: str) -> list[str]:
    names = [name.strip() for name in text.split(";" if ";" in text else ",")] if text else []
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"{what}: {unknown[0]!r} is not one of {'; '.join(known)}")
    return names or list(known)


def main() -> int:
    """Run the parts under the kinds that are named; return 1 if something failed."""
    kinds = known_kinds()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", default="", help=f"separated by ; : {'; '.join(kinds)}")
    parser.add_argument("--parts", default="", help=f"separated by , : {', '.join(PARTS)}")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    host = probed(os.environ)
    outcomes = []
    for kind in _listed(options.kinds, kinds, "--kinds"):
        environment = environment_of(kinds[kind])
        found = probed(environment)
        if reason := why_not(kinds[kind], found, host):
            print(f"{kind}: left out, because {reason}", flush=True)
            continue
        used = ", ".join(f"{name} {value}" for name, value in found.items() if value)
        print(f"{kind}: {used}", flush=True)
        for part in _listed(options.parts, PARTS, "--parts"):
            one = run_part(kind, part, environment)
            outcomes.append(one)
            _written(outcomes)
            print(f"    {part}: {one.passed} passed, {len(one.failed)} failed, {one.seconds:.0f} s")
            for name in one.failed:
                print(f"        {name}", flush=True)
    print(f"{len(outcomes)} parts, of which {sum(bool(one.failed) for one in outcomes)} failed")
    return int(any(one.failed for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
