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
from safescreen_book.datasets.readers.delimited import counted

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

_DAY = r"(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-. ]+[^\W\d]{3,9}[-., ]+\d{2,4})"
_DAY += r"|[^\W\d]{3,9} \d{1,2},? \d{4}"
_DATE = rf"(({_DAY})([T ].*)?|\d{{1,2}}:\d{{2}}(:\d{{2}}.*)?)"
_COMPACT = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"  # 20261231
_NAMES_ID = re.compile(r"(?:.*[\W_])?(id|uuid|guid|key|index|row|no|nr)", re.IGNORECASE)
_UNIT = r"[%€$£]"
_WORD_UNIT = r"[^\W\d_]{1,6}"
_BETWEEN = " '\u2019\u00a0\u202f"  # between thousands, beside point and comma


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
    notes : list of str
        What was found out and done.
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    names: list[str]
    notes: list[str] = field(repr=False)

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
        look like numbers of rows, names of rows or dates, or have many words.
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
    notes: list[str] = []
    sep = frame.attrs.get("sep", ",")
    frame = _with_own_names(frame, label, _listed(drop), notes)
    kept = _listed(keep)
    _need_columns(frame, "label", [label])
    _need_columns(frame, "drop", _listed(drop))
    _need_columns(frame, "keep", kept)
    if len(frame) == 0:
        raise ValueError("file: it has no rows")
    frame = _as_text(frame.drop(columns=_listed(drop)).reset_index(drop=True))
    if label not in frame:
        raise ValueError(f"drop: {label!r} is the label; leave it in, or give another label")
    marks = set(_listed(missing))
    y = _labels(frame.pop(label), label, marks, notes)
    plain = _plain(frame)
    form = _form(frame, plain, sep, decimal, thousands, notes)
    columns = _Columns(frame, kept, GAPS | marks, form, plain if form == _Form() else {})
    notes += columns.notes
    columns.refuse(words, gaps, y.isna())
    X, used = columns.rows(words, gaps, y.isna(), notes)
    y = _classes(y[used], label, notes)
    X = _without_constants(X.loc[y.index], kept, notes)
    if X.shape[1] == 0:
        raise ValueError(
            f"file: beside the label {label!r} it has no column to learn from"
            + "".join(f"; {note}" for note in notes if note.startswith("left out"))
        )
    return Table(np.ascontiguousarray(X.to_numpy(float)), y.to_numpy(), list(X.columns), notes)


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


def _listed(names):
    return [name.strip() for name in names.split(",") if name.strip()]


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


def _as_text(frame):
    """Return the frame with columns of text, numbers and times only; of text gaps are empty."""
    texts = {
        name: frame[name].astype(object).where(frame[name].notna(), "").map(str)
        for name in frame.columns
        if not _is_typed(frame[name]) and (frame[name].dtype != "str" or frame[name].hasnans)
    }
    return frame.assign(**texts)


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


def _classes(y, label, notes):
    """Return the labels of classes with two rows and more, numbers as numbers."""
    rows = y.value_counts()
    alone = rows.index[rows == 1]
    if len(alone) > 0.5 * len(y) and len(rows) > 2:
        raise ValueError(
            f"label: {label!r} has {len(rows):,} values in {len(y):,} rows, so it is a quantity or "
            "a name and no class: cut it into a few classes, or take another column"
        )
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
    if (
        numbers.notna().all()
        and (numbers == np.rint(numbers)).all()
        and numbers.abs().max() < 2**53
    ):
        return numbers.astype(np.int64)
    return y.astype(object)


# ------------------------------------------------------------------ numbers as they are written


@dataclass(frozen=True)
class _Form:
    """How a table writes numbers."""

    decimal: str = "."
    thousands: str = ""

    def read(self, cells):
        """Return text as numbers, NaN where it is none."""
        plain = cells.str.replace("\u2212", "-")
        if self.decimal == ".":
            values = pd.to_numeric(plain, errors="coerce")
            if values.notna().all():
                return values.astype(float)
        point = re.escape(self.decimal)
        whole = rf"\d{{1,3}}({re.escape(self.thousands)}\d{{3}})+|\d+" if self.thousands else r"\d+"
        number = rf"[-+]?(({whole})({point}\d*)?|{point}\d+)([eE][-+]?\d+)?"
        pattern = rf"{_UNIT}?\s*{number}\s*{_UNIT}?"
        text = plain.where(plain.str.fullmatch(pattern), "")
        text = text.str.replace(rf"{_UNIT}|\s", "", regex=True)
        if self.thousands.strip():
            text = text.str.replace(self.thousands, "", regex=False)
        slow = pd.to_numeric(text.str.replace(self.decimal, ".", regex=False), errors="coerce")
        return slow.fillna(values).astype(float) if self.decimal == "." else slow.astype(float)


def _plain(frame):
    """Return the columns of text that are numbers as Python writes them, as numbers."""
    found = {}
    for name in frame.columns:
        if not _is_typed(frame[name]):
            values = pd.to_numeric(frame[name], errors="coerce")
            if values.notna().all():
                found[name] = values.astype(float)
    return found


def _form(frame, plain, sep, decimal, thousands, notes):
    """Return the marks in numbers, those given or those that explain most values."""
    found = set()
    for name in frame.columns:
        if not _is_typed(frame[name]):
            found.update(frame[name].head(20 if name in plain else 2000))
    seen = [str(value).strip() for value in found]
    seen = [re.sub(rf"^{_UNIT}\s*|\s*({_UNIT}|{_WORD_UNIT})$", "", value) for value in seen]

    def count(pattern):
        return sum(re.fullmatch(rf"[-+]?{pattern}", value) is not None for value in seen)

    unclear = {mark: count(rf"[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}") for mark in ".,"}
    decimals = {
        mark: count(rf"(\d*{re.escape(mark)}\d+|\d{{1,3}}([.,]\d{{3}})+{re.escape(mark)}\d+)")
        - unclear[mark]
        for mark in ".,"
    }
    grouped = {
        mark: count(rf"\d{{1,3}}({re.escape(mark)}\d{{3}})+([.,]\d+)?") for mark in f".,{_BETWEEN}"
    }
    if not decimal:
        is_comma = decimals[","] > decimals["."]
        if not any(decimals.values()) and unclear[","] and not unclear["."]:
            is_comma = sep != ","
        decimal = "," if is_comma else "."
        if is_comma:
            notes.append("decimal: numbers have a decimal comma")
    if not thousands:
        marks = [mark for mark in grouped if mark != decimal and grouped[mark]]
        thousands = max(marks, key=grouped.__getitem__, default="")
        if thousands:
            notes.append(f"thousands: numbers have {thousands!r} between thousands")
    if decimal == thousands:
        raise ValueError(f"decimal: it must differ from thousands, and both are {decimal!r}")
    return _Form(decimal, thousands)


def _is_typed(column):
    """Return whether a column has other values than text."""
    return (
        pd.api.types.is_numeric_dtype(column)
        or pd.api.types.is_datetime64_any_dtype(column)
        or pd.api.types.is_timedelta64_dtype(column)
    )


# ------------------------------------------------------------------ columns


class _Columns:
    """The columns of features, told apart: `numbers` (name: values), `words` (name: text), and
    `strays` (name: what stands between numbers and is none); notes on all that were left out.
    """

    def __init__(self, frame, kept, marks, form, plain):
        self.kept = kept
        self.marks = marks
        self.form = form
        self.plain = plain
        self.numbers = {}
        self.words = {}
        self.strays = {}
        self.index = frame.index
        self.left = {"columns without a value": [], "numbers of the rows": []}
        self.left |= {"names of rows": [], "dates": [], "words that differ in every row": []}
        self.truths = []
        self.units = []
        self.days = []
        for name in frame.columns:
            self._add(name, frame[name])
        self.notes = [self._of_left(*each) for each in self.left.items() if each[1]]
        if self.truths:
            self.notes.append(f"true and false are read as 1 and 0: {_named(self.truths)}")
        if self.days:
            self.notes.append(f"dates are read as days since the first: {_named(self.days)}")
        if self.units:
            self.notes.append(f"units and signs such as % are taken off: {_named(self.units)}")

    def _of_left(self, what, names):
        advice = f"; name them in keep to use them{' as days' if what == 'dates' else ''}"
        return f"left out, {what}: {_named(names)}" + advice * (what != "columns without a value")

    def _add(self, name, column):
        """Put a column where it belongs."""
        if column.dtype == bool:
            self.truths.append(name)
            self.numbers[name] = column.astype(float)
        elif pd.api.types.is_numeric_dtype(column):
            values = column.astype(float)
            marks = [float(mark) for mark in self.marks if re.fullmatch(r"-?\d+\.?\d*", mark)]
            is_whole = pd.api.types.is_integer_dtype(column)
            self._add_number(name, values.mask(values.isin(marks)), is_whole)
        elif _is_typed(column):
            self._add_dates(name, column)
        elif name in self.plain and not self._may_stand_for_more(column):
            self._add_number(name, self.plain[name], self._is_whole(column, self.plain[name]))
        else:
            self._add_text(name, column)

    def _may_stand_for_more(self, column):
        """Return whether a column of plain numbers has marks of gaps, or days as 20261231."""
        first = str(column.iloc[0]).strip()
        marks = [mark for mark in self.marks if re.match(r"[-+.\di]", mark, re.IGNORECASE)]
        return re.fullmatch(_COMPACT, first) is not None or bool(column.isin(marks).any())

    @staticmethod
    def _is_whole(cells, values):
        """Return whether all of these texts, which have these values, are whole numbers."""
        if not (values == np.rint(values)).all():
            return False
        return bool(cells.str.strip().str.fullmatch(r"\d+").all())

    def _add_text(self, name, column):
        column = column.str.strip()
        text = column.where(~column.isin(self.marks))
        cells = text.dropna()
        if cells.empty:
            self.left["columns without a value"].append(name)
            return
        if cells.str.fullmatch(_COMPACT).all() and re.search(r"dat|day|tag", name, re.IGNORECASE):
            self._add_dates(name, pd.to_datetime(text, format="%Y%m%d", errors="coerce"))
            return
        lower = cells.str.lower()
        if lower.isin(("true", "false")).all():
            self.truths.append(name)
            self.numbers[name] = (lower == "true").astype(float).reindex(self.index)
            return
        unit = ""
        parts = cells.str.extract(rf"^([-+]?[\d.,' ]*\d)\s*({_WORD_UNIT})$")
        if parts[1].notna().all() and parts[1].nunique() == 1:
            unit = f" ({parts[1].iloc[0]})"
            cells = parts[0]
        values = self.form.read(cells)
        share = values.notna().mean()
        if share == 1.0:
            if unit or cells.str.contains(_UNIT).any():
                self.units.append(name + unit)
            self._add_number(name, values.reindex(self.index), self._is_whole(cells, values))
        elif cells.str.fullmatch(_DATE).mean() > 0.9:
            self._add_dates(name, self._days_of(text))
        elif share > 0.5:
            self.strays[name] = cells[values.isna()]
        elif cells.is_unique and len(cells) > MOST_VALUES and name not in self.kept:
            self.left["words that differ in every row"].append(name)
        else:
            self.words[name] = text

    def _add_number(self, name, values, whole):
        """Add numbers, if they do not number the rows."""
        if whole and name not in self.kept and values.notna().all():
            is_unnamed = name.startswith("Unnamed:") and values.is_monotonic_increasing
            counts = len(values) > 2 and (values.diff().iloc[1:] == 1.0).all()
            if values.is_unique and counts and values.iloc[0] in (0.0, 1.0):
                self.left["numbers of the rows"].append(name)
                return
            if values.is_unique and (is_unnamed or _NAMES_ID.fullmatch(name)):
                self.left["names of rows"].append(name)
                return
        if values.isna().all():
            self.left["columns without a value"].append(name)
            return
        self.numbers[name] = values

    def _add_dates(self, name, dates):
        if name not in self.kept:
            self.left["dates"].append(name)
            return
        self.days.append(name)
        dates = pd.to_datetime(dates, utc=True, errors="coerce")
        self.numbers[name] = (dates - dates.min()) / pd.Timedelta(days=1)

    @staticmethod
    def _days_of(text):
        """Return text as dates, with the day first where that is how it is written."""
        first = pd.to_numeric(text.str.extract(r"^(\d{1,2})[-/.]", expand=False), errors="coerce")
        is_day_first = bool(first.max() > 12) or bool(text.str.match(r"\d{1,2}\.\d").any())
        return pd.to_datetime(
            text, format="mixed", dayfirst=is_day_first, errors="coerce", utc=True
        )

    def refuse(self, words, gaps, unlabelled):
        """Raise a ValueError for all that the reader has to decide."""
        wrong = [self._of_strays(*each) for each in list(self.strays.items())[:LISTED]]
        if len(self.strays) > LISTED:
            wrong.append(f"so do {len(self.strays) - LISTED:,} more columns")
        if self.words and words == "refuse":
            several = (f"{name} ({text.nunique():,})" for name, text in self.words.items())
            wrong.append(
                "these columns hold words (in brackets how many different ones): "
                f"{_named(several)}; set words to 'encode' for a column of 0 and 1 for each word, "
                "or to 'drop', or name them in drop"
            )
        wrong += self._of_sizes()
        gappy = self._with_gaps(words)
        if gaps == "refuse" and (gappy or unlabelled.any()):
            names = [*(f"{name} ({rows:,})" for name, rows in gappy.items())]
            if unlabelled.any():
                names.append(f"the label ({unlabelled.sum():,})")
            left = (~self._rows_with_gaps(words) & ~unlabelled).sum()
            wrong.append(
                "these columns have missing values (in brackets in how many rows): "
                f"{_named(names)}; fill them, name them in drop, or set gaps to 'drop' to use the "
                f"{left:,} of {counted(len(self.index), 'row')} that have none"
            )
        if wrong:
            raise ValueError("\n".join(wrong))

    def _of_strays(self, name, cells):
        values = list(cells.unique())
        shown = _named(map(repr, values), 5)
        advice = f"set missing to {','.join(values[:3])} if that stands for a gap"
        if any(re.fullmatch(r"[-+\d.,' ]*\d[-+\d.,' ]*", value) for value in values):
            advice = "set decimal and thousands to the marks in its numbers"
        return (
            f"{name} holds numbers, but for {shown} in {len(cells):,} of {len(self.index):,} rows: "
            f"{advice}, or name {name} in drop"
        )

    def _of_sizes(self):
        """Yield a sentence for each column with infinite or huge numbers."""
        for name, values in self.numbers.items():
            huge = values[values.abs() > LARGEST]
            if len(huge):
                yield (
                    f"{name} holds {huge.iloc[0]:g} in {counted(len(huge), 'row')}: write numbers "
                    f"below {LARGEST:g} or leave the values empty, set missing to inf,-inf if "
                    f"these are gaps, or name {name} in drop"
                )

    def _with_gaps(self, words):
        used = self.numbers | (self._encoded() if words == "encode" else {})
        counts = {name: int(values.isna().sum()) for name, values in used.items()}
        return {name: count for name, count in counts.items() if count}

    def _rows_with_gaps(self, words):
        rows = np.zeros(len(self.index), dtype=bool)
        used = self.numbers | (self._encoded() if words == "encode" else {})
        for values in used.values():
            rows |= values.isna().to_numpy()
        return pd.Series(rows, index=self.index)

    def _encoded(self):
        """Return the columns of words that are encoded."""
        return {
            name: text
            for name, text in self.words.items()
            if text.nunique() <= MOST_VALUES or name in self.kept
        }

    def rows(self, words, gaps, unlabelled, notes):
        """Return a frame of numbers, and which rows are used."""
        incomplete = self._rows_with_gaps(words) | unlabelled
        if incomplete.any():
            names = [*self._with_gaps(words), *["the label"] * bool(unlabelled.any())]
            notes.append(
                f"gaps in {_named(names)}: {incomplete.sum():,} of {len(self.index):,} rows are "
                "left out"
            )
            if incomplete.all():
                worst = max(self._with_gaps(words).items(), key=lambda item: item[1])
                raise ValueError(
                    f"gaps: every row has one; name columns with many in drop, such as {worst[0]} "
                    f"({worst[1]:,} of {len(self.index):,} rows)"
                )
        used = ~incomplete
        parts = [pd.DataFrame(self.numbers, index=self.index)[used]]
        if words == "encode" and self.words:
            encoded = self._encoded()
            many = [
                f"{name} ({text.nunique():,})"
                for name, text in self.words.items()
                if name not in encoded
            ]
            if many:
                notes.append(
                    f"left out, columns with more than {MOST_VALUES} words: {_named(many)}; join "
                    "words in the file, or name them in keep to encode them all the same"
                )
            if encoded:
                texts = pd.DataFrame(encoded, index=self.index)[used]
                several = ", ".join(f"{name} ({texts[name].nunique()})" for name in texts)
                notes.append(f"words: {several}")
                parts.append(pd.get_dummies(texts, columns=list(texts), dtype=float))
        elif self.words:
            notes.append(f"left out, columns of words: {_named(self.words)}")
        return pd.concat(parts, axis=1), used


def _without_constants(X, kept, notes):
    same = [name for name in X.columns if name not in kept and np.ptp(X[name].to_numpy()) == 0.0]
    if same:
        notes.append(f"left out, columns with one value: {_named(same)}")
    return X.drop(columns=same)
