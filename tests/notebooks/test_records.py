"""What the manifest says of committed records."""

import math

import pandas as pd
import pytest

from safescreen_book.places import checkout, notebooks_folder
from safescreen_book.runner.loading import load_manifest

RECORDS = checkout() / "outputs" / "paper"


def asked_again():
    """Yield the numbers that a replay asks for and that are keys of a table of its record."""
    for experiment in load_manifest(notebooks_folder()).experiments.values():
        for run, parameters in experiment.replay.runs.items():
            for name, table in experiment.replay.tables.items():
                path = RECORDS / experiment.name / run / name
                for key in set(parameters) & set(table.keys) if path.is_file() else ():
                    if isinstance(parameters[key], float):
                        yield path, key, parameters[key]


CASES = list(asked_again())


def test_there_are_some():
    assert len(CASES) > 3


@pytest.mark.parametrize(("path", "key", "number"), CASES)
def test_a_replay_asks_for_what_the_record_has(path, key, number):
    values = pd.read_csv(path)[key]
    assert any(math.isclose(value, number, rel_tol=1e-9) for value in values)
