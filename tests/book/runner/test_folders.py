"""A run folder is replaced as a whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from safescreen_book._common import read_json, whole, write_json
from safescreen_book.places import environment
from safescreen_book.runner import folders


def made(key):
    """What a run with a parameter `key` depends on."""
    return {"parameters": {"key": key}, "key": key}


def fill(folder, key):
    folder.mkdir(parents=True)
    content = {"status": "complete", "hashes": made(key), "files": {}, "seconds": {"wall": 1.0}}
    write_json(folder / "result.json", content)
    return folder


def test_install_replaces_and_leaves_nothing_behind(tmp_path):
    target = fill(tmp_path / "run", "old")
    (target / "failure.json").write_text("{}")
    assert folders.state(target).status == "failed"
    folders.install(fill(tmp_path / "new", "new"), target)
    assert folders.state(target, made("new")).status == "complete"
    assert folders.state(target, made("other")).status == "changed"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_install_while_somebody_looks(tmp_path, monkeypatch):
    """Who reads the state between the two renames puts the older result back; the new one still comes in its place."""
    target, rename = fill(tmp_path / "run", "old"), Path.rename

    def watched(path, to):
        made = rename(path, to)
        if path == target:
            assert folders.state(target).result["hashes"]["key"] == "old"
        return made

    monkeypatch.setattr(Path, "rename", watched)
    folders.install(fill(tmp_path / "new", "new"), target)
    assert folders.state(target, made("new")).status == "complete"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_replacement_cut_in_the_middle_is_undone(tmp_path):
    fill(tmp_path / ".run.old", "old")
    assert folders.state(tmp_path / "run", made("old")).status == "complete"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_failure_stands_beside_the_older_result(tmp_path):
    target = fill(tmp_path / "run", "old")
    partial = tmp_path / "partial.ipynb"
    partial.write_text("{}")
    folders.record_failure(target, {"error": "boom"}, partial)
    state = folders.state(target, made("old"))
    assert (state.status, state.failure["error"], state.result["hashes"]["key"]) == ("failed", "boom", "old")
    assert (target / "notebook.failed.ipynb").is_file() and not partial.exists()


def test_a_failure_of_something_else_does_not_count_against_a_result(tmp_path):
    """A cell is changed, fails, and is changed back: the older result is found again."""
    target = fill(tmp_path / "run", "old")
    folders.record_failure(target, {"error": "boom", "hashes": made("new")}, tmp_path / "none.ipynb")
    assert folders.state(target, made("old")).status == "complete"
    assert (
        folders.state(target, made("new")).status == folders.state(target, made("third")).status == folders.state(target).status == "failed"
    )
    folders.record_failure(target, {"error": "boom", "hashes": made("old")}, tmp_path / "none.ipynb")
    assert folders.state(target, made("old")).status == "failed"


HOLD = """
import sys
from pathlib import Path
from safescreen_book.runner import folders
print(folders.scratch_folder(Path(sys.argv[1])), flush=True)
input()
"""


def test_a_run_is_one_process_at_a_time(tmp_path):
    scratch = tmp_path / ".run.work"
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()) as other:
        assert other.stdout.readline() == f"{scratch}\n"
        (scratch / "result").mkdir()
        (scratch / "spec.json").touch()
        assert folders.scratch_folder(tmp_path / "run") is None
        other.kill()
    assert folders.scratch_folder(tmp_path / "run") == scratch  # what a dead process left is cleared
    assert [path.name for path in scratch.iterdir()] == ["lock"]
    assert folders.scratch_folder(tmp_path / "run") is None and folders.scratch_folder(tmp_path / "other") is not None
    folders.release(scratch)
    folders.release(tmp_path / ".other.work")
    assert list(tmp_path.iterdir()) == []


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    write_json(tmp_path / "a.json", {"a": "é"})
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(tmp_path / "a.json", {"a": "later", "b": object()})
    with pytest.raises(KeyError), whole(tmp_path / "a.json") as partial:
        partial.write_text("half")
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] and read_json(tmp_path / "a.json") == {"a": "é"}


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "comp',
        "[]",
        "[" * 3000,
        '{"status": "complete"}',
        '{"status": "complete", "files": [], "hashes": {}, "seconds": {}}',
        "\xff",
    ],
)
def test_a_damaged_result_is_said_to_be_and_stands_in_nobodys_way(tmp_path, text):
    folder = fill(tmp_path / "run", "old")
    (folder / "result.json").write_text(text, encoding="latin-1")
    assert folders.state(folder, made("old")) == folders.State("damaged")
    (folder / "failure.json").write_text('{"error": "boom"}')
    assert folders.state(folder) == folders.State("failed", None, {"error": "boom"})
    folders.install(fill(tmp_path / "new", "new"), folder)
    assert folders.state(folder, made("new")).status == "complete"
