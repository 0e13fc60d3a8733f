"""Tables of numbers: CSV, white space, and the dense matrices and labels of the NIPS 2003
challenge.
"""

from array import array
from collections.abc import Mapping

import numpy as np

from safescreen_book.datasets.readers.tokens import lines, numbers, shown, whole_numbers


def read_table(
    raw: bytes,
    where: str = "data",
    delimiter: str | None = None,
    codes: Mapping[str, int] | None = None,
) -> np.ndarray:
    """Read a rectangular table of finite numbers: CSV, or columns parted by white space (None),
    without a heading; ``#`` starts a comment.

    With `codes`, words stand in the last column, and in the table the integers `codes` gives for
    them.

    >>> read_table(b"1,2\\n3,4\\n", delimiter=",")
    array([[1., 2.],
           [3., 4.]])
    """
    width, values = 0, array("d")
    separator = None if delimiter is None else delimiter.encode()
    known = {word.encode(): b"%d" % code for word, code in (codes or {}).items()}
    for line, text in lines(raw, where):
        fields = [field.strip() for field in text.partition(b"#")[0].strip().split(separator)]
        if fields in ([], [b""]):
            continue
        if known and fields[-1] not in known:
            raise ValueError(
                f"{where}, line {line}: label {shown(fields[-1])} is none of {', '.join(codes)}"
            )
        fields[-1] = known.get(fields[-1], fields[-1])
        values.extend(numbers(fields, where, line))
        width = width or len(fields)
        if len(fields) != width:
            raise ValueError(
                f"{where}, line {line}: {len(fields)} fields where the first row has {width}"
            )
    if not values:
        raise ValueError(f"{where}: no rows")
    return np.frombuffer(values).reshape(-1, width)


def split_labels(table: np.ndarray, where: str = "data"):
    """Part a table in features and its last column, which must hold integers."""
    if table.shape[1] < 2:
        raise ValueError(f"{where}: a table of one column holds no features beside the label")
    return np.ascontiguousarray(table[:, :-1]), whole_numbers(table[:, -1], where)
