"""Replay a record: run a small part of the same notebook with today's library, and compare rows.

A record says what one version of the library answered. A replay asks a part of the same question
(the first draw, the first values of lam) and compares everything that no clock decides, within
tolerances that the manifest states. What it finds goes into `replays.jsonl` beside the record.
"""

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safescreen_book._common import BookError, whole
from safescreen_book.runner import fingerprint, folders
from safescreen_book.runner.plans import Plan

DIGITS = 6
"""Numbers of key columns are equal if so many significant digits are."""

WRITTEN = 1e-8
"""Relative rounding of numbers in a record's tables."""

SHOWN = 5
"""Differences that are told of each table."""


@dataclass(frozen=True)
class Table:
    """How the rows of one table are compared.

    Attributes
    ----------
    keys : tuple of str
        Columns that say which row it is.
    exact : tuple of str
        Columns that must be equal.
    within : mapping
        Column to the largest difference that is allowed.
    gaps : mapping
        Column of an objective to the column of its duality gap: two values may differ by both gaps.
    """

    keys: tuple[str, ...]
    exact: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are compared."""
        return (*self.exact, *self.within, *self.gaps)


@dataclass(frozen=True)
class Replay:
    """What of a record is asked again; `clock` says why nothing is, where a clock decides all."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    clock: str = ""

    def parameters_of(self, run: str) -> dict[str, Any]:
        """Return the parameters that take the place of a run's own."""
        return {**self.parameters, **self.runs.get(run, {})}


@dataclass(frozen=True)
class Found:
    """What a comparison found: rows compared, the largest difference in units of what is allowed, and what differs in words."""

    rows: int
    largest: float
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return self.rows > 0 and not self.differences


def compare(record: Path, replayed: Path, tables: Mapping[str, Table]) -> Found:
    """Compare the tables of two folders; every row of the replay has to be in the record."""
    rows, largest, differences = 0, 0.0, []
    for name, table in tables.items():
        found = _compare(name, table, _read(record / name), _read(replayed / name))
        rows += found.rows
        largest = max(largest, found.largest)
        differences += found.differences
    if not rows:
        differences.append("no rows to compare")
    return Found(rows, largest, tuple(differences))


def _read(path: Path):
    import pandas as pd

    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise BookError(f"{path.parent.name}/{path.name} cannot be read: {error}") from error


def _compare(name: str, table: Table, old, new) -> Found:
    needed = [*table.keys, *table.columns, *table.gaps.values()]
    for frame, whose in ((old, "record"), (new, "replay")):
        lacking = [column for column in needed if column not in frame.columns]
        if lacking:
            return Found(0, 0.0, (f"{name}: the {whose} has no column {', '.join(lacking)}",))
    known: dict[tuple, Any] = {}
    for row in old.to_dict("records"):
        key = _key(row, table.keys)
        if key in known:
            return Found(0, 0.0, (f"{name}: two rows of the record have {_said(table.keys, key)}",))
        known[key] = row
    largest, differences = 0.0, []
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


def _difference(table: Table, column: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    """Return the difference of two rows in a column, in units of what is allowed: at most 1 is equal enough."""
    before, after = old[column], new[column]
    if column in table.exact:
        same = before == after or (before != before and after != after)
        return 0.0 if same else math.inf
    if before != before and after != after:  # both are missing
        return 0.0
    if column in table.within:
        allowed = table.within[column]
    else:
        gap = table.gaps[column]
        allowed = abs(old[gap]) + abs(new[gap])
    return abs(before - after) / (allowed + WRITTEN * abs(before))


def _key(row: Mapping[str, Any], columns: Sequence[str]) -> tuple:
    """Return what says which row it is; numbers to so many digits."""
    return tuple(f"{row[name]:.{DIGITS}g}" if isinstance(row[name], float) else str(row[name]) for name in columns)


def _said(columns: Sequence[str], key: tuple) -> str:
    return " ".join(f"{name}={value}" for name, value in zip(columns, key, strict=True))


def entry(found: Found, git: Mapping[str, Any] | None, seconds: float) -> dict[str, Any]:
    """Return what is written of a replay."""
    state = git or {}
    return {
        "version": fingerprint.versions(["safescreen"])["safescreen"],
        "commit": state.get("commit"),
        "dirty": state.get("dirty"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "rows": found.rows,
        "largest": float(f"{found.largest:.3g}"),
        "agrees": found.agrees,
        "differences": list(found.differences),
    }


def append(folder: Path, line: Mapping[str, Any]) -> None:
    """Add a replay to those of a record; the file is replaced as a whole."""
    before = folders.read_replays(folder)
    with whole(folder / folders.REPLAYS) as partial:
        lines = [json.dumps(known, ensure_ascii=False, allow_nan=False) for known in (*before, line)]
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
