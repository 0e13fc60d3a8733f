"""Small constraints, and their dense form."""

import pytest

from naive.similarities import Dense, instance


@pytest.fixture
def make():
    return instance


@pytest.fixture
def dense():
    return Dense
