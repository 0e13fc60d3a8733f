"""Tables that people keep: lines of values with something between them, in any encoding, as a data
frame of text. What the file does not say is found out, and a note says how.
"""

import codecs
import csv
import io
import re
from collections import Counter
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path

from safescreen_book.datasets.readers.unpack import unpack

BLANKS = "blanks"
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", BLANKS: BLANKS}
WRITTEN = {"tab": "\t", "\\t": "\t", "space": BLANKS, " ": BLANKS, "": None}
"""Other ways to give `sep`."""

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
FOREIGN = {
    r"<(!doctype|html|\?xml)": "a web page or XML",
    r"[{\[]\s*[\[{\"]": "JSON",
    r"%PDF": "a PDF document",
    r"(%.*\s+)*@relation": "ARFF",
}
"""How texts begin that are no table, and what they are."""

SPREADSHEETS = (".xlsx", ".xls", ".ods")
SAMPLE = 200
"""Lines by which the separator is told."""

SAMPLE_SIZE = 2**18
"""Of long lines so many characters will do, and ten lines."""

HEADINGS = 20
"""The most lines above the one that names the columns."""

_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\s*%?")


def read_any(file, *, sep: str = "", encoding: str = ""):
    """Read a file of lines, or a .parquet file; return a frame and notes of what was found out.

    Parameters
    ----------
    file : str or path
        It may be packed: .gz, .bz2, .xz, or .zip with this file alone.
    sep : str
        What stands between two values: a character, ``"tab"`` or ``"blanks"``; found out if empty.
    encoding : str
        One that Python knows; found out if empty.

    Returns
    -------
    frame : pandas.DataFrame
        Of text, as it is written in the file. Its index numbers the rows as a spreadsheet does: 1
        is the first line of the file. ``attrs["sep"]`` is the separator, and ``attrs["notes"]``
        what is said of the encoding. A .parquet file has its own types and index.
    notes : list of str

    Raises
    ------
    ValueError, FileNotFoundError
        The file is no such table. The message says what was found and what to do.
    """
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"file: there is no file {str(file)!r} in {Path.cwd()}; give its whole path"
        )
    if path.suffix.lower() in SPREADSHEETS:
        raise ValueError(f"file: {path.name} is a spreadsheet; save it as CSV")
    if path.suffix.lower() == ".parquet":
        return _parquet(path), []
    try:
        raw = unpack(path)
    except ValueError as error:
        raise ValueError(f"file: {error}; pack it again, or give the unpacked file") from None
    text, notes = _decoded(raw, path, encoding)
    with also_told(notes):
        for begin, what in FOREIGN.items():
            if re.match(rf"\s*{begin}", text, re.IGNORECASE):
                raise ValueError(f"file: {path.name} is {what}, not a table; save it as CSV")
        if not text.strip():
            raise ValueError(f"file: {path.name} is empty")
        rows, numbers, sep, said = _parted(text, path, sep)
        frame, named = _framed(rows, numbers, path)
    frame.attrs.update(sep=sep, notes=notes)
    return frame, [*notes, *said, *named]


@contextmanager
def also_told(notes):
    """Add notes to the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError("; ".join([str(error), *notes])) from None


def _parquet(path):
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError:
        raise ValueError(
            f"file: {path.name} is a Parquet file, which needs pyarrow: pip install pyarrow, or "
            "save it as CSV"
        ) from None
    except Exception as error:  # of pyarrow, which has its own kinds
        raise ValueError(f"file: {path.name} is no readable Parquet file: {error}") from None


def _decoded(raw, path, encoding):
    """Return the text, and a note if it is not UTF-8."""
    if encoding:
        try:
            return raw.decode(encoding), []
        except LookupError:
            raise ValueError(
                f"encoding: no encoding is called {encoding!r}; usual ones are utf-8, cp1252 "
                "(Windows), latin-1, mac_roman, utf-16, shift_jis"
            ) from None
        except UnicodeError as error:
            raise ValueError(
                f"encoding: {path.name} is not {encoding} ({error}); leave encoding out, and it is "
                "found out"
            ) from None
    for mark, name in MARKS.items():
        if raw.startswith(mark):
            encoding = name
    if not encoding and (b"\0" in raw or raw.startswith(b"\x89PNG")):
        raise ValueError(f"file: {path.name} is no text; save the table as CSV")
    for name in (encoding or "utf-8", "cp1252", "latin-1"):
        try:
            text = raw.decode(name)
        except UnicodeError:
            continue
        if name.startswith("utf-8"):
            return text, []
        return text, [
            f"encoding: the file is read as {name}; if words look odd, set encoding (such as gbk, "
            "shift_jis, cp1251)"
        ]
    raise AssertionError("latin-1 decodes all")


def _rows(text, sep):
    """Return the values of each line with a value, as lists of text, and numbers of these lines; a
    line break within quotation marks begins no line.
    """
    if sep == BLANKS:
        lines = map(str.split, text.splitlines())
    else:
        blank = re.search(rf'{re.escape(sep)} +"', text) is not None
        lines = csv.reader(
            io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=blank, strict=True
        )
    rows, numbers = [], []
    for number, row in enumerate(lines, start=1):
        if any(value.strip() for value in row):
            rows.append(row)
            numbers.append(number)
    return rows, numbers


def _parted(text, path, sep):
    """Return rows, their numbers, the separator and notes."""
    first = re.match(r"sep=(.)\r?\n", text)  # a line that Excel writes
    if first:
        text = text[first.end() :]
    given = WRITTEN.get(sep, sep) or (first[1] if first else None)
    if given is not None and given not in SEPARATORS and len(given) != 1:
        raise ValueError(f"sep: it must be one character, 'tab' or 'blanks', found {given!r}")
    lines = text.splitlines()[:SAMPLE]
    sample = "\n".join(lines[: max(10, SAMPLE_SIZE // max(map(len, lines)))])
    found = given or max(SEPARATORS, key=lambda each: _fit(sample, each))
    try:
        rows, numbers = _rows(text, found)
    except csv.Error as error:
        where = "a quotation mark opens a value and none closes it"
        if "limit" not in str(error) and "end of data" not in str(error):
            where = "a value goes on behind its closing quotation mark"
        raise ValueError(
            f"file: {path.name} is no table: {where}; take the quotation marks out, or write each "
            "of them twice"
        ) from None
    if given is not None or found == ",":
        return rows, numbers, found, []
    return rows, numbers, found, [f"sep: the values have {SEPARATORS[found]} between them"]


def _fit(sample, sep):
    """Return how well a separator explains lines, to be compared: whether they have several values
    at all, the share of lines with as many values as most have (the names of columns have no
    decimal commas), whether it is no blank, and that number of values.
    """
    try:
        rows = _rows(sample, sep)[0]
    except csv.Error:
        # a quotation mark in a line that the sample cuts
        rows = [line.split(sep) for line in sample.splitlines() if line.strip()]
    if not rows:
        return (False,)
    width = _layout(rows)[1]
    share = sum(len(row) == width for row in rows) / len(rows)
    return width > 1, share, sep != BLANKS, width


def _layout(rows):
    """Return the row that names the columns, and the number of values that most rows have."""
    sizes = Counter(len(row) for row in rows[1 : SAMPLE + 1]) or Counter([len(rows[0])])
    width = max(sizes, key=lambda size: (sizes[size], size == len(rows[0]), size))
    for top, row in enumerate(rows[:HEADINGS]):
        is_title = width > 2 and sum(map(bool, map(str.strip, row))) == 1
        if len(_trimmed(row, width)) in (width - 1, width) and len(row) > 1 and not is_title:
            return top, width
    return 0, width


def _trimmed(row, width):
    """Return a row without empty values behind so many."""
    while len(row) > width and not row[-1].strip():
        row = row[:-1]
    return row


def _votes(header, body):
    """Return which names look like the values below them, how many of these are words, and how many
    names look like names: no number above numbers, or a word that is none of a few words.
    """
    alike, words, unlike = [], 0, 0
    for name, column in zip(header, zip_longest(*body[: 10 * SAMPLE], fillvalue=""), strict=False):
        first = list(islice(filter(None, map(str.strip, column)), 5))
        if name in ("", "?") or not first:
            continue
        is_number = _NUMBER.fullmatch(name) is not None
        if 2 * sum(map(bool, map(_NUMBER.fullmatch, first))) > len(first):
            alike += [name] * is_number
            unlike += not is_number
            continue
        values = Counter(map(str.strip, column))
        if name in values:
            alike.append(name)
            words += 1
        elif 2 * len(values) <= len(column):
            unlike += 1
    return alike, words, unlike


def _framed(rows, numbers, path):
    """Return a frame of rows of text, and notes."""
    top, width = _layout(rows)
    notes = []
    if top:
        notes.append(f"left out, {counted(top, 'line')} above the one that names the columns")
    header = [value.strip() for value in _trimmed(rows[top], width)]
    body = rows[top + 1 :]
    if width == 1:
        raise ValueError(
            f"file: {path.name} has the one column {header[0]!r}, and a label and a feature are "
            "needed; set sep to what stands between its values, if they are several"
        )
    if len(header) == width - 1:
        # R writes the names of rows without a name for them, others a separator at each end
        is_open = all(len(row) < width or not row[-1].strip() for row in body)
        header = [*header, ""] if is_open else ["", *header]
    alike, words, unlike = _votes(header, body)
    shown = ", ".join(alike[:5])
    if words > unlike or (alike and not unlike):
        raise ValueError(
            f"file: the line of {path.name} that should name its columns looks like the rows below "
            f"it ({shown}): put a line of names above it, one for each of {width} values"
        )
    if alike:
        notes.append(
            f"the names {shown} look like the values below them; if their line is a row, put a "
            "line of names above it"
        )
    numbers = numbers[top + 1 :]
    for number, row in zip(numbers, body, strict=True):
        if len(row) > len(header):
            raise ValueError(
                f"file: {path.name} is no table: row {number} has {len(row)} values and the row of "
                f"names has {len(header)}; put values that hold a separator in quotation marks, or "
                "set sep"
            )
    short = sum(len(row) < len(header) for row in body)
    if short:
        notes.append(f"{counted(short, 'row')} with too few values, filled up with gaps")
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(
        np.array([row + [""] * (len(header) - len(row)) for row in body], dtype=object).reshape(
            -1, len(header)
        ),
        index=numbers,
        columns=[name or f"Unnamed: {place}" for place, name in enumerate(header)],
        dtype=object,
    )
    return frame, notes


def counted(number, what):
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
