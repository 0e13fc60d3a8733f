"""Run the tests of other projects with the classes of this one in the place of theirs.

    python tests/peers/run.py                       all suites; compare with `not_passing.yml`
    python tests/peers/run.py --suite skglm         one of them
    python tests/peers/run.py --update              and write the list anew

A test applies if it makes an object of one of our classes. `not_passing.yml` names every test that
applies and does not pass, below the reason: an unlisted failure, and a listed test that passes, is
an error. `--update` takes those out that pass, and puts new ones below "?", with what they said
beside them; a reason is written by hand, and "?" is none.

The tests are never copied here. Those of scikit-learn and skglm are in the installed packages;
those of metric-learn are in its source archive, which pip downloads, with the checksum below, into
`data/peers/`; or in the folder `$SAFESCREEN_METRIC_LEARN`, an unpacked one.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
LIST = HERE / "not_passing.yml"
ENVIRONMENT = "SAFESCREEN_METRIC_LEARN"
ARCHIVE = "metric-learn-0.7.0"
CHECKSUM = "2b35246a1098d74163b16cc7779e0abfcbf9036050f4caa258e4fee55eb299cc"
FILES = ("test_mahalanobis_mixin.py", "test_base_metric.py", "test_sklearn_compat.py")
UNKNOWN = "?"
HEAD = """\
# The tests of other projects that apply to our classes and do not pass, suite by suite, below the
# reason. `python tests/peers/run.py --update` writes this file; reasons are written by hand.
"""


def installed(package, *parts):
    """Return a file of an installed package, which is not imported."""
    return Path(find_spec(package).submodule_search_locations[0]).joinpath(*parts)


def metric_learn():
    """Return the folder of metric-learn's source archive, downloaded where it is not here."""
    if os.environ.get(ENVIRONMENT):
        return Path(os.environ[ENVIRONMENT]).resolve()
    folder = HERE.parents[1] / "data" / "peers"
    if not (folder / ARCHIVE).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        name, _, number = ARCHIVE.rpartition("-")
        options = ["--no-deps", "--no-binary", name, "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
        subprocess.run([*command, f"{name}=={number}"], check=True)
        archive = folder / f"{ARCHIVE}.tar.gz"
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != CHECKSUM:
            raise ValueError(f"{archive.name} has the checksum {found}, not {CHECKSUM}")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    return folder / ARCHIVE


SUITES = {
    "scikit-learn test_svm": lambda: [installed("sklearn", "svm", "tests", "test_svm.py")],
    "scikit-learn test_sparse": lambda: [installed("sklearn", "svm", "tests", "test_sparse.py")],
    "metric-learn supervised": lambda: [metric_learn() / "test" / file for file in FILES],
    "metric-learn triplets": lambda: [
        metric_learn() / "test" / file for file in (*FILES, "test_triplets_classifiers.py")
    ],
    "metric-learn quadruplets": lambda: [
        metric_learn() / "test" / file for file in (*FILES, "test_quadruplets_classifiers.py")
    ],
    "metric-learn pairs": lambda: [
        metric_learn() / "test" / file for file in (*FILES, "test_pairs_classifiers.py")
    ],
    "skglm": lambda: [installed("skglm", "tests", "test_estimators.py")],
}
"""The files of each suite."""


def outcomes(suite):
    """Return what became of the tests of a suite that apply: by name, "" for one that passes, else
    the last line of what it said.
    """
    files = [str(path) for path in SUITES[suite]()]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "SAFESCREEN_PEERS_SUITE": suite,
            "SAFESCREEN_PEERS_TOLD": str(told),
        }
        # "xfail" is about their class, not about ours
        options = [
            "--runxfail",
            "-p",
            "swap",
            "-p",
            "no:nbval",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
        ]
        ini = ["-c", str(HERE / "pytest.ini"), "--import-mode=importlib", "-q", "--tb=no", "-W"]
        command = [sys.executable, "-m", "pytest", *ini, "ignore", *options, *files]
        said = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not told.exists():
            raise RuntimeError(f"{suite}: the tests did not run\n{said.stdout}\n{said.stderr}")
        return json.loads(told.read_text(encoding="utf-8"))


def listed():
    """Return the list: by suite, by reason, the names of tests."""
    return yaml.safe_load(LIST.read_text(encoding="utf-8")) or {}


def faults(found, reasons):
    """Yield what is wrong with the list of a suite, where that was found."""
    known = [name for names in reasons.values() for name in names]
    for name in sorted({name for name in known if known.count(name) > 1}):
        yield f"{name} is listed twice"
    for name, text in sorted(found.items()):
        if text and name not in known:
            yield f"{name} does not pass, and is not listed: {text}"
    for name in known:
        if found.get(name) == "":
            yield f"{name} passes, and is listed"
        elif name not in found:
            yield f"{name} is listed, and is no test that applies"
    for reason in reasons:
        if reason.startswith(UNKNOWN) or len(reason) < 20:
            yield f"{reason!r} is no reason"


def updated(found, reasons):
    """Return the list of a suite for what was found; what is new is below "?" and what it said."""
    kept = {why: [name for name in names if found.get(name)] for why, names in reasons.items()}
    known = {name for names in kept.values() for name in names}
    for name, text in sorted(found.items()):
        if text and name not in known:
            kept.setdefault(f"{UNKNOWN} {text}", []).append(name)
    return {why: names for why, names in kept.items() if names}


def main(arguments=None):
    """Run suites, and return 1 if the list is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=SUITES, action="append")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args(arguments)
    lists = listed()
    wrong = []
    for suite in options.suite or SUITES:
        found = outcomes(suite)
        if options.update:
            lists[suite] = updated(found, lists.get(suite, {}))
        errors = list(faults(found, lists.get(suite, {})))
        wrong += errors
        passed = sum(not text for text in found.values())
        number = version(suite.split()[0])
        print(f"{suite} ({number}): {passed} of {len(found)} that apply pass", flush=True)
        print("".join(f"    {error}\n" for error in errors), end="", flush=True)
    if options.update:
        text = yaml.safe_dump(lists, sort_keys=False, allow_unicode=True, width=120)
        LIST.write_text(HEAD + text, encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
