"""Broken files: what a reader gives is what stands there, by another way of reading, or its error
names the file.

The first test runs some hundred files, `make exhaustive` a hundred thousand.
"""

import bz2
import gzip
import io
import lzma
import math
import re
import struct
import tracemalloc
import zipfile
from importlib import import_module

import numpy as np
import pytest

from safescreen_book.datasets import readers

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
TOKENS = (
    b"inf -nan 1e300 1e400 -9223372036854775808 9223372036854775808 9007199254740993 "
    b"1_0 +6 -1 0 0.5 0x1p3 5e-324 . 1. 4294967296:1"
).split()
TOKENS += b"| |#|:|,|qid:3 |\r|\r\n|\n|\n\n|\x0c|\0|\xff|\xff\xff\xff|\0\0\0\0|\x7f".split(b"|")
TOKENS += [b"1" * 4500, b"\xef\xbb\xbf", "\u0661".encode(), "# \u00e9".encode()]


def rows_of(raw, comments=True):
    """Tokens of the lines of a text."""
    lines = re.split("\r\n|\r|\n", raw.decode("utf-8", "replace"))
    lines = lines if lines[-1] else lines[:-1]
    lines = [line.partition("#")[0] if comments else line for line in lines]
    return [[token for token in re.split("[ \t\x0b\x0c]+", line) if token] for line in lines]


def value(token):
    if not NUMBER.fullmatch(token) or not math.isfinite(float(token)):
        raise ValueError
    return float(token)


def label(token):
    if value(token) != int(value(token)) or abs(value(token)) >= 2.0**53:
        raise ValueError
    return int(value(token))


def sparse(raw, labelled=True, most=6):
    """(Dense X, y) of sparse text; a ValueError or TypeError where it is none."""
    X, y = [], []
    for tokens in rows_of(raw, comments=labelled):
        if labelled and not tokens:
            continue
        entries = [token.split(":") for token in tokens[labelled:]]
        columns = [entry[0] for entry in entries]
        if any(len(entry) > 2 or labelled > len(entry) - 1 for entry in entries):
            raise ValueError
        if not all(re.fullmatch("[+-]?[0-9]{1,4000}", column) for column in columns):
            raise ValueError
        numbers = list(map(int, columns))
        if numbers != sorted(set(numbers)) or (
            numbers and not 1 <= numbers[0] <= numbers[-1] <= most
        ):
            raise ValueError
        y += [label(tokens[0])] if labelled else []
        given = {
            number: value(entry[1]) if len(entry) == 2 else 1.0
            for number, entry in zip(numbers, entries, strict=True)
        }
        X.append([given.get(column, 0.0) for column in range(1, most + 1)])
    if not X:
        raise ValueError
    return np.array(X), np.array(y)


def table(raw, codes=None):
    """(X, y) of a table parted by commas, or by white space where there are no `codes`."""
    rows = [" ".join(tokens) for tokens in rows_of(raw)]
    rows = [row.split("," if codes else " ") for row in rows if row.strip(" ")]
    rows = [[token.strip(" ") for token in row] for row in rows]
    X = [[value(token) for token in row[:-1]] for row in rows]
    y = [codes[row[-1]] if codes else label(row[-1]) for row in rows]
    if not X or len(X[0]) < 1 or len({*map(len, X)}) > 1:
        raise ValueError
    return np.array(X), np.array(y)


def idx(raw):
    zero, kind, ndim = struct.unpack(">HBB", raw[:4])
    shape = struct.unpack(f">{ndim}I", raw[4 : 4 + 4 * ndim])
    if (
        zero
        or kind != 8
        or not 1 <= ndim <= 32
        or math.prod(shape) != len(raw) - 4 - 4 * ndim
        or not math.prod(shape)
    ):
        raise ValueError
    return (np.array([*raw[4 + 4 * ndim :]], dtype=np.uint8).reshape(shape),)


def read_csv(raw):
    return readers.split_labels(readers.read_table(raw, "tiny", ",", {"g": 1, "h": -1}), "tiny")


def read_white(raw):
    return readers.split_labels(readers.read_table(raw, "tiny"), "tiny")


def read_libsvm(raw):
    X, y = readers.read_libsvm(raw, "tiny", 6)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    return X.toarray(), y


def read_nips(raw):
    return (readers.read_nips_sparse(raw, "tiny", 6).toarray(),)


TEXTS = {
    "libsvm": (
        b"+1 1:0.5 3:-2e3\n-1 2:1   # a remark\n\n2 3:4\n0\n3 1:1 2:2 6:3\r\n",
        read_libsvm,
        sparse,
    ),
    "nips": (b"1:7 3:2 \n\n2:5\n1 5 6\n", read_nips, lambda raw: sparse(raw, False)[:1]),
    "csv": (
        b"1,2.5,g\n-3,4e2,h # no\n\n0,0,g\n",
        read_csv,
        lambda raw: table(raw, {"g": 1, "h": -1}),
    ),
    "white": (b"1 2.5 1\n-3\t4e2 -1 # no\n\n0 0 7\n", read_white, table),
    "idx": (
        bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + b"abcdef",
        lambda raw: (readers.read_idx(raw, "tiny"),),
        idx,
    ),
}


def broken(raw, rng):
    """A file with one to three things wrong."""
    for _ in range(rng.integers(1, 4)):
        at, token = int(rng.integers(len(raw) + 1)), TOKENS[rng.integers(len(TOKENS))]
        match rng.integers(6):
            case 0:
                raw = raw[:at] + bytes([rng.integers(256)]) + raw[at + 1 :]
            case 1:
                raw = raw[:at] + token + raw[at:]
            case 2:
                raw = (
                    raw[:at] if rng.random() < 0.3 else raw[:at] + raw[at + int(rng.integers(6)) :]
                )
            case 3:
                raw = raw[:at] + raw[max(0, at - 8) :]
            case _:
                numbers = list(re.finditer(rb"[\d.]+", raw))
                if numbers:
                    found = numbers[rng.integers(len(numbers))]
                    raw = raw[: found.start()] + token + raw[found.end() :]
    return raw


def changed(raw, rng):
    """A file with some of its bytes changed, most of them at its end: headings of arrays are
    long.
    """
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at = len(raw) - 1 - min(len(raw) - 1, int(rng.exponential(30)))
        raw[at] = rng.choice([0, 1, 2, 63, 127, 128, 240, 255, int(rng.integers(256))])
    return bytes(raw)


def refused(action, *arguments, more=2**20):
    """What it gives; None for an error that names the file. Its memory is three times the first
    argument at most, and `more`.
    """
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        return action(*arguments)
    except (ValueError, TypeError, OSError) as error:
        assert "tiny" in str(error), error
        return None
    finally:
        assert tracemalloc.get_traced_memory()[1] - before <= more + 3 * len(arguments[0])


def same(found, wanted):
    return len(found) == len(wanted) and all(map(np.array_equal, found, wanted))


def text(name, rng, folder):
    valid, read, other = TEXTS[name]
    raw = broken(valid, rng)
    found = refused(read, raw)
    try:
        wanted = other(raw)
    except (LookupError, TypeError, ValueError, struct.error):
        wanted = None
    assert found is None or (wanted is not None and same(found, wanted)), raw
    return found is not None


DENSE = {
    "X": np.array([[1, 0, 2], [0, 3, 0]], dtype=np.int16),
    "y": np.array([1, -1], dtype=np.int8),
}
CSR = {
    "data": np.array([1.5, 2.5, 3.5]),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
    "shape": np.array([2, 3]),
}
CSR["y"] = DENSE["y"]


def npz(arrays, rng, folder):
    packed, chosen = io.BytesIO(), list(arrays)[rng.integers(len(arrays))]
    with zipfile.ZipFile(packed, "w") as target:
        for key, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            target.writestr(
                f"{key}.npy",
                changed(member.getvalue(), rng) if key == chosen else member.getvalue(),
            )
    raw = packed.getvalue() if rng.random() < 0.7 else broken(packed.getvalue(), rng)
    found = refused(readers.read_npz, raw, "tiny")
    if found is not None:
        X, y = found
        parts = {"X": X}
        if "X" not in arrays:
            parts = {key: getattr(X, key) for key in ("data", "indices", "indptr", "shape")}
        with zipfile.ZipFile(io.BytesIO(raw)) as other:
            for key, part in {**parts, "y": y}.items():
                assert np.array_equal(part, np.load(io.BytesIO(other.read(f"{key}.npy"))))
        assert np.isfinite(next(iter(parts.values()))).all()
        # reads no memory but its own
        assert "X" in arrays or X.shape[1] > 1000 or X.toarray().shape == X.shape
    return found is not None


PACKERS = {
    ".xz": (lzma.compress, lzma.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".gz": (gzip.compress, gzip.decompress),
}


def packed(suffix, rng, folder):
    raw = broken(PACKERS[suffix][0](b"1 2 3\n" * 50), rng)
    (folder / f"tiny{suffix}").write_bytes(raw)
    # what .xz and .bz2 work with
    found = refused(lambda _: readers.unpack(folder / f"tiny{suffix}"), raw, more=2**25)
    assert found is None or found == PACKERS[suffix][1](raw)
    return found is not None


FUZZ = {name: (text, name) for name in TEXTS} | {suffix: (packed, suffix) for suffix in PACKERS}
FUZZ |= {"npz dense": (npz, DENSE), "npz csr": (npz, CSR)}


def accepted(name, rounds, seed, folder):
    """How many of so many broken files are read."""
    trial, what = FUZZ[name]
    rng = np.random.default_rng(seed)
    import_module("sklearn.datasets")  # its memory is not the reader's
    tracemalloc.start()
    try:
        return sum(trial(what, rng, folder) for _ in range(rounds))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", list(FUZZ))
def test_a_broken_file_is_read_rightly_or_refused_by_name(name, tmp_path):
    assert 0 < accepted(name, 60, 5, tmp_path) < 60


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", list(FUZZ))
def test_exhaustively(name, part, tmp_path, record_property):
    record_property(name, accepted(name, 2500, 100 + part, tmp_path))


N = 40_000
LARGE = {  # reader, input, numbers in it, and in its longest line
    "libsvm": (readers.read_libsvm, b"1 1:1 2:1\n" * (N // 3), N, 3),
    "one long row": (
        readers.read_libsvm,
        b"1 " + b" ".join(b"%d:1" % (i + 1) for i in range(N)),
        N,
        N,
    ),
    "nips": (readers.read_nips_sparse, b"1 2 3\n" * (N // 3), N, 3),
    "labels": (readers.read_table, b"1\n" * N, N, 1),
    "one row": (readers.read_table, b"1 " * N, N, N),
    "idx": (
        readers.read_idx,
        bytes([0, 0, 8, 1]) + (16 * N).to_bytes(4, "big") + bytes(16 * N),
        0,
        0,
    ),
}


@pytest.mark.parametrize("name", list(LARGE))
def test_memory_is_bounded(name):
    """By what the readers' heading says."""
    read, raw, n, longest = LARGE[name]
    tracemalloc.start()
    try:
        read(raw)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(raw) + 64 * n + 256 * longest + 2**20
    finally:
        tracemalloc.stop()
