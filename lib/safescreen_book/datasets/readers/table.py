"""Tables of numbers: CSV, white space, and the dense matrices and labels of the NIPS 2003 challenge."""

import io

import numpy as np

from safescreen_book.datasets.readers.tokens import number


def read_table(raw: bytes, where: str = "data", delimiter: str | None = None) -> np.ndarray:
    """Read a rectangular table of finite numbers: CSV, or columns parted by white space (None), without a heading.

    >>> read_table(b"1,2\\n3,4\\n", delimiter=",")
    array([[1., 2.],
           [3., 4.]])
    """
    if not raw.strip():
        raise ValueError(f"{where}: no rows")
    try:
        table = np.loadtxt(io.BytesIO(raw), delimiter=delimiter, ndmin=2)
    except (ValueError, UnicodeDecodeError):
        table = None
    if table is None or not np.isfinite(table).all():
        _blame_table(raw, where, delimiter)
    return table


def _blame_table(raw: bytes, where: str, delimiter: str | None):
    """Raise for the first field or row of a table that cannot be read."""
    width = None
    separator = None if delimiter is None else delimiter.encode()
    for line, text in enumerate(raw.splitlines(), start=1):
        fields = text.partition(b"#")[0].strip().split(separator)
        if fields in ([], [b""]):
            continue
        for value in fields:
            number(value.strip(), where, line)
        width = width or len(fields)
        if len(fields) != width:
            raise ValueError(f"{where}, line {line}: {len(fields)} fields where the first row has {width}")
    raise ValueError(f"{where}: not a table of numbers")


def split_labels(table: np.ndarray, where: str = "data"):
    """Part a table in features and its last column, which must hold integers."""
    if table.shape[1] < 2:
        raise ValueError(f"{where}: a table of one column holds no features beside the label")
    y = table[:, -1]
    wrong = np.flatnonzero(y != np.rint(y))
    if len(wrong):
        raise ValueError(f"{where}, row {wrong[0] + 1}: label {y[wrong[0]]} is not an integer")
    return np.ascontiguousarray(table[:, :-1]), y.astype(np.int64)


def code_words(raw: bytes, codes, where: str = "data", delimiter: str = ",") -> bytes:
    """Write the integers `codes` gives for the words in the last column of a delimited text."""
    rows = []
    for line, text in enumerate(raw.splitlines(), start=1):
        if text.strip():
            values, _, word = text.decode("ascii").rpartition(delimiter)
            if word.strip() not in codes:
                known = ", ".join(map(str, codes))
                raise ValueError(f"{where}, line {line}: label {word.strip()!r} is none of {known}")
            rows.append(f"{values}{delimiter}{codes[word.strip()]}")
    return "\n".join(rows).encode()
