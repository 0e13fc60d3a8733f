"""Execute one notebook: `python -m safescreen_book.runner.worker SPEC.json`.

It is a process of its own, so that its memory and processor time are those of one run and it can be
ended alone. It works in the folder of SPEC.json: it executes `source.ipynb`, fills `result/`, and
writes `error.txt` if that fails.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat

from safescreen_book import parts
from safescreen_book._common import BookError, read_json, write_json
from safescreen_book.recorder import is_shown
from safescreen_book.runner import fingerprint
from safescreen_book.runner.notebooks import write

THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""The variables of the environment that limit the threads of a worker."""

NOTEBOOK = "notebook.ipynb"
"""The notebook as it was executed. It is no part of the result and may be removed."""

LOOK = 0.1
"""Seconds between two looks at a notebook that runs."""

GRACE = 15.0
"""Seconds within which a process has to end when its result is no longer wanted."""

UNFINISHED = 75
"""The exit code of a run whose time was over before its last part, and of a batch with such runs:
EX_TEMPFAIL, by which batch systems know that the same command may be given again.
"""

_OURS = {"injected-parameters", "papermill-error-cell-tag"}


def start(
    scratch: Path,
    notebook: str,
    spec: Mapping[str, Any],
    environment: Mapping[str, str],
    keep: Sequence[int] = (),
) -> subprocess.Popen:
    """Start this module as a process of its own. Its notebook (a text) and its specification are
    written to its working folder.

    It has a session of its own, so a Ctrl-C in the terminal does not reach it. Its output goes to
    `worker.log`. It ends when its standard input ends. Only this process holds that input, so the
    worker ends when this process dies. Until then it holds the files whose descriptors are in
    `keep`, and their locks.
    """
    (scratch / "source.ipynb").write_text(notebook, encoding="utf-8")
    write_json(scratch / "spec.json", spec)
    with (scratch / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "safescreen_book.runner.worker", str(scratch / "spec.json")],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
            pass_fds=keep,
        )


def run(
    scratch: Path,
    notebook: str,
    spec: Mapping[str, Any],
    environment: Mapping[str, str],
    unwanted: Callable[[], bool],
    keep: Sequence[int] = (),
) -> int | None:
    """Start this module as `start` does and wait for its end. Return its exit code, or None if it
    was ended because `unwanted` became true.
    """
    process = start(scratch, notebook, spec, environment, keep)
    try:
        while process.poll() is None:
            if unwanted():
                return None
            time.sleep(LOOK)
        return process.returncode
    finally:
        process.terminate()
        try:
            process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def check(spec: Mapping[str, Any], notebook: Path) -> None:
    """Refuse a run that was planned on another machine if this machine lacks data or has another
    version of a package.
    """
    from safescreen_book import datasets

    sums, missing = fingerprint.data_checksums(spec["data"])
    where = f"worker on {socket.gethostname()}"
    if missing:
        names = " ".join(missing)
        raise BookError(f"{where} lacks data: {names} (there, {datasets.advice(missing)})")
    nb = nbformat.read(notebook, as_version=4)
    here = fingerprint.hashes(nb, spec["parameters"], sums)
    different = fingerprint.changed(spec["hashes"], here, here)
    if different:
        raise BookError(f"{where} differs: {different}; install the same on every worker")


def execute(spec: dict, scratch: Path) -> None:
    """Execute `source.ipynb` with the parameters of a run (see `Plan.spec`) and describe the
    result; raise if it is not complete.
    """
    import papermill

    result = scratch / "result"
    notebooks = Path(spec["notebooks"])
    result.mkdir()
    started = datetime.now(UTC)
    clock = time.perf_counter()
    os.chdir(scratch)
    os.environ.pop(parts.ENVIRONMENT, None)
    if spec.get("parts"):
        os.environ[parts.ENVIRONMENT] = str(scratch / "spec.json")
    nb = papermill.execute_notebook(
        "source.ipynb",
        f"result/{NOTEBOOK}",
        parameters={**spec["given"], "output_dir": os.path.relpath(result, notebooks)},
        kernel_name="python3",
        cwd=notebooks,
        progress_bar=False,
        log_output=False,
    )
    wall = time.perf_counter() - clock
    write(_tidy(nb), result / NOTEBOOK)
    absent = [name for name in spec["outputs"] if not (result / name).is_file()]
    if absent:
        raise RuntimeError(f"the notebook did not write {', '.join(absent)}")
    timings = (read_json(result / "summary.json") or {}).get("timings", {})
    (cpu, peak) = _used_by_kernel()
    made = parts.made(result / parts.FOLDER)
    before = [part for part in made if part["began"] != spec["began"]]
    wall += sum(part["wall"] for part in before)
    if cpu is not None:
        cpu = round(cpu + sum(part["cpu"] for part in before), 3)
    files = sorted(result.rglob("*"))
    write_json(
        result / "result.json",
        {
            "status": "complete",
            **{
                key: spec[key]
                for key in ("experiment", "run", "profile", "parameters", "data", "hashes", "git")
            },
            "seed": spec["parameters"].get("seed"),
            **fingerprint.environment(),
            "started": started.isoformat(timespec="seconds"),
            "seconds": {**timings, "wall": round(wall, 3), "cpu": cpu},
            "peak_memory_mb": peak,
            **({"parts": made} if made else {}),
            "files": {
                file.relative_to(result).as_posix(): fingerprint.sha256_file(file)
                for file in files
                if file.is_file() and file.name != NOTEBOOK and not is_shown(file.name)
            },
        },
    )


def where_it_stopped(nb) -> dict:
    """Return the cell at which papermill's notebook stopped; empty if no cell had begun.

    That is `cell` (counted from 1 in the source notebook), `line` (its first, or the one that
    raised) and `error`, what it raised."""
    index = 0
    last = {}
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
                    place = re.search(
                        r"Cell In\[\d+\], line (\d+)", uncoloured("\n".join(output.traceback))
                    )
                    if place and int(place[1]) <= len(cell.source.splitlines()):
                        found["line"] = cell.source.splitlines()[int(place[1]) - 1].strip()
            return found
        if not record.get("start_time") and not ours:
            return last  # the kernel died in the one before
        last = found
    return {}


def uncoloured(text: str) -> str:
    """Return a traceback without the colours of a terminal."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def _tidy(nb):
    """Return the executed notebook; the injected folder reads `.`: where the notebook itself
    lies.
    """
    for cell in nb.cells:
        if "injected-parameters" in cell.metadata.get("tags", ()):
            cell.source = re.sub(r"(?m)^output_dir = .*$", 'output_dir = "."', cell.source)
    nb.metadata.pop("jupytext", None)
    nb.metadata.papermill.parameters["output_dir"] = "."
    return nb


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
    """End this process when its standard input ends: with who started it, even if that is dead
    already.
    """

    def watch():
        while os.read(0, 1):  # not sys.stdin: Python could not have its lock when it shuts down
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main(argv: list[str] | None = None) -> int:
    """Run the worker on the path of SPEC.json; return 0 when the result is complete, 1 when the
    run failed, and `UNFINISHED` when its time was over before its last part.
    """
    (path,) = sys.argv[1:] if argv is None else argv
    scratch = Path(path).resolve().parent
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _end_with_parent()
    try:
        spec = read_json(Path(path))
        if spec.get("elsewhere"):
            check(spec, scratch / "source.ipynb")
        execute(spec, scratch)
    except BookError as error:
        (scratch / "error.txt").write_text(str(error), encoding="utf-8")
        return 1
    except Exception as error:
        if getattr(error, "ename", "") == parts.UnfinishedError.__name__:
            (scratch / "error.txt").write_text(getattr(error, "evalue", ""), encoding="utf-8")
            return UNFINISHED
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        text = f"{type(error).__name__}: {lines[-1].strip()}"
        (scratch / "error.txt").write_text(text, encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
