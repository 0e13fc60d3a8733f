"""Write the results of a notebook: the rows that it computes, and the tables and figures that show
them.

An experiment notebook computes rows first, then judges and draws from these rows alone. Given the
rows of an earlier run it computes nothing.
"""

import fnmatch
import io
import itertools
import json
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from safescreen_book import parts
from safescreen_book._common import read_json, whole, write_json
from safescreen_book.parameters import check_injected

COMPARISON = ("quantity", "paper", "ours", "note")
SHOWN = ("conclusions.csv", "comparison.csv", "table_*.csv", "*.svg", "summary.json")
"""Files that show rows: made again from them at any time. All others are rows."""

DENSE = 500
"""A surface or a cloud of more marks becomes an image inside of the SVG. If a figure has more than
four times as many marks in all, a tenth of this number is enough.
"""


def is_shown(name: str) -> bool:
    """Return whether a file of a run is made from its rows, as conclusions, tables and figures are.

    >>> is_shown("table_time.csv"), is_shown("results.csv")
    (True, False)
    """
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SHOWN)


class Recorder:
    """Write the results of one run into a folder; do nothing when there is none.

    Files appear whole or not at all: each is written under another name, then renamed. First the
    parameters that papermill has injected are checked. A ValueError names a parameter that the
    notebook does not have, or whose value has another type or is out of range.

    Parameters
    ----------
    output_dir : str or path
        The folder of the run, made if it is missing. With the empty string nothing is written, so
        that the same notebook runs interactively and in a batch.
    rows_dir : str or path
        The folder of an earlier run whose rows are to be shown. With the empty string the rows are
        computed.

    Attributes
    ----------
    computes : bool
        Whether the notebook is to compute rows. Cells that do so begin with
        ``if record.computes:``.
    is_cold : bool
        Whether :meth:`parts` computes its first part in this process, so that whoever measures time
        has to compile first.

    Examples
    --------
    >>> import pandas as pd
    >>> record = Recorder()
    >>> if record.computes:
    ...     record.rows("results", pd.DataFrame({"lam": [2.0, 1.0], "seconds": [0.1, 0.2]}))
    >>> float(record.read("results")["seconds"].sum().round(3))
    0.3
    >>> Recorder("").summary(n=4)
    >>> Recorder("").figure("no/such name", None)
    Traceback (most recent call last):
        ...
    ValueError: name: 'no/such name' is not a plain file name (letters, digits, '-', '_' and '.')
    """

    saves_figures = True
    """False in a process that compares tables only: figures are laid out, and not written."""

    def __init__(self, output_dir: str | os.PathLike = "", rows_dir: str | os.PathLike = ""):
        for name, folder in (("output_dir", output_dir), ("rows_dir", rows_dir)):
            if not isinstance(folder, str | os.PathLike):
                raise TypeError(
                    f"{name}: expected a string or a path, found {type(folder).__name__}"
                )
        check_injected()
        self.folder = Path(output_dir) if os.fspath(output_dir) else None
        self.computes = not os.fspath(rows_dir)
        self.is_cold = True
        self._rows: dict[str, str] = {}
        self._source = Path(rows_dir)
        if not (self.computes or self._source.is_dir()):
            raise ValueError(f"rows_dir: {os.fspath(rows_dir)!r} is not a folder")
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def origin(self) -> str:
        """Return in words whose rows are shown: those of this run, or of a record, with its
        parameters.
        """
        if self.computes:
            return "This run computes its rows, with the parameters above."
        result = read_json(self._source / "result.json")
        if result is None:
            return f"The outputs below show the rows in the folder {self._source.name}."
        parameters = (f"{name} = {value!r}" for name, value in result["parameters"].items())
        version = result["versions"]["safescreen"]
        by = f"safescreen {version}" if version[:1].isdigit() else "safescreen"  # not installed
        record = (
            f"The outputs below show the record {result['experiment']}/{result['run']}, which "
            f"{by} computed on {result['started'][:10]} "
            f"with these parameters in place of those above: {', '.join(parameters)}. "
            "If you execute this notebook, it computes a smaller run."
        )
        return textwrap.fill(record, 100, break_on_hyphens=False, break_long_words=False)

    def rows(self, name: str, frame, digits: int = 9) -> None:
        """Keep computed rows, a pandas.DataFrame: write them as CSV without the index, and let
        :meth:`read` return them.

        `name` is the name of the file without its ending, `results` for the main table. Floats are
        written with `digits` significant digits.
        """
        if not self.computes:
            raise ValueError(
                f"rows_dir: the rows {name!r} must not be computed, because rows_dir gives them"
            )
        if is_shown(f"{_plain(name)}.csv"):
            raise ValueError(
                f"name: {name!r} must not be the name of a table or figure that is shown; "
                "use `table`"
            )
        text = _frame(frame).to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
        self._rows[name] = text
        self._write(f"{name}.csv", lambda path: path.write_text(text, encoding="utf-8"))

    def parts(self, compute: Callable[..., Mapping[str, Any]], **keys: Iterable):
        """Compute the parts of a run, such as its draws, and return their tables by name, those of
        all parts below each other.

        ``record.parts(of_draw, draw=range(3))`` calls ``of_draw(draw=0)`` and so on; of several
        keys the last one changes fastest. The function returns tables by name, each a
        pandas.DataFrame. It must not use anything that another part has left: a random state, a
        solution to start from, a cache. If the runner executes the notebook, finished parts are
        kept in files, and an attempt that follows one that was cut computes the others only. What
        is returned is the same. A key stands in place of the parameter of its name and of its
        plural: the draws of a run of 20 serve a run of 40.

        If the time that was given to the run is over, an :class:`parts.UnfinishedError` is raised
        before the next part.

        >>> import pandas as pd
        >>> found = Recorder().parts(
        ...     lambda draw: {"results": pd.DataFrame({"draw": [draw], "error": [0.1 * draw]})},
        ...     draw=range(2),
        ... )
        >>> found["results"].to_dict("list")
        {'draw': [0, 1], 'error': [0.0, 0.1]}
        """
        if not self.computes:
            raise ValueError("rows_dir: parts must not be computed, because rows_dir gives rows")
        self.is_cold = True
        store = parts.Store.of_attempt()
        chosen = [
            dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())
        ]
        contents = parts.finish(chosen, compute, store, self._warm)
        if store is not None and self.folder is not None:
            (self.folder / parts.FOLDER).mkdir(exist_ok=True)
            for content in contents:
                parts.write(self.folder / parts.FOLDER / parts.file_name(content["part"]), content)
        return parts.joined(contents)

    def _warm(self) -> None:
        self.is_cold = False

    def read(self, name: str, *, optional: bool = False):
        """Return rows as a pandas.DataFrame: those of this run, or of the folder that was given.

        Both are read from the same text, so a run and its record are shown alike. If there are no
        such rows a ValueError is raised, or None is returned if `optional`, as for rows that older
        records lack.
        """
        import pandas as pd

        if name in self._rows:
            return pd.read_csv(io.StringIO(self._rows[name]))
        file = self._source / f"{_plain(name)}.csv"
        if self.computes or not file.is_file():
            if optional:
                return None
            where = "this notebook has not computed" if self.computes else "the folder lacks"
            raise ValueError(f"name: {where} the rows {name!r}")
        return pd.read_csv(file)

    def table(self, name: str, frame) -> Path | None:
        """Write a table that shows rows, a pandas.DataFrame, as CSV without its index, floats in
        six significant digits; return the file, if one is written.

        `name` is that of the file without its ending: `conclusions`, `comparison` for the paper's
        numbers beside ours (columns quantity, paper, ours, note), `table_*` for what the report
        shows in place of `results`."""
        _plain(name)
        if name == "comparison" and tuple(_frame(frame).columns) != COMPARISON:
            raise ValueError(
                f"frame: a comparison has columns {COMPARISON}, found {tuple(frame.columns)}"
            )
        text = _frame(frame).to_csv(index=False, lineterminator="\n", float_format="%.6g")
        return self._write(f"{name}.csv", lambda path: path.write_text(text, encoding="utf-8"))

    def figure(self, name: str, fig, dpi: int = 150) -> Path | None:
        """Write a matplotlib figure as SVG and leave it open; return the file, if one is written.
        Its legends are moved off the data. `name` is the name of the file without its ending.

        A surface or cloud of more than `DENSE` marks becomes an image of resolution `dpi` inside of
        the SVG.
        """
        _plain(name)
        if self.folder is None:
            return None
        if not hasattr(fig, "savefig"):
            raise TypeError(f"fig: expected a matplotlib figure, found {type(fig).__name__}")
        from matplotlib import rc_context

        from safescreen_book.figures.legends import tidy

        if not self.saves_figures:
            fig.draw_without_rendering()  # or an error that only drawing finds would be missed
            return None
        tidy(fig)
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
        """Add numbers, strings, lists or dicts to `summary.json`, and replace older ones of the
        same name; return the file, if one is written.

        The entry `timings`, a dict of seconds (`compile`, `run`), is copied to `result.json`.
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


def _frame(frame):
    """Return what is a table of pandas."""
    if not hasattr(frame, "to_csv"):
        raise TypeError(f"frame: expected a pandas.DataFrame, found {type(frame).__name__}")
    return frame


def _plain(name: str) -> str:
    """Return what is a plain file name."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(
            f"name: {name!r} is not a plain file name (letters, digits, '-', '_' and '.')"
        )
    return name


def _jsonable(value, name: str):
    """Plain Python for JSON; numpy scalars and arrays are unpacked, nan and inf refused."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=lambda item: item.tolist()))
    except (AttributeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name}: cannot be written to JSON: {error}") from None
