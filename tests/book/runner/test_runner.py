"""The batch job on a tiny notebook, each in processes of its own."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from safescreen_book import datasets
from safescreen_book.runner import batch as runner
from safescreen_book.runner import fingerprint
from safescreen_book.runner.loading import load_manifest

pytestmark = pytest.mark.slow


def typed(book, *arguments):
    """What is typed to run."""
    return ["run", *arguments, "--profile", "smoke", *book.options]


def result(book, name):
    return json.loads((book.run_folder(name) / "result.json").read_text())


@pytest.fixture(scope="module")
def first(shared_book):
    """Three runs by two processes: one is right, one fails, one does not write what it must."""
    shared_book.runs(good={"n": 2}, bad={"n": 200}, silent={"mode": "silent"})
    return shared_book, *shared_book.run("--jobs", "2")


def test_failure_is_named_and_others_go_on(first):
    book, code, printed = first
    assert code == 1
    assert "tiny/good: done in" in printed
    stopped = 'tiny/bad: FAILED in cell 4 (assert n <= 100, f"n too large: {n}"): '
    assert f"{stopped}a promise is broken: AssertionError: n too" in printed
    silent = "the program failed: RuntimeError: the notebook did not write results.csv"
    assert f"tiny/silent: FAILED: {silent}" in printed
    again = shlex.join(["safescreen", *typed(book, "--jobs", "2")])
    assert "1 done, 2 failed" in printed
    assert printed.endswith(f"smoke. To go on: {again}\n{runner.REPORT}\n")
    assert (book.run_folder("bad") / "notebook.failed.ipynb").is_file()
    assert not (book.run_folder("bad") / "result.json").exists()
    assert book.statuses() == {"good": "complete", "bad": "failed", "silent": "failed"}


def test_result_says_what_it_was_made_with(first):
    book, _, _ = first
    made = result(book, "good")
    assert made["status"] == "complete"
    assert made["parameters"] == {"n": 2, "mode": "ok", "marker": ""}
    assert {"python", "numpy", "scipy", "numba", "safescreen"} <= set(made["versions"])
    assert made["threads"] == max(1, fingerprint.cores() // 2)
    assert made["seconds"]["wall"] > 0 and made["peak_memory_mb"] > 10
    assert set(made["files"]) == {"results.csv"}
    assert (
        len(made["hashes"]["library"]) == 64 and f"{fingerprint.cores()} cores" in made["machine"]
    )
    assert (book.run_folder("good") / "results.csv").read_text() == "i,square\n0,0.25\n1,1.25\n"


def test_executed_notebook_is_clean(first):
    book, _, _ = first
    text = (book.run_folder("good") / "notebook.ipynb").read_text()
    assert "jupytext" not in json.loads(text)["metadata"]
    assert str(book.outputs.parent) not in text
    assert not book.left_over()


def test_unchanged_is_skipped_changed_and_failed_are_done_again(first):
    book, _, _ = first
    before = result(book, "good")
    code, printed = book.run("tiny/good")
    assert (code, result(book, "good")) == (0, before)
    assert "tiny/good: unchanged" in printed and "1 unchanged" in printed
    code, printed = book.run("tiny/good", "--force")
    assert code == 0 and "1 done" in printed
    assert result(book, "good")["hashes"] == before["hashes"]
    (book.run_folder("good") / "notebook.ipynb").unlink()  # which is no part of the result
    assert book.statuses()["good"] == "complete"

    book.runs(good={"n": 3}, bad={"n": 4})
    assert book.statuses() == {"good": "changed", "bad": "failed"}
    code, printed = book.run()
    assert code == 0 and "2 done" in printed
    assert result(book, "good")["parameters"]["n"] == 3
    assert not (book.run_folder("bad") / "notebook.failed.ipynb").exists()
    assert book.statuses() == {"good": "complete", "bad": "complete"}


def test_killed_worker_leaves_the_older_result(first):
    book, _, _ = first
    book.runs(good={"n": 3})
    before = result(book, "good")
    book.runs(good={"mode": "kill"})
    code, printed = book.run()
    assert code == 1
    assert "tiny/good: FAILED in cell 5 (if marker:): the process was ended by SIGKILL" in printed
    assert result(book, "good") == before
    assert book.statuses() == {"good": "failed"}


def test_touched_result_and_touched_notebook_are_told_apart(first):
    book, _, _ = first
    book.runs(bad={"n": 4})
    assert book.statuses() == {"bad": "complete"}
    source = book.folder / "tiny.py"
    text = source.read_text()
    source.write_text(text.replace("too large", "too big"))
    assert book.statuses() == {"bad": "changed"}
    source.write_text(text)
    assert book.statuses() == {"bad": "complete"}
    (book.run_folder("bad") / "results.csv").write_text("i,square\n")
    assert book.statuses() == {"bad": "damaged"}


def test_unknown_parameter_is_refused_before_anything_runs(book):
    book.runs(a={"n": 2}, b={"m": 2})
    code, printed = book.run()
    assert code == 2
    assert "run tiny/b: unknown parameter 'm'" in printed
    assert not book.outputs.exists()
    code, printed = book.run("tiny/a", "-p", "mod", "x")
    assert code == 2 and "did you mean mode?" in printed


def test_missing_data_is_said_and_fails_only_by_name(book, monkeypatch):
    monkeypatch.setattr(datasets, "available", lambda name: False)
    entry = {"title": "t", "data": ["mnist", "digit1"], "profiles": {}}
    entry["profiles"]["smoke"] = {"seconds": 1, "memory_mb": 1, "runs": {"a": {}}}
    book.write({"tiny": entry})
    code, printed = book.run()
    assert (
        code == 0
        and (
            "tiny/a: data missing: mnist digit1 (try: safescreen data fetch mnist; no public "
            "address: digit1,"
        )
        in printed
    )
    assert book.run("tiny")[0] == 1
    assert not book.run_folder("a").exists()
    manifest = load_manifest(book.folder)
    (item,) = runner.plan(manifest, manifest.select([], "smoke"), "smoke", book.outputs)
    assert item.status == "data missing: mnist, digit1"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_interrupted_batch_keeps_what_is_finished_and_goes_on(book):
    marker = book.folder / "started"
    book.runs(a={"n": 2}, b={"mode": "wait", "marker": str(marker)})
    command = [sys.executable, "-m", "safescreen", *typed(book, "--jobs", "1")]
    library = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": library},
    )
    while not marker.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate()
    assert process.returncode == 130, errors
    assert (
        "Interrupted: 1 done, 1 left; what is finished is kept. To go on: safescreen run" in printed
    )
    assert book.statuses() == {"a": "complete", "b": "not run"}
    assert sorted(path.name for path in (book.outputs / "smoke" / "tiny").iterdir()) == ["a"]

    book.runs(a={"n": 2}, b={"n": 1})
    code, printed = book.run()
    assert code == 0 and "1 done, 1 unchanged" in printed
