"""Text formats: LIBSVM, the matrices of the NIPS 2003 challenge, tables of numbers.

scikit-learn and numpy parse them. Some texts that these would accept (NaN, 1_0, qid) are refused
beforehand, and an error names the first line that is wrong.
"""

import io
import re
from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp

_EXACT = 2**53
"""Labels are below it in size: as a double each is itself, and no other."""

_NUMBERS = rb"0-9+\-.eE"
_BLANKS = rb" \t\v\f"


def read_libsvm(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read LIBSVM text, ``label index:value ...`` with indices from 1 and increasing, as CSR in
    float64 and int64 labels; ``#`` starts a comment.

    By default `n_features` is the largest index in the text.

    >>> X, y = read_libsvm(b"+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1, -1]))
    """

    def parse(text: bytes):
        return _sparse(io.BytesIO(text), n_features)

    return _parsed(raw, where, parse, _NUMBERS + rb":", comments=True)


def read_nips_sparse(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read a NIPS 2003 sparse matrix as CSR: ``index:value ...`` or, for 0/1 data, ``index ...``,
    from 1; a blank line is a row of zeros.

    >>> read_nips_sparse(b"1 3 \\n2 \\n").toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """

    def parse(text: bytes):
        return _sparse(_Labelled(text), n_features)[0]

    return _parsed(raw, where, parse, _NUMBERS + rb":", comments=False)


def read_table(
    raw: bytes,
    where: str = "data",
    delimiter: str | None = None,
    codes: Mapping[str, int] | None = None,
) -> np.ndarray:
    """Read a rectangular table of finite numbers: CSV, or columns parted by white space (None),
    without a heading; ``#`` starts a comment.

    With `codes` the last column holds words, and the table gets the integer that `codes` has for
    each word.

    >>> read_table(b"1,2\\n3,4\\n", delimiter=",")
    array([[1., 2.],
           [3., 4.]])
    """
    letters = re.escape("".join([delimiter or "", *(codes or {})])).encode()

    def parse(text: bytes):
        table = np.loadtxt(
            io.BytesIO(text),
            delimiter=delimiter,
            converters={-1: lambda word: codes[word.strip()]} if codes else None,
            ndmin=2,
            encoding="latin-1",
        )
        _need_finite(table)
        return table

    return _parsed(raw, where, parse, _NUMBERS + letters, comments=True)


def split_labels(table: np.ndarray, where: str = "data"):
    """Part a table in features and its last column, which must hold integers."""
    if table.shape[1] < 2:
        raise ValueError(f"{where}: a table of one column holds no features beside the label")
    return np.ascontiguousarray(table[:, :-1]), whole_numbers(table[:, -1], where)


def whole_numbers(values, where: str) -> np.ndarray:
    """Labels as int64; the first that is not an integer below 2**53 in size is named with its
    row.
    """
    values = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~((values == np.rint(values)) & (np.abs(values) < _EXACT)))
    if len(wrong):
        label = f"label {values[wrong[0]]}"
        raise ValueError(f"{where}, row {wrong[0] + 1}: {label} is not an integer below 2**53")
    return values.astype(np.int64)


def csr(data, indices, indptr, shape) -> sp.csr_array:
    """CSR of float64, its parts checked against each other; indices have 32 bits, which
    LIBLINEAR asks for, where they fit.
    """
    indices, indptr = np.asarray(indices), np.asarray(indptr)
    # check_format lets 0, 9, 0 pass
    if indptr.ndim != 1 or indptr[-1:] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"its row pointers do not rise to {len(indices)}")
    X = sp.csr_array((np.asarray(data, dtype=np.float64), indices, indptr), shape=shape)
    X.check_format(full_check=True)
    if max(X.nnz, *X.shape) < 2**31:
        X.indices = X.indices.astype(np.int32)
        X.indptr = X.indptr.astype(np.int32)
    return X


class _Labelled(io.BytesIO):
    """Lines of a NIPS 2003 matrix as LIBSVM writes them: with a label, and each index with a
    value.
    """

    def __next__(self) -> bytes:
        tokens = super().__next__().split()
        return b" ".join([b"0", *(token if b":" in token else token + b":1" for token in tokens)])


def _sparse(lines: io.BytesIO, n_features: int | None):
    from sklearn.datasets import load_svmlight_file  # which takes a second

    X, y = load_svmlight_file(lines, n_features=n_features, zero_based=False)
    _need_finite(X.data)
    return csr(X.data, X.indices, X.indptr, X.shape), whole_numbers(y, "labels")


def _need_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise ValueError("a number is not finite")


def _parsed(raw: bytes, where: str, parse: Callable, allowed: bytes, comments: bool):
    """Return what `parse` makes of a text in which only some characters are allowed outside of
    comments; a ValueError names the first line that is wrong.
    """
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not raw or (comments and not _holds_rows(raw)):
        raise ValueError(f"{where}: no rows")
    allowed += _BLANKS
    border = rb"#" if comments else rb""
    stranger = re.search(rb"(?m)^[%b]*+[^\n%b%b]" % (allowed, border, allowed), raw)
    if stranger:
        token = re.compile(rb"\S*").match(raw, stranger.end() - 1)[0]
        line = raw.count(b"\n", 0, stranger.end()) + 1
        raise ValueError(f"{where}, line {line}: {_shown(token)} is not part of a number")
    try:
        return parse(raw)
    except (OverflowError, ValueError) as error:
        begin, end = _wrong_line(raw, parse)
        line = raw.count(b"\n", 0, begin) + 1
        raise ValueError(f"{where}, line {line}: {_shown(raw[begin:end])} ({error})") from None


def _holds_rows(text: bytes) -> bool:
    return re.search(rb"(?m)^[%b]*+[^\n#%b]" % (_BLANKS, _BLANKS), text) is not None


def _wrong_line(raw: bytes, parse: Callable) -> tuple[int, int]:
    """Return begin and end of the first line that `parse` does not read after those before it."""
    begin, end = 0, len(raw)
    while True:
        middle = (begin + end) // 2
        cut = raw.find(b"\n", middle, end - 1) + 1 or raw.rfind(b"\n", begin, middle) + 1
        if not cut:
            return begin, end
        try:
            if _holds_rows(raw[begin:cut]):
                parse(raw[:cut])
            begin = cut
        except (OverflowError, ValueError):
            end = cut


def _shown(text: bytes) -> str:
    """A text as an error shows it: not all of a long one."""
    text = text.strip()
    return repr(text[:40].decode("utf-8", "replace")) + ("..." if len(text) > 40 else "")
