"""Each reader gives what stands in the file, and names the place when it cannot."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest

from safescreen_book.datasets import readers


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


LIBSVM = b"+1 1:0.5 3:-2e3\n-1 2:1   # a remark\n\n2 3:4\n"
DENSE = np.array([[0.5, 0, -2000], [0, 1, 0], [0, 0, 4]])


@pytest.mark.parametrize("suffix, pack", [("", bytes), (".xz", lzma.compress), (".bz2", bz2.compress), (".gz", gzip.compress)])
def test_libsvm_text_packed_or_not(tmp_path, suffix, pack):
    path = tmp_path / f"tiny{suffix}"
    path.write_bytes(pack(LIBSVM))
    X, y = readers.read_libsvm(readers.unpack(path))
    assert X.format == "csr" and X.dtype == np.float64
    np.testing.assert_array_equal(X.toarray(), DENSE)
    np.testing.assert_array_equal(y, [1, -1, 2])


def test_libsvm_columns_may_be_given():
    assert readers.read_libsvm(LIBSVM, n_features=5)[0].shape == (3, 5)


@pytest.mark.parametrize(
    "text, message",
    [
        (b"1 1:1\n1 1:nan\n", r"tiny, line 2: 'nan' is not a finite number"),
        (b"1 1:inf\n", r"tiny, line 1: 'inf' is not a finite number"),
        (b"1 1:x\n", r"tiny, line 1: 'x' is not a finite number"),
        (b"1 0:1\n", r"tiny, line 1: feature index 0 is not in 1\.\.4"),
        (b"1 5:1\n", r"tiny, line 1: feature index 5 is not in 1\.\.4"),
        (b"1 -2:1\n", r"tiny, line 1: '-2' is not a feature index"),
        (b"1 2:1 1:1\n", r"tiny, line 1: feature index 1 does not come after 2"),
        (b"1 2:1 2:1\n", r"tiny, line 1: feature index 2 does not come after 2"),
        (b"1 2\n", r"tiny, line 1: '2' is not index:value"),
        (b"a 1:1\n", r"tiny, line 1: 'a' is not a finite number"),
        (b"0.5 1:1\n", r"tiny, line 1: label 0\.5 is not an integer"),
        (b"\n \n", r"tiny: no rows"),
        (b"", r"tiny: no rows"),
    ],
)
def test_libsvm_faults_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        readers.read_libsvm(text, "tiny", n_features=4)


def test_libsvm_token_parser_agrees_with_the_fast_one():
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(50):
        indices = np.sort(rng.choice(20, size=rng.integers(0, 8), replace=False)) + 1
        lines.append(" ".join([str(rng.integers(-3, 3)), *(f"{i}:{rng.normal()!r}" for i in indices)]))
    text = "\n".join(lines).replace("np.float64(", "").replace(")", "").encode()
    X, y = readers.read_libsvm(text, n_features=20)
    X2, y2 = readers.sparse_text._sparse_rows(text, "tiny", 20, labelled=True)
    np.testing.assert_array_equal(X.toarray(), X2.toarray())
    np.testing.assert_array_equal(y, y2)


def test_nips_sparse_with_and_without_values():
    X = readers.read_nips_sparse(b"1:7 3:2 \n\n2:5\n")
    np.testing.assert_array_equal(X.toarray(), [[7, 0, 2], [0, 0, 0], [0, 5, 0]])
    X = readers.read_nips_sparse(b"1 3 \n2\n", n_features=4)
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 1, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    "text, message",
    [
        (b"1 2\n3 0\n", "tiny, line 2: feature index 0"),
        (b"1:nan\n", "tiny, line 1: 'nan'"),
        (b"1:\n", "tiny, line 1: ''"),
        (b"", "tiny: no rows"),
    ],
)
def test_nips_sparse_faults_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        readers.read_nips_sparse(text, "tiny", n_features=3)


def test_tables():
    np.testing.assert_array_equal(readers.read_table(b"1 2.5\n-3 4e2\n"), [[1, 2.5], [-3, 400]])
    X, y = readers.split_labels(readers.read_table(b"1,2,-1\n3,4,1\n", delimiter=","))
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, [-1, 1])


@pytest.mark.parametrize(
    "text, message",
    [
        (b"1,2\n3,nan\n", "tiny, line 2: 'nan' is not a finite number"),
        (b"1,2\n3,\n", "tiny, line 2: '' is not a finite number"),
        (b"1,2\n3,4,5\n", "tiny, line 2: 3 fields where the first row has 2"),
        (b"a,b\n1,2\n", "tiny, line 1: 'a' is not a finite number"),
        (b" \n", "tiny: no rows"),
    ],
)
def test_table_faults_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        readers.read_table(text, "tiny", ",")


def test_labels_of_a_table():
    with pytest.raises(ValueError, match="tiny, row 2: label 0.5 is not an integer"):
        readers.split_labels(np.array([[1.0, 1.0], [1.0, 0.5]]), "tiny")
    with pytest.raises(ValueError, match="tiny: a table of one column"):
        readers.split_labels(np.ones((3, 1)), "tiny")
    assert readers.code_words(b"1,2,g\n3,4,h\n", {"g": 1, "h": -1}) == b"1,2,1\n3,4,-1"
    with pytest.raises(ValueError, match="tiny, line 2: label 'x' is none of g, h"):
        readers.code_words(b"1,g\n2,x\n", {"g": 1, "h": -1}, "tiny")


def test_idx():
    raw = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(6))
    np.testing.assert_array_equal(readers.read_idx(raw), [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ValueError, match=r"tiny: 5 bytes of data where the shape \(2, 3\) needs 6"):
        readers.read_idx(raw[:-1], "tiny")
    for bad in (b"", b"\x00\x00\x0d\x01" + bytes(4), raw[:9]):
        with pytest.raises(ValueError, match="tiny: not an idx file"):
            readers.read_idx(bad, "tiny")


def test_npz_dense_and_csr():
    X = np.array([[1, 0, 2], [0, 3, 0]], dtype=np.int16)
    y = np.array([1, -1], dtype=np.int8)
    got, labels = readers.read_npz(npz(X_test=X, y_test=y), suffix="_test")
    assert got.dtype == np.float64 and labels.dtype == np.int64
    np.testing.assert_array_equal(got, X)
    parts = dict(
        data=np.array([1, 2, 3]),
        indices=np.array([0, 2, 1]),
        indptr=np.array([0, 2, 3]),
        shape=np.array([2, 3]),
    )
    got, labels = readers.read_npz(npz(**parts, y=y))
    assert got.format == "csr"
    np.testing.assert_array_equal(got.toarray(), X)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    "raw, message",
    [
        (b"not an archive", "tiny: not a readable .npz file"),
        (npz(X=np.ones((2, 2))), "tiny: no array 'y', only X"),
        (npz(X=np.array([[np.nan]]), y=np.array([1])), "tiny: X holds NaN or infinite values"),
        (npz(X=np.ones((2, 2)), y=np.array([1])), r"tiny: X has shape \(2, 2\) and y \(1,\)"),
        (npz(X=np.ones((1, 2)), y=np.array([0.5])), "tiny: y holds float64, not integers"),
        (npz(X=np.array([[None]]), y=np.array([1])), "tiny: not a readable .npz file"),
        (
            npz(
                data=np.ones(1),
                indices=np.array([7]),
                indptr=np.array([0, 1]),
                shape=np.array([1, 3]),
                y=np.array([1]),
            ),
            "tiny: not a CSR array",
        ),
    ],
)
def test_npz_faults_are_named(raw, message):
    with pytest.raises(ValueError, match=message):
        readers.read_npz(raw, "tiny")


def test_unreadable_archives(tmp_path):
    path = tmp_path / "tiny.xz"
    path.write_bytes(b"plain")
    with pytest.raises(ValueError, match="tiny.xz: not a readable .xz file"):
        readers.unpack(path)
