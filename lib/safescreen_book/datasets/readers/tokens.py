"""Tokens of text formats: each is checked where it stands, so that an error names file and line."""

import numpy as np


def lines(raw: bytes):
    """Yield (line number from 1, tokens) of each line that is not blank; ``#`` starts a comment."""
    for number, line in enumerate(raw.splitlines(), start=1):
        tokens = line.partition(b"#")[0].split()
        if tokens:
            yield number, tokens


def number(token: bytes, where: str, line: int) -> float:
    """Finite number a token stands for."""
    try:
        value = float(token)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"{where}, line {line}: {token.decode('ascii', 'replace')!r} is not a finite number")
    return value


def label(token: bytes, where: str, line: int) -> int:
    """Integer a token stands for."""
    value = number(token, where, line)
    if value != int(value):
        raise ValueError(f"{where}, line {line}: label {value} is not an integer")
    return int(value)


def feature_index(token: bytes, n_features: int | None, last: int, where: str, line: int) -> int:
    """0-based index of a 1-based token that must be above `last` (0-based) and within `n_features`."""
    if not token.isdigit():
        raise ValueError(f"{where}, line {line}: {token.decode('ascii', 'replace')!r} is not a feature index")
    index = int(token) - 1
    if index < 0 or (n_features is not None and index >= n_features):
        top = "" if n_features is None else f"..{n_features}"
        raise ValueError(f"{where}, line {line}: feature index {index + 1} is not in 1{top}")
    if index <= last:
        raise ValueError(f"{where}, line {line}: feature index {index + 1} does not come after {last + 1}")
    return index
