"""Replay a record: run a small part of the same notebook with today's library, and compare rows.

A record has the answers of one version of the library. A replay asks a part of the same question,
such as the first draw or the first values of lam. It compares everything that no clock decides,
within the tolerances of the manifest. Its findings are added to `replays.jsonl` beside the record.
"""

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safescreen_book._common import BookError, whole
from safescreen_book.runner import fingerprint, folders, inside
from safescreen_book.runner.manifest import Replay, ReplayTable
from safescreen_book.runner.plans import Plan

DIGITS = 6
"""Numbers of key columns are equal if so many significant digits are."""

ROUNDING = 1e-12
"""Relative rounding of an objective, a long sum."""

COUNTED = 0.005
"""The share of all terms by which a count of terms may differ."""

TINY = 1e-300
"""Keeps two equal numbers without any tolerance from a division by zero."""

SHOWN = 5
"""Differences that are told of each table."""


@dataclass(frozen=True)
class Found:
    """The result of a comparison: the number of rows compared, the largest difference in units of
    the tolerance, the differences in words, and why they follow the rounding of another machine,
    if the manifest says so.
    """

    rows: int
    largest: float
    differences: tuple[str, ...]
    follows: str = ""

    @property
    def agrees(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return self.rows > 0 and not self.differences


def compare(record: Path, replayed: Path, tables: Mapping[str, ReplayTable]) -> Found:
    """Compare the tables of two folders. Every row of the replay must have a row in the record."""
    rows, largest, differences = 0, 0.0, []
    for name, table in tables.items():
        found = _compare(name, table, _read(record / name), _read(replayed / name))
        rows += found.rows
        largest = max(largest, found.largest)
        differences += found.differences
    return Found(rows, largest, tuple(differences))


def _read(path: Path):
    import pandas as pd

    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise BookError(f"{path.name} cannot be read: {error}") from error


def _compare(name: str, table: ReplayTable, old, new) -> Found:
    """Compare two tables; what makes them not comparable is a difference too."""
    try:
        known = _rows_by_key(table, old, new)
    except NotComparableError as error:
        return Found(0, 0.0, (f"{name}: {error}",))
    largest, differences = 0.0, []
    if table.begins:
        begin, start = (_said(table.keys, _key(frame.iloc[0], table.keys)) for frame in (new, old))
        if begin != start:
            differences.append(f"{name}: begins with {begin}, the record with {start}")
    new = new.head(table.first) if table.first else new
    for row in new.to_dict("records"):
        key = _key(row, table.keys)
        where = f"{name}, {_said(table.keys, key)}"
        if key not in known:
            differences.append(f"{where}: not in the record")
            continue
        for column in table.columns:
            size = _difference(table, column, known[key], row)
            largest = max(largest, size)
            if not size <= 1.0:
                differences.append(f"{where}: {column} {known[key][column]} -> {row[column]}")
    if len(differences) > SHOWN:
        differences[SHOWN:] = [f"{name}: {len(differences) - SHOWN} more"]
    return Found(len(new), largest, tuple(differences))


class NotComparableError(ValueError):
    """Two tables have no rows that could be compared."""


def _rows_by_key(table: ReplayTable, old, new) -> dict[tuple, Mapping[str, Any]]:
    """Return the rows of the record; raise if it or the replay lacks what is compared."""
    for frame, whose in ((old, "record"), (new, "replay")):
        lacking = [column for column in table.needed if column not in frame.columns]
        if lacking:
            raise NotComparableError(f"the {whose} has no column {', '.join(lacking)}")
    known = {}
    for row in old.to_dict("records"):
        key = _key(row, table.keys)
        if key in known:
            raise NotComparableError(f"two rows of the record have {_said(table.keys, key)}")
        known[key] = row
    if not len(new):
        raise NotComparableError("no rows to compare")
    return known


def _difference(
    table: ReplayTable, column: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> float:
    """Return the difference of two rows in a column, in units of what is allowed: at most 1 is
    equal enough.
    """
    before, after = old[column], new[column]
    if column in table.exact:
        same = before == after or (before != before and after != after)
        return 0.0 if same else math.inf
    if before != before or after != after:  # both are missing, or one
        return 0.0 if before != before and after != after else math.inf
    if column in table.within:
        allowed = table.within[column]
    elif column in table.counts:
        allowed = COUNTED * old[table.counts[column]]
    elif column in table.gaps:
        gap = table.gaps[column]
        allowed = abs(old[gap]) + abs(new[gap])
    else:
        gap = table.relative[column]
        allowed = abs(before) * abs(old[gap]) + abs(after) * abs(new[gap])
    written = 0.5 * 10.0 ** (1 - table.digits) if table.digits else 0.0
    return abs(before - after) / (allowed + (ROUNDING + written) * abs(before) + TINY)


def _key(row: Mapping[str, Any], columns: Sequence[str]) -> tuple:
    """Return what says which row it is; numbers to so many digits."""
    return tuple(
        f"{row[name]:.{DIGITS}g}" if isinstance(row[name], float) else str(row[name])
        for name in columns
    )


def _said(columns: Sequence[str], key: tuple) -> str:
    return " ".join(f"{name}={value}" for name, value in zip(columns, key, strict=True))


def entry(found: Found, git: Mapping[str, Any] | None, seconds: float) -> dict[str, Any]:
    """Return the entry of a replay for `replays.jsonl`."""
    state = git or {}
    return {
        "version": fingerprint.versions(["safescreen"])["safescreen"],
        "commit": state.get("commit"),
        "dirty": state.get("dirty"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "rows": found.rows,
        "largest": float(f"{found.largest:.3g}") if math.isfinite(found.largest) else None,
        "agrees": found.agrees,
        "differences": list(found.differences),
    }


def append(folder: Path, line: Mapping[str, Any]) -> None:
    """Add a replay to those of a record; the file is replaced as a whole."""
    before = folders.read_replays(folder)
    with whole(folder / folders.REPLAYS) as partial:
        lines = [
            json.dumps(known, ensure_ascii=False, allow_nan=False) for known in (*before, line)
        ]
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rounds_alike(result: Mapping[str, Any]) -> bool:
    """Return whether a record was made with the kernels that BLAS uses here, as far as it tells.

    >>> rounds_alike({"blas": fingerprint.blas()}), rounds_alike({"blas": "", "parts": []})
    (True, False)
    """
    parts = result.get("parts") or [result]
    return all(made.get("blas") == fingerprint.blas() for made in parts)


def run(
    plans: Sequence[Plan], replays: Mapping[str, Replay], notebooks: Path, jobs: int
) -> Iterator[tuple[Plan, Found | None, float]]:
    """Replay records, `jobs` at a time. Yield each plan when it has ended, with the result of the
    comparison and the processor seconds. The result is empty if the system ended the process.

    `replays` has the entries of the manifest by experiment. A replay ends when the tables to be
    compared are written, before the notebook judges and draws them.
    """
    with tempfile.TemporaryDirectory(prefix="replay-") as scratch:
        tasks, made = [], []
        for number, plan in enumerate(plans):
            replay = replays[plan.run.experiment]
            folder = Path(scratch, str(number))
            folder.mkdir()
            made.append(folder)
            chosen = replay.parameters_of(plan.run.name)
            parameters = {**plan.parameters, **chosen, "output_dir": str(folder)}
            wanted = [str(folder / name) for name in replay.tables]
            tasks.append(inside.Execution(plan.notebook, parameters, str(notebooks), wanted))
        for number, ended in inside.run(tasks, jobs):
            plan = plans[number]
            if isinstance(ended, BrokenProcessPool):
                yield plan, None, 0.0
            elif isinstance(ended, inside.StoppedError):
                yield plan, Found(0, math.inf, (str(ended),)), 0.0
            else:
                yield plan, _found(plan, replays[plan.run.experiment], made[number]), ended


def _found(plan: Plan, replay: Replay, made: Path) -> Found:
    """Compare a replay with its record."""
    try:
        found = compare(plan.folder, made, replay.tables)
    except BookError as error:
        return Found(0, math.inf, (str(error),))
    reason = replay.rounding.get(plan.run.name, "")
    if found.differences and reason and not rounds_alike(plan.state.result):
        return replace(found, follows=reason)
    return found
