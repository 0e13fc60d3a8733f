"""The list of mutants fits the library, leaves no claim and no formula out, and a dozen of them are run and caught."""

from pathlib import Path

import pytest

import mutants
from safescreen_book import ledger

LIST = mutants.load()
THEORY = ("verified", "misprint", "corrected", "refuted")
FORMULAS = ("spheres", "rules", "ranges", "solvers", "cones", "terms", "svm", "hdsl")
"""Folders of the library in which every file that computes has a mutant; and the files beside them that do."""
FILES = ("losses.py", "problem.py", "paths.py", "screening.py", "rounding.py")
NOTHING_TO_MUTATE = {"__init__.py", "base.py", "families.py", "solution.py", "indices.py", "constraints.py", "methods.py", "solve.py"}


@pytest.mark.parametrize("mutant", LIST, ids=lambda mutant: mutant.id)
def test_each_fits_and_names_guards(mutant):
    mutant.apply((mutants.ROOT / "lib" / "safescreen" / mutant.file).read_text(encoding="utf-8"))
    for guard in mutant.by:
        place, _, name = guard.partition("::")
        path = mutants.ROOT / (f"{place}.py" if place.startswith("notebooks/") else place)
        text = path.read_text(encoding="utf-8")
        assert not name or (f'"{name}"' if place.startswith("notebooks/") else f"def {name.partition('[')[0]}(") in text, guard


def test_every_claim_of_a_theory_has_one_that_its_cell_catches():
    claims = [claim for claim in ledger.load_claims(mutants.ROOT / "notebooks") if claim.status in THEORY]
    caught = {guard for mutant in LIST for guard in mutant.by}
    assert not [claim.id for claim in claims if f"notebooks/{claim.notebook}::{claim.cell}" not in caught]


def test_every_file_that_computes_has_one():
    library, changed = mutants.ROOT / "lib" / "safescreen", {Path(mutant.file) for mutant in LIST}
    files = [path.relative_to(library) for folder in FORMULAS for path in (library / folder).glob("*.py")]
    files = [path for path in files if path.name not in NOTHING_TO_MUTATE] + [Path(name) for name in FILES]
    assert not sorted(str(path) for path in files if path not in changed)


def test_a_dozen_are_caught(tmp_path):
    quick = [mutant for mutant in LIST if mutant.quick]
    assert len(quick) == 12
    outcomes = mutants.run(quick, tmp_path, jobs=1, report=lambda line: None)
    assert not [outcome for outcome in outcomes if outcome[2] not in mutants.CAUGHT]


def test_survivors_are_told(tmp_path, monkeypatch, capsys):
    """A change that no guard can see, a guard that fails by itself, a line that is not there."""
    harmless = mutants.Mutant(
        "harmless", "losses.py", "import ", "import abc as _, ", ("tests/test_layers.py::test_every_folder_and_module_has_a_floor",)
    )
    with pytest.raises(ValueError, match=r"harmless: 'import ' stands \d+ times in losses.py, expected once"):
        harmless.apply((mutants.ROOT / "lib" / "safescreen" / "losses.py").read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="harmless: 'a' changes nothing"):
        mutants.Mutant("harmless", "x.py", "a", "a", ()).apply("a = 1")
