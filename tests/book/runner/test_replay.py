"""Replays: what a comparison finds in small tables, and what is written of it beside a record."""

import json
import math
from dataclasses import replace

import nbformat
import pytest

from safescreen_book._common import BookError
from safescreen_book.cli import main
from safescreen_book.runner import batch, folders, replay
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.manifest import Replay, ReplayTable

pytestmark = pytest.mark.slow

PATH = ReplayTable(
    keys=("method", "lam"),
    exact=("converged",),
    within={"rate": 0.005},
    gaps={"primal": "gap"},
    relative={"scaled": "share"},
)
HEAD = "method,lam,primal,gap,scaled,share,rate,converged,seconds\n"
ROWS = (
    "none,100.123456,50.0,1e-6,50.0,1e-6,0.0,True,1.0",
    "none,90.111111,45.0,1e-6,45.0,1e-6,,True,1.0",
    "PGB,100.123456,50.0,1e-6,50.0,1e-6,0.5,True,1.0",
    "PGB,90.111111,45.0,1e-6,45.0,1e-6,0.75,True,1.0",
)


def compared(tmp_path, old, new, table=PATH, head=HEAD):
    """Compare two tables of these rows."""
    for folder, rows in (("record", old), ("new", new)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.csv").write_text(head + "".join(f"{row}\n" for row in rows))
    return replay.compare(tmp_path / "record", tmp_path / "new", {"rows.csv": table})


def test_what_agrees(tmp_path):
    """A part of the rows, in another order, with other seconds; missing numbers are equal."""
    part = [row.removesuffix("1.0") + "9.0" for row in (ROWS[2], ROWS[1])]
    found = compared(tmp_path, ROWS, part)
    assert found.agrees and (found.rows, found.largest) == (2, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ("PGB,100.123456,50.0", "PGB,100.1234561,50.0", 0.0),  # six digits of a key
        ("50.0,1e-6,50.0", "50.000001,1e-6,50.0", 0.5),  # a gap, of two
        ("50.0,1e-6,0.5", "50.00005,1e-6,0.5", 0.5),  # of two that are relative
        ("0.5,True", "0.504,True", 0.8),
    ],
)
def test_what_is_within_the_tolerances(tmp_path, old, new, size):
    row = ROWS[2].replace(old, new)
    assert row != ROWS[2]
    found = compared(tmp_path, ROWS, [row])
    assert found.agrees and found.largest == pytest.approx(size, abs=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("50.0,1e-6,50.0", "50.00001,1e-6,50.0", "primal 50.0 -> 50.00001"),  # ten gaps
        ("50.0,1e-6,0.5", "50.0005,1e-6,0.5", "scaled 50.0 -> 50.0005"),
        ("0.5,True", "0.51,True", "rate 0.5 -> 0.51"),  # one per cent
        ("0.5,True", ",True", "rate 0.5 -> nan"),
        ("0.5,True", "0.5,False", "converged True -> False"),
    ],
)
def test_what_differs(tmp_path, old, new, told):
    row = ROWS[2].replace(old, new)
    assert row != ROWS[2]
    found = compared(tmp_path, ROWS, [ROWS[0], row])
    assert not found.agrees and found.largest > 1.0
    assert found.differences == (f"rows.csv, method=PGB lam=100.123: {told}",)


@pytest.mark.parametrize("rows", [ROWS[:2], [row.replace("100.123456", "100.124") for row in ROWS]])
def test_rows_that_the_record_has_not(tmp_path, rows):
    """A grid of lam that is shifted is another question."""
    found = compared(tmp_path, rows, [ROWS[3], ROWS[2]])
    assert "rows.csv, method=PGB lam=100.123: not in the record" in found.differences


def test_a_path_begins_where_it_did(tmp_path):
    """A grid that begins a step later has no row that the record has not."""
    table = ReplayTable(keys=("method", "lam"), exact=("converged",), begins=True)
    found = compared(tmp_path, ROWS, ROWS[1:], table)
    assert found.differences == (
        "rows.csv: begins with method=none lam=90.1111, the record with method=none lam=100.123",
    )


def test_rows_beyond_the_first_ones_are_not_compared(tmp_path):
    bad = ROWS[1].replace("True", "False")
    table = ReplayTable(keys=("method", "lam"), exact=("converged",), first=1)
    assert compared(tmp_path, ROWS, [ROWS[0], bad], table).agrees
    assert not replay.compare(tmp_path / "record", tmp_path / "new", {"rows.csv": PATH}).agrees


@pytest.mark.parametrize(("digits", "agrees"), [(4, True), (5, True), (6, False), (0, False)])
def test_numbers_that_are_written_to_some_digits(tmp_path, digits, agrees):
    """123.456 has become 123.46."""
    table = ReplayTable(keys=("i",), gaps={"primal": "gap"}, digits=digits)
    assert (
        compared(tmp_path, ["1,123.46,0"], ["1,123.456,0"], table, "i,primal,gap\n").agrees
        is agrees
    )


@pytest.mark.parametrize(("count", "size"), [(1005, 1.0), (996, 0.8), (1006, 1.2)])
def test_counts_differ_by_half_a_percent_of_the_terms(tmp_path, count, size):
    table = ReplayTable(keys=("i",), counts={"screened": "terms"})
    found = compared(tmp_path, ["1,1000,1000"], [f"1,{count},1000"], table, "i,screened,terms\n")
    assert found.largest == pytest.approx(size) and found.agrees is (size <= 1.0)


@pytest.mark.parametrize(
    ("old", "new", "head", "told"),
    [
        (["1"], ["1"], "i\n", "rows.csv: the record has no column error"),
        (["1,2", "1,3"], ["1,2"], "i,error\n", "rows.csv: two rows of the record have i=1"),
        (["1,2"], [], "i,error\n", "rows.csv: no rows to compare"),
    ],
)
def test_tables_that_cannot_be_compared(tmp_path, old, new, head, told):
    found = compared(tmp_path, old, new, ReplayTable(keys=("i",), exact=("error",)), head)
    assert not found.agrees and found.differences == (told,)


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(BookError, match=r"rows\.csv cannot be read"):
        replay.compare(tmp_path / "record", tmp_path / "new", {"rows.csv": PATH})


def test_what_is_written(tmp_path):
    """Lines are added, and what is not one is left out; numbers are those of JSON."""
    found = replay.Found(3, 0.123456, ())
    line = replay.entry(found, {"commit": "0" * 40, "dirty": False}, 1.26)
    assert line["agrees"] and (line["rows"], line["largest"], line["seconds"]) == (3, 0.123, 1.3)
    replay.append(tmp_path, line)
    with (tmp_path / folders.REPLAYS).open("a") as file:
        file.write("not a line of JSON\n")
    replay.append(tmp_path, replay.entry(replay.Found(1, 2.0, ("rows.csv: i 1 -> 2",)), None, 0.0))
    first, last = folders.read_replays(tmp_path)
    assert (
        first == line and last["differences"] == ["rows.csv: i 1 -> 2"] and last["commit"] is None
    )
    json.dumps(replay.entry(replay.Found(0, math.inf, ("stops",)), None, 0.0), allow_nan=False)


GOOD = {
    "parameters": {"n": 2},
    "runs": {"a": {"n": 1}},
    "tables": {
        "results.csv": {
            "keys": ["i"],
            "exact": ["square"],
            "within": {"rate": 0},
            "gaps": {"primal": "gap"},
        }
    },
}


def manifest_of(entry):
    runs = {"seconds": 1, "memory_mb": 1, "runs": {"a": {"n": 3}, "b": {}}}
    return {"tiny": {"title": "t", "replay": entry, "profiles": {"smoke": runs, "paper": runs}}}


def test_a_good_entry(book):
    book.write(manifest_of(GOOD | {"without": {"b": "too long"}}))
    entry = load_manifest(book.folder).experiments["tiny"].replay
    assert entry.parameters_of("a") == {"n": 1} and entry.parameters_of("b") == {"n": 2}
    assert (entry.reason("a"), entry.reason("b")) == ("", "too long")
    assert entry.tables["results.csv"].columns == ("square", "rate", "primal")
    assert entry.tables["results.csv"].needed == ("i", "square", "rate", "primal", "gap")
    book.write(manifest_of({"clock": "all are seconds"}))
    assert load_manifest(book.folder).experiments["tiny"].replay == Replay(clock="all are seconds")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"tables": {}},
            "needs either tables to compare, or `clock` with the reason why nothing is "
            "compared; found neither",
        ),
        (
            {"clock": "seconds"},
            "needs either tables to compare, or `clock` with the reason why nothing is "
            "compared; found both",
        ),
        ({"parameter": {}}, r"unknown key 'parameter'; did you mean parameters\?"),
        ({"runs": {"c": {}}}, "experiment tiny: replay: unknown run 'c'"),
        ({"without": {"c": "why"}}, "experiment tiny: replay: unknown run 'c'"),
        ({"rounding": {"c": "why"}}, "experiment tiny: replay: unknown run 'c'"),
        (
            {"tables": {"r.csv": {"keys": ["i"]}}},
            "r.csv: needs `keys`, and columns that are compared",
        ),
        (
            {"tables": {"r.csv": {"keys": [], "exact": ["i"]}}},
            "r.csv: needs `keys`, and columns that are compared",
        ),
        ({"tables": {"r.csv": {"exact": ["i"]}}}, "key 'keys' is missing"),
        ({"tables": {"r.csv": {"keys": "i", "exact": ["i"]}}}, "expected a list of strings"),
        (
            {"tables": {"r.csv": {"keys": ["i"], "within": {"x": -1}}}},
            "r.csv: x: expected the largest difference",
        ),
        (
            {"tables": {"r.csv": {"keys": ["i"], "within": {"x": True}}}},
            "r.csv: x: expected the largest difference",
        ),
        (
            {"tables": {"r.csv": {"keys": ["i"], "within": {"x": math.nan}}}},
            "r.csv: x: expected the largest difference",
        ),
        (
            {"tables": {"r.csv": {"keys": ["i"], "exact": ["x"], "first": 0}}},
            "first: expected a positive whole number",
        ),
        (
            {"tables": {"r.csv": {"keys": ["i"], "exact": ["x"], "digits": 1.5}}},
            "digits: expected a positive whole number",
        ),
        (
            {"tables": {"r.csv": {"keys": ["i"], "exact": ["x"], "begins": 1}}},
            "begins: expected true or false",
        ),
    ],
)
def test_what_is_wrong_is_said(book, change, message):
    book.write(manifest_of(GOOD | change))
    with pytest.raises(BookError, match=message):
        load_manifest(book.folder)


TABLE = {"keys": ["i"], "exact": ["square"]}


def write(book, **entry):
    runs = {"seconds": 1, "memory_mb": 1, "runs": {"a": {"n": 5}}}
    replayed = {"tables": {"results.csv": TABLE}, "parameters": {"n": 2}} | entry
    book.write(
        {
            "tiny": {
                "title": "t",
                "outputs": ["results.csv"],
                "replay": replayed,
                "profiles": {"smoke": runs, "paper": runs},
            }
        }
    )


def status(book):
    manifest = load_manifest(book.folder)
    return batch.plan(manifest, manifest.select([], "paper"), "paper", book.outputs)[0].state.status


@pytest.fixture(scope="module")
def story(shared_book):
    """A record that another library has made."""
    write(shared_book)
    assert main(["run", "--profile", "paper", *shared_book.options]) == 0
    file = shared_book.outputs / "paper" / "tiny" / "a" / "result.json"
    made = json.loads(file.read_text())
    made["hashes"]["library"] = "0"
    file.write_text(json.dumps(made))
    assert status(shared_book) == "historic"
    return shared_book, file.with_name(folders.REPLAYS)


def replayed(book, capsys, *options):
    code = main(["replay", "--jobs", "1", *options, *book.options])
    return code, capsys.readouterr().out


def test_a_replay_that_agrees_confirms_a_record(story, capsys):
    book, lines = story
    before = {file: file.read_bytes() for file in lines.parent.iterdir()}
    assert replayed(book, capsys)[0] == 0
    assert len(lines.read_text().splitlines()) == 1 and status(book) == "confirmed"
    assert {file: file.read_bytes() for file in lines.parent.iterdir() if file != lines} == before


def test_a_replay_that_differs(story, capsys):
    """The notebook writes other rows now."""
    book, lines = story
    source = book.folder / "tiny.py"
    text = source.read_text()
    source.write_text(text.replace("{i * i}.25", "{i * i}.5"))
    code, printed = replayed(book, capsys)
    assert (
        code == 1
        and "    results.csv, i=1: square 1.25 -> 1.5" in printed
        and "1 differ" in printed
    )
    assert len(lines.read_text().splitlines()) == 2 and status(book) == "historic"
    source.write_text(text)


@pytest.mark.parametrize("blas", ["Prescott", None])
def test_a_difference_that_follows_rounding_decides_nothing(story, capsys, blas):
    """The manifest says that rows of this run follow rounding. With the record's own kernels of
    BLAS a difference is one all the same.
    """
    book, lines = story
    write(book, rounding={"a": "its last lam depends on iterations"})
    record = lines.with_name("result.json")
    before = record.read_text(), lines.read_text(), status(book)
    made = json.loads(before[0])
    record.write_text(json.dumps(made | {"blas": blas or made["blas"]}))
    source = book.folder / "tiny.py"
    text = source.read_text()
    source.write_text(text.replace("{i * i}.25", "{i * i}.75"))
    code, printed = replayed(book, capsys)
    assert "    results.csv, i=1: square 1.25 -> 1.75" in printed
    if blas:
        assert code == 0 and "tiny/a: follows rounding (its last lam depends on" in printed
        assert lines.read_text() == before[1] and status(book) == before[2]
    else:
        assert code == 1 and "tiny/a: DIFFERS" in printed
    source.write_text(text)
    record.write_text(before[0])
    lines.write_text(before[1])
    write(book)


def test_a_notebook_that_stops(story, capsys):
    book, lines = story
    write(book, parameters={"n": 200})
    code, printed = replayed(book, capsys)
    assert code == 1 and "    stops in cell 4 with AssertionError: n too large: 200" in printed
    assert (
        "stops in cell 4" in folders.read_replays(lines.parent)[-1]["differences"][0]
        and status(book) == "historic"
    )
    write(book)


def test_a_process_that_ends_ends_no_other(story):
    """One of three replays is killed by the system, say for want of memory."""
    book, _ = story
    manifest = load_manifest(book.folder)
    plan = batch.plan(manifest, manifest.select([], "paper"), "paper", book.outputs)[0]
    killed = replace(
        plan,
        notebook=nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell("import os; os._exit(9)")]
        ),
    )
    entry = manifest.experiments["tiny"].replay
    ended = list(replay.run([plan, killed, plan], {"tiny": entry}, book.folder, 1))
    assert len(ended) == 3
    for one, found, _ in ended:
        assert found is None if one is killed else found.agrees, found


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"without": {"a": "takes hours"}}, "1 not replayed"),
        ({"tables": {}, "parameters": {}, "clock": "all seconds"}, "1 not replayed"),
    ],
)
def test_what_is_not_replayed(story, capsys, entry, said):
    book, lines = story
    before = lines.read_bytes()
    write(book, **entry)
    code, printed = replayed(book, capsys)
    assert code == 0 and said in printed and lines.read_bytes() == before
    write(book)


def test_data_that_are_not_here_are_named(story, capsys, monkeypatch):
    book, _ = story
    plans = batch.plan
    lacking = lambda *given: [replace(plan, missing=("mnist",)) for plan in plans(*given)]  # noqa: E731
    monkeypatch.setattr(batch, "plan", lacking)
    code, printed = replayed(book, capsys)
    assert code == 1 and "1 data missing" in printed
    assert "tiny/a: data missing: mnist (try: safescreen data fetch mnist)" in printed
    assert replayed(book, capsys, "--embedded")[0] == 1  # no data are named, so all are embedded
