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


def replay(agrees, commit=COMMIT, dirty=False):
    differences = [] if agrees else ["results.csv: row 1"]
    return {
        "version": "0",
        "commit": commit,
        "dirty": dirty,
        "seconds": 1800.0,
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


def test_the_command_says_what_it_certified(tmp_path, monkeypatch, capsys):
    record(tmp_path, "50-a/agrees", replay(True))
    record(tmp_path, "50-a/differs", replay(False))
    state = {"commit": COMMIT, "dirty": False}
    monkeypatch.setattr(cli.fingerprint, "git_state", lambda folder: state)
    command = ["codecheck", "--certificate", str(tmp_path / "c.json"), "--outputs", str(tmp_path)]
    assert cli.main(command) == 1
    assert capsys.readouterr().out == "commit aaaaaaa: 1 agree, 1 differ, 0 left out; 1.0 hours\n"
    assert json.loads((tmp_path / "c.json").read_text())["agree"] == ["50-a/agrees"]
