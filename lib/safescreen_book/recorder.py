"""What a notebook leaves behind: tables, figures and a summary in its run folder."""

import json
import os
import re
from pathlib import Path
from typing import Any

from safescreen_book._common import read_json, whole, write_json
from safescreen_book.parameters import check_injected

COMPARISON = ("quantity", "paper", "ours", "note")
DENSE = 500
"""A surface or a cloud of more marks than that is a picture inside of its figure; of a figure
with four times as many, any of a tenth.
"""


class Recorder:
    """Write the results of one run into a folder; do nothing when there is none.

    Files appear whole or not at all (each is written beside its name, then renamed). What papermill
    has injected is checked first: a ValueError names a parameter the notebook does not have, or a
    value of another type or out of range.

    Parameters
    ----------
    output_dir : str or path
        The run folder, made when missing; the empty string writes nothing, so that the same
        notebook runs interactively and in the batch job.

    Examples
    --------
    >>> Recorder("").summary(n=4)
    >>> Recorder("").figure("no/such name", None)
    Traceback (most recent call last):
        ...
    ValueError: name: 'no/such name' is not a plain file name (letters, digits, '-', '_' and '.')
    """

    def __init__(self, output_dir: str | os.PathLike = ""):
        if not isinstance(output_dir, str | os.PathLike):
            raise TypeError(
                f"output_dir: expected a string or a path, found {type(output_dir).__name__}"
            )
        check_injected()
        self.folder = Path(output_dir) if os.fspath(output_dir) else None
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def table(self, name: str, frame) -> Path | None:
        """Write a tidy table, a pandas.DataFrame with one row a point, as CSV without its index;
        return the file, if one is written.

        `name` is that of the file without its ending: `results` for the main table, `comparison`
        for the paper's numbers beside ours (columns quantity, paper, ours, note), `table_*` for
        what the report shows in place of `results`."""
        _plain(name)
        if not hasattr(frame, "to_csv"):
            raise TypeError(f"frame: expected a pandas.DataFrame, found {type(frame).__name__}")
        if name == "comparison" and tuple(frame.columns) != COMPARISON:
            raise ValueError(
                f"frame: a comparison has columns {COMPARISON}, found {tuple(frame.columns)}"
            )
        return self._write(
            f"{name}.csv", lambda path: frame.to_csv(path, index=False, lineterminator="\n")
        )

    def figure(self, name: str, fig, dpi: int = 150) -> Path | None:
        """Write a matplotlib figure, which stays open, as SVG under a name without its ending;
        return the file, if one is written.

        What has more than `DENSE` marks, or a part of very many, is drawn with `dpi` inside.
        """
        _plain(name)
        if self.folder is None:
            return None
        if not hasattr(fig, "savefig"):
            raise TypeError(f"fig: expected a matplotlib figure, found {type(fig).__name__}")
        from matplotlib import rc_context

        drawn = fig.findobj(
            lambda item: (
                getattr(item, "get_array", lambda: None)() is not None
                or hasattr(item, "get_offsets")
            )
        )
        marks = {
            item: max(
                getattr(item.get_array(), "size", 0), len(getattr(item, "get_offsets", tuple)())
            )
            for item in drawn
        }
        for item, count in marks.items():
            item.set_rasterized(
                item.get_rasterized()
                or count > (DENSE if sum(marks.values()) <= 4 * DENSE else DENSE // 10)
            )
        with rc_context({"svg.hashsalt": name}):
            options = {
                "format": "svg",
                "dpi": dpi,
                "bbox_inches": "tight",
                "metadata": {"Date": None},
            }
            return self._write(f"{name}.svg", lambda path: fig.savefig(path, **options))

    def summary(self, **entries: Any) -> Path | None:
        """Add numbers, strings, lists or dicts to `summary.json`, each in the place of an older one
        of its name; return the file if any.

        One has a meaning for `result.json`, `timings`: a dict of seconds (`compile`, `run`).
        """
        entries = {name: _jsonable(value, name) for name, value in entries.items()}
        timings = entries.get("timings", {})
        if not isinstance(timings, dict) or not all(
            isinstance(v, int | float) for v in timings.values()
        ):
            raise ValueError(f"timings: expected a dict of seconds, found {timings!r}")
        if self.folder is None:
            return None
        path = self.folder / "summary.json"
        return write_json(path, {**(read_json(path) or {}), **entries})

    def _write(self, name, write) -> Path | None:
        if self.folder is None:
            return None
        with whole(self.folder / name) as partial:
            write(partial)
        return self.folder / name


def _plain(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(
            f"name: {name!r} is not a plain file name (letters, digits, '-', '_' and '.')"
        )


def _jsonable(value, name: str):
    """Plain Python for JSON; numpy scalars and arrays are unpacked, nan and inf refused."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=lambda item: item.tolist()))
    except (AttributeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name}: cannot be written to JSON: {error}") from None
