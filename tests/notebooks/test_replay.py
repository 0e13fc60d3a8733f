"""Every record can be replayed, and a replay sees what is wrong with the library."""

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from safescreen_book.cli import main
from safescreen_book.runner import batch, replay
from safescreen_book.runner.manifest import RECORDS

OUTPUTS = Path(__file__).resolve().parents[2] / "outputs"
CLOCK = re.compile(r"(^|[ _])(seconds|threads|ms|MB|wall|cpu|growth|timings?)([ _]|$)")
"""Columns that a clock or the machine decides."""

SMALLER = """
from safescreen.spheres.base import Sphere
made = Sphere.__init__
def smaller(self, center, radius, *rest, **options):
    made(self, center, 0.98 * radius, *rest, **options)
Sphere.__init__ = smaller
"""
WORSE = """
from safescreen.paths import Path
told = Path.to_frame
def worse(self):
    frame = told(self)
    return frame.assign(primal=frame["primal"] + 10.0 * frame["gap"])
Path.to_frame = worse
"""


def entries(manifest):
    return [
        (experiment, run) for experiment in manifest for run in experiment.profiles[RECORDS].runs
    ]


def test_every_record_has_an_entry(manifest):
    without = [
        experiment.name
        for experiment in manifest
        if RECORDS in experiment.profiles and experiment.replay is None
    ]
    assert not without and len(entries(manifest)) > 100


@pytest.mark.slow
def test_what_is_asked_of_notebooks_they_have(manifest):
    for experiment, run in entries(manifest):
        asked = {**run.parameters, **experiment.replay.parameters_of(run.name)}
        assert manifest.check_parameters(replace(run, parameters=asked))


def test_what_is_compared_is_in_the_records_and_no_clock(manifest):
    for experiment, run in entries(manifest):
        if experiment.replay.reason(run.name):
            continue
        for name, table in experiment.replay.tables.items():
            columns = pd.read_csv(
                OUTPUTS / RECORDS / run.experiment / run.name / name, nrows=1
            ).columns
            assert set(table.needed) <= set(columns), (run, name)
            assert not [column for column in table.needed if CLOCK.search(column)], (run, name)


def test_what_a_clock_is():
    clocks = (
        "seconds",
        "seconds naive, cold",
        "rule_seconds",
        "threads",
        "ms an iteration",
        "peak MB",
        "growth_bytes",
    )
    assert all(map(CLOCK.search, clocks))
    assert not any(map(CLOCK.search, ("BT1, timed", "screened", "n_samples", "rms", "list_bytes")))


def test_replays_of_small_records_agree(capsys):
    """The records themselves, as the command compares them, and as they were afterwards."""
    names = [f"{name}/breast-cancer" for name in ("61-svm-screening-rates", "66-all-triplets")]
    files = [file for name in names for file in (OUTPUTS / RECORDS / name).iterdir()]
    before = [file.read_bytes() for file in files]
    assert main(["replay", *names, "--embedded", "--only-compare", "--jobs", "1"]) == 0
    assert "2 confirmed" in capsys.readouterr().out
    assert [file.read_bytes() for file in files] == before


@pytest.fixture(scope="module")
def found(manifest):
    """What replays of one record find: of the library as it is, and with one thing wrong in it."""
    experiment = manifest.experiments["51-path-time"]
    small = replace(
        experiment.replay, parameters={"draws": 1, "n_lams": 10, "methods": "none,PGB"}, runs={}
    )
    plan = batch.plan(manifest, manifest.select(["51-path-time/iris"], RECORDS), RECORDS, OUTPUTS)[
        0
    ]
    plans = {}
    for name, change in {"as it is": "", "smaller": SMALLER, "worse": WORSE}.items():
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(change), *plan.notebook.cells]
        )
        plans[name] = replace(plan, notebook=notebook)
    named = {id(plan.notebook): name for name, plan in plans.items()}
    ended = replay.run(list(plans.values()), {experiment.name: small}, manifest.folder, 1)
    return {named[id(plan.notebook)]: result for plan, result, _ in ended}


@pytest.mark.slow
def test_the_library_as_it_is(found):
    assert found["as it is"].agrees and found["as it is"].rows == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "where"),
    [
        (
            "smaller",
            r"per_lam\.csv, dataset=iris method=PGB draw=0 lam=[0-9.e+]+: (path|screening)_rate ",
        ),
        ("worse", r"per_lam\.csv, dataset=iris method=none draw=0 lam=[0-9.e+]+: primal "),
    ],
)
def test_a_library_that_is_wrong(found, change, where):
    """A radius 2 % too small, an optimum off by ten gaps."""
    assert not found[change].agrees
    assert any(re.match(where, line) for line in found[change].differences), found[
        change
    ].differences
