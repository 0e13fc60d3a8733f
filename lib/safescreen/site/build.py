"""Writing the site: every page, once, into a folder that can be moved, sent, or opened from a disk."""

import re
import shutil
from pathlib import Path
from typing import Any

from safescreen.experiments import claims as ledger
from safescreen.experiments import folders, pages, report
from safescreen.experiments.manifest import PROFILES, Manifest
from safescreen.site import api, links
from safescreen.site.book import Book, read_book
from safescreen.site.names import public_names

_TEMPLATES = Path(__file__).with_name("templates")
_LIBRARY = Path(__file__).resolve().parents[1]


def build(manifest: Manifest, outputs: Path, target: Path | None = None) -> Path:
    """Write the site: notebooks, results, ledger and reference, linked with each other.

    Parameters
    ----------
    manifest : Manifest
        The experiments; notebooks, ledger and README are found beside it.
    outputs : Path
        The outputs folder; results of every profile that has some are shown.
    target : Path, optional
        Where the site goes, `outputs/site` if left out; an older one is replaced as a whole.

    Returns
    -------
    Path
        The first page.
    """
    target = outputs / "site" if target is None else target
    new = folders.scratch_folder(target)
    try:
        _Site(manifest, outputs, new).write()
        folders.install(new, target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return target / "index.html"


class _Site:
    """One building of the site.

    Parameters
    ----------
    manifest : Manifest
    outputs, folder : Path
        Where results are, and an empty folder to write to.
    """

    def __init__(self, manifest: Manifest, outputs: Path, folder: Path):
        self.manifest, self.outputs, self.folder = manifest, outputs, folder
        self.reference = public_names()
        self.book: Book = read_book(manifest.folder, self.reference)
        self.templates = report.environment(_TEMPLATES)
        self.templates.globals |= {"book": self.book, "reference": self.reference, "statuses": ledger.STATUSES}
        self.results: dict[str, dict[str, Any]] = {}  # by profile, then by experiment

    def write(self) -> None:
        """Write every page."""
        self._assets()
        self._results()
        for name in self.book.notebooks:
            self._notebook(name)
        self._claims()
        self._reference()
        self._start()

    def _page(self, path: str, template: str, part: str, **shown: Any) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * path.count("/")
        text = self.templates.get_template(template).render(root=root, part=part, path=path, **shown)
        file.write_text(text, encoding="utf-8")

    def _assets(self) -> None:
        style = self.templates.globals["style"] + pages.highlighting() + (_TEMPLATES / "site.css").read_text(encoding="utf-8")
        (self.folder / "site.css").write_text(style, encoding="utf-8")
        shutil.copyfile(_TEMPLATES / "site.js", self.folder / "site.js")

    def _notebook(self, name: str) -> None:
        (self.folder / "notebooks").mkdir(exist_ok=True)
        badge = self.templates.get_template("badge.html.j2").module.badge
        body = self.book.body(self.book.notebooks[name], name, self.folder / "notebooks", "../", badge)
        before, after = self.book.neighbours(name)
        ran = [(profile, exp) for profile, found in self.results.items() for exp in found.values() if exp["experiment"].notebook == name]
        self._page(f"notebooks/{name}.html", "page.html.j2", "book", title=self.book.titles[name], body=body, name=name,
                   before=before, after=after, claims=self.book.claims_of(name), ran=ran)  # fmt: skip

    def _results(self) -> None:
        for profile in reversed(PROFILES):
            finished = [exp for exp in self.manifest if any((self.outputs / profile / exp.name).glob("[!.]*/result.json"))]
            for exp in finished:
                folder = self.folder / "results" / profile
                (folder / "notebooks").mkdir(parents=True, exist_ok=True)
                leaf = _Leaf(self, folder / "notebooks", exp.notebook)
                self.results.setdefault(profile, {})[exp.name] = report.experiment(exp, self.manifest, profile, self.outputs, folder, leaf)
        for profile, found in self.results.items():
            for name, entry in found.items():
                self._page(f"results/{profile}/{name}.html", "result.html.j2", "results", entry=entry, profile=profile, name=name)
        self._page("results/index.html", "results.html.j2", "results", manifest=self.manifest, results=self.results)

    def _claims(self) -> None:
        mentioned: dict[str, list] = {}
        for entry in self.reference.entries.values():
            for claim in dict.fromkeys(links.statements(_doc(entry))):
                mentioned.setdefault(claim, []).append(entry)
        rows = [
            {
                "claim": claim,
                "kind": ledger.KINDS[claim.kind],
                "link": self.book.link(claim),
                "names": mentioned.get(claim.id) or [self.reference.entries[name] for name in self.book.names_in_cell(claim)],
            }
            for claim in self.book.claims
        ]
        counts = ledger.counts(self.book.claims)
        self._page("claims.html", "claims.html.j2", "claims", rows=rows, counts=counts)

    def _reference(self) -> None:
        modules = [api.module_page(name, self.reference, self.book) for name in self.reference.modules]
        for module in modules:
            self._page(f"api/{module['name']}.html", "module.html.j2", "reference", module=module, name=module["name"])
        entries = list({row["entry"].name: row for module in modules for row in module["exports"]}.values())
        entries.sort(key=lambda row: row["entry"].name.lower())
        self._page("api/index.html", "names.html.j2", "reference", entries=entries, name="")
        for file in sorted({entry.source[0] for entry in self.reference.entries.values() if entry.source}):
            code = api.source_page((_LIBRARY / file).read_text(encoding="utf-8"))
            self._page(f"source/{file}.html", "source.html.j2", "reference", code=code, file=file)

    def _start(self) -> None:
        readme = self.manifest.folder.parent / "README.md"
        text = _readme(readme, self) if readme.is_file() else ""
        self._page("index.html", "index.html.j2", "start", body=text)


class _Leaf:
    """The page of an executed notebook, as :func:`safescreen.experiments.report.experiment` asks for it."""

    def __init__(self, site: _Site, folder: Path, notebook: str):
        self.site, self.folder, self.notebook = site, folder, notebook

    def render(self, title: str, body: str, highlighting: str) -> str:
        root = "../../../"
        stem = re.sub(r"[^\w.,=+-]+", "--", title)
        body = self.site.book.linked(body, stem, self.folder, root, self.notebook)
        return self.site.templates.get_template("page.html.j2").render(
            root=root, part="results", path="", title=title, body=body, name=self.notebook, before=None, after=None, claims=[], ran=[]
        )


def _doc(entry) -> str:
    return "" if entry.kind == "data" else entry.value.__doc__ or ""


def _readme(path: Path, site: _Site) -> str:
    """The README without its title; what it links to is on the site, or copied."""
    import nbformat

    text = re.sub(r"\A# .*\n", "", path.read_text(encoding="utf-8"))
    body = pages.body(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text, id="readme")]))

    def target(match: re.Match) -> str:
        attribute, link = match.groups()
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        name = Path(link).stem
        if name in site.book.notebooks and link.startswith("notebooks/"):
            return f'{attribute}="notebooks/{name}.html"'
        if link == "notebooks/claims.yml":
            return f'{attribute}="claims.html"'
        source, copy = path.parent / link, Path("files") / Path(link).name
        if source.is_file():
            if Path(link).parts[0] != ".":
                copy = Path("files") / link.replace("/", "-")
            copy = copy if copy.suffix in (".png", ".svg") else copy.with_name(copy.name + ".txt")
            (site.folder / "files").mkdir(exist_ok=True)
            shutil.copyfile(source, site.folder / copy)
            return f'{attribute}="{copy.as_posix()}"'
        return ""

    body = re.sub(r'(href|src)="([^"]+)"', target, body)
    body = links.link_code(body, {"ss": "safescreen"}, site.reference, "")
    return links.link_notebooks(body, site.book.titles, "notebooks/")
