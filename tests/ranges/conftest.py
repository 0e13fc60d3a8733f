"""Terms that are just the rows of an array."""

import numpy as np
import pytest

import safescreen as ss


@pytest.fixture
def make_samples():
    """Return samples whose terms are the given rows."""

    def make(rows):
        rows = np.asarray(rows, dtype=float)
        signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
        return ss.Samples(rows * signs[:, None], signs)

    return make
