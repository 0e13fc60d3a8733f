"""Execute one notebook: `python -m safescreen_book.runner.worker SPEC.json`.

A process of its own, so that memory and processor time are those of one run, and a stop is clean. It works in
the folder of SPEC.json: executes `source.ipynb`, fills `result/`, and writes `error.txt` when that failed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from safescreen_book.runner.fingerprint import environment, git_state, sha256_file
from safescreen_book.runner.folders import write_json

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What in the environment of a worker says how many threads it may use."""

_OURS = {"injected-parameters", "papermill-error-cell-tag"}


def start(scratch: Path, environment: Mapping[str, str]) -> subprocess.Popen:
    """Start this module as a process of its own.

    Parameters
    ----------
    scratch : Path
        The working folder, with `source.ipynb` and `spec.json` in it.
    environment : dict of str
        The process's environment.

    Returns
    -------
    Popen
        In a session of its own, out of reach of a Ctrl-C in the terminal; what it prints goes to `worker.log`.
    """
    with (scratch / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "safescreen_book.runner.worker", str(scratch / "spec.json")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )


def execute(spec: dict, scratch: Path) -> None:
    """Execute the notebook of a run and describe the result.

    Parameters
    ----------
    spec : dict
        As written by the runner: identity, parameters, hashes, folder of notebooks, expected outputs; `git` where
        the folder's own state would say nothing.
    scratch : Path
        The working folder, with `source.ipynb` in it.

    Raises
    ------
    papermill.exceptions.PapermillExecutionError
        If a cell fails.
    RuntimeError
        If an expected output was not written.
    """
    import papermill

    result, notebooks = scratch / "result", Path(spec["notebooks"])
    result.mkdir()
    started, clock = datetime.now(UTC), time.perf_counter()
    os.chdir(scratch)
    nb = papermill.execute_notebook(
        "source.ipynb",
        "result/notebook.ipynb",
        parameters={**spec["given"], "output_dir": os.path.relpath(result, notebooks)},
        kernel_name="python3",
        cwd=notebooks,
        progress_bar=False,
        log_output=False,
    )
    wall = time.perf_counter() - clock
    _write_tidy(nb, result / "notebook.ipynb")
    absent = [name for name in spec["outputs"] if not (result / name).is_file()]
    if absent:
        raise RuntimeError(f"the notebook did not write {', '.join(absent)}")
    summary = result / "summary.json"
    timings = json.loads(summary.read_text(encoding="utf-8")).get("timings", {}) if summary.exists() else {}
    cpu, peak = _used_by_kernel()
    write_json(
        result / "result.json",
        {
            "status": "complete",
            **{key: spec[key] for key in ("experiment", "run", "profile", "parameters", "data", "hashes")},
            "seed": spec["parameters"].get("seed"),
            **environment(),
            "git": spec["git"] if "git" in spec else git_state(notebooks),
            "started": started.isoformat(timespec="seconds"),
            "seconds": {**timings, "wall": round(wall, 3), "cpu": cpu},
            "peak_memory_mb": peak,
            "files": {file.relative_to(result).as_posix(): sha256_file(file) for file in sorted(result.rglob("*")) if file.is_file()},
        },
    )


def where_it_stopped(nb) -> dict:
    """Return the cell a partly executed notebook stopped at.

    Parameters
    ----------
    nb : NotebookNode
        As papermill left it.

    Returns
    -------
    dict
        `cell` (counted from 1 in the source notebook), `line` (its first line) and, when the cell raised,
        `error` (its last line); empty when no cell had begun.
    """
    index, last = 0, {}
    for cell in nb.cells:
        ours = _OURS & set(cell.metadata.get("tags", ()))
        index += not ours
        record = cell.metadata.get("papermill", {})
        lines = [line for line in cell.source.splitlines() if line.strip()] or [""]
        found = {"cell": index, "line": lines[0].strip()}
        if record.get("exception") or record.get("status") in ("failed", "running"):
            for output in cell.get("outputs", ()):
                if output.output_type == "error":
                    text = f"{output.ename}: {output.evalue}".rstrip(": ")
                    found["error"] = text.strip().splitlines()[-1]
            return found
        if not record.get("start_time") and not ours:
            return last  # the kernel died in the one before
        last = found
    return {}


def _write_tidy(nb, path: Path) -> None:
    """Write the executed notebook; the injected folder reads `.`: where the notebook itself lies."""
    import nbformat

    for cell in nb.cells:
        if "injected-parameters" in cell.metadata.get("tags", ()):
            cell.source = re.sub(r"(?m)^output_dir = .*$", 'output_dir = "."', cell.source)
    nb.metadata.pop("jupytext", None)
    nb.metadata.papermill.parameters["output_dir"] = "."
    nbformat.write(nb, path)


def _used_by_kernel() -> tuple[float | None, float | None]:
    """Processor seconds and peak memory (MB) of the finished kernel, where the system tells."""
    try:
        import resource
    except ImportError:
        return None, None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(used.ru_utime + used.ru_stime, 3), round(used.ru_maxrss / unit, 1)


def _end_with_parent() -> None:
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main(argv: list[str] | None = None) -> int:
    """Run the worker.

    Parameters
    ----------
    argv : list of str, optional
        The path of SPEC.json; default is the process's own arguments.

    Returns
    -------
    int
        0 when the result is complete, 1 when the run failed.
    """
    (path,) = sys.argv[1:] if argv is None else argv
    scratch = Path(path).resolve().parent
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _end_with_parent()
    try:
        execute(json.loads(Path(path).read_text(encoding="utf-8")), scratch)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        text = f"{type(error).__name__}: {lines[-1].strip()}"
        (scratch / "error.txt").write_text(text, encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
