"""A run folder is replaced as a whole or not at all."""

import json
import math
import subprocess
import sys

import pytest

from safescreen_book._common import read_json, whole, write_json
from safescreen_book.places import environment
from safescreen_book.runner import folders


def made(key):
    """What a run with a parameter `key` depends on."""
    return {"parameters": {"key": repr(key)}, "key": key}


def result_of(key):
    """What the runner writes of a finished run."""
    return {
        "status": "complete",
        "experiment": "tiny",
        "run": "a",
        "profile": "smoke",
        "parameters": {"key": key},
        "started": "2026-01-01T00:00:00+00:00",
        "hashes": made(key),
        "files": {},
        "seconds": {"wall": 1.0},
    }


def fill(folder, key):
    folder.mkdir(parents=True)
    write_json(folder / "result.json", result_of(key))
    return folder


def test_install_replaces_and_leaves_nothing_behind(tmp_path):
    target = fill(tmp_path / "run", "old")
    (target / "failure.json").write_text("{}")
    assert folders.state(target).status == "failed"
    folders.install(fill(tmp_path / "new", "new"), target)
    assert folders.state(target, made("new")).status == "complete"
    assert folders.state(target, made("other")).status == "changed"
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
    assert (state.status, state.failure["error"], state.result["hashes"]["key"]) == (
        "failed",
        "boom",
        "old",
    )
    assert (target / "notebook.failed.ipynb").is_file() and not partial.exists()


def test_a_failure_of_something_else_does_not_count_against_a_result(tmp_path):
    """A cell is changed, fails, and is changed back: the older result is found again."""
    target = fill(tmp_path / "run", "old")
    folders.record_failure(
        target, {"error": "boom", "hashes": made("new")}, tmp_path / "none.ipynb"
    )
    assert folders.state(target, made("old")).status == "complete"
    assert (
        folders.state(target, made("new")).status
        == folders.state(target, made("third")).status
        == folders.state(target).status
        == "failed"
    )
    folders.record_failure(
        target, {"error": "boom", "hashes": made("old")}, tmp_path / "none.ipynb"
    )
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
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as other:
        assert other.stdout.readline() == f"{scratch}\n"
        (scratch / "result").mkdir()
        (scratch / "spec.json").touch()
        assert folders.scratch_folder(tmp_path / "run") is None
        other.kill()
    # what a dead process left is cleared
    assert folders.scratch_folder(tmp_path / "run") == scratch
    assert [path.name for path in scratch.iterdir()] == ["lock"]
    assert (
        folders.scratch_folder(tmp_path / "run") is None
        and folders.scratch_folder(tmp_path / "other") is not None
    )
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
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] and read_json(
        tmp_path / "a.json"
    ) == {"a": "é"}


@pytest.fixture
def others(tmp_path):
    """A folder that is somebody else's."""
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "letter.txt").write_text("mine")
    return folder


def test_a_scratch_folder_that_is_a_link_is_refused(tmp_path, others):
    """What it leads to is not emptied, and no lock is made there."""
    (tmp_path / ".run.work").symlink_to(others)
    with pytest.raises(
        OSError, match=r"\.run\.work is a symbolic link, which is not followed; remove it"
    ):
        folders.scratch_folder(tmp_path / "run")
    assert [path.name for path in others.iterdir()] == ["letter.txt"]


def test_a_folder_that_no_run_has_made_is_refused(tmp_path, others):
    others.rename(tmp_path / ".run.work")
    with pytest.raises(
        OSError, match=r"\.run\.work holds files that no run has made; move them away"
    ):
        folders.scratch_folder(tmp_path / "run")
    assert (tmp_path / ".run.work/letter.txt").read_text() == "mine"
    (tmp_path / ".other.work").mkdir()  # of a process that was killed before it made the lock
    folders.release(folders.scratch_folder(tmp_path / "other"))
    assert not (tmp_path / ".other.work").exists()


def test_of_links_in_a_scratch_folder_only_the_links_are_removed(tmp_path, others):
    scratch = tmp_path / ".run.work"

    def fill_with_links():
        (scratch / "result").mkdir(parents=True)
        (scratch / "lock").touch()
        (scratch / "all").symlink_to(others)
        (scratch / "result/all").symlink_to(others)
        (scratch / "letter").symlink_to(others / "letter.txt")

    fill_with_links()
    assert folders.scratch_folder(tmp_path / "run") == scratch
    assert [path.name for path in scratch.iterdir()] == ["lock"]
    fill_with_links()
    folders.release(scratch)
    assert not scratch.exists() and (others / "letter.txt").read_text() == "mine"


def test_a_file_that_lies_elsewhere_is_no_part_of_a_result(tmp_path, others):
    target = fill(tmp_path / "run", "old")
    for name in ("../others/letter.txt", "linked.txt"):
        files = {name: folders.sha256_file(others / "letter.txt")}
        write_json(target / "result.json", read_json(target / "result.json") | {"files": files})
        (target / "linked.txt").unlink(missing_ok=True)
        (target / "linked.txt").symlink_to(others / "letter.txt")
        assert folders.state(target).why == f"files ({name})"


def with_part(**parts):
    """A result of which some parts are something else."""
    return json.dumps(result_of("old") | parts)


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "comp',
        "[]",
        "[" * 3000,
        '{"status": "complete"}',
        with_part(files=[]),
        with_part(seconds={"wall": math.nan}),
        with_part(seconds={"wall": "1"}),
        with_part(git="abc"),
        with_part(versions=[]),
        with_part(parameters={}),
        with_part(parameters={"key": "other"}),
        with_part(run=[]),
        with_part(experiment=None),
        with_part(started=math.inf),
        with_part(started="yesterday"),
        "\xff",
    ],
)
def test_a_damaged_result_is_said_to_be_and_stands_in_nobodys_way(tmp_path, text):
    folder = fill(tmp_path / "run", "old")
    (folder / "result.json").write_text(text, encoding="latin-1")
    assert folders.state(folder, made("old")) == folders.Status("damaged")
    (folder / "failure.json").write_text('{"error": "boom"}')
    assert folders.state(folder) == folders.Status("failed", None, {"error": "boom"})
    folders.install(fill(tmp_path / "new", "new"), folder)
    assert folders.state(folder, made("new")).status == "complete"


def test_a_summary_that_was_cut_is_damage(tmp_path):
    folder = fill(tmp_path / "run", "old")
    write_json(folder / "summary.json", {"timings": {"run": 1.0}})
    assert folders.state(folder, made("old")).status == "complete"
    (folder / "summary.json").write_text('{"timings": {"ru')
    state = folders.state(folder, made("old"))
    assert (state.status, state.why) == ("damaged", "files (summary.json)")
