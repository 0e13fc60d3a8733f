"""Mutants fit the library in any layout, leave out no claim and no formula, and are caught."""

import ast
import io
import tokenize
from pathlib import Path

import pytest
import yaml

import mutants
import operators
import replacement
from safescreen_book import ledger

LIST = mutants.load()
MODULES = yaml.safe_load(operators.LIST.read_text(encoding="utf-8"))["modules"]
THEORY = ("verified", "misprint", "corrected", "refuted")
FORMULAS = ("spheres", "rules", "ranges", "cones", "terms", "svm", "hdsl")
"""Folders of the library in which every file that computes has a mutant, or is changed by
operators; and the files beside them of which that is asked. Of a solver nothing is asked: the loop
certifies what it returns, and a wrong step costs time. So does a look that comes too early.
"""
FILES = ("losses.py", "problem.py", "paths.py", "screening.py", "rounding.py", "validation.py")
NOTHING_TO_MUTATE = {
    "__init__.py",
    "base.py",
    "families.py",
    "solution.py",
    "indices.py",
    "constraints.py",
    "looks.py",
    "methods.py",
    "solve.py",
}


def source_of(file):
    return (mutants.ROOT / "lib" / "safescreen" / file).read_text(encoding="utf-8")


def laid_out_anew(source):
    """Return source without its comments and parentheses, and with a comment at commas in
    brackets.
    """
    source = ast.unparse(ast.parse(source))
    lines, depth = source.splitlines(keepends=True), 0
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        if token.type != tokenize.OP:
            continue
        depth += (token.string in (")", "]", "}")) - (token.string in ("(", "[", "{"))
        row, column = token.end
        if token.string == "," and depth > 0:
            line = lines[row - 1]
            lines[row - 1] = f"{line[:column]}  # one more\n{line[column:]}"
    return "".join(lines)


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in LIST}))
def test_each_has_its_place(file):
    """Its expression stands once in its function, or `nth` says which is meant."""
    tree = ast.parse(source_of(file))
    known = replacement.definitions(tree)
    places = {name: replacement.places_in(tree, name, known) for name in ["", *known]}
    lost = []
    for mutant in LIST:
        if mutant.file == file:
            old, new = replacement.parse(mutant.old), replacement.parse(mutant.new)
            expressions = replacement.is_expression(old) and replacement.is_expression(new)
            found = replacement.find(places.get(mutant.within, []), old, expressions)
            meant = len(found) == 1 if mutant.nth == 0 else 1 <= mutant.nth <= len(found)
            if not meant or replacement.same(old, new):
                lost.append(mutant.id)
    assert not lost


def test_each_names_guards_that_are_there():
    texts, lost = {}, []
    for mutant in LIST:
        for guard in mutant.guards:
            place, _, name = guard.partition("::")
            notebook = place.startswith("notebooks/")
            if place not in texts:
                path = mutants.ROOT / (f"{place}.py" if notebook else place)
                texts[place] = path.read_text(encoding="utf-8")
            mark = f'"{name}"' if notebook else f"def {name.partition('[')[0]}("
            if name and mark not in texts[place]:
                lost.append(f"{mutant.id}: {guard}")
    assert not lost


@pytest.mark.parametrize("mutant", [m for m in LIST if m.quick], ids=lambda mutant: mutant.id)
def test_a_few_fit_whatever_the_layout(mutant):
    source = source_of(mutant.file)
    other = laid_out_anew(source)
    assert other != source and replacement.same(ast.parse(other), ast.parse(source))
    changed = ast.parse(mutant.apply(source))
    assert replacement.same(ast.parse(mutant.apply(other)), changed)


def test_every_claim_of_a_theory_has_one_that_its_cell_catches():
    claims = [
        claim for claim in ledger.load_claims(mutants.ROOT / "notebooks") if claim.status in THEORY
    ]
    caught = {guard for mutant in LIST for guard in mutant.guards}
    assert not [
        claim.id for claim in claims if f"notebooks/{claim.notebook}::{claim.cell}" not in caught
    ]


def test_every_file_that_computes_has_one():
    library = mutants.ROOT / "lib" / "safescreen"
    changed = {Path(mutant.file) for mutant in LIST} | {Path(file) for file in MODULES}
    files = [
        path.relative_to(library) for folder in FORMULAS for path in (library / folder).glob("*.py")
    ]
    files = [path for path in files if path.name not in NOTHING_TO_MUTATE] + [
        Path(name) for name in FILES
    ]
    assert not sorted(str(path) for path in files if path not in changed)


@pytest.mark.slow
def test_one_is_caught_and_survivors_are_told(tmp_path, capsys):
    """An error, a change that its guard cannot see, and a guard that fails by itself."""
    error = {"id": "error", "file": "_blocks.py", "in": "roundings", "to": "1"}
    error |= {"from": "BLOCK // LANES + (LANES - 1).bit_length()"}
    error |= {"guards": "tests/test_blocks.py::test_roundings_are_counted"}
    here = "tests/test_layers.py::test_every_folder_and_module_has_a_floor"
    harmless = {"file": "losses.py", "in": "Loss.alpha", "from": "slack > 0.0", "to": "0.0 < slack"}
    entries = [error, {"id": "harmless", "guards": here} | harmless]
    entries += [{"id": "unguarded", "guards": "tests/test_layers.py::test_of_nothing"} | harmless]
    (tmp_path / "list.yml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    assert mutants.main(["--file", str(tmp_path / "list.yml"), "--jobs", "1"]) == 1
    told = capsys.readouterr().out
    assert "3 mutants, 1 killed" in told
    assert "survivors: harmless, unguarded" in told
    assert f"{here} passed" in " ".join(told.split())
    assert "the guard itself: exit code 4" in told


def test_what_does_not_fit_is_named():
    lost = mutants.Mutant("lost", "losses.py", "slack > 1.0", "slack > 2.0", (), "Loss.alpha")
    told = r"lost, losses.py: 'slack > 1.0' is not in Loss.alpha; close to it: 'slack > 0.0'"
    with pytest.raises(ValueError, match=told):
        lost.apply(source_of("losses.py"))


def test_a_name_stands_once_in_the_list(tmp_path):
    entry = {"id": "a", "file": "losses.py", "from": "1", "to": "2", "guards": "STS19-D2.2"}
    (tmp_path / "list.yml").write_text(yaml.safe_dump([entry, entry]), encoding="utf-8")
    with pytest.raises(ValueError, match="twice in the list: a"):
        mutants.load(tmp_path / "list.yml")
