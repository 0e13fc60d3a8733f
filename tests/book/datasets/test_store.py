"""Where files are looked for, what a wrong one and a missing one say, and how a download is
kept.
"""

import bz2
import contextlib
import hashlib
import http.server
import lzma
import threading
import time
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from safescreen_book import datasets
from safescreen_book.datasets import registry

from .conftest import TEST_TEXT, TEXT


@pytest.fixture
def converted(tiny, folders):
    """`lost` as it was converted from LIBSVM text, which stands for it; returns where that is
    looked for.
    """
    X, y = np.array([[2.0, 0.0], [0.5, -1.0]]), np.array([3, 0])
    values = hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
    file = datasets.FileSpec("lost.npz", "0" * 64, public="lost.scale", values=values)
    parts = {
        "train": datasets.Part((2, 2), "npz", data=("lost.npz",)),
        "tr": datasets.Part((1, 2), "npz", data=("lost.npz",), rows="tr_index"),
    }
    sets = registry._registry()
    sets["lost"] = replace(sets["lost"], scaling="none", parts=parts, files={"lost.npz": file})
    return folders[0] / "lost.scale"


@pytest.mark.parametrize(
    ("ending", "packed"), [("", bytes), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
@pytest.mark.parametrize("text", [b"3 1:2 2:-0\n0 1:0.5 2:-1\n", b"3 1:2.000\n0 1:5e-1 2:-1"])
def test_the_original_stands_for_a_converted_file(converted, ending, packed, text):
    converted.with_name(f"lost.scale{ending}").write_bytes(packed(text))
    data = datasets.load("lost")
    assert data.X.tolist() == [[2.0, 0.0], [0.5, -1.0]] and data.y.tolist() == [1, -1]
    assert [path.name for path in datasets.verify("lost")] == [f"lost.scale{ending}"]
    with pytest.raises(
        ValueError, match="must say which rows are in the part by an array 'tr_index', and has none"
    ):
        datasets.load("lost", "tr")


@pytest.mark.parametrize(
    "text", [b"3 1:2\n0 1:0.5 2:-1.001\n", b"0 1:2\n3 1:0.5 2:-1\n", b"0 1:0.5 2:-1\n3 1:2\n"]
)
def test_other_numbers_labels_or_rows_are_not_taken_for_it(converted, text):
    converted.write_bytes(text)
    with pytest.raises(ValueError, match="lost.scale: wrong checksum"):
        datasets.load("lost")


def test_the_chosen_folder_comes_first(tiny, folders):
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / "tiny").write_bytes(TEXT)
    assert datasets.folders() == folders
    assert datasets.find("tiny", "train") == [folders[0] / "tiny"]


def test_a_chosen_folder_must_exist(tiny, folders, monkeypatch):
    monkeypatch.setenv("SAFESCREEN_DATA", str(folders[0] / "nowhere"))
    with pytest.raises(ValueError, match="SAFESCREEN_DATA is .*nowhere', which is not a folder"):
        datasets.find("tiny")


def test_a_wrong_checksum_names_file_expected_and_found_and_keeps_the_file(tiny, folders):
    path = folders[0] / "tiny"
    path.write_bytes(TEXT + b"0 1:1\n")
    expected = datasets.info("tiny").files["tiny"].sha256
    for action in (datasets.load, datasets.verify):
        (folders[0] / "tiny.t").write_bytes(TEST_TEXT)
        with pytest.raises(ValueError, match="wrong checksum") as caught:
            action("tiny")
        assert str(path) in str(caught.value) and expected in str(caught.value)
        assert str(caught.value).count("sha256") == 1 and ", found " in str(caught.value)
        assert path.read_bytes() == TEXT + b"0 1:1\n"


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name, file", [("tiny", "tiny"), ("lost", "lost.data")])
def test_offline_the_error_says_what_to_put_where(tiny, folders, name, file):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name)
    text = str(caught.value)
    spec = datasets.info(name).files[file]
    assert type(caught.value) is datasets.DataNotFoundError
    wanted = [
        repr(file),
        f"{file}.xz",
        spec.sha256,
        *map(str, folders),
        "SAFESCREEN_DATA",
        " 1. ",
        " 2. ",
        " 3. ",
    ]
    assert [part for part in wanted if part not in text] == []
    assert ("safescreen data fetch" in text) == bool(spec.url)
    assert "Max retries" not in text
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not folders[1].exists() or not list(folders[1].iterdir())


@pytest.fixture
def server():
    """(served, address): a dict of path to the pieces of an answer, and the address it is served
    at; `asked` counts the requests.

    After a piece comes a tenth of a second; None as the last ends the answer before it is whole.
    """
    served = {"asked": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            served["asked"] += 1
            pieces = served.get(self.path)
            self.send_response(404 if pieces is None else 200)
            self.send_header(
                "Content-Length", str(sum(len(piece or b"..") for piece in pieces or ()))
            )
            self.end_headers()
            for number, piece in enumerate(pieces or ()):
                time.sleep(0.1 if number else 0.0)
                with contextlib.suppress(OSError):
                    self.wfile.write(piece or b"")

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield served, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture
def remote(tiny, server, monkeypatch):
    """The registry with `tiny` at the server's address, packed there as .bz2; and what is
    served.
    """
    served, address = server
    entry = datasets.info("tiny")
    files = dict(entry.files)
    files["tiny"] = replace(files["tiny"], url=f"{address}/tiny.bz2")
    entry = replace(entry, files=MappingProxyType(files))
    monkeypatch.setattr(registry, "_registry", lambda: {"tiny": entry})
    monkeypatch.setenv("no_proxy", "*")
    return served


def test_a_download_is_checked_and_kept(remote, tiny, folders, capfd):
    remote["/tiny.bz2"] = [bz2.compress(TEXT)]
    assert datasets.fetch("tiny", "train") == [folders[1] / "tiny.bz2"]
    remote.clear()
    assert datasets.load("tiny", scale=None).X.tolist() == tiny.tolist()
    assert [path.name for path in folders[1].iterdir()] == ["tiny.bz2"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (bz2.compress(TEXT + b"0 1:1\n"), "its content should have sha256"),
        (b"<html>Log in</html>", r"begins with b'<html>Log in</html>'"),
    ],
)
def test_a_wrong_download_is_not_kept(remote, folders, body, why):
    remote["/tiny.bz2"] = [body]
    with pytest.raises(
        ValueError, match=f"http://127.0.0.1:.*/tiny.bz2: .*{why}.*; the download was not kept"
    ):
        datasets.fetch("tiny", "train")
    assert list(folders[1].iterdir()) == []


def test_an_address_that_is_gone_is_a_missing_file(remote, folders):
    with pytest.raises(datasets.DataNotFoundError, match=r"download failed \(HTTPError\)"):
        datasets.fetch("tiny", "train")
    assert list(folders[1].iterdir()) == []
