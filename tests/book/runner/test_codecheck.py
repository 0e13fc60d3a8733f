"""The list of what may be compared, and the certificate of a commit."""

import json
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
    assert (ROOT / codecheck.NAME).read_text(encoding="utf-8") == codecheck.configuration(files)
    read = yaml.safe_load(codecheck.configuration(files))
    assert read["version"] == codecheck.SPECIFICATION and len(read["manifest"]) > 300
    for entry in read["manifest"]:
        assert (ROOT / entry["file"]).is_file()
    (one,) = [e for e in files if e["file"] == "outputs/paper/51-path-time/wine/seconds.svg"]
    assert one["comment"] == "Total time of a regularisation path (STS19-F9), run wine"


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
