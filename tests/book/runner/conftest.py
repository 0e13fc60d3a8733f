"""A book of one tiny notebook that does what its parameters tell it."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from safescreen_book.cli import main
from safescreen_book.runner import batch
from safescreen_book.runner.loading import load_manifest

SOURCE = """# %% [markdown]
# # Tiny

# %% tags=["parameters"]
output_dir = ""
n = 3  # above 100 is refused
mode = "ok"
marker = ""

# %%
import os
import signal
import time
from pathlib import Path

# %% tags=["STS19-T1"]
m = n
assert n <= 100, f"n too large: {n}"

# %%
if marker:
    Path(marker).touch()
if mode == "wait":
    time.sleep(600)
if mode == "kill":
    os.kill(os.getppid(), signal.SIGKILL)
if output_dir and mode != "silent":
    rows = "".join(f"{i},{i * i}.25\\n" for i in range(n))
    (Path(output_dir) / "results.csv").write_text("i,square\\n" + rows)
"""

LEDGER = """
STS19:
  - {id: STS19-T1, kind: T, what: "a statement", status: open, notebook: null, evidence: null}
  - {id: STS19-F9, kind: F, what: "a figure", status: open, notebook: null, evidence: null}
"""


class Book:
    """A folder of notebooks that the tests write to."""

    def __init__(self, folder: Path):
        self.folder = folder / "notebooks"
        self.outputs = folder / "outputs"
        self.folder.mkdir()
        (self.folder / "tiny.py").write_text(SOURCE, encoding="utf-8")
        (self.folder / "claims.yml").write_text(LEDGER, encoding="utf-8")

    def runs(self, **runs):
        """Make a manifest of one experiment with these runs at the smoke profile."""
        entry = {"title": "A tiny one", "claims": ["STS19-F9"], "outputs": ["results.csv"]}
        entry["profiles"] = {"smoke": {"seconds": 1, "memory_mb": 100, "runs": runs}}
        self.write({"tiny": entry})

    def write(self, manifest):
        text = manifest if isinstance(manifest, str) else yaml.safe_dump(manifest, sort_keys=False)
        (self.folder / "experiments.yml").write_text(text, encoding="utf-8")

    @property
    def options(self):
        """What tells the command line to use this book."""
        return ["--notebooks", str(self.folder), "--outputs", str(self.outputs)]

    def run(self, *arguments):
        """Run the command line in this process; its exit code and what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main(["run", *arguments, "--profile", "smoke", *self.options])
        return code, printed.getvalue()

    def statuses(self):
        """The state of every run, by its name."""
        manifest = load_manifest(self.folder)
        items = batch.plan(manifest, manifest.select([], "smoke"), "smoke", self.outputs)
        return {item.run.name: item.state.status for item in items}

    def left_over(self):
        """Names of hidden folders of work in progress, and of runs on workers."""
        found = (path.name for path in self.outputs.parent.rglob("*"))
        return [name for name in found if re.match(r"\.\w+\.(work|old)|run-", name)]

    def run_folder(self, name):
        return self.outputs / "smoke" / "tiny" / name


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


@pytest.fixture(scope="module")
def shared_book(tmp_path_factory):
    """One book for the tests of a module that follow its story in order."""
    return Book(tmp_path_factory.mktemp("book"))
