"""Notebooks in JupyterLab, in a browser: they run from top to bottom, show their figures, and sliders redraw.

Needs Chromium; skipped where there is none.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from safescreen_book.runner.notebooks import METADATA

from .chromium import NAMES, Browser, executable, until

ROOT = Path(__file__).resolve().parents[2]
PANEL = "[...(window.jupyterapp?.shell.widgets('main') ?? [])].find(w => w.isVisible)"
HANDLE = ".jp-OutputArea .widget-slider .noUi-handle"
PICTURE = ".jp-OutputArea:has(.widget-slider) .jp-RenderedImage img"

pytest.importorskip("jupyterlab")
pytest.importorskip("websocket")
if executable() is None:
    pytest.skip(f"needs one of the browsers {', '.join(NAMES)}", allow_module_level=True)


class Address(NamedTuple):
    """Where a notebook is opened, and where it is saved."""

    pattern: str
    folder: Path


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """JupyterLab with settings of its own, on the notebooks without their outputs."""
    base = tmp_path_factory.mktemp("lab")
    folder = base / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder)
    shutil.copyfile(ROOT / "pyproject.toml", base / "pyproject.toml")
    for path in folder.glob("*.ipynb"):
        nb = nbformat.read(path, as_version=4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(nb, path)
    quiet = base / "SETTINGS" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    environment = {
        **os.environ,
        **{f"JUPYTER_{name}": str(base / name) for name in names},
        **{f"JUPYTERLAB_{name}_DIR": str(base / name) for name in ("SETTINGS", "WORKSPACES")},
        "PYTHONPATH": str(ROOT / "lib"),
        "JUPYTER_CONFIG_PATH": str(ROOT / ".jupyter"),  # as `make lab`
    }
    options = {
        "ServerApp.root_dir": folder,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": "secret",
        "LabApp.expose_app_in_browser": True,
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{key}={value}" for key, value in options.items())]
    with open(base / "log.txt", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:

        def answers():
            assert server.poll() is None, (base / "log.txt").read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=30) as answer:
                    return answer.status == 200
            except OSError:
                return False

        until(answers, 40, "JupyterLab")
        yield Address(f"http://127.0.0.1:{port}/lab/workspaces/of-{{0}}/tree/{{0}}.ipynb?token=secret", folder)
    finally:
        server.terminate()  # and with it its kernels
        server.wait(30)


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path) as page:
        yield page


def run_all(browser, address, name):
    """Open a notebook, press "restart the kernel and run all cells", and return the notebook when it is done."""
    browser.open(address.pattern.format(name))
    kernel = f"{PANEL}?.context?.path === '{name}.ipynb' && {PANEL}.sessionContext?.session?.kernel?.status"
    until(lambda: browser.js(kernel) == "idle", 60, "an idle kernel")
    browser.js("jupyterapp.restored.then(() => true)")
    button = '.jp-NotebookPanel-toolbar [data-command="notebook:restart-run-all"]'
    browser.click(button)
    browser.click(".jp-Dialog .jp-mod-accept")  # yes, restart

    def done():
        nb = nbformat.from_dict(json.loads(browser.js(f"JSON.stringify({PANEL}.context.model.toJSON())")))
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


def test_start_here(browser, address):
    check(run_all(browser, address, "00-start-here"), figures=1)


def test_sliders_redraw(browser, address):
    nb = run_all(browser, address, "15-relations-between-spheres")
    check(nb, figures=2)
    (where,) = [i for i, cell in enumerate(nb.cells) if "figures.sliders(" in cell.source]
    browser.js(f"{PANEL}.content.scrollToItem({where}, 'center')")
    until(
        lambda: browser.js(f"document.querySelector('{HANDLE}') !== null && document.querySelector('{PICTURE}') !== null"), 20, "a slider"
    )
    before = browser.js(f"document.querySelector('{PICTURE}').src")
    browser.drag(HANDLE, -60)  # lam from 0.6 to its lower end
    until(lambda: browser.js(f"![null, undefined, {before!r}].includes(document.querySelector('{PICTURE}')?.src)"), 30, "another picture")
    assert browser.js("parseFloat(document.querySelector('.jp-OutputArea .widget-readout').textContent)") < 0.5
    browser.js("jupyterapp.commands.execute('docmanager:save').then(() => true)")
    (path,) = address.folder.glob("15-*.ipynb")
    saved = until(lambda: (nb := nbformat.read(path, as_version=4)).cells[where].execution_count and nb, 30, "a save")
    kinds = [set(out.data) for out in saved.cells[where].outputs]
    assert any("image/png" in kind for kind in kinds) and not any("widget-view" in name for kind in kinds for name in kind)
    assert saved.metadata == METADATA and path.with_suffix(".py").read_bytes() == (ROOT / "notebooks" / f"{path.stem}.py").read_bytes()
