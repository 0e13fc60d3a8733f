"""Notebooks and records are somebody's: they are shown, and can do nothing else.

What a page shows is filtered last, when the page is written: its text, its title, the navigation
and the titles of its neighbours keep the elements of `_TAGS`, the attributes of `_ATTRIBUTES`, and
links of `_SCHEMES` or to this site. Pictures are files that a browser only draws, and downloads are
files that it does not run.

Notebooks are held closer. Their cells are not executed. Their settings are dropped. Their texts
name no directives and no roles, which could read files. They bring only pictures that are among the
pages, or that are outputs. Of the HTML in their texts only tags without attributes are shown, which
may open in one cell and close in another, such as `<details>`; all else is shown as it was written.
Of the HTML in their outputs the words and tables are shown."""

import html
import re
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import myst_nb.sphinx_
import nbformat
import nh3
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import CustomReSTDispatcher

from _ext.plumbing import FOLDED, is_plumbing
from _ext.stage import PICTURES
from safescreen_book.runner.notebooks import METADATA

OURS = "claim"
"""The one directive of a notebook's page: `_ext.claims` puts it there."""

_BARE = re.compile(r"</?(?:b|br|code|details|div|em|hr|i|p|span|strong|sub|summary|sup)\s*/?>")
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_CLASS = re.compile(r"[\w.:+-]+")
_SCHEMES = {"http", "https", "mailto"}
_MATH = {
    *"math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt".split(),
    *"mstyle msub msubsup msup mtable mtd mtext mtr munder munderover".split(),
}
_MATH_ATTRIBUTES = {
    *"accent columnalign display displaystyle fence form linethickness lspace mathvariant".split(),
    *"maxsize minsize movablelimits notation rspace scriptlevel stretchy width xmlns".split(),
}
_TAGS = nh3.ALLOWED_TAGS | _MATH | {"section", "tfoot"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"class", "id", "role", "title"},
    "a": {"download", "href"},
    "col": {"style"},
    "img": {"alt", "loading", "src"},
    "tr": {"style"},
    **dict.fromkeys(_MATH, _MATH_ATTRIBUTES),
}
_FORGOTTEN = {"script", "style"}  # with all that is in them
_FILES = (".csv", ".ipynb", ".json", ".py", ".txt", ".yml")
_SVG = {
    *"circle clipPath defs desc ellipse g image line linearGradient marker mask metadata".split(),
    *"path pattern polygon polyline radialGradient rect stop style svg symbol text title".split(),
    *"tspan use".split(),
}
_SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
_ABOUT = tuple(
    f"{{http://{name}"
    for name in ("www.w3.org/1999/02/22-rdf-", "purl.org/dc/", "creativecommons.")
)
_ELSEWHERE = re.compile(r"""@|\\|url\s*\(\s*["']?(?!#)""", re.I)  # of a style
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
    given = nbformat.reads(text, as_version=4).cells
    is_experiment = any("parameters" in cell.metadata.get("tags", ()) for cell in given)
    for cell in given:
        tags = [*filter(_CLASS.fullmatch, cell.metadata.get("tags", ()))]  # they become classes
        if cell.cell_type == "code" and is_plumbing(cell.source, tags, is_experiment=is_experiment):
            tags.append(FOLDED)
        kept = {
            "cell_type": cell.cell_type,
            "source": cell.source,
            "metadata": {"tags": tags},
        }
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
    return _OUTPUT.clean(text)


def page(text: str) -> str:
    """Return a piece of a page without what a page does not need: see `_TAGS`, `_ATTRIBUTES`."""
    return _PAGE.clean(text)


def _kept(tag: str, name: str, value: str) -> str | None:
    """Return the value of an attribute; None for a picture from elsewhere."""
    if (tag, name) == ("img", "src") and not re.match(r"(\.\./)*_images/", value):
        return None
    return value


_PAGE = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=_kept,
    clean_content_tags=_FORGOTTEN,
    filter_style_properties={"text-align", "width"},
    link_rel=None,
    url_schemes=_SCHEMES,
)
_OUTPUT = nh3.Cleaner(
    tags=_TAGS - _MATH - {"img"},
    attributes={
        "*": {"title"},
        "a": {"href"},
        **dict.fromkeys(("td", "th"), {"colspan", "rowspan"}),
    },
    allowed_classes={"table": {"dataframe"}},
    clean_content_tags=_FORGOTTEN,
    link_rel=None,
    url_schemes=_SCHEMES,
)
_META = nh3.Cleaner(
    tags={"meta"},
    attributes={"meta": {"content"}},
    tag_attribute_values={"meta": {"name": {"viewport"}}},
)


def is_drawing(data: bytes) -> bool:
    """Return whether an SVG file draws and does nothing else.

    It has elements of `_SVG` and descriptions of the file, addresses in itself only, pixels that
    are written out, and no entities, instructions, handlers or animations.
    """
    try:
        text = data.decode("utf-8")
        elements = ElementTree.fromstring(text).iter()
    except (ElementTree.ParseError, ValueError):
        return False
    head = re.match(r"\ufeff?(<\?xml( [\w-]+=\"(1\.[01]|(?i:utf-8)|yes|no)\")*\s*\?>)?", text)
    if "<?" in text[head.end() :] or "<!ENTITY" in text:
        return False
    return all(_draws(element) for element in elements)


def _draws(element: ElementTree.Element) -> bool:
    name = element.tag.removeprefix(_SVG_NAMESPACE)
    if name not in _SVG and not name.startswith(_ABOUT):
        return False
    if name == "style" and _ELSEWHERE.search(element.text or ""):
        return False
    for key, value in element.attrib.items():
        key = key.rpartition("}")[2].lower()
        if key == "href" and not value.startswith(("#", "data:image/png;base64,")):
            return False
        if key == "base" or key.startswith("on") or (key != "href" and _ELSEWHERE.search(value)):
            return False
    return True


def _is_notebook(app) -> bool:
    return app.env.doc2path(app.env.docname).suffix == ".ipynb"


def _keep_files(app, doctree) -> None:
    """Leave pictures that only show something and downloads that do nothing, of a notebook only
    its own, before Sphinx collects them.
    """
    own = _is_own if _is_notebook(app) else lambda app, address: True
    for node in list(doctree.findall(nodes.image)):
        if not own(app, node["uri"]):
            _log.warning("the picture %s is not one of the pages'", node["uri"], location=node)
        elif not _is_picture(app, node["uri"]):
            _log.warning("the picture %s can do more than be seen", node["uri"], location=node)
        else:
            continue
        place = node.parent if isinstance(node.parent, nodes.reference) else node
        place.replace_self(nodes.inline("", node.get("alt", "")))
    for node in list(doctree.findall(addnodes.download_reference)):
        if not own(app, node["reftarget"]):
            _log.warning("the file %s is not one of the pages'", node["reftarget"], location=node)
        elif not node["reftarget"].lower().endswith(_FILES):
            _log.warning("a browser may run the file %s", node["reftarget"], location=node)
        else:
            continue
        node.replace_self(node.children)


def _is_picture(app, address: str) -> bool:
    """Whether a browser only draws what is at an address; what is not there harms nobody."""
    path = Path(app.env.relfn2path(address)[1])
    if path.suffix.lower() == ".svg" and path.is_file():
        return is_drawing(path.read_bytes())
    return path.suffix.lower() in PICTURES


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


def _filter(app, pagename, templatename, context, doctree) -> None:
    """Filter all that a template takes from pages, before the theme makes anything of it."""
    for name in {"body", "title", "toc"} & context.keys():
        context[name] = page(context[name])
    for near in filter(
        None, (context.get("prev"), context.get("next"), *context.get("parents", ()))
    ):
        near["title"] = page(near["title"])
    context["metatags"] = _META.clean(context.get("metatags", ""))
    tree = context["toctree"]
    context["toctree"] = lambda **options: page(tree(**options))


def _filter_index(app, error) -> None:
    """Let no text in the index of the search begin a tag."""
    index = Path(app.outdir, "searchindex.js")
    if index.is_file():
        index.write_text(_TAG.sub("< ", index.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app) -> dict[str, bool]:
    """Read notebooks bare, clean each once it is read, and filter every page that is written."""
    app.add_source_parser(Parser, override=True)
    app.connect("builder-inited", _outputs_apart, priority=900)
    app.connect("doctree-read", _keep_files, priority=100)
    app.connect("doctree-read", _clean, priority=100)  # before titles are collected
    app.connect("html-page-context", _filter, priority=400)
    app.connect("build-finished", _filter_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
