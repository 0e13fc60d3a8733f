"""What `make lab` opens: every notebook, and a saved edit reaches the source of its notebook."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Makefile", ".jupyter", "notebooks")
"""What `make lab` needs of the checkout, its .venv apart."""

TOKEN = "secret"

pytest.importorskip("jupyterlab")
if shutil.which("make") is None:
    pytest.skip("needs make", allow_module_level=True)


@dataclass(frozen=True)
class Server:
    """JupyterLab as `make lab` starts it, in a copy of the checkout."""

    port: int
    checkout: Path

    def address(self, path=""):
        """Return the address of a page."""
        return f"http://127.0.0.1:{self.port}/{path}?token={TOKEN}"

    def ask(self, method, path, content=None):
        """Return the answer to a request, and the address it came from, which is another after a
        redirection.
        """
        data = None if content is None else json.dumps(content).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address(path), data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read(), answer.url


def until(condition, seconds, what):
    """Wait for a true value and return it."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return value


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def copy_checkout(checkout):
    """Copy what `make lab` needs; notebooks lose their outputs, and .venv/bin/python becomes the
    Python that runs this.
    """
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, checkout / name)
    for path in (checkout / "notebooks").glob("*.ipynb"):
        nb = nbformat.read(path, as_version=4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(nb, path)
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho $$ > .venv/pid\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)


def end(make, number):
    """End the server whose process number is in a file, and with it its kernels and make."""
    if make.poll() is None:
        os.kill(int(number.read_text()), signal.SIGTERM)
    try:
        make.wait(30)
    except subprocess.TimeoutExpired:  # a server that waits for a kernel that is just starting
        os.kill(int(number.read_text()), signal.SIGKILL)
        make.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`make lab`, with settings of its own."""
    base = tmp_path_factory.mktemp("lab")
    checkout = base / "a check out"  # a path with spaces
    checkout.mkdir()
    copy_checkout(checkout)
    quiet = (
        base
        / "SETTINGS"
        / "@jupyterlab"
        / "apputils-extension"
        / "notification.jupyterlab-settings"
    )
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    environment = {
        **os.environ,
        **{f"JUPYTER_{name}": str(base / name) for name in names},
        **{f"JUPYTERLAB_{name}_DIR": str(base / name) for name in ("SETTINGS", "WORKSPACES")},
        "PYTHONPATH": str(ROOT / "lib"),
    }
    environment.pop("JUPYTER_CONFIG_PATH", None)
    found = Server(free_port(), checkout)
    options = {
        "ServerApp.port": found.port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": TOKEN,
        "LabApp.expose_app_in_browser": True,
    }
    given = " ".join(f"--{key}={value}" for key, value in options.items())
    command = [
        "make",
        "-C",
        str(checkout),
        "-o",
        "install",
        "lab",
        f"LAB={given}",
    ]  # -o: nothing is installed
    log = base / "log.txt"
    with open(log, "wb") as opened:
        make = subprocess.Popen(command, stdout=opened, stderr=opened, env=environment)
    try:

        def answers():
            assert make.poll() is None, log.read_text()
            try:
                return found.ask("GET", "api")
            except OSError:
                return False

        until(answers, 60, "JupyterLab")
        yield found
    finally:
        end(make, checkout / ".venv" / "pid")


def opened(server):
    """Return the path of the notebook that a browser is sent to, as the server knows it."""
    _, address = server.ask("GET", "")
    assert "/lab/tree/" in address, address
    return address.partition("/lab/tree/")[2].partition("?")[0]


def test_an_edit_reaches_the_source(server):
    """Saved as the page saves it, by the contents API; and the source is as before when the edit
    is taken back.
    """
    path = opened(server)
    assert path == "notebooks/00-start-here.ipynb"
    source = server.checkout / "notebooks" / "00-start-here.py"
    before = source.read_bytes()
    model = json.loads(server.ask("GET", f"api/contents/{path}")[0])
    cell = model["content"]["cells"][0]
    text = cell["source"]

    def save(new):
        cell["source"] = new
        server.ask("PUT", f"api/contents/{path}", {"type": "notebook", "content": model["content"]})

    save(f"{text}\n\nAn edit.")
    assert b"\n#\n# An edit.\n" in source.read_bytes()
    save(text)
    assert source.read_bytes() == before


def test_every_notebook_opens_after_make_notebooks(server):
    """That is, where the .ipynb is newer than its source."""
    sources = sorted((server.checkout / "notebooks").glob("*.py"))
    assert sources
    for source in sources:
        notebook = source.with_suffix(".ipynb")
        an_hour_before = notebook.stat().st_mtime - 3600.0
        os.utime(source, (an_hour_before, an_hour_before))
        server.ask("GET", f"api/contents/notebooks/{notebook.name}")


def test_a_notebook_of_somebody_else_is_saved_alone(server):
    """What papermill has written into the root, say."""
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    server.ask("PUT", "api/contents/out.ipynb", {"type": "notebook", "content": nb})
    assert [path.name for path in server.checkout.glob("out.*")] == ["out.ipynb"]
