"""Small constraints, and their dense form."""

import pytest

from naive.similarities import Dense, instance
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.settings import Settings
from safescreen.hdsl.training import Training


@pytest.fixture
def make():
    return instance


@pytest.fixture
def dense():
    return Dense


@pytest.fixture
def begin():
    """Return a training and its first iterate."""

    def begun(solver, X, triplets, weights=None, start=None):
        used = () if start is None else start.features
        training = Training(Settings.of(solver), Constraints(X, triplets, weights, used))
        return training, training.first(start)

    return begun
