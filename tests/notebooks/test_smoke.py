"""Every experiment of the manifest runs at its smallest size, through the batch job, and can be
reported.
"""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from safescreen_book import datasets
from safescreen_book.cli import main
from safescreen_book.runner import batch as runner
from safescreen_book.runner import folders

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SAME = r"same (?:optimum|objective)"
TIMED = {f"5{digit}" for digit in (1, 2, 3, 5, 6, 7, 8)}
"""Experiments that solve the same problems with and without screening, and say whether the
optimum is the same.
"""
QUICK = "61"
"""The one that `make test` runs; `make nightly` runs all. The notebooks themselves are executed by
nbval at their smallest size.
"""
NAMES = list(yaml.safe_load((NOTEBOOKS / "experiments.yml").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    return tmp_path_factory.mktemp("outputs")


@pytest.mark.slow
def test_every_run_of_every_profile_is_possible(manifest, tmp_path):
    for experiment in manifest:
        assert "smoke" in experiment.profiles, f"{experiment.name} has no smoke profile"
        for profile, body in experiment.profiles.items():
            plans = runner.plan(manifest, body.runs, profile, tmp_path)
            asked = {str((item.hashes["parameters"], item.hashes["data"])) for item in plans}
            assert len(asked) == len(body.runs) > 0


@pytest.mark.parametrize("profile", ["smoke", "laptop"])
def test_embedded_data_are_all_that_the_smaller_profiles_need(manifest, profile):
    for experiment in manifest:
        for run in experiment.profiles[profile].runs if profile in experiment.profiles else ():
            assert all(datasets.info(name).embedded for name in experiment.data_of(run)), run


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.startswith(QUICK) else pytest.mark.exhaustive)
        for name in NAMES
    ],
)
def test_smoke(name, manifest, outputs, capsys):
    code = main(["run", name, "--profile", "smoke", "--outputs", str(outputs)])
    assert code == 0, capsys.readouterr().out
    for run in manifest.experiments[name].profiles["smoke"].runs:
        folder = folders.run_folder(outputs, "smoke", run)
        assert folders.state(folder).status == "complete"
        assert (folder / "notebook.ipynb").is_file()
        if name[:2] in TIMED:
            conclusions = pd.read_csv(folder / "conclusions.csv")
            same = conclusions.loc[conclusions["conclusion"].str.contains(SAME), "verdict"]
            assert set(same) == {"stands"}, conclusions[
                ["conclusion", "verdict", "note"]
            ].to_string()
