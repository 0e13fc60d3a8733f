"""Parts of a run: draws, splits, repeats or data sets that need nothing of each other.

The tables of each part are written to a file of its own as soon as it is finished, so a run that is
cut loses one part at most. The next attempt, of a later version or on another machine too, takes up
the parts whose question is still the same. Each file says who has made it.
"""

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safescreen_book._common import folder_name, read_json, whole
from safescreen_book.runner import fingerprint
from safescreen_book.runner.manifest import RECORDS

ENVIRONMENT = "SAFESCREEN_ATTEMPT"
"""A variable of the environment: the file with the specification of the attempt (`Plan.spec`) in
which a notebook is executed.
"""

FOLDER = "parts"
"""The folder of parts in that of a finished run."""


class UnfinishedError(RuntimeError):
    """The time given to a run is over before its last part."""


@dataclass(frozen=True)
class Store:
    """The files of the parts of one run."""

    folder: Path  # where parts are written
    older: Path  # those of the last result
    question: Mapping[str, Any]  # what a part must answer to be taken up
    made: Mapping[str, Any]  # who makes parts now
    deadline: float  # time after which no part begins

    @classmethod
    def of_attempt(cls) -> "Store | None":
        """Return the store of the attempt that executes this process; None if there is none."""
        spec = read_json(Path(os.environ[ENVIRONMENT])) if os.environ.get(ENVIRONMENT) else None
        if spec is None:
            return None
        parts = fingerprint.QUESTION if spec["profile"] == RECORDS else tuple(spec["hashes"])
        here = fingerprint.environment()
        made = {"version": here["versions"]["safescreen"], "git": spec["git"]}
        made |= {name: here[name] for name in ("machine", "blas", "threads")}
        return cls(
            folder=Path(spec["parts"]),
            older=Path(spec["older_parts"]),
            question={part: spec["hashes"][part] for part in parts},
            made=made | {"began": spec["began"]},
            deadline=spec["deadline"],
        )

    def read(self, part: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the content of the file of a part; None if there is none, if it answers another
        question, or if it is not what was written.
        """
        for folder in (self.folder, self.older):
            content = read_json(folder / file_name(part))
            if (
                content is not None
                and content.get("part") == part
                and content.get("question") == self._question_of(part)
                and content.get("sha256") == fingerprint.sha256(_text(content.get("tables")))
            ):
                return content
        return None

    def write(
        self, part: Mapping[str, Any], tables: Mapping[str, Any], wall: float, cpu: float
    ) -> dict[str, Any]:
        """Write the file of a part, whole or not at all, and return its content."""
        text = _text(tables)
        content = {
            "part": dict(part),
            "made": {**self.made, "wall": round(wall, 3), "cpu": round(cpu, 3)},
            "question": self._question_of(part),
            "sha256": fingerprint.sha256(text),
            "tables": json.loads(text),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self.folder / file_name(part), content)
        return content

    def is_over(self) -> bool:
        """Return whether no part may begin any more."""
        return time.time() >= self.deadline

    def _question_of(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question without the parameters that the part has its own values of, and
        without those that say how many parts there are: of `draw`, these are `draw` and `draws`.
        """
        replaced = {*part, *(f"{name}s" for name in part)}
        parameters = self.question["parameters"]
        left = {name: value for name, value in parameters.items() if name not in replaced}
        return {**self.question, "parameters": left}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the content of a part, a line for each row of its tables, so that even after a power
    cut the file is there whole, or not at all.
    """
    head = {name: value for name, value in content.items() if name != "tables"}
    lines = [f'"{name}": {_text(value)}' for name, value in head.items()]
    tables = []
    for name, table in content["tables"].items():
        rows = ",\n".join(_text(row) for row in table["rows"])
        tables.append(f'"{name}": {{"columns": {_text(table["columns"])}, "rows": [\n{rows}]}}')
    lines.append('"tables": {\n' + ",\n".join(tables) + "}")
    with whole(path) as partial, partial.open("w", encoding="utf-8") as stream:
        stream.write("{" + ",\n".join(lines) + "}\n")
        stream.flush()
        os.fsync(stream.fileno())


def finish(
    parts: Sequence[Mapping[str, Any]],
    compute: Callable[..., Mapping[str, Any]],
    store: Store | None,
    computed: Callable[[], None],
) -> list[dict[str, Any]]:
    """Return the contents of all parts in their order: of those that are kept, and of the others,
    which are computed. `computed` is called after each of them.
    """
    if len({file_name(part) for part in parts}) < len(parts):
        raise ValueError(f"parts: two of them have the same name, found {parts}")
    kept = [None if store is None else store.read(part) for part in parts]
    contents = []
    for part, content in zip(parts, kept, strict=True):
        if content is None:
            if store is not None and store.is_over():
                n_kept = len(contents) + sum(one is not None for one in kept[len(contents) :])
                raise UnfinishedError(f"the time is over, {n_kept} of {len(parts)} parts are kept")
            content = _computed(part, compute, store)
            computed()
        contents.append(content)
    return contents


def _computed(part, compute, store) -> dict[str, Any]:
    """Compute a part, and write it if there is a store."""
    wall, cpu = time.perf_counter(), time.process_time()
    tables = {name: _table(name, frame) for name, frame in compute(**part).items()}
    spent = time.perf_counter() - wall, time.process_time() - cpu
    if store is None:
        return {"part": dict(part), "tables": json.loads(_text(tables))}
    return store.write(part, tables, *spent)


def made(folder: Path) -> list[dict[str, Any]]:
    """Return who has made the parts in a folder, and in how many seconds."""
    found = []
    for file in sorted(folder.glob("[!.]*.json")):
        content = read_json(file) or {}
        found.append({"part": content["part"], **content["made"]})
    return found


def joined(contents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables of parts, one below the other, as pandas.DataFrame by name."""
    import pandas as pd

    rows, columns = {}, {}
    for content in contents:
        for name, table in content["tables"].items():
            known = columns.get(name) or table["columns"]  # a table of no records has no columns
            columns[name] = known
            if table["columns"] not in ([], known):
                raise ValueError(
                    f"parts: the table {name!r} of {file_name(content['part'])} has other columns "
                    "than that of an earlier part; remove the older of the two files, so that it "
                    "is computed again"
                )
            rows.setdefault(name, []).extend(table["rows"])
    return {name: pd.DataFrame(rows[name], columns=columns[name]) for name in rows}


def file_name(part: Mapping[str, Any]) -> str:
    """Return the name of the file of a part, in characters that every system accepts.

    >>> file_name({"kernel": "RBF 0.1/d", "repeat": 2})
    'kernel=RBF_0.1_d,repeat=2.json'
    """
    name = ",".join(f"{key}={value}" for key, value in part.items())
    name = re.sub(r"[^A-Za-z0-9_.+=,-]", "_", name)
    return folder_name(name, f"parts: {name!r}") + ".json"


def _table(name: str, frame) -> dict[str, list]:
    """Return a pandas.DataFrame as plain lists."""
    if not hasattr(frame, "to_dict"):
        raise TypeError(f"parts: expected a pandas.DataFrame as {name!r}, found {type(frame)}")
    split = frame.to_dict("split", index=False)
    return {"columns": list(map(str, split["columns"])), "rows": split["data"]}


def _text(value: Any) -> str:
    """Return plain values and numpy's scalars as JSON; floats keep all their digits."""
    return json.dumps(value, ensure_ascii=False, default=lambda item: item.tolist())
