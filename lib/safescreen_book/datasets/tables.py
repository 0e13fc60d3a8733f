"""A table of the reader's own, made ready for learning: which column holds the labels, which ones
hold numbers, and what is done with all others. What was found out and done is told in notes, each
with the parameter that overrules it.

>>> frame = pd.DataFrame({"size": ["1,5", "2,5", "3,5", "4,5"], "kind": list("aabb")})
>>> found = prepare(frame, "kind")
>>> found.X.ravel(), found.y
(array([1.5, 2.5, 3.5, 4.5]), array(['a', 'a', 'b', 'b'], dtype=object))
>>> print(*found.notes)
decimal: numbers have a decimal comma
"""

import difflib
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from safescreen_book.datasets.readers import read_any
from safescreen_book.datasets.readers.delimited import also_told, counted

__all__ = ["Table", "drawn", "prepare", "read_any", "split"]

GAPS = frozenset(
    ("", "#N/A", "#NA", "#NULL!", "<NA>", "N/A", "n/a", "NA", "NaN", "nan", "NULL", "null", "None")
)
"""Words that stand for a gap in a column of features. In the label only an empty value does."""

MOST_VALUES = 30
"""A column of words with more values is not encoded."""

LISTED = 5
"""The most columns that get a sentence each."""

LARGEST = 1e150
"""Numbers beyond it have no squares."""

UNEVEN = 3.0
"""Classes are uneven if the largest has more than so many times the rows of the smallest."""

MANY_CLASSES = 30
"""More classes that are numbers may be a quantity."""

WHOLE = r"[-+]?(0|[1-9]\d*)(\.0)?"
"""Labels that are whole numbers. Others stay as they are written: 01 may be a code, 1.000 is a
thousand to some.
"""

EXACT = 2**53
"""From here on floating point does not tell all whole numbers apart."""

TYPED = ("number", "bool", "boolean", "datetime", "datetimetz", "timedelta")
"""Types of columns that are no text."""

_DAY = r"(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-. ]+[^\W\d]{3,9}[-., ]+\d{2,4})"
_DAY += r"|[^\W\d]{3,9} \d{1,2},? \d{4}"
_DATE = rf"(({_DAY})([T ].*)?|\d{{1,2}}:\d{{2}}(:\d{{2}}.*)?)"
_COMPACT = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"  # 20261231
_CODE = re.compile(r"0\d+")
_NAMES_ID = re.compile(r"(?:.*[\W_])?(id|uuid|guid|key|index|row|no|nr)", re.IGNORECASE)
_BETWEEN = " '\u2019\u00a0\u202f"  # between thousands, beside point and comma
_CELL = re.compile(  # -$ 1,234.5 km/h, or (12), which is -12
    r"^([-+(]?)\s*([$€£¥₹]?)\s*([-+]?[\d.,](?:[\d.,'\u2019\s]*[\d.,])?(?:[eE][-+]?\d+)?)"
    r"\s*((?:[^\W\d_]|[%$€£¥₹°])[^\d(),;:+]{0,11}[23]?)?(\)?)$"
)


_GROUPED = {mark: re.compile(rf"[1-9]\d{{0,2}}([{mark}]\d{{3}})+") for mark in ".,"}


@dataclass(frozen=True)
class Table:
    """Points and labels of a table.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Whole numbers if all labels are, else words.
    names : list of str
        Of the columns of X.
    rows : pandas.Index
        What the frame calls the rows of X: in a file, their numbers as a spreadsheet counts them.
    notes : list of str
        What was found out and done.
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    names: list[str]
    rows: pd.Index = field(repr=False)
    notes: list[str] = field(repr=False)

    @property
    def size(self) -> str:
        """How many rows it has, and which features."""
        rows, columns = self.X.shape
        return f"{rows:,} rows, {counted(columns, 'feature')}: {_named(self.names, 20)}"

    @property
    def is_uneven(self) -> bool:
        """Whether some classes are much larger than others."""
        counts = np.unique(self.y, return_counts=True)[1]
        return bool(counts.max() > UNEVEN * counts.min())


def prepare(
    frame,
    label: str,
    *,
    drop: str = "",
    keep: str = "",
    words: str = "refuse",
    gaps: str = "refuse",
    missing: str = "",
    decimal: str = "",
    thousands: str = "",
) -> Table:
    """Make a table of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of text, or of what pandas has made of it.
    label : str
        The column of classes.
    drop, keep : str
        Names of columns, with commas between them: those to leave out; those to use although they
        look like numbers of rows, names of rows or dates, or have many words. A name may have
        commas itself.
    words : {"refuse", "encode", "drop"}
        What to do with columns of words: a column of 0 and 1 for each word, or none.
    gaps : {"refuse", "drop"}
        What to do with rows that have gaps.
    missing : str
        Words that stand for a gap, with commas between them, beside the usual ones; in the label
        too.
    decimal, thousands : str
        Marks in numbers; found out if empty.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        The table cannot be used. The message says why, and which parameter helps.
    """
    _choice("words", words, ("refuse", "encode", "drop"))
    _choice("gaps", gaps, ("refuse", "drop"))
    with also_told(frame.attrs.get("notes", [])):
        notes: list[str] = []
        sep = frame.attrs.get("sep", ",")
        dropped = _listed(drop, map(str, frame.columns))
        kept = _listed(keep, map(str, frame.columns))
        frame = _with_own_names(frame, label, dropped, notes)
        _need_columns(frame, "label", [label])
        _need_columns(frame, "drop", dropped)
        _need_columns(frame, "keep", kept)
        if len(frame) == 0:
            raise ValueError("file: it has no rows")
        rows = frame.index
        frame = frame.reset_index(drop=True)
        names = [name for name in frame.columns if name not in {*dropped, label}]
        if label in dropped:
            raise ValueError(f"drop: {label!r} is the label; leave it in, or give another label")
        marks = set(_listed(missing))
        y = _labels(frame[label], label, marks, notes)
        _refuse_quantities(y, label, notes)
        cells = _Cells(frame, names, GAPS | marks, sep, decimal, thousands, notes)
        columns = _Columns(frame, names, kept, cells)
        notes += columns.notes()
        X, used = columns.rows(words, gaps, y, notes)
        y = _classes(y[used], label, notes)
        X = _without_constants(X.loc[y.index], kept, notes)
        rows = rows[X.index]
        if X.shape[1] == 0:
            raise ValueError(
                f"file: beside the label {label!r} it has no column to learn from"
                + "".join(f"; {note}" for note in notes if note.startswith("left out"))
            )
    values = np.ascontiguousarray(X.to_numpy(float))
    return Table(X=values, y=y.to_numpy(), names=list(X.columns), rows=rows, notes=notes)


def split(y, share: float, seed: int = 0, most: int = 0):
    """Return row numbers for learning and for validation, with rows of every class in both, and
    notes.

    Parameters
    ----------
    y : array of shape (n,)
        Every class has two rows.
    share : float
        Of the rows for validation.
    seed : int
    most : int
        Draw at most so many rows; 0 takes all.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"validation: it must be between 0 and 1, found {share:g}")
    part, notes = drawn(y, most, seed)
    rng = np.random.default_rng(seed)
    inside, outside = [], []
    for each in np.unique(y[part]):
        rows = rng.permutation(part[y[part] == each])
        size = min(max(round(share * len(rows)), 1), len(rows) - 1)
        outside.append(rows[:size])
        inside.append(rows[size:])
    train, test = (np.sort(np.concatenate(rows)) for rows in (inside, outside))
    wanted = round(share * len(part))
    if abs(len(test) - wanted) > 0.1 * wanted + 1:
        notes.append(
            f"validation: {len(test)} rows in place of {wanted}, so that each class has one there "
            "and one to learn from"
        )
    if np.unique(y[train], return_counts=True)[1].max() < 2:
        raise ValueError(
            "label: no class has two rows to learn from, so no row has another one of its class: "
            "set validation to a smaller share, join classes, or take another label"
        )
    return train, test, notes


def drawn(y, most: int, seed: int = 0):
    """Return numbers of at most `most` rows, each class with its share, and notes."""
    rows = np.arange(len(y))
    if not most or len(y) <= most:
        return rows, []
    counts = np.unique(y, return_counts=True)[1]
    most = max(most, 2 * len(counts))
    share = np.maximum(np.floor(counts * most / len(y)), np.minimum(counts, 2)).astype(int)
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    parts = [
        rng.choice(np.flatnonzero(y == each), size=size, replace=False)
        for each, size in zip(classes, share, strict=True)
    ]
    part = np.sort(np.concatenate(parts))
    return part, [f"{len(part):,} of {len(y):,} rows are drawn; set most to take more"]


# ------------------------------------------------------------------ names and choices


def _choice(name, value, known):
    if value not in known:
        raise ValueError(f"{name}: it must be one of {', '.join(known)}, found {value!r}")


def _listed(names, columns=()):
    """Return what has commas between it; the longest names of columns first, as names may have
    commas.
    """
    known = set(columns)
    parts = names.split(",")
    found = []
    while parts:
        sizes = range(len(parts), 1, -1)
        size = next((n for n in sizes if ",".join(parts[:n]).strip() in known), 1)
        found.append(",".join(parts[:size]).strip())
        parts = parts[size:]
    return list(filter(None, found))


def _named(names, most=10):
    """Return names as a sentence has them; of many the first ones."""
    names = [str(name) for name in names]
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def _with_own_names(frame, label, dropped, notes):
    """Return the frame with a different text as the name of each column."""
    seen: dict[str, int] = {}
    names, again = [], []
    for name in map(str, frame.columns):
        seen[name] = seen.get(name, -1) + 1
        if seen[name]:
            again.append(f"{name}.{seen[name]}")
        names.append(again[-1] if seen[name] else name)
    if seen.get(label) and not {f"{label}.{n}" for n in range(1, seen[label] + 1)} <= {*dropped}:
        raise ValueError(
            f"label: {seen[label] + 1} columns are called {label!r}: give one of them another name "
            f"in the file, or set drop to {label}.1 to take the first"
        )
    if again:
        notes.append(f"columns with the name of another one are now called: {_named(again)}")
    return frame.set_axis(names, axis=1)


def _need_columns(frame, parameter, wanted):
    for name in wanted:
        if name not in frame.columns:
            close = difflib.get_close_matches(name, frame.columns, n=1)
            close = close or [known for known in frame.columns if known.lower() == name.lower()]
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"{parameter}: no column {name!r} in the file, it has {_named(frame.columns)}{hint}"
            )


# ------------------------------------------------------------------ labels


def _labels(column, label, marks, notes):
    """Return labels as text, missing where there are none."""
    text = column.astype(object).where(column.notna(), "").map(str)
    bare = text.str.strip()
    if (bare != text).any():
        notes.append(f"label: blanks are taken off {counted((bare != text).sum(), 'label')}")
    kept = [each for each in bare.unique() if each in GAPS - marks and each]
    if kept:
        words = ", ".join(f"{each!r} ({counted((bare == each).sum(), 'row')})" for each in kept)
        notes.append(
            f"label: {words} is kept as a label; if it means that the label is missing, set "
            f"missing to {','.join(kept)} (papermill: -r missing {','.join(kept)})"
        )
    alike = bare[bare != ""].drop_duplicates().groupby(lambda row: bare[row].lower()).agg(list)
    for each in alike[alike.map(len) > 1]:
        notes.append(f"label: {' and '.join(map(repr, each))} differ in capitals only")
    return bare.where((bare != "") & ~bare.isin(marks))


def _refuse_quantities(y, label, notes):
    """Raise a ValueError if labels differ as quantities and names do."""
    rows = y.value_counts()
    alone = (rows == 1).sum()
    values = _quantities(rows.index.to_series())
    are_many = len(rows) > MANY_CLASSES and not np.isnan(values).any()
    has_fractions = are_many and bool((values != np.rint(values)).any())
    is_quantity = has_fractions or (are_many and alone > 0.1 * len(rows))
    if is_quantity or (alone > 0.5 * y.notna().sum() and len(rows) > 2):
        raise ValueError(
            f"label: {label!r} has {len(rows):,} values in {len(y):,} rows, so it is a quantity or "
            "a name and no class: cut it into a few classes, or take another column"
        )
    if are_many:
        notes.append(
            f"label: {label!r} has {len(rows):,} classes, all of them numbers; if it is a "
            "quantity, cut it into a few classes"
        )
    marked = [word for word in rows.index if re.search(r"[.,]\d", word)]
    if marked and not are_many and not np.isnan(values).any():
        notes.append(
            f"label: {label!r} holds numbers such as {marked[0]!r}, and each of its {len(rows):,} "
            "values is a class; if it is a quantity, cut it into a few classes"
        )


def _quantities(words):
    """Return words as numbers, whatever their decimal mark and their unit; NaN for no number."""
    bare = _without_units(words)[0]
    read = [form.read(bare) for form in (_Form(), _Form(",", "."), _Form(".", ","))]
    return min(read, key=lambda values: np.isnan(values).sum())


def _classes(y, label, notes):
    """Return the labels of classes with two rows and more, numbers as numbers."""
    rows = y.value_counts()
    alone = rows.index[rows == 1]
    if len(rows) - len(alone) < 2:
        others = f", and with a single row {_named(map(repr, alone), 5)}" if len(alone) else ""
        one = repr(rows.index[0]) if len(rows) else "that has a row"
        raise ValueError(
            f"label: {label!r} has the one class {one}{others}; two classes with two rows each are "
            "needed: take another column, or join classes"
        )
    if len(alone):
        notes.append(
            f"left out, classes of one row: {_named(map(repr, alone))}; join them with others in "
            "the file to keep them"
        )
        y = y[~y.isin(alone)]
    numbers = pd.to_numeric(y, errors="coerce")
    is_number = y.str.fullmatch(WHOLE).all() and numbers.abs().max() < EXACT
    same = y.groupby(numbers).unique()
    for words in same[same.map(len) > 1]:
        end = "one class" if is_number else "different classes; write them alike to join them"
        notes.append(f"label: {' and '.join(map(repr, words))} are one number and {end}")
    return numbers.astype(np.int64) if is_number else y.astype(object)


# ------------------------------------------------------------------ numbers as they are written


@dataclass(frozen=True)
class _Form:
    """How a table writes numbers."""

    decimal: str = "."
    thousands: str = ""

    def read(self, cells):
        """Return text as numbers, NaN where it is none."""
        text = cells.str.replace("\u2212", "-")
        if self != _Form():
            point = re.escape(self.decimal)
            group = re.escape(self.thousands)
            whole = rf"\d{{1,3}}({group}\d{{2,3}})*{group}\d{{3}}|\d+" if group else r"\d+"
            number = rf"[-+]?(({whole})({point}\d*)?|{point}\d+|[iI]nf)([eE][-+]?\d+)?"
            text = text.where(text.str.fullmatch(number).astype(bool))
            text = text.str.replace(self.thousands, "", regex=False) if group else text
            text = text.str.replace(self.decimal, ".", regex=False)
        return pd.to_numeric(text, errors="coerce").to_numpy(float)


class _Cells:
    """Text of the columns of text, and its numbers, with all columns read at once."""

    def __init__(self, frame, names, marks, sep, decimal, thousands, notes):
        frame = frame.select_dtypes(exclude=TYPED)
        names = [name for name in names if name in frame.columns]
        raw = frame.to_numpy(object)[:, frame.columns.get_indexer(names)]
        try:
            flat = list(map(str.strip, raw.ravel()))
        except TypeError:  # not all of them are text
            both = zip(raw.ravel(), pd.isna(raw).ravel(), strict=True)
            flat = ["" if is_gap else str(value).strip() for value, is_gap in both]
        text = pd.Series(flat, dtype=object)
        self.marks = marks
        self.place = dict(zip(names, range(len(names)), strict=True))
        self.text = text.to_numpy().reshape(raw.shape)
        self.gaps = text.isin(marks).to_numpy().reshape(raw.shape)
        columns = [_plain(*each) for each in zip(self.text.T, self.gaps.T, strict=True)]
        values = np.array(columns).reshape(raw.T.shape).T
        is_plain = (~np.isnan(values) | self.gaps).all(axis=0)
        seen = set(self.text[:20, np.flatnonzero(is_plain)[:100]].ravel())
        seen.update(self.text[:2000, ~is_plain].ravel())
        grouped = {mark: self._grouped(mark, seen) for mark in ".,"}
        self.form = _form(seen, grouped, sep, decimal, thousands, notes)
        if self.form != _Form():
            values = self.form.read(text).reshape(raw.shape)
            is_plain = (~np.isnan(values) | self.gaps).all(axis=0)
        self.values = np.where(self.gaps, np.nan, values)
        self.is_plain = is_plain & ~self.gaps.all(axis=0)
        with np.errstate(invalid="ignore"):
            is_whole = (self.values == np.rint(self.values)) | self.gaps
        self.may_be_whole = is_whole.all(axis=0)

    def _grouped(self, mark, seen):
        """Return columns that seem to have a mark between thousands, with two cells of each: all
        cells with the mark have three digits behind it, and all others are below 1000. Add cells
        that tell what the mark is.
        """
        grouped = []
        for name, place in self.place.items():
            cells = self.text[~self.gaps[:, place], place]
            if mark not in "".join(cells):
                continue
            marked = [cell for cell in cells if mark in cell]
            decimal = (cell for cell in _numbers(marked) if not _GROUPED[mark].fullmatch(cell))
            clear = next(decimal, None) or next(_numbers(marked), "")
            seen.add(clear)
            if not _GROUPED[mark].fullmatch(clear):
                continue
            others = list(_numbers(cell for cell in cells if mark not in cell))
            if others and len(max(others, key=len)) <= 3:
                grouped.append(f"{name} ({clear}, {others[0]})")
        return grouped


def _numbers(cells):
    """Yield the numbers in cells that hold one, without sign and unit."""
    for cell in cells:
        match = _CELL.match(cell.replace("\u2212", "-"))
        if match:
            yield match[3].lstrip("+-")


def _plain(text, gaps):
    """Return text as numbers as Python writes them, NaN where it is none."""
    try:
        if "_" not in "".join(text):  # 1_0 is no number
            return np.where(gaps, "nan", text).astype(float)
    except ValueError:
        pass  # pandas is five times slower, and goes on behind a word
    return pd.to_numeric(pd.Series(text), errors="coerce").to_numpy(float)


def _form(seen, grouped, sep, decimal, thousands, notes):
    """Return the marks in numbers, those given or those that explain most texts; `grouped` holds
    columns that seem to have a mark between thousands.
    """
    seen = list(_numbers(seen))
    between = {
        mark: _count(
            seen, rf"\d{{1,3}}({re.escape(mark)}\d{{2,3}})*{re.escape(mark)}\d{{3}}([.,]\d+)?"
        )
        for mark in f".,{_BETWEEN}"
    }
    is_given = bool(decimal)
    if not decimal and thousands in (".", ","):
        decimal = "," if thousands == "." else "."
    if not decimal:
        decimal = _decimal_mark(seen, grouped, sep, notes)
    if not thousands:
        marks = [mark for mark in between if mark != decimal and between[mark]]
        thousands = max(marks, key=between.__getitem__, default="")
        if thousands and not any(note.startswith("thousands:") for note in notes):
            notes.append(f"thousands: numbers have {thousands!r} between thousands")
    if decimal == thousands:
        raise ValueError(f"decimal: it must differ from thousands, and both are {decimal!r}")
    if not is_given and grouped.get(decimal):
        notes.append(
            f"decimal: {decimal!r} is read as the decimal mark, but seems to stand between "
            f"thousands in {_named(grouped[decimal])}; if it does, set thousands to {decimal}"
        )
    return _Form(decimal, thousands)


def _count(seen, pattern):
    return sum(re.fullmatch(pattern, value) is not None for value in seen)


def _decimal_mark(seen, grouped, sep, notes):
    """Return the decimal mark that explains most texts."""
    unclear = {mark: _count(seen, rf"[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}") for mark in ".,"}
    certain = {
        mark: _count(seen, rf"[1-9]\d{{0,2}}([{mark}]\d{{2,3}})+[{mark}]\d{{3}}") for mark in ".,"
    }
    decimals = {
        mark: _count(seen, rf"(\d*[{mark}]\d+|\d{{1,3}}([{other}]\d{{2,3}})+[{mark}]\d+)")
        - unclear[mark]
        for mark, other in (".,", ",.")
    }
    for mark, other in (".,", ",."):
        if grouped[mark] and not decimals[mark] and not (mark == "." and sep == ","):
            notes.append(
                f"thousands: {mark!r} is read as the mark between thousands, as in "
                f"{_named(grouped[mark])}; if it is the decimal mark, set decimal to {mark}"
            )
            return other
    is_comma = decimals[","] > decimals["."]
    if not any(decimals.values()) and unclear[","] and not unclear["."]:
        is_comma = sep != ","
    if certain["."] != certain[","] and not any(decimals.values()):
        is_comma = certain["."] > certain[","]
    if is_comma:
        notes.append("decimal: numbers have a decimal comma")
    elif sep != "," and unclear["."] and not decimals["."] and not certain[","]:
        example = next(value for value in seen if _GROUPED["."].fullmatch(value))
        notes.append(
            f"decimal: {example} is read with a decimal point; set thousands to . if it has a "
            "point between thousands"
        )
    return "," if is_comma else "."


def _without_units(cells):
    """Return cells without the one unit that most of them have, and it; (12) becomes -12."""
    parts = cells.str.replace("\u2212", "-").str.extract(_CELL.pattern).fillna("")
    lead, sign, number, unit, end = (parts[place] for place in range(5))
    units = sign + unit.str.strip()
    counts = units[units != ""].value_counts()
    is_one = len(counts) == 1 and 2 * counts.iloc[0] > (number != "").sum()
    fits = (number != "") & ((lead == "(") == (end == ")"))
    if not is_one:
        fits &= units == ""
    minus = lead.map({"-": "-", "(": "-"}).fillna("")
    return (minus + number).where(fits, cells), counts.index[0] if is_one else ""


# ------------------------------------------------------------------ columns


class _Columns:
    """The columns of features, told apart: `numbers` (name: values), `words` (name: text), and
    `strays` (name: marks between numbers); notes on all that were left out.
    """

    def __init__(self, frame, names, kept, cells):
        self.kept = kept
        self.cells = cells
        self.size = len(frame)
        self.numbers = {}
        self.words = {}
        self.strays = {}
        self.among_numbers = {}
        self.bare = {}  # columns written in digits alone, and whether 0 begins some of them
        self.left = {"columns without a value": [], "numbers of the rows": []}
        self.left |= {"names of rows": [], "dates": [], "words that differ in every row": []}
        self.read = {"true and false are read as 1 and 0": []}
        self.read |= {"dates are read as days since the first": []}
        self.read |= {"units and signs such as % are taken off": [], "(12) is read as -12": []}
        for name in names:
            if name in cells.place:
                self._add_text(name, cells.place[name])
            else:
                self._add_typed(name, frame[name])

    def notes(self):
        """Return what was left out and what was read in another way."""
        advice = "; name them in keep to use them"
        ends = dict.fromkeys(self.left, advice)
        ends |= {"columns without a value": "", "dates": f"{advice} as days"}
        left = self.left.items()
        return [
            *(f"left out, {what}: {_named(names)}{ends[what]}" for what, names in left if names),
            *(f"{what}: {_named(names)}" for what, names in self.read.items() if names),
        ]

    def _add_typed(self, name, column):
        """Add a column of pandas' own numbers, truths or times."""
        if not pd.api.types.is_numeric_dtype(column):
            self._add_dates(name, column)
            return
        if column.dtype == bool:
            self.read["true and false are read as 1 and 0"].append(name)
        values = column.to_numpy(float, na_value=np.nan)
        marks = [float(mark) for mark in self.cells.marks if re.fullmatch(r"-?\d+\.?\d*", mark)]
        values = np.where(np.isin(values, marks), np.nan, values)
        is_whole = pd.api.types.is_integer_dtype(column)
        kind = self._kind_of_ids(name, values) if is_whole else ""
        if np.isnan(values).all():
            kind = "columns without a value"
        if kind:
            self.left[kind].append(name)
            return
        self.numbers[name] = values
        if is_whole:
            self.bare[name] = False

    def _add_text(self, name, place):
        """Put a column of text where it belongs."""
        text = self.cells.text[:, place]
        gaps = self.cells.gaps[:, place]
        is_day = re.search(r"dat|day|tag", name, re.IGNORECASE) and not gaps.all()
        if is_day and all(re.fullmatch(_COMPACT, cell) for cell in text[~gaps]):
            self._add_dates(name, pd.to_datetime(pd.Series(text), format="%Y%m%d", errors="coerce"))
        elif self.cells.is_plain[place]:
            values = self.cells.values[:, place]
            is_bare = self.cells.may_be_whole[place] and all(map(str.isdecimal, text[~gaps]))
            kind = self._kind_of_ids(name, values) if is_bare else ""
            if kind:
                self.left[kind].append(name)
                return
            self.numbers[name] = values
            if is_bare:
                self.bare[name] = any(map(_CODE.fullmatch, text[~gaps]))
        elif gaps.all():
            self.left["columns without a value"].append(name)
        else:
            self._add_mixed(name, pd.Series(text).mask(gaps))

    def _add_mixed(self, name, text):
        """Put a column that has words where it belongs."""
        cells = text.dropna()
        lower = cells.str.lower()
        if lower.isin(("true", "false")).all():
            self.read["true and false are read as 1 and 0"].append(name)
            self.numbers[name] = text.str.lower().map({"true": 1.0, "false": 0.0}).to_numpy(float)
            return
        bare, unit = _without_units(cells)
        values = pd.Series(self.cells.form.read(bare), index=cells.index)
        strays = cells[values.isna()]
        if strays.empty:
            if unit:
                self.read["units and signs such as % are taken off"].append(f"{name} ({unit})")
            if cells.str.startswith("(").any():
                self.read["(12) is read as -12"].append(name)
            self.numbers[name] = values.reindex(text.index).to_numpy()
        elif cells.str.fullmatch(_DATE).mean() > 0.9:
            self._add_dates(name, self._days_of(text))
        elif 2 * len(strays) < len(cells) and self._are_marks(strays):
            self.strays[name] = strays
        elif 2 * len(strays) < len(cells):
            self.words[name] = text
            self.among_numbers[name] = strays.iloc[0]
        elif cells.is_unique and len(cells) > MOST_VALUES and name not in self.kept:
            self.left["words that differ in every row"].append(name)
        else:
            self.words[name] = text

    @staticmethod
    def _are_marks(strays):
        """Return whether what is no number stands for gaps: one or two words, again and again."""
        counts = strays.value_counts()
        if len(counts) > 2 or strays.str.contains(r"[\d,]").any():
            return False
        return all(rows > 1 or not re.search(r"\w", mark) for mark, rows in counts.items())

    def _kind_of_ids(self, name, values):
        """Return how whole numbers are called that tell rows apart, empty if they are a feature."""
        if name in self.kept:
            return ""
        if (values >= EXACT).any():
            return "names of rows"
        if len(values) > 2 and (np.diff(values) == 1.0).all():
            return "numbers of the rows"
        is_unnamed = name.startswith("Unnamed:") and (np.diff(values) > 0.0).all()
        is_named = _NAMES_ID.fullmatch(name) and len(np.unique(values)) == len(values)
        has_all = not np.isnan(values).any()
        return "names of rows" if (is_unnamed or is_named) and has_all else ""

    def _add_dates(self, name, dates):
        if name not in self.kept:
            self.left["dates"].append(name)
            return
        self.read["dates are read as days since the first"].append(name)
        dates = pd.to_datetime(dates, utc=True, errors="coerce")
        self.numbers[name] = ((dates - dates.min()) / pd.Timedelta(days=1)).to_numpy(float)

    @staticmethod
    def _days_of(text):
        """Return text as dates, with the day first where that is how it is written."""
        first = pd.to_numeric(text.str.extract(r"^(\d{1,2})[-/.]", expand=False), errors="coerce")
        is_day_first = bool(first.max() > 12) or bool(text.str.match(r"\d{1,2}\.\d").any())
        return pd.to_datetime(
            text, format="mixed", dayfirst=is_day_first, errors="coerce", utc=True
        )

    def _refuse(self, X, words, gaps, unlabelled, gappy):
        """Raise a ValueError for all that the reader has to decide."""
        wrong = [self._of_strays(*each) for each in list(self.strays.items())[:LISTED]]
        if len(self.strays) > LISTED:
            wrong.append(f"so do {len(self.strays) - LISTED:,} more columns")
        if self.words and words == "refuse":
            wrong.append(
                "these columns hold words (in brackets how many different ones): "
                f"{_named(map(self._of_words, self.words))}; set words to 'encode' for a column "
                "of 0 and 1 for each word, or to 'drop', or name them in drop"
            )
        wrong += self._of_sizes(X)
        if gaps == "refuse" and (gappy or unlabelled.any()):
            names = [f"{name} ({rows:,})" for name, rows in gappy.items()]
            if unlabelled.any():
                names.append(f"the label ({unlabelled.sum():,})")
            complete = X.notna().all(axis=1) & ~unlabelled
            wrong.append(
                "these columns have missing values (in brackets in how many rows): "
                f"{_named(names)}; fill them, name them in drop, or set gaps to 'drop' to use the "
                f"{complete.sum():,} of {counted(self.size, 'row')} that have none"
            )
        if wrong:
            raise ValueError("\n".join(wrong))

    def _of_strays(self, name, cells):
        return (
            f"{name} holds numbers, but for {_named(map(repr, cells.unique()))} in "
            f"{len(cells):,} of {self.size:,} rows: set missing to {','.join(cells.unique())} if "
            f"that stands for a gap, or name {name} in drop"
        )

    def _of_words(self, name):
        among = self.among_numbers.get(name)
        example = "" if among is None else f", such as {among!r} among numbers"
        return f"{name} ({self.words[name].nunique():,}{example})"

    def _of_sizes(self, X):
        """Yield a sentence for each column with infinite or huge numbers."""
        is_huge = X.select_dtypes("number").abs() > LARGEST
        for name in is_huge.columns[is_huge.any()]:
            huge = X.loc[is_huge[name], name]
            yield (
                f"{name} holds {huge.iloc[0]:g} in {counted(len(huge), 'row')}: write numbers "
                f"below {LARGEST:g} or leave the values empty, set missing to inf,-inf if "
                f"these are gaps, or name {name} in drop"
            )

    def _encoded(self):
        """Return the columns of words that are encoded."""
        return {
            name: text
            for name, text in self.words.items()
            if text.nunique() <= MOST_VALUES or name in self.kept
        }

    def rows(self, words, gaps, y, notes):
        """Return a frame of numbers, and which rows are used."""
        unlabelled = y.isna()
        numbers = np.array(list(self.numbers.values())).reshape(-1, self.size).T
        encoded = self._encoded() if words == "encode" else {}
        X = pd.DataFrame(numbers, columns=list(self.numbers)).assign(**encoded)
        counts = X.isna().sum()
        gappy = counts[counts > 0].to_dict()
        self._refuse(X, words, gaps, unlabelled, gappy)
        incomplete = unlabelled | X.isna().any(axis=1)
        if incomplete.any():
            names = [*gappy, *["the label"] * bool(unlabelled.any())]
            notes.append(
                f"gaps in {_named(names)}: {incomplete.sum():,} of {self.size:,} rows are left out"
            )
            if incomplete.all():
                worst = max(gappy, key=gappy.get, default="the label")
                raise ValueError(
                    f"gaps: every row has one; name columns with many in drop, such as {worst} "
                    f"({gappy.get(worst, self.size):,} of {self.size:,} rows)"
                )
        X = X[~incomplete]
        left = [name for name in self.words if name not in encoded]
        if left and words == "drop":
            notes.append(f"left out, columns of words: {_named(left)}")
        elif left:
            many = _named(map(self._of_words, left))
            notes.append(
                f"left out, columns with more than {MOST_VALUES} words: {many}; join "
                "words in the file, or name them in keep to encode them all the same"
            )
        notes += _suspects(X, y[~incomplete], self.kept, self.bare)
        if encoded:
            several = ", ".join(f"{name} ({X[name].nunique()})" for name in encoded)
            notes.append(f"words: {several}")
            X = pd.get_dummies(X, columns=list(encoded), dtype=float)
        return X, ~incomplete


def _suspects(X, y, kept, bare):
    """Return notes on columns that tell the label, that are equal, or that may be names."""
    classes = pd.factorize(y)[0]
    tell, names, equal = [], [], {}
    for name, column in X.items():
        is_number = pd.api.types.is_numeric_dtype(column)
        values = column.to_numpy(float) + 0.0 if is_number else pd.factorize(column)[0]
        order = np.argsort(values, kind="stable")
        is_new = np.diff(values[order]) != 0.0
        n_values = 1 + is_new.sum()
        if n_values == 1:
            continue
        equal.setdefault((is_number, values.tobytes()), []).append(name)
        if 2 * n_values <= len(values) and not np.diff(classes[order])[~is_new].any():
            tell.append(name)
        if name in bare and name not in kept and (bare[name] or n_values == len(values)):
            names.append(name)
    notes = []
    if tell:
        notes.append(
            f"rows with the same value have the same label in these columns: {_named(tell)}; if "
            "they are copies or codes of the label, name them in drop"
        )
    twins = [" = ".join(map(str, group)) for group in equal.values() if len(group) > 1]
    if twins:
        notes.append(f"these columns are equal: {_named(twins)}; name all but one of them in drop")
    if names:
        notes.append(
            "whole numbers that all differ or begin with 0 are used as quantities: "
            f"{_named(names)}; if they are names or codes, name them in drop"
        )
    return notes


def _without_constants(X, kept, notes):
    names = X.columns[np.ptp(X.to_numpy(float), axis=0) == 0.0]
    same = [name for name in names if name not in kept]
    if same:
        notes.append(f"left out, columns with one value: {_named(same)}")
    return X.drop(columns=same)
