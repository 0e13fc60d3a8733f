"""Show results again: run each notebook on the rows of its result, without computing them, and
write its conclusions, tables and figures beside the rows.

So conclusions, tables and figures always follow the present rules, whatever version of the library
computed the rows.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safescreen_book._common import BookError, whole
from safescreen_book.parameters import PLACES
from safescreen_book.recorder import is_shown
from safescreen_book.runner import folders, inside
from safescreen_book.runner.manifest import RECORDS, Manifest
from safescreen_book.runner.plans import Plan


@dataclass(frozen=True)
class Redrawn:
    """The outcome for one result: the files that differ from those beside its rows, or the reason
    why it cannot be shown.
    """

    plan: Plan
    different: tuple[str, ...] = ()
    error: str = ""


def run(
    plans: Sequence[Plan], notebooks: Path, jobs: int, *, write: bool = True
) -> Iterator[Redrawn]:
    """Show results, `jobs` at a time, and yield the outcome of each when it has ended.

    A file is replaced only if it differs. Figures differ with the version of matplotlib, so only
    tables are compared unless `write`.
    """
    with tempfile.TemporaryDirectory(prefix="show-") as scratch:
        tasks, made = [], []
        for number, plan in enumerate(plans):
            folder = Path(scratch, str(number))
            folder.mkdir()
            made.append(folder)
            given = {**plan.parameters, **plan.state.result["parameters"]}
            places = dict(zip(PLACES, (str(folder), str(plan.folder.resolve())), strict=True))
            task = inside.Execution(plan.notebook, given | places, str(notebooks), figures=write)
            tasks.append(task)
        for number, ended in inside.run(tasks, jobs):
            plan = plans[number]
            if isinstance(ended, Exception):
                yield Redrawn(plan, error=str(ended) or "the system ended its process")
                continue
            suffixes = (".csv", ".svg", ".json") if write else (".csv",)
            different = tuple(
                file.name
                for file in sorted(made[number].iterdir())
                if is_shown(file.name)
                and file.suffix in suffixes
                and not _same(file, plan.folder / file.name)
            )
            for name in different if write else ():
                with whole(plan.folder / name) as partial:
                    shutil.copyfile(made[number] / name, partial)
            yield Redrawn(plan, different)


def given_to(name: str, manifest: Manifest, outputs: Path) -> dict[str, Any]:
    """Return the parameters with which a committed notebook shows a record of its experiment, the
    one that `shown` names in the manifest; none for a notebook that shows no record.
    """
    for experiment in manifest:
        if experiment.notebook == name and experiment.shown:
            (run,) = manifest.select([f"{experiment.name}/{experiment.shown}"], RECORDS)
            folder = folders.run_folder(outputs, RECORDS, run)
            result = folders.read_result(folder)
            if result is None:
                raise BookError(f"notebook {name} shows the record {run}, which is not there")
            rows = os.path.relpath(folder, manifest.folder.resolve())
            return {**run.parameters, **result["parameters"], "rows_dir": Path(rows).as_posix()}
    return {}


def _same(new: Path, old: Path) -> bool:
    """Whether two files hold the same, if there are two."""
    return old.is_file() and new.read_bytes() == old.read_bytes()
