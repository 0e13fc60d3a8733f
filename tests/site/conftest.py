"""What must hold of every page of a site, and a small site to hold it against."""

import html
import re
import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
NAMES = ("00-start-here", "11-gradient-bound")
TINY = """# %% [markdown]
# # Tiny, with $\\lambda$

# %% tags=["parameters"]
output_dir = ""
"""
MANIFEST = {
    "tiny": {
        "title": "A tiny one",
        "notebook": "51-tiny",
        "claims": ["STS19-T1"],
        "outputs": [],
        "profiles": {"smoke": {"seconds": 1, "memory_mb": 100, "runs": {"one": {}}}},
    }
}


def _faults(folder):
    """Yield what is wrong with the pages of a folder: dead links, assets from elsewhere, TeX that was not typeset."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.html"))}
    ids = {path: set(re.findall(r'\bid="([^"]*)"', text)) for path, text in pages.items()}
    for path, text in pages.items():
        where = path.relative_to(folder)
        outside = re.sub(r"<pre\b.*?</pre>", "", text, flags=re.DOTALL)
        for attribute, link in re.findall(r'\b(href|src)="([^"]*)"', text):
            link = html.unescape(link)
            if re.match(r"https?:", link):
                if attribute == "src" or re.search(rf'<link[^>]*"{re.escape(link)}"', text):
                    yield f"{where}: asset {link}"
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.is_relative_to(folder) or not target.is_file():
                yield f"{where}: dead link {link}"
            elif anchor and anchor not in ids[target]:
                yield f"{where}: no such place {link}"
        shown = re.sub(r"<(code|math|script|style|title)\b.*?</\1>|<[^>]*>", "", outside, flags=re.DOTALL)
        if "SAFESCREENFORMULA" in text or 'class="tex"' in text:
            yield f"{where}: a formula was not set"
        for raw in re.findall(r"\$[^\s$][^$\n]*\$|\\[a-zA-Z]+|\\[\[(]", shown):
            yield f"{where}: raw TeX {raw}"
        for name in re.findall(r"https?://[^\s\"']+\.js\b|@import[^;]*;", outside):
            yield f"{where}: asset {name}"


@pytest.fixture(scope="session")
def faults():
    return _faults


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site of two notebooks and of a tiny one that was run as an experiment."""
    import nbformat

    from safescreen.experiments import folders, load_manifest
    from safescreen.experiments.notebooks import read_source
    from safescreen.site import build

    base = tmp_path_factory.mktemp("book")
    book, outputs = base / "notebooks", base / "outputs"
    book.mkdir()
    for name in NAMES:
        for suffix in (".py", ".ipynb"):
            shutil.copyfile(ROOT / "notebooks" / (name + suffix), book / (name + suffix))
    (book / "51-tiny.py").write_text(TINY, encoding="utf-8")
    nbformat.write(read_source(book, "51-tiny"), book / "51-tiny.ipynb")
    shutil.copyfile(ROOT / "notebooks" / "claims.yml", book / "claims.yml")
    (book / "experiments.yml").write_text(yaml.safe_dump(MANIFEST), encoding="utf-8")
    (base / "README.md").write_text("# Title\n\nSee [it](notebooks/00-start-here.ipynb), `ss.solve` and $x^2$.\n", encoding="utf-8")
    run = outputs / "smoke" / "tiny" / "one"
    run.mkdir(parents=True)
    shutil.copyfile(book / "51-tiny.ipynb", run / "notebook.ipynb")
    (run / "results.csv").write_text("n\n1\n")
    result = {"status": "complete", "hashes": {"key": ""}, "parameters": {}, "seconds": {"wall": 1.0}, "peak_memory_mb": 1.0,
              "files": {}, "started": "then", "versions": {}, "threads": 1, "cores": 1, "machine": "x", "git": None}  # fmt: skip
    folders.write_json(run / "result.json", result)
    return build(load_manifest(book), outputs).parent
