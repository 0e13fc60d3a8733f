"""Notebooks are somebody's: they are shown, and can do nothing else.

Their cells are not executed. Their settings are dropped. Their texts name no directives and no
roles, which could read files. They bring only pictures that are among the pages, or that are
outputs. Of their HTML only what runs nothing and asks nobody is shown: in texts that is tags
without attributes, which may open in one cell and close in another, such as `<details>`; all else
is shown as it was written. Outputs are whole: bleach cleans them."""

import html
import re
from pathlib import Path
from urllib.parse import urlsplit

import bleach
import myst_nb.sphinx_
import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import CustomReSTDispatcher

from safescreen_book.runner.notebooks import METADATA

OURS = "claim"
"""The one directive of a notebook's page: `_ext.claims` puts it there."""

_BARE = re.compile(r"</?(?:b|br|code|details|div|em|hr|i|p|span|strong|sub|summary|sup)\s*/?>")
_TAGS = {
    *bleach.ALLOWED_TAGS,
    "br",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "hr",
    "p",
    "pre",
    "span",
    "sub",
    "summary",
    "sup",
}
_TAGS |= {"table", "tbody", "td", "tfoot", "th", "thead", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}
_ATTRIBUTES = {
    "*": ["class", "title"],
    "a": ["href"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan"],
}
_KINDS = {"text/plain", "text/html", "text/latex", "text/markdown"}
_KINDS |= {"image/png", "image/jpeg", "image/gif", "image/svg+xml"}
_FIELDS = {
    "stream": ("name", "text"),
    "error": ("ename", "evalue", "traceback"),
    "display_data": (),
    "execute_result": ("execution_count",),
}
_log = logging.getLogger(__name__)


def bare(text: str) -> str:
    """Return a notebook with what a page shows: texts, code, tags and outputs, but no settings."""
    cells = []
    for cell in nbformat.reads(text, as_version=4).cells:
        tags = list(cell.metadata.get("tags", ()))
        kept = {"cell_type": cell.cell_type, "source": cell.source, "metadata": {"tags": tags}}
        if cell.cell_type == "markdown":
            cells.append(kept)
        elif cell.cell_type == "code":
            shown = [output for output in cell.outputs if output.output_type in _FIELDS]
            texts = [_alternative(output) for output in shown if _alternative(output)]
            if texts:
                kept["metadata"] |= {"mystnb": {"image": {"alt": " ".join(texts)}}}
            outputs = [_output(output) for output in shown if not _is_caption(output)]
            cells.append(kept | {"execution_count": cell.execution_count, "outputs": outputs})
    nb = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 4}
    return nbformat.writes(nbformat.from_dict(nb))


def _alternative(output) -> str:
    """Return the text that stands for a picture, see `safescreen_book.figures.show`, or ""."""
    about = output.get("metadata", {}).get("image/png")
    text = about.get("alt") if isinstance(about, dict) else None
    return text if isinstance(text, str) else ""


def _is_caption(output) -> bool:
    """Whether an output only repeats the text of a picture, which a page has with the picture."""
    return output.get("metadata", {}).get("caption", False) is True


def _output(old) -> dict:
    kept = {name: old[name] for name in ("output_type", *_FIELDS[old.output_type])}
    if "data" in old:
        texts = {kind: value for kind, value in old.data.items() if isinstance(value, str)}
        data = {kind: value for kind, value in texts.items() if kind in _KINDS}
        kept |= {"data": data, "metadata": {}}
    return kept


class _Plain(CustomReSTDispatcher):
    """Within, no text has directives or roles, but for `OURS`."""

    def directive(self, name, language, document):
        if name == OURS:
            return super().directive(name, language, document)
        _log.warning("the directive %r is not for notebooks", name, location=document["source"])
        return None, []

    def role(self, name, language, line, reporter):
        _log.warning("the role %r is not for notebooks", name, location=reporter.source)
        return None, []


class Parser(myst_nb.sphinx_.Parser):
    """MyST-NB's, to which notebooks come bare."""

    def parse(self, text: str, document: nodes.document) -> None:
        """Parse a page; a notebook without settings, directives, roles and files."""
        if not document["source"].endswith(".ipynb"):
            super().parse(text, document)
            return
        document.settings = document.settings.copy()
        document.settings.file_insertion_enabled = False
        with _Plain():
            super().parse(bare(text), document)


def fragment(text: str) -> str:
    """Return a piece of HTML from a text, or the text of it where a tag is not a plain one."""
    return html.escape(text) if "<" in _BARE.sub("", text) else text


def output(text: str) -> str:
    """Return the HTML of an output without scripts, styles, and addresses that are not links."""
    # a script without an end takes all that follows, as in a browser
    shown = re.sub(r"(?is)<(script|style)\b.*?(?:</\1\s*>|\Z)", "", text)
    return bleach.clean(shown, tags=_TAGS, attributes=_ATTRIBUTES, strip=True)


def _is_notebook(app) -> bool:
    return app.env.doc2path(app.env.docname).suffix == ".ipynb"


def _keep_own_files(app, doctree) -> None:
    """Leave of a notebook's pictures and downloads only its own, before Sphinx collects them."""
    if not _is_notebook(app):
        return
    for node in list(doctree.findall(nodes.image)):
        if not _is_own(app, node["uri"]):
            _log.warning("the picture %s is not one of the pages'", node["uri"], location=node)
            node.replace_self(nodes.Text(node.get("alt", "")))
    for node in list(doctree.findall(addnodes.download_reference)):
        if not _is_own(app, node["reftarget"]):
            _log.warning("the file %s is not one of the pages'", node["reftarget"], location=node)
            node.replace_self(node.children)


def _outputs_apart(app) -> None:
    """Let MyST-NB write outputs beside this build's doctrees, where nobody has left any before."""
    folder = Path(app.doctreedir, "outputs").resolve()
    app.env.mystnb_config = app.env.mystnb_config.copy(output_folder=str(folder))


def _is_own(app, address: str) -> bool:
    """Whether a path leads to the pages or to outputs of notebooks, when links are followed."""
    if urlsplit(address).scheme or "*" in address:
        return False
    path = Path(app.env.relfn2path(address)[1]).resolve()
    folders = app.srcdir, app.env.mystnb_config.output_folder
    return any(path.is_relative_to(folder) for folder in folders)


def _clean(app, doctree) -> None:
    if not _is_notebook(app):
        return
    for node in list(doctree.findall(nodes.raw)):
        clean = output if "text_html" in node["classes"] else fragment
        node.replace_self(
            nodes.raw("", clean(node.astext()), format="html", classes=node["classes"])
        )
    for node in list(doctree.findall(nodes.reference)):
        if urlsplit(node.get("refuri", "")).scheme.lower() not in ("", "http", "https", "mailto"):
            node.replace_self(node.children)


def setup(app) -> dict[str, bool]:
    """Read notebooks bare, and clean each once it is read."""
    app.add_source_parser(Parser, override=True)
    app.connect("builder-inited", _outputs_apart, priority=900)
    app.connect("doctree-read", _keep_own_files, priority=100)
    app.connect("doctree-read", _clean)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
