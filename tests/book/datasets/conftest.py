"""A registry of two tiny sets, with its own folders."""

import hashlib
from types import MappingProxyType

import numpy as np
import pytest

from safescreen_book.datasets import FileSpec, Info, Part, registry, store

TEXT = b"0 1:2 2:5\n3 1:4 2:5\n0 1:3 2:5\n"
TEST_TEXT = b"3 1:6 2:7\n"


def spec(name, raw, url=None):
    return FileSpec(name, hashlib.sha256(raw).hexdigest(), packed=f"{name}.xz", url=url)


def entry(name, files, parts, scaling="minmax"):
    return Info(
        name=name,
        title=name.title(),
        papers=(),
        classes=2,
        scaling=scaling,
        features="dense",
        source="these tests",
        licence="none",
        labels=MappingProxyType({0: -1, 3: 1}),
        parts=MappingProxyType(parts),
        files=MappingProxyType({file.name: file for file in files}),
    )


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """(chosen, downloads): the folder SAFESCREEN_DATA names, and the one downloads go to."""
    chosen, downloads = tmp_path / "chosen", tmp_path / "downloads"
    chosen.mkdir()
    monkeypatch.setenv("SAFESCREEN_DATA", str(chosen))
    monkeypatch.setattr(store, "_download_folder", lambda: downloads)
    return chosen, downloads


@pytest.fixture
def tiny(folders, monkeypatch):
    """Sets `tiny` (LIBSVM text with a test part, an address that nothing answers) and `lost` (no
    address).
    """
    files = [spec("tiny", TEXT, "http://127.0.0.1:9/tiny"), spec("tiny.t", TEST_TEXT)]
    parts = {
        "train": Part((3, 2), "libsvm", data=("tiny",), dense=True),
        "test": Part((1, 2), "libsvm", data=("tiny.t",), dense=True),
    }
    lost = entry(
        "lost",
        [spec("lost.data", b"1\n")],
        {"train": Part((1, 1), "nips-dense", data=("lost.data",))},
    )
    sets = {"tiny": entry("tiny", files, parts), "lost": lost}
    monkeypatch.setattr(registry, "_registry", lambda: sets)
    return np.array([[2.0, 5.0], [4.0, 5.0], [3.0, 5.0]])
