"""Numbers in hand-written pages and in the README are those of committed results."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from docutils.nodes import Text
from docutils.nodes import row as row_of_table

import authors
import filled
from _ext import claims, numbers, pages, reference
from safescreen_book import ledger
from safescreen_book.protocols import judging
from safescreen_book.runner.loading import load_manifest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "source"
DOCS = sorted(SOURCE.rglob("*.md"))


def test_each_number_that_a_page_names_is_known():
    named = [name for page in DOCS for name in re.findall(r"\{number\}`([^`]*)`", page.read_text())]
    assert len(named) > 20
    assert set(named) <= set(numbers.numbers())
    assert all(numbers.numbers().values())


@pytest.mark.slow
def test_a_malformed_record_is_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(numbers, "RECORDS", tmp_path)
    made = {"status": "complete", "hashes": {}, "files": {}, "seconds": {"wall": 3600.0}}
    made |= {"experiment": "tiny", "run": "a", "profile": "paper"}
    made |= {"started": "2026-01-01T00:00:00+00:00"}
    for name, entries in {"good": {}, "bad": {"versions": []}, "worse": {"seconds": 1}}.items():
        (tmp_path / "tiny" / name).mkdir(parents=True)
        (tmp_path / "tiny" / name / "result.json").write_text(json.dumps(made | entries))
        (tmp_path / "tiny" / name / "replays.jsonl").write_text("[]\n{\n")
    found = numbers._records()
    assert (found["records"], found["hours of records"]) == ("1", "1")
    assert numbers._replays()["records replayed"] == "0"


def test_a_benchmark_is_named_by_as_many_heads_as_no_other_table_has():
    ours = "Ours (0.3.0, EPYC):\n\n| data | ours |\n|---|---|\n| a | 1 |\n"
    theirs = "Theirs (0.4.0, Xeon), idle:\n\n| data | theirs |\n|---|---|\n| b | 2 |\n"
    more = "| bare | theirs |\n|---|---|\n| c | 3 |\n"
    text = "\n".join([ours, theirs, more])
    found = numbers.table_called("data | theirs", text)
    assert found == (theirs.splitlines()[2:], "0.4.0, Xeon")
    for name, count in (("data", 2), ("rows", 0)):
        with pytest.raises(ValueError, match=f"has {count} tables of '{name}', not one"):
            numbers.table_called(name, text)
    with pytest.raises(ValueError, match="is named above 'bare'"):
        numbers.table_called("bare", text)


def test_each_table_of_the_last_run_names_its_version_and_machine():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    run = text.partition("\n## Last run\n")[2].partition("\n## ")[0]
    *above, _ = re.split(r"(?:^\|.*\n)+", run, flags=re.M)
    assert above
    assert [text for text in above if not numbers.MADE.search(text)] == []


@pytest.mark.parametrize("name", numbers.SEARCHES.values())
def test_searches_gain_what_stands_in_brackets(name):
    factors = numbers.search_factors(name)
    printed = {next(iter(row.values())): row["SafeSVCCV"] for row in numbers.rows_of(name)}
    assert len(factors) >= 3
    for data, factor in factors.items():
        share = float(re.search(r"\(([\d.]+)\)", printed[data])[1])
        assert abs(1.0 / factor - share) <= 0.006


def test_the_readme_is_as_the_results_are():
    text = filled.README.read_text(encoding="utf-8")
    assert filled.readme(text) == text
    changed = text.replace(" times faster**", " times slower**")
    assert filled.readme(changed) == text != changed


def test_the_filled_pages_are_as_the_results_are():
    made = filled.pages()
    assert filled.there() == set(made)
    old = [name for name in made if (filled.FOLDER / name).read_text("utf-8") != made[name]]
    assert not old, "python docs/source/filled.py"


def test_a_forge_finds_nothing_to_fill_and_no_dead_link_in_the_filled_pages():
    for path in [*(filled.FOLDER / name for name in filled.there()), filled.README]:
        text = re.sub(
            r"```(?:python|text)?\n.*?```", "", path.read_text(encoding="utf-8"), flags=re.S
        )
        assert not re.search(r"\{[a-z]+\}`|^```\{|^:\w+:", text, flags=re.M), path
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = target.partition("#")
            if target.startswith("http"):
                continue
            found = (path.parent / file).resolve() if file else path
            assert found.exists(), (path, target)
            if anchor and found.suffix == ".md":
                there = found.read_text(encoding="utf-8")
                names = [
                    re.sub(r"[^\w -]", "", head.lower())
                    for head in re.findall(r"(?m)^#+ (.*)$", there)
                ]
                names = {name.replace(" ", "-") for name in names} | set(
                    re.findall(r'<a name="([^"]+)', there)
                )
                assert anchor in names, (path, target)


@pytest.mark.parametrize(
    ("value", "text"), [(54.75, "55"), (2.241, "2.2"), (0.6127, "0.61"), (1360.0, "1,400")]
)
def test_numbers_have_two_digits(value, text):
    assert numbers.shown(value) == text


def test_the_rows_of_the_authors_program_are_of_one_path_each():
    rows = authors.read()
    for data in authors.DATASETS:
        paths = [row for row in rows if row["dataset"] == data]
        assert {row["who"] for row in paths} == {"authors", "safescreen"}
        for column in ("n_triplets", "n_lams", "rtol", "gamma", "machine"):
            assert len({row[column] for row in paths}) == 1
        assert all(float(row["largest_relative_gap"]) <= authors.RTOL for row in paths)


def test_objectives_that_are_not_of_one_optimum_are_noticed():
    one = {"lams": np.array([2.0, 1.0]), "primal": np.array([10.0, 20.0]), "gap": np.full(2, 1e-5)}
    authors.compare(one, one | {"primal": np.array([10.00005, 20.0])})
    with pytest.raises(AssertionError, match=r"lam \[1\.\]"):
        authors.compare(one, one | {"primal": np.array([10.0, 20.001])})


def test_the_program_of_the_authors_is_read(tmp_path):
    text = """iris
*******************
lambda = 1.3e+07
primal = 716625, dual = 533956, gap = 182669
primal = 1.68133e+07
primal = 546118, dual = 546117, gap = 0.110129
*******************
primal = 12.5, dual = 12.4999, gap = 1e-05
Total time = 9.5
"""
    program = tmp_path / "run"
    program.write_text(f"#!/bin/sh\ncat <<'end'\n{text}end\n")
    program.chmod(0o755)
    found = authors.their_path(tmp_path, "iris", "RRPB")
    assert found["lams"].tolist() == [1.3e7, 1.3e7 * 0.9]
    assert found["primal"].tolist() == [546118.0, 12.5] and found["gap"].tolist() == [
        0.110129,
        1e-5,
    ]
    assert found["iterations"] == 3 and found["seconds"] == [9.5] * authors.ROUNDS


def test_a_page_leads_to_its_source():
    assert pages.source(ROOT, "index") == "docs/source/index.md"
    assert pages.source(ROOT, "how-to/certificate") == "docs/source/how-to/certificate.md"
    assert pages.source(ROOT, "notebooks/00-start-here") == "notebooks/00-start-here.py"
    assert pages.source(ROOT, "reference/safescreen.terms") is None
    app = SimpleNamespace(
        confdir=SOURCE, config=SimpleNamespace(repository="https://example.org/us/ss/")
    )
    context = {"page_source_suffix": ".md"}
    pages._link(app, "index", "", context, None)
    assert (
        context["theme_source_edit_link"]
        == "https://example.org/us/ss/edit/main/docs/source/index.md"
    )
    pages._link(app, "claims/STS19", "", context, None)
    assert context["page_source_suffix"] == ""


def test_a_name_is_told_in_one_sentence():
    known = reference.names()
    assert reference.first_sentence(known["safescreen.Sphere"][1]) == (
        "A closed ball ``||x - center|| <= radius`` that contains the optimum"
    )
    assert reference.first_sentence(known["safescreen.SPHERES"][1]).startswith("By name: `GB`, ")
    for name, (_, value) in known.items():
        assert "\n" not in reference.first_sentence(value), name


def test_titles_are_plain_text():
    nb = {"cells": [{"cell_type": "markdown", "source": ["# A `range` of $\\lambda$\n", "\n"]}]}
    assert reference.title_of(nb) == "A range of λ"
    assert reference.title_of({"cells": []}) == "a notebook"


@pytest.mark.parametrize(("text", "number"), [("1,024", True), ("38.68*", True), ("auto", False)])
def test_columns_of_numbers_are_told(text, number):
    assert numbers._numeric([["x", text], ["y", "1e-05"]]) == ([1] if number else [])


def test_a_rule_says_since_when_it_stands_and_what_was_changed():
    rules = judging.load()
    assert list(claims._history(None)) == []
    for rule in rules.rules:
        said = [paragraph.astext() for paragraph in claims._history(rule)]
        version, commit = rule.since.split(", ")
        assert said[0] == f"Since: version {version}, commit {commit}."
        assert len(said) == 1 + len(rule.changed)
    (said,) = [list(claims._history(rule)) for rule in rules.rules if rule.id == "F8-wider"]
    assert "does not (0.442) → stands (1.43). Before: commit fbfc664d." in said[1].astext()
    assert "was false: section 6.1 fixes a triplet in L or in R" in said[2].astext()


def test_what_lacks_data_is_listed_with_a_command_for_a_run_that_there_is(monkeypatch):
    folder = ROOT / "notebooks"
    known = {claim.id: claim for claim in ledger.load_claims(folder)}
    manifest = load_manifest(folder)
    app = SimpleNamespace(claims=known, manifest=manifest, judged=ledger.judged(folder))
    monkeypatch.setattr(claims, "link_claim", lambda app, name: Text(name))
    listed = claims.Absent.__new__(claims.Absent)
    environment = SimpleNamespace(settings=SimpleNamespace(env=SimpleNamespace(app=app)))
    listed.state = SimpleNamespace(document=environment)
    (found,) = listed.run()
    rows = [[entry.astext() for entry in row.children] for row in found.findall(row_of_table)][1:]
    lacking = [claim for claim in known.values() if "elsewhere" in claim.missing]
    assert {name for name, *_ in rows} == {claim.id for claim in lacking} and len(rows) > 10
    for name, missing, typed in rows:
        assert missing == f"{known[name].missing['elsewhere']}."
        run = re.fullmatch(r"safescreen run (\S+) --profile paper -p dataset NAME", typed)[1]
        (chosen,) = manifest.select([run], "paper")
        assert "dataset" in chosen.parameters
