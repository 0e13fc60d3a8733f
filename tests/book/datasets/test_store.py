"""Where files are looked for, what a wrong one and a missing one say, and how a download is kept."""

import bz2
import http.server
import lzma
import threading
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from safescreen_book import datasets
from safescreen_book.datasets import registry, store

from .conftest import TEST_TEXT, TEXT

PACKERS = {"tiny": bytes, "tiny.xz": lzma.compress, "tiny.bz2": bz2.compress}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("where", [0, 1])
def test_every_name_is_found_in_either_folder(tiny, folders, name, where):
    folders[where].mkdir(exist_ok=True)
    path = folders[where] / name
    path.write_bytes(PACKERS[name](TEXT))
    assert datasets.find("tiny", "train") == [path]
    assert datasets.available("tiny", "train") and not datasets.available("tiny")
    assert datasets.load("tiny", scale=None).X.tolist() == tiny.tolist()


def test_the_chosen_folder_comes_first(tiny, folders):
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / "tiny").write_bytes(TEXT)
    assert datasets.folders() == folders
    assert datasets.find("tiny", "train") == [folders[0] / "tiny"]


def test_without_a_chosen_folder_the_repository_is_used(monkeypatch):
    monkeypatch.delenv("SAFESCREEN_DATA", raising=False)
    (folder,) = datasets.folders()
    root = Path(__file__).parents[3]
    assert folder == root / "data" or root not in Path(store.__file__).parents


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


def test_verify_returns_the_files_when_all_are_right(tiny, folders):
    (folders[0] / "tiny.xz").write_bytes(lzma.compress(TEXT))
    with pytest.raises(datasets.DataNotFoundError, match="'tiny.t'"):
        datasets.verify("tiny")
    (folders[0] / "tiny.t").write_bytes(TEST_TEXT)
    assert datasets.verify("tiny") == [folders[0] / "tiny.xz", folders[0] / "tiny.t"]


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
    """(served, address): a dict of path to bytes, and the address it is served at."""
    served = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = served.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

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
    """The registry with `tiny` at the server's address, packed there as .bz2; and what is served."""
    served, address = server
    entry = datasets.info("tiny")
    files = dict(entry.files)
    files["tiny"] = replace(files["tiny"], url=f"{address}/tiny.bz2")
    entry = replace(entry, files=MappingProxyType(files))
    monkeypatch.setattr(registry, "_registry", lambda: {"tiny": entry})
    monkeypatch.setenv("no_proxy", "*")
    return served


def test_a_download_is_checked_and_kept(remote, tiny, folders, capfd):
    remote["/tiny.bz2"] = bz2.compress(TEXT)
    assert datasets.fetch("tiny", "train") == [folders[1] / "tiny.bz2"]
    remote.clear()
    assert datasets.load("tiny", scale=None).X.tolist() == tiny.tolist()
    assert [path.name for path in folders[1].iterdir()] == ["tiny.bz2"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("body", [bz2.compress(TEXT + b"0 1:1\n"), b"<html>moved</html>"])
def test_a_wrong_download_is_not_kept(remote, folders, body):
    remote["/tiny.bz2"] = body
    with pytest.raises(ValueError, match="tiny.bz2"):
        datasets.fetch("tiny", "train")
    assert list(folders[1].iterdir()) == []


def test_an_address_that_is_gone_is_a_missing_file(remote, folders):
    with pytest.raises(datasets.DataNotFoundError, match=r"download failed \(HTTPError\)"):
        datasets.fetch("tiny", "train")
    assert list(folders[1].iterdir()) == []
