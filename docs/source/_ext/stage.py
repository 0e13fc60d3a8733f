"""The folder that Sphinx reads: hand-written pages, notebooks, generated pages, each written
only when it changed.
"""

import html
import json
import os
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

from safescreen_book import ledger, places
from safescreen_book._common import folder_name, inside
from safescreen_book.runner import notebooks
from safescreen_book.runner.loading import load_manifest

PICTURES = (".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
"""What a browser draws, and what a notebook brings."""


def put(app, name: str, content: str | bytes) -> None:
    """Write a source file, unless it is there already."""
    path, data = Path(app.srcdir, name), content.encode() if isinstance(content, str) else content
    app.staged.add(path)
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def link(app, text: str, docname: str, anchor: str = "") -> nodes.Node:
    """Return a link to a page of this build, or only its text when there is no such page."""
    if docname not in app.env.found_docs:
        return nodes.Text(text)
    uri = app.builder.get_relative_uri(app.env.docname, docname) + (f"#{anchor}" if anchor else "")
    return nodes.reference("", text, internal=True, refuri=uri)


def pill(text: str, status: str = "") -> nodes.Node:
    """Return a status as a coloured word, or a text in its colour."""
    return nodes.inline("", text, classes=["pill", nodes.make_id(status or text)])


def paragraph(*parts, style: str = "") -> nodes.paragraph:
    """Return a paragraph of texts and nodes; nothing in it is markup."""
    inside = [part if isinstance(part, nodes.Node) else nodes.Text(str(part)) for part in parts]
    return nodes.paragraph("", "", *inside, classes=style.split())


def table(head, rows, numeric=(), widths=()) -> nodes.Node:
    """Return a table; an entry is a text, a node or a list of them, flush right in the `numeric`
    columns; `widths` are shares.
    """

    def row(entries):
        cells = (paragraph(*(parts if isinstance(parts, list) else [parts])) for parts in entries)
        return nodes.row(
            "",
            *(
                nodes.entry("", cell, classes=["number"] if i in numeric else [])
                for i, cell in enumerate(cells)
            ),
        )

    group = nodes.tgroup(
        "", *(nodes.colspec(colwidth=width) for width in widths or [1] * len(head)), cols=len(head)
    )
    group += [nodes.thead("", row(head)), nodes.tbody("", *map(row, rows))]
    return nodes.table("", group, classes=["colwidths-given", "words"] if widths else [])


def raw(text: str) -> nodes.raw:
    """Return a piece of HTML."""
    return nodes.raw("", text, format="html")


def folded(summary: str, *inside):
    """Return nodes that are seen after a click on a summary."""
    return [raw(f"<details><summary>{html.escape(summary)}</summary>"), *inside, raw("</details>")]


def _free_of_links(folder: Path, outputs: Path) -> None:
    """Make sure that what is written to the folder that Sphinx reads, and removed, is its own."""
    ours = outputs / ".sphinx"
    if not folder.is_relative_to(ours):
        raise ExtensionError(
            f"pages are made from a scratch folder in {ours}, and that leads to {folder}"
        )
    for path in [path for path in folder.rglob("*") if path.is_symlink()]:
        path.unlink()


def _read(app) -> None:
    """Put the book's own files in place; a report has only results and claims."""
    app.staged, app.notebooks, app.outputs = (
        set(),
        {},
        places.outputs_folder(app.config.outputs_dir),
    )
    _free_of_links(Path(app.srcdir), app.outputs)
    app.manifest = load_manifest(places.notebooks_folder(app.config.notebooks_dir or None))
    folder = app.manifest.folder
    app.claims = (
        {
            claim.id: claim
            for claim in ledger.with_evidence(ledger.load_claims(folder), folder, strict=False)
        }
        if (folder / "claims.yml").is_file()
        else {}
    )
    app.judged = ledger.judged(folder, strict=False)  # the page of a broken record says so
    if app.config.report_profile:
        put(app, "claims.md", Path(app.confdir, "claims.md").read_bytes())
        return
    for page in Path(app.confdir).rglob("*.md"):
        put(app, os.path.relpath(page, app.confdir), inside(page, Path(app.confdir)).read_bytes())
    for path in folder.glob("figures/*"):
        if path.suffix.lower() not in PICTURES:  # Sphinx would read some others as pages
            continue
        put(app, f"notebooks/figures/{path.name}", inside(path, folder).read_bytes())
    for path in sorted(folder.glob("[!._]*.ipynb")):
        folder_name(path.stem, f"the name of the notebook {path.stem!r}")
        nb = notebooks.read(inside(path, folder))
        for cell in nb.cells:  # pages are not in docs/ here
            if cell.cell_type == "markdown":
                cell.source = cell.source.replace("](../docs/", "](../")
        app.notebooks[path.stem] = nb


def _write(app) -> None:
    """Write the notebooks as the other extensions left them, and forget pages that are no more."""
    for name, nb in app.notebooks.items():
        put(app, f"notebooks/{name}.ipynb", json.dumps(nb, ensure_ascii=False))
    for path in {path for path in Path(app.srcdir).rglob("*.*") if path.is_file()} - app.staged:
        path.unlink()
        Path(app.outdir, path.relative_to(app.srcdir)).with_suffix(".html").unlink(missing_ok=True)


def setup(app) -> dict[str, bool]:
    """Other extensions generate their pages between reading and writing."""
    for name in ("notebooks_dir", "outputs_dir", "report_profile"):
        app.add_config_value(name, "", "")
    app.connect("builder-inited", _read, priority=100)
    app.connect("builder-inited", _write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
