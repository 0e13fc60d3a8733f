"""A small site: two notebooks of the book, stubs of the others, an experiment with runs of every
kind, the reference, the ledger.
"""

import html
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from safescreen_book.protocols.conclusions import Conclusions
from safescreen_book.runner import folders, plans
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.notebooks import read_source

ROOT = Path(__file__).parents[2]
TINY = """# %% [markdown]
# # Tiny, with $\\lambda$
#
# Inline $x^2$, `$y$`, 5$ and 6$.
#
# $$\\mathcal{T} < a_b$$
#
#     $z$
#
# <details>
# <summary><b>More</b></summary>
#
# inside
#
# </details>
#
# A <img src=x onerror=alert(1)> and [a link](javascript:alert(2)) and
# <a href="javascript:alert(3)">another</a>.
#
# <script>alert(4)</script>
#
# ## A curve of $n$

# %% tags=["parameters"]
output_dir = ""
n = 1

# %%
record.figure("curve", figure)
figures.show("A line against n. It ends high up. " f"Mean: {n}.")
"""
OUTPUTS = {
    "text/html": "<style>p {}</style><table class='dataframe' onclick='alert(5)'>"
    "<tr><td style='x'>kept</td></tr></table><script>alert(6)</script>"
    "<a href='javascript:alert(7)'>gone</a><iframe src='https://example.org'></iframe>",
    "application/javascript": "alert(8)",
    "text/markdown": "<svg onload=alert(9)>",
}
EXPERIMENT = {
    "title": "A <b>tiny</b> *one*",
    "notebook": "51-tiny",
    "claims": ["STS19-F9"],
    "outputs": ["seconds.svg", "curve.svg"],
}
RUNS = (
    "done",
    "failed",
    "missing",
    "ragged",
    "no-summary",
    "no-verdict",
    "no-result",
    "judged",
    "linked",
)
SECRET = "kept-to-ourselves"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0H9"/></svg>'


class Planted:
    """What makes a file when it is unpickled."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


class Book:
    """Notebooks and outputs below a folder, and the commands that make pages of them."""

    def __init__(self, folder: Path, names):
        self.notebooks, self.outputs = folder / "notebooks", folder / "outputs"
        self.notebooks.mkdir()
        for path in (ROOT / "notebooks").glob("*.ipynb"):
            stub = nbformat.v4.new_notebook(
                cells=[nbformat.v4.new_markdown_cell(f"# Stub of {path.stem}")]
            )
            nbformat.write(
                nbformat.read(path, as_version=4) if path.stem in names else stub,
                self.notebooks / path.name,
            )
        shutil.copytree(ROOT / "notebooks" / "figures", self.notebooks / "figures")
        shutil.copyfile(ROOT / "notebooks" / "claims.yml", self.notebooks / "claims.yml")
        (self.notebooks / "51-tiny.py").write_text(TINY, encoding="utf-8")
        nb = read_source(self.notebooks, "51-tiny")
        for kind, content in OUTPUTS.items():
            nb.cells[-1].outputs.append(nbformat.v4.new_output("display_data", {kind: content}))
        nbformat.write(nb, self.notebooks / "51-tiny.ipynb")
        self.write("tiny", "second")

    def write(self, *names):
        """Write the manifest: each experiment with all runs, of the smoke size."""
        profiles = {"smoke": {"seconds": 1, "memory_mb": 100, "runs": {name: {} for name in RUNS}}}
        text = yaml.safe_dump({name: {**EXPERIMENT, "profiles": profiles} for name in names})
        (self.notebooks / "experiments.yml").write_text(text, encoding="utf-8")

    def finish(self, name, **files):
        """Leave the result of a run as a worker would, without running it."""
        manifest = load_manifest(self.notebooks)
        (item,) = plans.plan(
            manifest, manifest.select([f"tiny/{name}"], "smoke"), "smoke", self.outputs
        )
        item.folder.mkdir(parents=True)
        nbformat.write(item.notebook, item.folder / "notebook.ipynb")
        for file, content in {"curve_svg": SVG, "seconds_svg": SVG, **files}.items():
            (item.folder / ".".join(file.rsplit("_", 1))).write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        made = {
            "status": "complete",
            "experiment": "tiny",
            "run": name,
            "profile": "smoke",
            "started": "2026-01-01T00:00:00+00:00",
            "hashes": item.hashes,
            "parameters": item.parameters,
            "seconds": {"wall": 1.0},
            "versions": {"python": "3"},
        }
        made["files"] = dict.fromkeys(
            ("seconds.svg", "curve.svg"), folders.sha256_file(item.folder / "curve.svg")
        )
        folders.write_json(item.folder / "result.json", made)
        return item.folder

    def make(self, *command):
        """Run `safescreen`; what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib"), "OPENBLAS_NUM_THREADS": "1"}
        options = ["--notebooks", self.notebooks, "--outputs", self.outputs]
        done = subprocess.run(
            [sys.executable, "-m", "safescreen_book", *command, *options],
            capture_output=True,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """The book after its runs."""
    book = Book(tmp_path_factory.mktemp("book"), ("00-start-here", "11-gradient-bound"))
    comparison = "quantity,paper,ours,note\ntotal time,110.9,1.23456,seconds\n"
    summary = '{"explanation": ["since *it* is <small>"]}'
    book.finish(
        "done",
        results_csv="lam,method\n" + "0.123456,PGB\n" * 50,
        comparison_csv=comparison,
        summary_json=summary,
    )
    book.finish("ragged", results_csv="a,b\n1\n2,3,4\n")
    book.finish("no-summary", summary_json="[]")
    book.finish("no-verdict", conclusions_csv="claim,verdict\nSTS19-F9,stands\n")
    folders.write_json(book.finish("no-result") / "result.json", {"status": "complete"})
    found = Conclusions("STS19-F9", "iris")
    found.above(1.0, [2.2, 2.5, 2.4], "<RRPB> pays", "section 7.2", paper=6.4, log=True)
    found.below(1.0, [0.7], "PGB beside it pays", "section 7.2", whose="program")
    found.fact(False, "nothing is lost", "-", note="all is lost", whose="own")
    told = {"found": "RRPB made the path {} times {faster|slower}", "log": True}
    found.above(
        7.0,
        [2.2, 2.5, 2.4],
        "RRPB and PGB together are faster than any single ball",
        "-",
        whose="own",
        **told,
    )
    found.above(1.0, [2.2, 2.5, 2.4], "GB saves least", "section 7.2", paper=6.4, log=True)
    book.finish("judged", conclusions_csv=found.frame().to_csv(index=False), summary_json="{}")
    shutil.copytree(book.outputs / "smoke/tiny/judged", book.outputs / "paper/tiny/judged")
    linked = book.finish("linked", table_done_csv="a\n1\n")
    (linked.parents[3] / SECRET).write_text(f"name\n{SECRET}\n")
    for name in ("table_linked.csv", "linked.svg", "notebook.failed.ipynb"):
        (linked / name).symlink_to(linked.parents[3] / SECRET)
    doctrees = book.outputs / ".sphinx/smoke/doctrees"
    doctrees.mkdir(parents=True)
    (doctrees / "environment.pickle").write_bytes(pickle.dumps(Planted(book.outputs / "planted")))
    failure = {"cell": 4, "line": "assert n <= 100", "error": "AssertionError: n too large"}
    folders.record_failure(
        book.outputs / "smoke/tiny/failed", failure, book.notebooks / "none.ipynb"
    )
    return book


@pytest.fixture(scope="session")
def faults():
    """What is wrong with the pages of a folder: dead links, assets from elsewhere, TeX that was
    not typeset.
    """
    return lambda folder: list(_faults(folder))


def _faults(folder):
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.html"))}
    ids = {path: set(re.findall(r'\bid="([^"]*)"', text)) for path, text in pages.items()}
    for path, text in pages.items():
        where = path.relative_to(folder)
        for tag, link in re.findall(r'<(\w+)\b[^>]*?\b(?:href|src)="([^"]*)"', text):
            link = html.unescape(link)
            if re.match(r"(https?:)?//", link):
                if tag != "a":
                    yield f"{where}: asset {link}"
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.is_relative_to(folder) or not target.is_file():
                yield f"{where}: dead link {link}"
            elif anchor and anchor not in ids[target]:
                yield f"{where}: no such place {link}"
        shown = re.sub(
            r"<(pre|code|math|script|style|title)\b.*?</\1>|<[^>]*>", "", text, flags=re.DOTALL
        )
        if 'class="tex"' in text:
            yield f"{where}: a formula was not set"
        for raw in re.findall(r"\$[^\s$][^$\n]*\$|\\[a-zA-Z]+|\\[\[(]", shown):
            yield f"{where}: raw TeX {raw}"
    for path in sorted(folder.rglob("*.css")):
        for asset in re.findall(
            r"@import[^;]*|url\(\W?(?:https?:)?//[^)]*", path.read_text(encoding="utf-8")
        ):
            yield f"{path.relative_to(folder)}: asset {asset}"
