"""A worker is never without the process that started it."""

import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from safescreen_book.places import environment
from safescreen_book.runner import folders, worker
from safescreen_book.runner.notebooks import METADATA, to_text

pytestmark = pytest.mark.slow

RUNNER = """
import os, sys, time
from pathlib import Path
from safescreen_book.places import environment
from safescreen_book.runner import folders, worker
folder, hook, notebook = map(Path, sys.argv[1:])
scratch = folders.scratch_folder(folder)
spec = {"notebooks": str(folder.parent), "given": {}, "parameters": {}, "outputs": []}
variables = environment()
variables["PYTHONPATH"] = os.pathsep.join([str(hook), variables["PYTHONPATH"]])
worker.start(scratch, notebook.read_text(), spec, variables, folders.descriptors(scratch))
time.sleep(600)
"""
HOOK = """
import os, sys, time
here = os.path.dirname(__file__)
if "safescreen_book.runner.worker" in sys.orig_argv:
    with open(os.path.join(here, "writing"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.path.join(here, "begun"))
    while not os.path.exists(os.path.join(here, "go on")):
        time.sleep(0.02)
"""


def until(condition, seconds=60.0):
    """Wait for something to come; return whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_a_worker_ends_with_a_runner_that_was_killed_before_it_had_begun(tmp_path):
    """The runner dies while the worker imports; as long as that is there, its folder is nobody
    else's.
    """
    hook, marker, notebook = tmp_path / "hook", tmp_path / "executed", tmp_path / "source.ipynb"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK)
    cells = [
        nbformat.v4.new_code_cell(
            f"import time\nopen({str(marker)!r}, 'w').close()\ntime.sleep(600)"
        )
    ]
    notebook.write_text(to_text(nbformat.v4.new_notebook(cells=cells, metadata=METADATA)))
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, tmp_path / "run", hook, notebook], env=environment()
    )
    try:
        assert until((hook / "begun").exists)
    finally:
        runner.kill()
        runner.wait()
    assert folders.scratch_folder(tmp_path / "run") is None
    (hook / "go on").touch()
    ended = until(lambda: folders.scratch_folder(tmp_path / "run") is not None)
    if not ended:
        os.kill(int((hook / "begun").read_text()), signal.SIGKILL)
    assert ended and not marker.exists()
    folders.release(tmp_path / ".run.work")


def test_a_worker_ends_when_its_runner_lets_go_of_it(tmp_path):
    cells = [nbformat.v4.new_code_cell("import time\ntime.sleep(600)")]
    notebook = to_text(nbformat.v4.new_notebook(cells=cells, metadata=METADATA))
    spec = {"notebooks": str(tmp_path), "given": {}, "parameters": {}, "outputs": []}
    process = worker.start(tmp_path, notebook, spec, environment())
    process.communicate(timeout=60)
    assert process.returncode == 143


def stopped(*cells):
    """What is said of a notebook that papermill has left with these cells: source, and what it
    raised (name, text, line) or whether it has ended.
    """
    made = []
    for source, raised in cells:
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata["papermill"] = {"start_time": "now" if raised else None}
        if isinstance(raised, tuple):
            name, text, line = raised
            trace = [f"\x1b[0;32mCell In[1], line {line}\x1b[0m", f"{name}: {text}"]
            cell.metadata["papermill"]["exception"] = True
            cell.outputs = [nbformat.v4.new_output("error", ename=name, evalue=text)]
            cell.outputs[0].traceback = trace
        made.append(cell)
    return worker.where_it_stopped(nbformat.v4.new_notebook(cells=made))


def test_the_cell_and_the_line_that_failed_are_named():
    failing = ("m = 1\n\ncheck(m)\n", ("ValueError", "no\nnot at all", 3))
    found = {"cell": 2, "line": "check(m)", "error": "not at all"}
    assert stopped(("a = 1", True), failing, ("b = 1", False)) == found
    assert stopped(("\ncheck(m", ("SyntaxError", "", 2)))["line"] == "check(m"
    assert stopped(("f()", ("ValueError", "far away", 99)))["line"] == "f()"
    killed = stopped(("a = 1", True), ("kill()", True), ("b = 1", False))
    assert killed == {"cell": 2, "line": "kill()"} and stopped(("a = 1", False)) == {}


def test_a_worker_imports_no_grammar_of_addresses():
    code = (
        "import sys; from safescreen_book.runner import worker; import papermill, jsonschema; "
        "print('rfc3987_syntax' in sys.modules, 'nbformat' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    shown = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=True
    ).stdout
    assert shown.split() == ["False", "True"]
