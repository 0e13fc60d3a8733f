"""Settings shared by all tests."""

import socket

import pytest
from hypothesis import settings

# the same examples in every run, however slow the machine
settings.register_profile("safescreen", deadline=None, derandomize=True)
settings.load_profile("safescreen")


@pytest.fixture
def no_network(monkeypatch):
    """Refuse every connection, as a machine without a network does."""

    def refuse(*args, **kwargs):
        raise OSError("the network is blocked in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
