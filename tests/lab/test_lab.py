"""What `make lab` opens: a saved edit reaches the source of its notebook; notebooks run in a
browser, show figures, sliders redraw.

What needs a browser is skipped where there is no Chromium.
"""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from safescreen_book.runner.notebooks import METADATA

from .chromium import NAMES, Browser, executable, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Makefile", ".jupyter", "notebooks")
"""What `make lab` needs of the checkout, its .venv apart."""

TOKEN = "secret"
PANEL = "[...(window.jupyterapp?.shell.widgets('main') ?? [])].find(w => w.isVisible)"
HANDLE = ".jp-OutputArea .widget-slider .noUi-handle"
PICTURE = ".jp-OutputArea:has(.widget-slider) .jp-RenderedImage img"

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


@pytest.fixture
def browser(tmp_path):
    pytest.importorskip("websocket")
    if executable() is None:
        pytest.skip(f"needs one of the browsers {', '.join(NAMES)}")
    with Browser(tmp_path) as page:
        yield page


def wait_for_kernel(browser, path):
    """Wait until a notebook is shown, with a kernel that has started."""
    kernel = (
        f"{PANEL}?.context?.path === '{path}' && {PANEL}.sessionContext?.session?.kernel?.status"
    )
    until(lambda: browser.js(kernel) == "idle", 60, "an idle kernel")
    browser.js("jupyterapp.restored.then(() => true)")


def test_an_edit_in_the_browser_reaches_the_source(browser, server):
    """In the notebook that the address `make lab` prints leads to."""
    source = server.checkout / "notebooks" / "00-start-here.py"
    before = source.read_bytes()
    browser.open(server.address())
    wait_for_kernel(browser, "notebooks/00-start-here.ipynb")
    first = f"{PANEL}.content.widgets[0].model.sharedModel"
    save = '.jp-NotebookPanel-toolbar [data-command="docmanager:save"]'
    text = browser.js(f"{first}.source")
    typed = f"{text}\n\nTyped."
    browser.js(f"{first}.setSource({json.dumps(typed)})")
    browser.click(save)
    until(lambda: b"\n#\n# Typed.\n" in source.read_bytes(), 30, "the edit in the source")
    browser.js(f"{first}.setSource({json.dumps(text)})")
    browser.click(save)
    until(lambda: source.read_bytes() == before, 30, "the source as it was")


def run_all(browser, server, name):
    """Open a notebook, press "restart the kernel and run all cells", and return the notebook
    when it is done.
    """
    path = f"notebooks/{name}.ipynb"
    browser.open(server.address(f"lab/workspaces/of-{name}/tree/{path}"))
    wait_for_kernel(browser, path)
    button = '.jp-NotebookPanel-toolbar [data-command="notebook:restart-run-all"]'
    browser.click(button)
    browser.click(".jp-Dialog .jp-mod-accept")  # yes, restart

    def done():
        nb = nbformat.from_dict(
            json.loads(browser.js(f"JSON.stringify({PANEL}.context.model.toJSON())"))
        )
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        failed = [out for cell in code for out in cell.outputs if out.output_type == "error"]
        return nb if failed or all(cell.execution_count for cell in code) else None

    return until(done, 120, f"{name} run to its end")


def check(nb, figures):
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert [f"{out.ename}: {out.evalue}" for out in outputs if out.output_type == "error"] == []
    assert [out.text for out in outputs if out.get("name") == "stderr"] == []
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum("image/png" in out.get("data", {}) for out in outputs) >= figures


def test_start_here(browser, server):
    check(run_all(browser, server, "00-start-here"), figures=1)


def test_sliders_redraw(browser, server):
    nb = run_all(browser, server, "15-relations-between-spheres")
    check(nb, figures=2)
    (where,) = [i for i, cell in enumerate(nb.cells) if "figures.sliders(" in cell.source]
    browser.js(f"{PANEL}.content.scrollToItem({where}, 'center')")
    until(
        lambda: browser.js(
            f"document.querySelector('{HANDLE}') !== null && "
            f"document.querySelector('{PICTURE}') !== null"
        ),
        20,
        "a slider",
    )
    before = browser.js(f"document.querySelector('{PICTURE}').src")
    browser.drag(HANDLE, -60)  # lam from 0.6 to its lower end
    until(
        lambda: browser.js(
            f"![null, undefined, {before!r}].includes(document.querySelector('{PICTURE}')?.src)"
        ),
        30,
        "another picture",
    )
    assert (
        browser.js(
            "parseFloat(document.querySelector('.jp-OutputArea .widget-readout').textContent)"
        )
        < 0.5
    )
    browser.js("jupyterapp.commands.execute('docmanager:save').then(() => true)")
    path = server.checkout / "notebooks" / "15-relations-between-spheres.ipynb"
    saved = until(
        lambda: (nb := nbformat.read(path, as_version=4)).cells[where].execution_count and nb,
        30,
        "a save",
    )
    kinds = [set(out.data) for out in saved.cells[where].outputs]
    assert any("image/png" in kind for kind in kinds) and not any(
        "widget-view" in name for kind in kinds for name in kind
    )
    assert (
        saved.metadata == METADATA
        and path.with_suffix(".py").read_bytes()
        == (ROOT / "notebooks" / f"{path.stem}.py").read_bytes()
    )
