"""What does not fit into the memory that is free is refused, or gets a smaller cache."""

import numpy as np
import pytest

import safescreen as ss
from safescreen import memory


def test_triplets_that_do_not_fit_are_refused(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 4))
    n_bytes = memory.triplets_bytes(100 * 30**2)
    monkeypatch.setattr("safescreen._checks.free_memory", lambda: n_bytes - 1.0)
    text = r"k=30 makes 9e\+04 triplets, which would take 0.0036 GB"
    with pytest.raises(MemoryError, match=text):
        ss.TripletMetric(k=30, product=False).fit(X, np.arange(100) % 2)


def test_a_cache_is_no_larger_than_what_is_free(monkeypatch):
    assert memory.kernel_limit(1.0) == 1e9
    monkeypatch.setattr(memory, "free_memory", lambda: 1e8)
    assert memory.kernel_limit(1.0) == pytest.approx(0.7e8)
