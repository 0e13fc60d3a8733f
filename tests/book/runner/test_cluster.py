"""The batch job on a Dask cluster: the folders, messages and exit codes of the one without."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from safescreen.cluster import workers as _cluster
from safescreen_book.runner import fingerprint
from small_cluster import small_cluster

pytestmark = pytest.mark.slow


@contextmanager
def once(condition, action):
    """Within, do something as soon as a condition holds."""
    ended = threading.Event()

    def watch():
        while not ended.wait(0.05):
            if condition():
                action()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Two workers, of which one will be killed."""
    with small_cluster(tmp_path_factory.mktemp("workers"), 2, SAFESCREEN_DATA="") as found:
        yield found


@pytest.fixture(scope="module")
def first(workers, shared_book):
    """Two runs: one is right, one fails."""
    shared_book.runs(good={"n": 2}, bad={"n": 200})
    return shared_book, *shared_book.run("--scheduler", workers.address)


def test_results_come_back_and_failures_are_named(first):
    book, code, printed = first
    assert code == 1, printed
    assert "tiny/good: done in" in printed
    stopped = 'tiny/bad: FAILED in cell 4 (assert n <= 100, f"n too large: {n}"): '
    assert f"{stopped}a promise is broken: AssertionError: n too" in printed
    assert "1 done, 1 failed" in printed
    assert (book.run_folder("bad") / "notebook.failed.ipynb").is_file()
    assert book.statuses() == {"good": "complete", "bad": "failed"}
    folder = book.run_folder("good")
    assert sorted(path.name for path in folder.iterdir()) == [
        "notebook.ipynb",
        "result.json",
        "results.csv",
    ]
    made = json.loads((folder / "result.json").read_text())
    assert made["parameters"] == {"n": 2, "mode": "ok", "marker": ""} and made["threads"] == 1
    assert made["seconds"]["wall"] > 0 and made["peak_memory_mb"] > 10
    assert made["git"] == fingerprint.git_state(book.folder)
    assert not book.left_over()


def test_another_version_on_a_worker_is_refused(workers, book, monkeypatch):
    book.runs(good={"n": 2})
    true = fingerprint.versions
    monkeypatch.setattr(
        fingerprint, "versions", lambda packages: {**true(packages), "numpy": "2.0"}
    )
    code, printed = book.run("--scheduler", workers.address)
    assert code == 1, printed
    assert "tiny/good: FAILED: worker on" in printed
    assert " differs: numpy 2.0 -> " in printed and "; install the same on every worker" in printed


def test_killed_worker_is_replaced(workers, book):
    """The worker that executes a notebook is killed: another one does the run."""
    marker = book.folder / "started"
    book.runs(wait={"mode": "wait", "marker": str(marker)})
    source = book.folder / "tiny.py"
    text = source.read_text().replace(
        "if marker:", "again = marker and Path(marker).exists()\nif marker:"
    )
    source.write_text(text.replace('if mode == "wait":', 'if mode == "wait" and not again:'))

    def kill():
        (address,) = [address for address, tasks in workers.client.processing().items() if tasks]
        process = workers.processes.pop(address)
        process.kill()
        process.wait()

    with once(marker.exists, kill):
        code, printed = book.run("--scheduler", workers.address)
    assert code == 0, printed
    assert "tiny/wait: done in" in printed and book.statuses() == {"wait": "complete"}
    assert len(workers.client.scheduler_info()["workers"]) == 1


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_local_cluster_interrupted(book):
    """`local` starts its workers; after Ctrl-C what is finished is kept, and no notebook goes
    on.
    """
    marker = book.folder / "started"
    book.runs(good={"n": 2}, wait={"mode": "wait", "marker": str(marker)})
    source = book.folder / "tiny.py"
    source.write_text(
        source.read_text().replace(
            "Path(marker).touch()", "Path(marker).write_text(str(os.getpid()))"
        )
    )
    words = ["run", "--profile", "smoke", "--scheduler", "local", "--jobs", "1", *book.options]
    command = [sys.executable, "-m", "safescreen", *words]
    library = os.pathsep.join(path for path in sys.path if path)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": library}, start_new_session=True, **pipes
    )
    while not (marker.exists() and marker.read_text()) and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    printed, errors = process.communicate()
    assert process.returncode == 130, errors
    assert (
        "Interrupted: 1 done, 1 left; what is finished is kept. To go on: safescreen run" in printed
    )
    assert "Traceback" not in errors
    assert book.statuses() == {"good": "complete", "wait": "not run"}
    assert not book.left_over()
    kernel, patience = int(marker.read_text()), time.monotonic() + 20.0
    while time.monotonic() < patience:
        try:
            os.kill(kernel, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the kernel is still there")


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "tcp://no-such-host.invalid:8786"]
)
def test_address_without_a_scheduler(book, address):
    book.runs(good={"n": 2})
    code, printed = book.run("--scheduler", address)
    assert code == 2
    assert (
        f"safescreen: no Dask scheduler answers at {address} (" in printed
        and "start one with: dask scheduler" in printed
    )
    assert "Traceback" not in printed and book.statuses() == {"good": "not run"}


def test_missing_extra(book, monkeypatch):
    book.runs(good={"n": 2})
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, printed = book.run("--scheduler", "local")
    assert code == 2
    assert (
        "\nsafescreen: distributed is not installed; the book is used from a checkout: make "
        "install there" in printed
    )
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'safescreen\[cluster\]'"):
        _cluster.distributed()
