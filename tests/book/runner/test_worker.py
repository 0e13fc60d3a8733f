"""A worker is never without the process that started it."""

import nbformat
import pytest

from safescreen_book.places import environment
from safescreen_book.runner import worker
from safescreen_book.runner.notebooks import METADATA, to_text

pytestmark = pytest.mark.slow


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
