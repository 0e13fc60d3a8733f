"""The list of what may be compared, and the certificate of a commit."""

import json
import re
from pathlib import Path

import pytest
import yaml

from safescreen_book import cli, ledger
from safescreen_book.runner import codecheck
from safescreen_book.runner.loading import load_manifest

ROOT = Path(__file__).parents[3]
COMMIT = "a" * 40


def record(outputs, name, *replays):
    """Leave a record, and what replays said of it."""
    folder = outputs / "paper" / name
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("{}")
    if replays:
        (folder / "replays.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replays))


def replay(agrees, commit=COMMIT, dirty=False, rows=7):
    differences = [] if agrees else ["results.csv: row 1"]
    return {
        "version": "0",
        "commit": commit,
        "dirty": dirty,
        "seconds": 1800.0,
        "rows": rows,
        "agrees": agrees,
        "differences": differences,
    }


def test_the_list_in_the_checkout_is_that_of_its_outputs():
    folder = ROOT / "notebooks"
    manifest = load_manifest(folder)
    files = codecheck.entries(manifest, ledger.load_claims(folder), ROOT / "outputs")
    paper, added = codecheck.paper(ROOT), codecheck.added(ROOT / codecheck.NAME)
    text = codecheck.configuration(paper, files, added)
    assert (ROOT / codecheck.NAME).read_text(encoding="utf-8") == text
    read = yaml.safe_load(text)
    assert read["version"] == codecheck.SPECIFICATION and len(read["manifest"]) > 300
    for entry in read["manifest"]:
        assert (ROOT / entry["file"]).is_file()
    (one,) = [e for e in files if e["file"] == "outputs/paper/51-path-time/wine/seconds.svg"]
    assert one["comment"] == "Total time of a regularisation path (STS19-F9), run wine"


PLACEHOLDER = re.compile("FIXME|TODO|XXXX|0000-0000-0000-0000")
ORCID = re.compile(r"(\d{4}-){3}\d{3}[\dX]")


def people(content):
    """Return authors and codecheckers."""
    return [*content.get("paper", {}).get("authors", []), *content.get("codechecker", [])]


def is_inside(path):
    """Whether a path of the manifest stays in the checkout."""
    return not re.match("[/~]|[A-Za-z]:", path) and ".." not in path.split("/")


# What the specification of CODECHECK says with MUST, by the identifiers of its rules: those of
# version 1.0, and CC-CFG-016 to 025, which version 2.0 turned from SHOULD or MAY into MUST.
MUST = {
    "CC-CFG-002": lambda text, c: text.lstrip().startswith("---\n"),
    "CC-CFG-004": lambda text, c: isinstance(c.get("manifest"), list),
    "CC-CFG-005": lambda text, c: all(one.get("file") for one in c.get("manifest", [])),
    "CC-CFG-006": lambda text, c: all(is_inside(one["file"]) for one in c.get("manifest", [])),
    "CC-CFG-008": lambda text, c: bool(c.get("codechecker")),
    "CC-CFG-009": lambda text, c: all(one.get("name") for one in c.get("codechecker", [])),
    "CC-CFG-011": lambda text, c: bool(c.get("report")),
    "CC-CFG-016": lambda text, c: bool(c.get("paper")),
    "CC-CFG-017": lambda text, c: bool(c.get("paper", {}).get("title")),
    "CC-CFG-018": lambda text, c: bool(c.get("paper", {}).get("authors")),
    "CC-CFG-019": lambda text, c: all(one.get("name") for one in people(c)),
    "CC-CFG-021": lambda text, c: c.get("paper", {}).get("reference", "").startswith("https://"),
    "CC-CFG-023": lambda text, c: not PLACEHOLDER.search(yaml.safe_dump(c)),
    "CC-CFG-024": lambda text, c: bool(c.get("summary")),
    "CC-CFG-025": lambda text, c: bool(c.get("certificate")),
    "CC-CFG-026": lambda text, c: re.fullmatch(r"\d{4}-\d{3}", c.get("certificate", "2026-001")),
    "CC-MET-001": lambda text, c: all(
        ORCID.fullmatch(one["ORCID"]) for one in people(c) if "ORCID" in one
    ),
}
OF_THE_CODECHECKER = ["CC-CFG-008", "CC-CFG-011", "CC-CFG-024", "CC-CFG-025"]
ADDED = {
    "codechecker": [{"name": "A. Checker", "ORCID": "0000-0002-1825-0097"}],
    "report": "https://doi.org/10.5281/zenodo.1234567",
    "summary": "All rows agree.",
    "certificate": "2026-001",
}


def broken(text):
    """Return the identifiers of the rules that a list breaks."""
    content = yaml.safe_load(text)
    return [rule for rule, holds in MUST.items() if not holds(text, content)]


def listed(paper=None, added=ADDED, file="outputs/a.csv"):
    """Return a short list."""
    paper = codecheck.paper(ROOT) if paper is None else paper
    return codecheck.configuration(paper, [{"file": file, "comment": "a table"}], added)


def test_the_list_breaks_no_rule_that_its_authors_can_keep():
    committed = (ROOT / codecheck.NAME).read_text(encoding="utf-8")
    assert broken(committed) in ([], OF_THE_CODECHECKER)
    assert broken(listed(added={})) == OF_THE_CODECHECKER
    assert broken(listed()) == []


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        pytest.param(listed().removeprefix("---\n"), ["CC-CFG-002"], id="no start"),
        pytest.param(listed(file="/outputs/a.csv"), ["CC-CFG-006"], id="absolute"),
        pytest.param(listed(file="../a.csv"), ["CC-CFG-006"], id="outside"),
        pytest.param(
            listed(paper={}),
            ["CC-CFG-016", "CC-CFG-017", "CC-CFG-018", "CC-CFG-021"],
            id="no paper",
        ),
        pytest.param(
            listed(added={**ADDED, "certificate": "2026-XXX"}), ["CC-CFG-026"], id="certificate"
        ),
        pytest.param(
            listed(added={**ADDED, "report": "https://doi.org/10.5281/zenodo.FIXME"}),
            ["CC-CFG-023"],
            id="placeholder",
        ),
        pytest.param(
            listed(added={**ADDED, "codechecker": [{"ORCID": "https://orcid.org/0"}]}),
            ["CC-CFG-009", "CC-CFG-019", "CC-MET-001"],
            id="nobody",
        ),
    ],
)
def test_the_rules_notice_what_breaks_them(text, rules):
    assert broken(text) == rules


def test_authors_and_their_orcids_come_from_the_citation(tmp_path):
    for name in ("pyproject.toml", codecheck.REPORT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "CITATION.cff").write_text(
        "authors:\n"
        "  - {family-names: Carberry, given-names: Josiah,"
        ' orcid: "https://orcid.org/0000-0002-1825-0097"}\n'
        "  - {name: The others}\n"
    )
    assert codecheck.paper(tmp_path)["authors"] == [
        {"name": "Josiah Carberry", "ORCID": "0000-0002-1825-0097"},
        {"name": "The others"},
    ]


def test_what_a_codechecker_added_stays(tmp_path):
    path = tmp_path / codecheck.NAME
    assert codecheck.added(path) == {}
    path.write_text(listed(added={**ADDED, "publisher": "not of the check"}), encoding="utf-8")
    assert codecheck.added(path) == ADDED
    path.write_text(listed(added=codecheck.added(path), file="outputs/b.csv"), encoding="utf-8")
    assert yaml.safe_load(path.read_text(encoding="utf-8")).items() >= ADDED.items()


def test_a_certificate_counts_replays_of_its_commit_alone(tmp_path):
    record(tmp_path, "50-a/agrees", replay(False, commit="b" * 40), replay(True))
    record(tmp_path, "50-a/differs", replay(True), replay(False))
    record(tmp_path, "51-b/older", replay(True, commit="b" * 40))
    record(tmp_path, "51-b/changed", replay(True, dirty=True))
    record(tmp_path, "51-b/never")
    found = codecheck.certificate(tmp_path, {"commit": COMMIT, "dirty": False})
    assert found["agree"] == ["50-a/agrees"]
    assert found["differ"] == {"50-a/differs": ["results.csv: row 1"]}
    assert found["left_out"] == ["51-b/changed", "51-b/never", "51-b/older"]
    assert found["hours"] == 1.0 and found["commit"] == COMMIT and found["machine"]


@pytest.mark.parametrize("git", [None, {"commit": COMMIT, "dirty": True}])
def test_a_changed_tree_gets_no_certificate(tmp_path, git):
    record(tmp_path, "50-a/agrees", replay(True))
    with pytest.raises(ValueError, match="clone without changes"):
        codecheck.certificate(tmp_path, git)


def test_without_a_replay_there_is_no_certificate(tmp_path):
    record(tmp_path, "51-b/never")
    text = "no record was replayed at aaaaaaa: run `safescreen replay` first"
    with pytest.raises(ValueError, match=text):
        codecheck.certificate(tmp_path, {"commit": COMMIT, "dirty": False})


def certified(tmp_path, monkeypatch, capsys):
    """Return the exit code of the command, what it printed and what it wrote."""
    state = {"commit": COMMIT, "dirty": False}
    monkeypatch.setattr(cli.fingerprint, "git_state", lambda folder: state)
    file = tmp_path / "c.json"
    code = cli.main(["codecheck", "--certificate", str(file), "--outputs", str(tmp_path)])
    return code, capsys.readouterr().out, json.loads(file.read_text())


def test_the_command_says_what_it_certified(tmp_path, monkeypatch, capsys):
    record(tmp_path, "50-a/agrees", replay(True))
    record(tmp_path, "50-a/differs", replay(False))
    code, printed, found = certified(tmp_path, monkeypatch, capsys)
    assert code == 1 and found["agree"] == ["50-a/agrees"]
    assert printed == (
        "commit aaaaaaa: 1 agree, 1 differ, 0 left out; 1.0 hours\n"
        "differ, and did not before: 50-a/differs\n"
    )


EARLIER = "b" * 40


@pytest.mark.parametrize(
    ("replays", "known"),
    [
        pytest.param([replay(False, EARLIER), replay(False)], True, id="as before"),
        pytest.param([replay(True, EARLIER), replay(False)], False, id="agreed before"),
        pytest.param(
            [replay(False, EARLIER), replay(True, "c" * 40), replay(False)], False, id="mended"
        ),
        pytest.param([replay(False), replay(False)], False, id="twice at this commit"),
        pytest.param([replay(False, EARLIER), replay(False, rows=0)], False, id="stops now"),
        pytest.param([replay(False, EARLIER, rows=0), replay(False)], False, id="stopped before"),
    ],
)
def test_a_record_that_is_known_to_differ_is_no_failure(
    tmp_path, monkeypatch, capsys, replays, known
):
    record(tmp_path, "50-a/historic", *replays)
    code, printed, found = certified(tmp_path, monkeypatch, capsys)
    assert code == (0 if known else 1)
    assert found["known"] == (["50-a/historic"] if known else [])
    assert list(found["differ"]) == ["50-a/historic"]
    assert ("as they did before" in printed) == known
