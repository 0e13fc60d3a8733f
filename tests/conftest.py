"""Settings shared by all tests."""

import functools
import gc
import signal
import socket
import threading

import nbval.kernel
import pytest
from hypothesis import settings

# below nohup, or in the background of a script, an interrupt is ignored, and by every process
# started here too
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples in every run, however slow the machine
settings.register_profile("safescreen", deadline=None, derandomize=True)
settings.load_profile("safescreen")


def started_again(start):
    """Return a function that starts a kernel, and once more if it has died at once: its ports were
    free when they were chosen, and another worker's kernel may have taken one since.
    """

    @functools.wraps(start)
    def twice(*args, **kwargs):
        try:
            return start(*args, **kwargs)
        except RuntimeError:
            return start(*args, **kwargs)

    return twice


nbval.kernel.start_new_kernel = started_again(nbval.kernel.start_new_kernel)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the cells of experiments (5x to 7x) to `make experiments`.

    What they compute is run again by `make reproduce` and replays, and what they say of their
    records is judged by test_show."""
    for item in items:
        if item.path.suffix == ".ipynb" and item.path.name[0] in "567":
            item.add_marker(pytest.mark.exhaustive)


def pytest_collection_finish():
    """Spare the garbage collector what is imported and collected, which stays to the end."""
    gc.freeze()


@pytest.fixture
def no_network(monkeypatch):
    """Refuse every connection, as a machine without a network does."""

    def refuse(*args, **kwargs):
        raise OSError("the network is blocked in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
