"""Candidate lists against sorting, whatever the block size; ties; singletons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safescreen.terms.neighbors import anchor_lists


def by_sorting(X, y, k):
    rows = []
    for i in range(len(y)):
        order = sorted(range(len(y)), key=lambda j: (np.sum((X[i] - X[j]) ** 2), j))
        same = sorted([j for j in order if y[j] == y[i] and j != i][:k])
        other = sorted([j for j in order if y[j] != y[i]][:k])
        rows.append((same, other) if same and other else ([], []))
    return rows


def as_rows(lists):
    same = np.split(lists.same, lists.same_ptr[1:-1])
    other = np.split(lists.other, lists.other_ptr[1:-1])
    return [(a.tolist(), b.tolist()) for a, b in zip(same, other, strict=True)]


@pytest.mark.parametrize("block_bytes", [1, 500, 1 << 26])
@pytest.mark.parametrize("k", [1, 2, 5, 100, None])
def test_nearest(k, block_bytes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((17, 3)), rng.integers(0, 3, 17)
    lists = anchor_lists(X, y, k, block_bytes)
    assert as_rows(lists) == by_sorting(X, y, k)
    assert lists.n_triplets == sum(len(a) * len(b) for a, b in by_sorting(X, y, k))
    pairs = lists.pairs(np.arange(lists.same_ptr.size - 1, dtype=np.int32))[0]
    assert pairs.dtype == np.int32 and [tuple(p) for p in pairs] == [
        (i, j) for i, (a, _) in enumerate(as_rows(lists)) for j in a
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=12
    ),
    st.integers(1, 4),
)
def test_ties_go_to_the_lower_index(rows, k):
    """Small integers: distances are exact, and most of them tie."""
    rows = np.array(rows)
    X, y = rows[:, :2].astype(float), rows[:, 2]
    assert as_rows(anchor_lists(X, y, k)) == by_sorting(X, y, k)


@pytest.mark.parametrize("block_bytes", [500, 1 << 26])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1 / 3, 1e7])
def test_rounding_does_not_break_ties(scale, block_bytes):
    """Points of few values, scaled, shifted and with columns in any order: rounded distances
    differ where exact ones tie, and the lists stay those of the small integers.
    """
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 12)), rng.integers(0, 3, 60)
    expected = by_sorting(X, y, 4)
    for seed in range(5):
        columns = np.random.default_rng(seed).permutation(12)
        shifted = scale * (X[:, columns] + rng.uniform(-3, 3, 12))
        assert as_rows(anchor_lists(shifted, y, 4, block_bytes)) == expected


def test_a_singleton_has_no_lists():
    lists = anchor_lists(np.arange(3.0)[:, None], np.array([0, 0, 1]), None)
    assert as_rows(lists)[2] == ([], []) and lists.n_triplets == 2
