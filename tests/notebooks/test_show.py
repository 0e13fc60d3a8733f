"""What is committed of a record's rows is what the rules and sentences of now say of them."""

import pytest

from safescreen_book import places
from safescreen_book.runner import batch, show
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.manifest import RECORDS

NOTEBOOKS = places.notebooks_folder()
OUTPUTS = NOTEBOOKS.parent / "outputs"


def records(only_first):
    """Return the plans of all records, or of the first of each experiment."""
    manifest = load_manifest(NOTEBOOKS)
    plans = {}
    for plan in batch.plan(manifest, manifest.select([], RECORDS), RECORDS, OUTPUTS):
        plans.setdefault(plan.run.experiment, []).append(plan)
    return [plan for runs in plans.values() for plan in (runs[:1] if only_first else runs)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "only_first", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["first", "all"]
)
def test_conclusions_are_those_of_the_rules_of_now(only_first):
    plans = records(only_first)
    assert len(plans) > 20 and all("rows_dir" in plan.parameters for plan in plans)
    shown = list(show.run(plans, NOTEBOOKS, jobs=1 if only_first else 2, write=False))
    assert len(shown) == len(plans)
    assert not [(str(one.plan.run), one.error, one.different) for one in shown if one.error]
    assert not [(str(one.plan.run), one.different) for one in shown if one.different]
