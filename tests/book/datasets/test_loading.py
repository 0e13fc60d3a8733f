"""What `load` returns: types, labels, scaling, and the shapes the registry states."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from safescreen_book import datasets
from safescreen_book.datasets import registry
from safescreen_book.datasets.scaling import unit

from .conftest import TEST_TEXT, TEXT

EMBEDDED = ["iris", "wine", "breast-cancer", "digits"]


@pytest.fixture
def files(tiny, folders):
    (folders[0] / "tiny").write_bytes(TEXT)
    (folders[0] / "tiny.t").write_bytes(TEST_TEXT)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_need_nothing(name):
    data = datasets.load(name)
    assert (
        data.X.shape == data.info.shape and data.X.flags.c_contiguous and data.X.dtype == np.float64
    )
    assert data.y.dtype == np.int64 and len(np.unique(data.y)) == data.info.classes
    varies = np.ptp(data.X, axis=0) > 0
    assert (data.X.min(axis=0)[varies] == -1).all() and (data.X.max(axis=0)[varies] == 1).all()
    assert (data.X[:, ~varies] == 0).all() and varies.all() == (name != "digits")
    assert len(data.feature_names) == data.X.shape[1]


def test_labels_are_coded_and_the_range_is_that_of_the_first_part(files):
    train, test = datasets.load("tiny"), datasets.load("tiny", "test")
    np.testing.assert_array_equal(train.y, [-1, 1, -1])
    np.testing.assert_array_equal(train.X, [[-1, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(test.X, [[3, 0]])
    np.testing.assert_array_equal(test.y, [1])


def test_a_file_of_another_shape_is_refused(files, monkeypatch):
    entry = datasets.info("tiny")
    wrong = replace(entry, parts={"train": replace(entry.parts["train"], shape=(4, 2))})
    monkeypatch.setattr(registry, "_registry", lambda: {"tiny": wrong})
    with pytest.raises(
        ValueError, match=r"tiny, part train: read \(3, 2\) with 3 labels, expected \(4, 2\)"
    ):
        datasets.load("tiny")


def test_unknown_names_parts_and_scales_are_named(files):
    with pytest.raises(ValueError, match="name: unknown data set 'tinny'; did you mean tiny"):
        datasets.load("tinny")
    with pytest.raises(ValueError, match="unknown data set 'zzz'. Known: lost, tiny"):
        datasets.load("zzz")
    with pytest.raises(ValueError, match="tiny has no part 'valid', only train, test"):
        datasets.load("tiny", "valid")
    with pytest.raises(ValueError, match="scale must be 'paper' or None, got 'minmax'"):
        datasets.load("tiny", scale="minmax")


def test_unit_scaling_keeps_sparse_data_sparse():
    reference = np.array([[0.0, 2, 0], [4, 1, 0]])
    X = np.array([[2.0, 2, 7]])
    expected = [[0.5, 1, 0]]
    np.testing.assert_array_equal(unit(X, reference), expected)
    scaled = unit(sp.csr_array(X), sp.csr_array(reference))
    assert scaled.format == "csr" and scaled.nnz == 2
    np.testing.assert_array_equal(scaled.toarray(), expected)
    with pytest.raises(ValueError, match="non-negative values, found -1"):
        unit(X, -np.ones((1, 3)))


@pytest.mark.parametrize("as_array", [np.asarray, sp.csr_array])
def test_subsample_keeps_order_and_depends_on_the_seed_only(as_array):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20)
    first, second, other = (datasets.subsample(as_array(X), y, 0.9, seed) for seed in (3, 3, 4))
    assert first[0].shape == (18, 2) and (np.diff(first[1]) > 0).all()
    np.testing.assert_array_equal(first[1], second[1])
    assert (first[1] != other[1]).any()
    dense = first[0].toarray() if sp.issparse(first[0]) else first[0]
    np.testing.assert_array_equal(dense, X[first[1]])


@pytest.mark.parametrize(
    "fraction, message",
    [(0.0, "must be in"), (1.1, "must be in"), (np.nan, "must be in"), (0.1, "leaves none")],
)
def test_subsample_refuses(fraction, message):
    with pytest.raises(ValueError, match=f"fraction .*{message}"):
        datasets.subsample(np.ones((4, 1)), np.ones(4), fraction)


def test_the_registry_is_complete():
    assert len(datasets.names()) == 26
    for name in datasets.names():
        entry = datasets.info(name)
        assert entry.title and entry.source and entry.licence and entry.features
        assert entry.scaling in {"none", "minmax", "unit", "div255", "shipped"}
        assert {file for part in entry.parts.values() for file in part.files} == set(entry.files)
        assert entry.embedded == (name in EMBEDDED)
        for spec in entry.files.values():
            assert len(spec.sha256) == 64 and (spec.packed is None or len(spec.packed_sha256) == 64)


LABELS = {"satimage": range(1, 7), "mnist": range(10), "segment": range(1, 8)}
RANGES = {"minmax": (-1, 1), "shipped": (-1, 1), "unit": (0, 1), "div255": (0, 1)}


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("SAFESCREEN_DATA"), reason="no benchmark files: SAFESCREEN_DATA is not set"
)
@pytest.mark.parametrize("name", [name for name in datasets.names() if name not in EMBEDDED])
def test_benchmark_files(name):
    """Every part of every set in the chosen folder loads with the shape, labels and range
    stated.
    """
    entry = datasets.info(name)
    if not datasets.available(name):
        pytest.skip(f"the files of {name} are not in the folders looked in")
    for split in entry.parts:
        data = datasets.load(name, split)
        assert data.X.dtype == np.float64
        assert sp.issparse(data.X) or data.X.flags.c_contiguous
        if data.y is None:
            assert split == "test" and name in ("madelon", "dexter", "dorothea")
        elif name in LABELS or entry.classes == 2:
            assert sorted(set(data.y.tolist())) == list(LABELS.get(name, (-1, 1)))
        if split == next(iter(entry.parts)):
            low, high = data.X.min(), data.X.max()
            assert (low, high) == RANGES.get(entry.scaling, (low, high))


def test_the_page_on_data_lists_every_set():
    page = (Path(__file__).parents[3] / "data" / "README.md").read_text(encoding="utf-8")
    for name in datasets.names():
        entry = datasets.info(name)
        assert f"| {name} | " in page
        assert (
            f"| {entry.shape[1]} | {entry.classes} | {entry.features} | {entry.scaling} | " in page
        )
        assert f"| {name} | {entry.source} | {entry.licence} |" in page
