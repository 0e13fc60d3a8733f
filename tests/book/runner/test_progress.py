"""What comes is said before it comes, the longest run is the first, and pages are made while
others run.
"""

import sys
from pathlib import Path

import pytest
import yaml

from safescreen_book import cli
from safescreen_book._common import write_json
from safescreen_book.runner import batch, progress
from safescreen_book.runner.loading import load_manifest

pytestmark = pytest.mark.slow


def planned(book, *names):
    manifest = load_manifest(book.folder)
    return manifest, manifest.select(names, "smoke"), "smoke", book.outputs


def seconds_of(book, *names, **parameters):
    """What is expected of each run, by its experiment and name."""
    manifest, runs, profile, outputs = planned(book, *names)
    items = batch.plan(manifest, [run.override(parameters) for run in runs], profile, outputs)
    return {str(item.run): progress.expected(item, manifest, profile) for item in items}


@pytest.fixture
def timed_book(book):
    """Runs that take 1 second, 30 and twice 10."""
    entry = {"title": "t", "notebook": "tiny", "outputs": ["results.csv"]}
    sizes = {
        "a": {"seconds": 1, "runs": {"x": {"n": 2}}},
        "b": {"seconds": 30, "runs": {"x": {"n": 3}}},
    }
    sizes["c"] = {"seconds": 20, "runs": {"x": {"n": 4}, "y": {"n": 5}}}
    book.write(
        {
            name: {**entry, "profiles": {"smoke": {"memory_mb": 1, **size}}}
            for name, size in sizes.items()
        }
    )
    return book


@pytest.fixture
def order(monkeypatch):
    """The names of the runs in the order in which they would be started; none is."""
    names = []

    def listed(todo, *_):
        names.extend(str(item.run) for item in todo)
        return
        yield

    monkeypatch.setattr(batch, "_executed", listed)
    return names


def test_the_longest_run_is_started_first(timed_book, order, capsys):
    batch.run_all(*planned(timed_book), jobs=2)
    assert order == ["b/x", "c/x", "c/y", "a/x"]
    printed = capsys.readouterr().out
    assert printed.startswith("Runs to do: 4, 2 at a time with ")
    assert "51 s of one core by the manifest and earlier results, about 30 s in all.\n" in printed


def test_runs_of_an_experiment_need_not_take_equally_long(timed_book, order):
    path = timed_book.folder / "experiments.yml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    entries["c"]["profiles"]["smoke"] |= {"seconds": 40, "seconds_of": {"y": 38}}
    timed_book.write(entries)
    batch.run_all(*planned(timed_book), jobs=2)
    assert order == ["c/y", "b/x", "c/x", "a/x"]


def test_a_run_of_unknown_length_counts_as_the_longest(timed_book, order, monkeypatch, capsys):
    true = progress.expected
    monkeypatch.setattr(
        progress,
        "expected",
        lambda item, *rest: None if item.run.experiment == "c" else true(item, *rest),
    )
    batch.run_all(*planned(timed_book), jobs=1)
    assert order == ["c/x", "c/y", "b/x", "a/x"]
    assert ", about 31 s in all; 2 of unknown length.\n" in capsys.readouterr().out


def test_with_pages_the_shortest_is_first_so_that_there_is_one_soon(timed_book, order):
    batch.run_all(*planned(timed_book), jobs=1, pages=progress.Pages([], Path("none")))
    assert order == ["a/x", "b/x", "c/x", "c/y"]


@pytest.mark.parametrize(("cores", "said"), [(9, "4 at a time with 2 of 9"), (2, "2 at a time")])
def test_as_many_at_a_time_as_cores_but_no_more_than_runs(
    timed_book, order, monkeypatch, capsys, cores, said
):
    monkeypatch.setattr(batch.fingerprint, "cores", lambda: cores)
    batch.run_all(*planned(timed_book))
    assert said in capsys.readouterr().out


def test_seconds_are_the_last_results_else_the_manifests(timed_book):
    assert seconds_of(timed_book) == {"a/x": 1.0, "b/x": 30.0, "c/x": 10.0, "c/y": 10.0}
    manifest, runs, *rest = planned(timed_book, "a")
    (item,) = batch.plan(manifest, runs, *rest)
    item.folder.mkdir(parents=True)
    made = {"status": "complete", "hashes": dict(item.hashes), "files": {"results.csv": ""}}
    write_json(item.folder / "result.json", made | {"seconds": {"wall": 9.0, "cpu": 7.0}})
    assert seconds_of(timed_book, "a")["a/x"] == 7.0
    assert seconds_of(timed_book, "b", n=5) == {"b/x,n=5": None}
    manifest = (timed_book.folder / "experiments.yml").read_text()
    # a result with other parameters says nothing
    timed_book.write(manifest.replace("n: 2", "n: 9"))
    assert seconds_of(timed_book, "a") == {"a/x": 1.0}


def test_unknown_is_said(capsys):
    assert (
        progress.announcement([None, None], "1 at a time", 1)
        == "Runs to do: 2, 1 at a time: 2 of unknown length."
    )
    shown = progress.Progress({"a": None, "b": None}, 1)
    assert shown.show({"a": 5.0}) == "0 of 2 runs, time left unknown"
    shown.ended("a", "a: done")
    assert "a: done (1 of 2 runs, about " in capsys.readouterr().out


@pytest.fixture
def clock(monkeypatch):
    """The time that modules see, in a list of one."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_short_run_says_little_of_long_ones(clock):
    shown = progress.Progress({"a": 100.0, "b": 900.0}, 1)
    shown.show({})
    clock[0] += 10.0
    shown.ended("a", "a: done")
    assert shown.show({}) == "1 of 2 runs, about 10 min left"


def test_time_left_follows_what_runs_have_taken(clock, capsys):
    shown = progress.Progress({"a": 60.0, "b": 60.0, "c": 20.0}, 2)
    assert shown.show({}) == "0 of 3 runs, about 70 s left"
    clock[0] += 30.0
    assert shown.show({"a": 30.0, "b": 30.0}) == "0 of 3 runs, about 40 s left"
    clock[0] += 90.0  # twice as slow as expected
    shown.show({"a": 120.0, "b": 120.0})
    shown.ended("a", "a: done")
    assert capsys.readouterr().out == "a: done (1 of 3 runs, about 36 s left)\n"
    shown.ended("b", "b: done")
    assert shown.show({"c": 20.0}) == "2 of 3 runs, about 0 s left"
    shown.ended("c", "c: done")
    assert capsys.readouterr().out.endswith("c: done (3 of 3 runs)\n")


def test_pages_are_made_when_runs_have_ended_and_not_all_the_time(tmp_path, clock, capsys):
    made = tmp_path / "index.html"
    pages = progress.Pages([sys.executable, "-c", f"open({str(made)!r}, 'a').write('x')"], made)
    pages.look()
    assert pages._process is None  # nothing has ended yet
    pages.outdated = True
    pages.look()
    assert pages._process.wait() == 0
    clock[0] += 10.0
    pages.outdated = True
    pages.look()
    assert (
        made.read_text() == "x"
        and f"open {made}" in capsys.readouterr().out
        and pages._process is None
    )
    clock[0] += 189.0  # they took ten seconds: not before a hundred and ninety
    pages.look()
    assert pages._process is None
    clock[0] += 2.0
    pages.look()
    pages._process.wait()
    pages.look()
    assert made.read_text() == "xx" and capsys.readouterr().out == ""
    pages.close()


def test_pages_are_there_while_a_run_is_under_way(book, capsys):
    """The second run ends when there is a page, which is made after the first."""
    page = book.folder / "page"
    book.runs(a={"n": 2}, b={"mode": "wait", "marker": str(page)})
    source = book.folder / "tiny.py"
    waiting = (
        'for _ in range(600 if mode == "wait" else 0):\n    time.sleep(0.0 if '
        "Path(marker).exists() else 0.1)\n"
    )
    text = source.read_text().replace("if marker:\n    Path(marker).touch()\n", waiting)
    source.write_text(text.replace("time.sleep(600)", "assert Path(marker).exists()"))
    pages = progress.Pages([sys.executable, "-c", f"open({str(page)!r}, 'w')"], page)
    manifest, runs, *rest = planned(book)
    # of equal length: the last is the first
    assert batch.run_all(manifest, runs[::-1], *rest, jobs=1, pages=pages) == 0
    printed = capsys.readouterr().out
    assert (
        printed.index("tiny/a: done")
        < printed.index("The first results can be read: open")
        < printed.index("tiny/b: done")
    )


@pytest.mark.parametrize(
    ("ran", "built", "code"), [(0, 0, 0), (1, 0, 1), (0, 2, 2), (130, None, 130)]
)
def test_run_makes_the_last_pages_unless_interrupted(book, monkeypatch, ran, built, code):
    book.runs(a={"n": 2})
    commands, calls = [], []
    monkeypatch.setattr(
        cli.batch, "run_all", lambda *_, pages, **__: commands.append(pages._command) or ran
    )
    monkeypatch.setattr(cli, "_pages", lambda options: calls.append(options.profile) or built)
    assert cli.main(["run", "--report", "--profile", "smoke", *book.options]) == code
    (command,) = commands
    assert (
        command[1:5] == ["-m", "safescreen_book", "report", "--profile"]
        and str(book.outputs) in command
    )
    assert calls == ([] if built is None else ["smoke"])
