"""The folder that Sphinx reads: hand-written pages, notebooks, generated pages, each written only when it changed."""

import json
import os
from pathlib import Path

from docutils import nodes

from safescreen_book import ledger, places
from safescreen_book.runner.loading import load_manifest


def put(app, name: str, content: str | bytes) -> None:
    """Write a source file, unless it is there already.

    Parameters
    ----------
    app : Sphinx
    name : str
        Path below the source folder.
    content : str or bytes
    """
    path, data = Path(app.srcdir, name), content.encode() if isinstance(content, str) else content
    app.staged.add(path)
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def link(app, shown, docname: str, anchor: str = "") -> nodes.Node:
    """Return a link to a page of this build, or only its text when there is no such page.

    Parameters
    ----------
    app : Sphinx
    shown : str or Node
    docname, anchor : str
        The page, and the place on it.

    Returns
    -------
    Node
    """
    shown = nodes.Text(shown) if isinstance(shown, str) else shown
    if docname not in app.env.found_docs:
        return shown
    uri = app.builder.get_relative_uri(app.env.docname, docname)
    return nodes.reference("", "", shown, internal=True, refuri=f"{uri}#{anchor}" if anchor else uri)


def pill(status: str) -> nodes.Node:
    """Return a status as a coloured word."""
    return nodes.inline("", status, classes=["pill", status.replace(" ", "-")])


def paragraph(*parts, classes=()) -> nodes.paragraph:
    """Return a paragraph of texts and nodes; nothing in it is markup."""
    return nodes.paragraph("", "", *_inline(parts), classes=list(classes))


def table(head, rows, numeric=()) -> nodes.Node:
    """Return a table; an entry is a text, a node or a list of them.

    Parameters
    ----------
    head : list of str
    rows : list of list
    numeric : collection of int
        Columns that are set flush right.

    Returns
    -------
    Node
    """

    def row(entries):
        return nodes.row("", *(entry(i, parts) for i, parts in enumerate(entries)))

    def entry(i, parts):
        return nodes.entry("", paragraph(*(parts if isinstance(parts, list) else [parts])), classes=["number"] if i in numeric else [])

    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += [nodes.thead("", row(head)), nodes.tbody("", *map(row, rows))]
    return nodes.table("", group)


def _inline(parts) -> list[nodes.Node]:
    return [part if isinstance(part, nodes.Node) else nodes.Text(str(part)) for part in parts]


def _read(app) -> None:
    """Put the book's own files in place; a report has only results and claims."""
    app.staged, app.outputs = set(), places.outputs_folder(app.config.outputs_dir or None)
    folder = places.notebooks_folder(app.config.notebooks_dir or None)
    app.claims = {claim.id: claim for claim in ledger.load_claims(folder)} if (folder / "claims.yml").is_file() else {}
    app.manifest = load_manifest(folder)
    report = app.config.report_profile
    pages = [Path(app.confdir, "claims.md")] if report else sorted(Path(app.confdir).rglob("*.md"))
    for page in pages:
        put(app, os.path.relpath(page, app.confdir), page.read_bytes())
    app.notebooks = {}
    for path in [] if report else sorted(folder.glob("[!._]*.ipynb")):
        app.notebooks[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    for path in [] if report else sorted(folder.glob("figures/*")):
        put(app, f"notebooks/figures/{path.name}", path.read_bytes())


def _write(app) -> None:
    """Write the notebooks as the other extensions left them, and forget pages that are no more."""
    for name, nb in app.notebooks.items():
        put(app, f"notebooks/{name}.ipynb", json.dumps(nb, ensure_ascii=False))
    for path in set(Path(app.srcdir).rglob("*.*")) - app.staged:
        if path.is_file():
            path.unlink()
            Path(app.outdir, path.relative_to(app.srcdir)).with_suffix(".html").unlink(missing_ok=True)


def setup(app) -> dict[str, bool]:
    """Other extensions generate their pages between the two."""
    for name in ("notebooks_dir", "outputs_dir", "report_profile"):
        app.add_config_value(name, "", "")
    app.connect("builder-inited", _read, priority=100)
    app.connect("builder-inited", _write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
