"""Lines and tokens of text formats: each is checked where it stands, so that an error names file
and line.
"""

import math
import re
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

_LINE = re.compile(rb"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")
# `++` gives nothing back: one way to read a token
_NUMBER = re.compile(rb"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?")
_EXACT = 2**53
"""Labels are below it in size: as a double each is itself, and no other."""


def lines(raw: bytes, where: str) -> Iterator[tuple[int, bytes]]:
    """Yield number, from 1, and content of each line; a ValueError says at which byte a text is
    not UTF-8.
    """
    for number, found in enumerate(_LINE.finditer(raw), start=1):
        line = found.group()
        try:
            if not line.isascii():
                line.decode("utf-8")
        except UnicodeDecodeError as error:
            place = found.start() + error.start
            raise ValueError(
                f"{where}, line {number}: byte {place} is not UTF-8; the file must be saved "
                "as UTF-8 text"
            ) from None
        yield number, line


def shown(token: bytes) -> str:
    """A token as an error shows it: not all of a long one."""
    return repr(token[:40].decode("utf-8", "replace")) + ("..." if len(token) > 40 else "")


def numbers(tokens: list[bytes], where: str, line: int) -> list[float]:
    """Finite numbers that the tokens of a line stand for, in decimal notation."""
    # no 1_0, no infinity: what float makes of these is what is meant
    if not b"".join(tokens).translate(None, b"0123456789+-.eE"):
        with suppress(ValueError):
            values = [*map(float, tokens)]
            if all(map(math.isfinite, values)):
                return values
    wrong = next(
        token for token in tokens if not _NUMBER.fullmatch(token) or not math.isfinite(float(token))
    )
    raise ValueError(f"{where}, line {line}: {shown(wrong)} is not a finite number")


def whole_numbers(values, where: str, line=None) -> np.ndarray:
    """Labels as int64; the first that is not an integer below 2**53 in size is named with its
    `line`, or else its row.
    """
    values = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~((values == np.rint(values)) & (np.abs(values) < _EXACT)))
    if len(wrong):
        place = f"row {wrong[0] + 1}" if line is None else f"line {line[wrong[0]]}"
        raise ValueError(
            f"{where}, {place}: label {values[wrong[0]]} is not an integer below 2**53"
        )
    return values.astype(np.int64)


def feature_indices(
    tokens: list[bytes], n_features: int | None, where: str, line: int
) -> list[int]:
    """0-based indices of the 1-based tokens of a line; they must increase and be within
    `n_features`.
    """
    found, last, most = [], 0, 10**18 if n_features is None else n_features
    for token in tokens:
        if not token.isdigit() or len(token) > 18:
            raise ValueError(f"{where}, line {line}: {shown(token)} is not a feature index")
        index = int(token)
        if not 1 <= index <= most:
            raise ValueError(
                f"{where}, line {line}: feature index {index} is not in "
                f"1..{'' if n_features is None else most}"
            )
        if index <= last:
            raise ValueError(
                f"{where}, line {line}: feature index {index} does not come after {last}"
            )
        last = index
        found.append(index - 1)
    return found
