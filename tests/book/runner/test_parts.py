"""A run that is cut keeps its finished parts, and ends with the record of one that was not cut."""

import json
import math
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from safescreen_book import Recorder, _common, parts
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.worker import UNFINISHED

SOURCE = """# %% tags=["parameters"]
draws = 3
factor = 0.1
cuts = ""
output_dir = ""
rows_dir = ""

# %%
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd

from safescreen_book import Recorder
from safescreen_book.parts import UnfinishedError

record = Recorder(output_dir, rows_dir)


def of_draw(draw):
    with open("computed", "a") as log:
        log.write(str(draw))
    if cuts and Path(cuts, f"kill {draw}").exists():
        Path(cuts, f"kill {draw}").unlink()
        for process in (os.getppid(), os.getpid()):  # the worker, and the kernel
            os.kill(process, signal.SIGKILL)
    if cuts and Path(cuts, f"over {draw}").exists():
        Path(cuts, f"over {draw}").unlink()
        raise UnfinishedError("the time is over")
    values = np.random.default_rng(draw).normal(size=3) * factor
    rows = {"draw": draw, "value": values, "text": "1", "missing": np.nan if draw else 0.5}
    found = {"results": pd.DataFrame(rows)}
    return found | ({} if draw else {"first": found["results"][["value"]]})


# %%
if record.computes:
    tables = record.parts(of_draw, draw=range(draws))
    record.rows("results", tables["results"], digits=17)
    record.rows("first", tables["first"])
"""


@pytest.fixture
def parted(book):
    """A book of one notebook with parts; files in `cuts` tell it where to stop."""
    (book.folder / "tiny.py").write_text(SOURCE, encoding="utf-8")
    (book.folder / "cuts").mkdir()
    return book


def cut(book, *where):
    for name in where:
        (book.folder / "cuts" / name).touch()


def computed(book):
    """The draws that were computed since the last call."""
    log = book.folder / "computed"
    text = log.read_text()
    log.unlink()
    return text


def record_of(book, name):
    """All that no clock decides of a record."""
    folder = book.run_folder(name)
    result = json.loads((folder / "result.json").read_text())
    rows = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    kept = {}
    for path in folder.glob("parts/*"):
        content = json.loads(path.read_text())
        kept[path.name] = [content[part] for part in ("part", "sha256", "tables")]
    return rows, repr(kept), sorted(result["files"]), [part["part"] for part in result["parts"]]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_a_run_killed_twice_and_finished_is_equal_to_one_that_was_not(parted):
    parted.runs(whole={})
    assert parted.run()[0] == 0 and computed(parted) == "012"
    whole = record_of(parted, "whole")

    parted.runs(cut={"cuts": str(parted.folder / "cuts")})
    cut(parted, "kill 1", "kill 2")
    assert [parted.run()[0], computed(parted)] == [1, "01"]
    assert [parted.run()[0], computed(parted)] == [1, "12"]
    assert not (parted.run_folder("cut") / "result.json").exists()
    assert [parted.run()[0], computed(parted)] == [0, "2"]
    assert record_of(parted, "cut") == whole

    made = json.loads((parted.run_folder("cut") / "result.json").read_text())
    assert len({part["began"] for part in made["parts"]}) == 3
    assert all(part["version"] and part["machine"] for part in made["parts"])
    assert made["seconds"]["wall"] > sum(part["wall"] for part in made["parts"][:2])
    assert sorted(path.name for path in (parted.outputs / "smoke" / "tiny").iterdir()) == [
        "cut",
        "whole",
    ]


@pytest.mark.slow
def test_parts_serve_more_draws_and_not_another_question(parted):
    parted.runs(run={"draws": 2})
    assert [parted.run()[0], computed(parted)] == [0, "01"]
    parted.runs(run={"draws": 4})
    assert parted.statuses() == {"run": "changed"}
    assert [parted.run()[0], computed(parted)] == [0, "23"]
    assert [parted.run("--force")[0], computed(parted)] == [0, "0123"]
    parted.runs(run={"draws": 4, "factor": 0.2})
    assert [parted.run()[0], computed(parted)] == [0, "0123"]
    source = parted.folder / "tiny.py"
    source.write_text(source.read_text().replace("size=3", "size=4"))  # this is no record
    assert [parted.run()[0], computed(parted)] == [0, "0123"]


@pytest.mark.slow
def test_a_run_whose_time_is_over_is_unfinished_and_goes_on(parted):
    parted.runs(run={"cuts": str(parted.folder / "cuts")})
    cut(parted, "over 2")
    code, printed = parted.run()
    assert code == UNFINISHED and computed(parted) == "012"
    assert "tiny/run: unfinished: the time is over" in printed
    assert "1 unfinished. Results:" in printed and "To go on: safescreen run" in printed
    (item,) = plans(parted)
    assert item.status == "not run; parts kept of an unfinished attempt: 2"
    code, printed = parted.run("--for", "0s")
    assert code == UNFINISHED and "tiny/run: not begun, the time is over" in printed
    assert [parted.run("--for", "2h")[0], computed(parted)] == [0, "2"]
    assert parted.statuses() == {"run": "complete"}


def plans(book):
    from safescreen_book.runner import batch

    manifest = load_manifest(book.folder)
    return batch.plan(manifest, manifest.select([], "smoke"), "smoke", book.outputs)


def test_a_time_is_one(book):
    book.runs(a={})
    code, printed = book.run("--for", "2 days")
    assert code == 2 and "'2 days' is not a time such as 2h, 90min or 600s" in printed
    code, printed = book.run("--for", "2h", "--scheduler", "local")
    assert code == 2 and "leave out --for or --scheduler" in printed


STORE = {
    "question": {"parameters": {"draws": "3", "gamma": "0.05"}, "data": {"iris": "12"}},
    "made": {"version": "1"},
    "deadline": math.inf,
}


@pytest.fixture
def store(tmp_path):
    return parts.Store(folder=tmp_path / "new", older=tmp_path / "old", **STORE)


def finish(store, draws=3):
    """Finish so many draws; return those that had to be computed, and the table."""
    done = []

    def of_draw(draw):
        done.append(draw)
        return {"results": pd.DataFrame({"draw": [draw], "share": [np.float64(draw) / 3.0]})}

    chosen = [{"draw": draw} for draw in range(draws)]
    contents = parts.finish(chosen, of_draw, store, lambda: None)
    return done, parts.joined(contents)["results"]


def test_a_part_that_is_not_what_was_written_is_computed_again(store):
    first, table = finish(store)
    assert first == [0, 1, 2] and table["share"].tolist() == [0.0, 1.0 / 3.0, 2.0 / 3.0]
    assert finish(store)[0] == []
    text = (store.folder / "draw=1.json").read_text()
    for wrong in (text[: len(text) // 2], "", text.replace("0.33", "0.34"), "\x00" * len(text)):
        (store.folder / "draw=1.json").write_text(wrong)
        again, same = finish(store)
        assert again == [1] and same.equals(table)


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ({"parameters": {"draws": "40", "gamma": "0.05"}, "data": {"iris": "12"}}, []),
        ({"parameters": {"draws": "3", "gamma": "0.1"}, "data": {"iris": "12"}}, [0, 1, 2]),
        ({"parameters": {"draws": "3", "gamma": "0.05"}, "data": {"iris": "13"}}, [0, 1, 2]),
    ],
    ids=["more draws", "another parameter", "other data"],
)
def test_a_part_answers_its_own_question_only(store, changed, again):
    finish(store)
    other = replace(store, question=changed, made={"version": "2"})
    assert finish(other)[0] == again
    assert finish(replace(other, folder=store.older, older=store.folder))[0] == []


def test_a_full_disk_costs_one_part(store, monkeypatch):
    true = os.fsync

    def full(descriptor):
        if (store.folder / "draw=0.json").exists():
            raise OSError(28, "No space left on device")
        true(descriptor)

    monkeypatch.setattr(parts.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        finish(store)
    assert [path.name for path in store.folder.iterdir()] == ["draw=0.json"]
    monkeypatch.setattr(parts.os, "fsync", true)
    assert finish(store)[0] == [1, 2]


def test_no_part_begins_when_the_time_is_over(store):
    finish(store, draws=1)
    late = replace(store, deadline=0.0)
    with pytest.raises(parts.UnfinishedError, match="1 of 3 parts are kept"):
        finish(late)
    assert finish(late, draws=1)[0] == []


def test_parts_of_two_versions_with_other_columns_are_refused(store):
    finish(store)
    (store.folder / "draw=1.json").unlink()

    def other(draw):
        return {"results": pd.DataFrame({"draw": [draw], "rate": [0.5]})}

    contents = parts.finish([{"draw": draw} for draw in range(3)], other, store, lambda: None)
    with pytest.raises(ValueError, match=r"'results' of draw=1\.json has other columns"):
        parts.joined(contents)


@pytest.mark.parametrize("records", [[[], [{"n": 1}]], [[{"n": 1}], []], [[], []]])
def test_a_part_without_records_joins_any_other(records):
    found = Recorder().parts(
        lambda draw: {"results": pd.DataFrame(records[draw])}, draw=range(len(records))
    )["results"]
    assert found.to_dict("records") == records[0] + records[1]


def test_parts_of_a_notebook_without_a_runner(monkeypatch):
    monkeypatch.delenv(parts.ENVIRONMENT, raising=False)
    record = Recorder()
    assert record.is_cold
    found = record.parts(
        lambda kernel, repeat: {"results": pd.DataFrame({"at": [f"{kernel}{repeat}"]})},
        kernel=["linear", "1"],
        repeat=range(2),
    )
    assert found["results"]["at"].tolist() == ["linear0", "linear1", "10", "11"]
    assert not record.is_cold
    with pytest.raises(_common.BookError, match="cannot be a folder's name"):
        parts.file_name({"kernel": "1" * 200})
    with pytest.raises(ValueError, match="two of them have the same name"):
        record.parts(lambda kernel: {}, kernel=["1/d", "1 d"])
    with pytest.raises(TypeError, match="expected a pandas.DataFrame as 'a'"):
        record.parts(lambda draw: {"a": [1]}, draw=range(1))
    with pytest.raises(ValueError, match="rows_dir: parts must not be computed"):
        Recorder(rows_dir=".").parts(of_nothing, draw=range(1))


def of_nothing(draw):
    return {}
