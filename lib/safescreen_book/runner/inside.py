"""Execute notebooks without a kernel: each in a process of its own, which keeps no notebook."""

import contextlib
import io
import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Execution:
    """A notebook with its parameters, executed in a folder until files are there (`wanted`; none:
    to its end). Its figures are written only if somebody looks at them (`figures`).
    """

    notebook: Any
    parameters: Mapping[str, Any]
    folder: str
    wanted: Sequence[str] = ()
    figures: bool = False


def run(tasks: Sequence[Execution], jobs: int) -> Iterator[tuple[int, float | Exception]]:
    """Execute tasks, `jobs` at a time; yield the number of each as it ends, and its processor
    seconds, a StoppedError where a cell raised, or a BrokenProcessPool where the system ended it.
    """
    with ThreadPoolExecutor(jobs) as pool:
        numbers = {pool.submit(_alone, task): number for number, task in enumerate(tasks)}
        try:
            for future in as_completed(numbers):
                try:
                    yield numbers[future], future.result()
                except (StoppedError, BrokenProcessPool) as error:
                    yield numbers[future], error
        finally:
            pool.shutdown(cancel_futures=True)


def _alone(task: Execution) -> float:
    """Execute a notebook in a process that is nobody else's, so that its end ends no other."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(execute, task).result()


class StoppedError(RuntimeError):
    """A notebook stopped before its end."""


def execute(task: Execution) -> float:
    """Run the code of a notebook in this process; return the processor seconds."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    from IPython.core.interactiveshell import InteractiveShell

    from safescreen_book.recorder import Recorder

    Recorder.saves_figures = task.figures
    os.chdir(task.folder)
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        for number, cell in enumerate(task.notebook.cells, start=1):
            if cell.cell_type != "code":
                continue
            done = shell.run_cell(cell.source)
            error = done.error_before_exec or done.error_in_exec
            if error is not None:
                raise StoppedError(
                    f"stops in cell {number} with {type(error).__name__}: "
                    f"{str(error).partition(chr(10))[0]}"
                )
            if "parameters" in cell.metadata.get("tags", ()):
                shell.user_ns.update(task.parameters)
            if task.wanted and all(map(os.path.exists, task.wanted)):
                break
    return time.process_time() - began
