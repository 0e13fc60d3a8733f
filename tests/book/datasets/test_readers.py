"""Each reader gives what stands in the file, and names the place when it cannot."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from safescreen_book.datasets import readers
from safescreen_book.places import environment


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


LIBSVM = b"+1 1:0.5 3:-2e3\n-1 2:1   # a remark\n\n2 3:4\n"
DENSE = np.array([[0.5, 0, -2000], [0, 1, 0], [0, 0, 4]])


@pytest.mark.parametrize(
    "suffix, pack",
    [("", bytes), (".xz", lzma.compress), (".bz2", bz2.compress), (".gz", gzip.compress)],
)
def test_libsvm_text_packed_or_not(tmp_path, suffix, pack):
    path = tmp_path / f"tiny{suffix}"
    path.write_bytes(pack(LIBSVM))
    X, y = readers.read_libsvm(readers.unpack(path))
    assert X.format == "csr" and X.dtype == np.float64
    np.testing.assert_array_equal(X.toarray(), DENSE)
    np.testing.assert_array_equal(y, [1, -1, 2])


def test_libsvm_columns_may_be_given():
    assert readers.read_libsvm(LIBSVM, n_features=5)[0].shape == (3, 5)


def read_csv(text, where):
    return readers.read_table(text, where, ",")


def read_coded(text, where):
    return readers.read_table(text, where, ",", {"g": 1, "h": -1})


def read_libsvm(text, where):
    return readers.read_libsvm(text, where, n_features=4)


@pytest.mark.parametrize(
    "read, text, line, found",
    [
        (read_libsvm, b"1 1:1\n1 1:nan\n", 2, "nan"),
        (read_libsvm, b"1 1:inf\n", 1, "inf"),
        (read_libsvm, b"# one\n\n1 1:1 # x\n1 1:1e400\n1 1:1\n", 4, "1:1e400.*not finite"),
        (read_libsvm, b"1 1:x\n", 1, "x"),
        (read_libsvm, b"1 0:1\n", 1, "Invalid index 0"),
        (read_libsvm, b"1 1:1\n1 5:1\n", 2, "1 5:1"),
        (read_libsvm, b"1 -2:1\n", 1, "Invalid index -2"),
        (read_libsvm, b"1 2:1 1:1\n", 1, "sorted"),
        (read_libsvm, b"1 2:1 2:1\n", 1, "unique"),
        (read_libsvm, b"1 2\n", 1, "1 2"),
        (read_libsvm, b"a 1:1\n", 1, "a"),
        (read_libsvm, b"0.5 1:1\n", 1, "label 0.5 is not an integer"),
        (read_libsvm, b"1e300 1:1\n", 1, r"label 1e\+300 is not an integer"),
        (read_libsvm, b"1 1:1\n9007199254740993 1:1\n", 2, "label 9007199254740992"),
        (read_libsvm, b"1 1_0:1\n", 1, "_0"),
        (read_libsvm, b"1 1:1_0\n", 1, "_0"),
        (read_libsvm, b"1 qid:3 1:1\n", 1, "qid:3"),
        (read_libsvm, b"1 " + b"9" * 4301 + b":1\n", 1, "1 9{38}'..."),
        (read_libsvm, b"1 9223372036854775808:1\n", 1, "9223372036854775808"),
        (read_libsvm, b"1 1:1 # c\r2:1\n", 2, "2:1"),
        (read_libsvm, "1 1:1 # \u00e9\n1 1:\u0661\n".encode(), 2, "\u0661"),
        (read_libsvm, "1 1:1\n".encode("utf-16"), 1, ""),
        (readers.read_nips_sparse, b"1 2\n3 0\n", 2, "3 0"),
        (readers.read_nips_sparse, b"1:nan\n", 1, "nan"),
        (readers.read_nips_sparse, b"1:\n", 1, "1:"),
        (readers.read_nips_sparse, b"1 # no comments\n", 1, "#"),
        (read_csv, b"1,2\n3,nan\n", 2, "nan"),
        (read_csv, b"1,2\n3,\n", 2, "''"),
        (read_csv, b"1,2\n3,4,5\n", 2, "from 2 to 3"),
        (read_csv, b"a,b\n1,2\n", 1, "a,b"),
        (read_csv, b"1,2 # c\r3\n", 2, "from 2 to 1"),
        (read_csv, b"1,2\n1_0,3\n", 2, "_0"),
        (read_csv, b"1,2\n\xff,3\n", 2, "\ufffd,3"),
        (read_coded, b"1,g\n2,x\n", 2, "x"),
        (read_coded, b"1,g\n2,gh\n", 2, "'gh'"),
        (read_coded, b"1,g\n2,1\n", 2, "'1'"),
        (read_coded, b"1,g\nh,g\n", 2, "'h'"),
    ],
)
def test_faults_of_a_text_are_named(read, text, line, found):
    with pytest.raises(ValueError, match=rf"tiny, line {line}: .*{found}"):
        read(text, "tiny")


@pytest.mark.parametrize("text", [b"", b"\n \n", b"# 1,2\n#\n"])
@pytest.mark.parametrize("read", [read_libsvm, read_csv, read_coded])
def test_a_text_without_rows(read, text):
    with pytest.raises(ValueError, match="tiny: no rows"):
        read(text, "tiny")


LONG = """
import resource
from safescreen_book.datasets import readers
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
for read in (readers.read_libsvm, readers.read_nips_sparse, readers.read_table):
    for token in (b"1" * n + b"x", b"." + b"1" * n + b"x", b"1e" + b"1" * n + b"x"):
        try:
            read(b"1:" * (read is readers.read_nips_sparse) + token)
        except ValueError as error:
            assert "line 1: '" in str(error), error
        else:
            raise AssertionError(read)
print("refused")
"""


@pytest.mark.skipif(os.name != "posix", reason="limits processor time")
def test_a_long_token_takes_time_by_its_length():
    """Two million characters are read in a second; if each were looked at from each other one,
    in a day.
    """
    command = [sys.executable, "-c", LONG.replace("n +", "2_000_000 +")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.stdout == "refused\n", done.stderr


def test_nips_sparse_with_and_without_values():
    X = readers.read_nips_sparse(b"1:7 3:2 \n\n2:5\n")
    np.testing.assert_array_equal(X.toarray(), [[7, 0, 2], [0, 0, 0], [0, 5, 0]])
    X = readers.read_nips_sparse(b"1 3 \n2\n", n_features=4)
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 1, 0], [0, 1, 0, 0]])


def test_tables():
    np.testing.assert_array_equal(readers.read_table(b"1 2.5\n-3 4e2\n"), [[1, 2.5], [-3, 400]])
    X, y = readers.split_labels(readers.read_table(b"1,2,-1\n3,4,1\n", delimiter=","))
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, [-1, 1])


def test_labels_of_a_table():
    with pytest.raises(ValueError, match="tiny, row 2: label 0.5 is not an integer"):
        readers.split_labels(np.array([[1.0, 1.0], [1.0, 0.5]]), "tiny")
    with pytest.raises(ValueError, match="tiny: a table of one column"):
        readers.split_labels(np.ones((3, 1)), "tiny")
    for label in (np.inf, 1e300, 2.0**53, -(2.0**63)):
        with pytest.raises(ValueError, match="tiny, row 1: label .* is not an integer below"):
            readers.split_labels(np.array([[1.0, label]]), "tiny")
    assert readers.split_labels(np.array([[1.0, 1 - 2.0**53]]))[1] == 1 - 2**53
    table = read_coded(b"1,2,g\n3,4, h\n", "tiny")
    np.testing.assert_array_equal(table, [[1, 2, 1], [3, 4, -1]])


def test_idx():
    raw = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(6))
    np.testing.assert_array_equal(readers.read_idx(raw), [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ValueError, match=r"tiny: 5 bytes of data where the shape \(2, 3\) needs 6"):
        readers.read_idx(raw[:-1], "tiny")
    with pytest.raises(
        ValueError, match=r"tiny: 0 bytes of data where the shape \(0, 4294967295\) needs some"
    ):
        readers.read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 0]) + b"\xff" * 4, "tiny")
    for bad in (
        b"",
        b"\x00\x00\x0d\x01" + bytes(4),
        raw[:9],
        b"\x00\x00\x08\x00a",
        b"\x00\x00\x08\x40" + 64 * b"\0\0\0\1" + b"a",
    ):
        with pytest.raises(ValueError, match="tiny: not an idx file"):
            readers.read_idx(bad, "tiny")


def test_npz_dense_and_csr():
    X = np.array([[1, 0, 2], [0, 3, 0]], dtype=np.int16)
    y = np.array([1, -1], dtype=np.int8)
    got, labels = readers.read_npz(npz(X_test=X, y_test=y), suffix="_test")
    assert got.dtype == np.float64 and labels.dtype == np.int64
    np.testing.assert_array_equal(got, X)
    parts = {"data": [1, 2, 3], "indices": [0, 2, 1], "indptr": [0, 2, 3], "shape": [2, 3]}
    got, labels = readers.read_npz(npz(**parts, y=y))
    assert got.format == "csr"
    np.testing.assert_array_equal(got.toarray(), X)
    np.testing.assert_array_equal(labels, y)
    assert got.indices.dtype == got.indptr.dtype == np.int32 and got.data.flags.writeable


def test_sparse_data_goes_into_liblinear():
    """Its indices have 32 bits: LIBLINEAR takes no others."""
    X, y = readers.read_libsvm(LIBSVM)
    assert LinearSVC().fit(X, y).coef_.shape[1] == 3


def archive(**members):
    """An archive of files with these names and contents, packed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return buffer.getvalue()


def heading(shape, kind="<f8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()


CSR = dict(
    data=np.ones(1),
    indices=np.array([0]),
    indptr=np.array([0, 1]),
    shape=np.array([1, 3]),
    y=np.array([1]),
)


@pytest.mark.parametrize(
    "raw, message",
    [
        (
            npz(X=np.ones((1, 2)), y=np.array([2**63], dtype=np.uint64)),
            "tiny, row 1: label 9.2.* is not an integer below",
        ),
        (npz(X=np.array([["1", "2"]]), y=np.array([1])), "tiny: X holds <U1, not numbers"),
        (npz(**CSR | {"indices": np.array([1.9])}), "tiny: indices holds float64, not integers"),
        (
            npz(**CSR | {"indptr": np.array([0, 2**56, 0])}),
            r"tiny: not a CSR array \(its row pointers do not rise to 1\)",
        ),
        (
            archive(**{"../X.npy": heading((0,))}),
            r"tiny: not a readable .npz file \(it holds a file '../X.npy'\)",
        ),
        (
            archive(**{"X.npy": heading((10**12,)) + bytes(8)}),
            r"8 bytes of data for the shape \(1000000000000,\) of float64",
        ),
        (
            archive(**{"X.npy": heading((1,), "|O") + b"cos\nsystem\n"}),
            "tiny: not a readable .npz file",
        ),
        (
            archive(**{"X.npy": bytes(2**27)}),
            "it promises 134217728 bytes, more than `limit` = 67108864",
        ),
        (npz(X=np.ones((2, 2))), "tiny: no array 'y', only X"),
        (npz(X=np.array([[np.nan]]), y=np.array([1])), "tiny: X holds NaN or infinite values"),
        (npz(X=np.ones((2, 2)), y=np.array([1])), r"tiny: X has shape \(2, 2\) and y \(1,\)"),
        (npz(X=np.ones((1, 2)), y=np.array([0.5])), "tiny: y holds float64, not integers"),
        (npz(**CSR | {"indices": np.array([7])}), "tiny: not a CSR array"),
    ],
)
def test_npz_takes_nothing_else_for_numbers(raw, message):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            readers.read_npz(raw, "tiny")
        assert tracemalloc.get_traced_memory()[1] < 2**20 + 3 * len(raw)
    finally:
        tracemalloc.stop()


def test_a_file_that_unpacks_to_far_more_is_refused_unless_told(tmp_path):
    path = tmp_path / "tiny.xz"
    path.write_bytes(lzma.compress(bytes(2**26 + 1), preset=0))
    assert path.stat().st_size < 2**15
    with pytest.raises(
        ValueError, match="tiny.xz: its .* bytes unpack to more than `limit` = 67108864"
    ):
        readers.unpack(path)
    assert len(readers.unpack(path, limit=2**26 + 1)) == 2**26 + 1
    path.write_bytes(lzma.compress(b"ab"))
    assert readers.unpack(path, limit=2) == b"ab"
    with pytest.raises(ValueError, match="`limit` = 1"):
        readers.unpack(path, limit=1)
