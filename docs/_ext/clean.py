"""Notebooks are somebody's: of their HTML only what runs nothing and asks nobody is shown.

In texts that is tags without attributes, which may open in one cell and close in another, such as `<details>`; all else is shown as it was
written. Outputs are whole: bleach cleans them.
"""

import html
import re
from urllib.parse import urlsplit

import bleach
from docutils import nodes

_BARE = re.compile(r"</?(?:b|br|code|details|div|em|hr|i|p|span|strong|sub|summary|sup)\s*/?>")
_TAGS = {*bleach.ALLOWED_TAGS, "br", "caption", "dd", "details", "div", "dl", "dt", "hr", "p", "pre", "span", "sub", "summary", "sup"}
_TAGS |= {"table", "tbody", "td", "tfoot", "th", "thead", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}
_ATTRIBUTES = {"*": ["class", "title"], "a": ["href"], "td": ["colspan", "rowspan"], "th": ["colspan", "rowspan"]}


def fragment(text: str) -> str:
    """Return a piece of HTML from a text, or the text of it where a tag is not a plain one."""
    return html.escape(text) if "<" in _BARE.sub("", text) else text


def output(text: str) -> str:
    """Return the HTML of an output without scripts, styles, and addresses that are not links."""
    return bleach.clean(re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", "", text), tags=_TAGS, attributes=_ATTRIBUTES, strip=True)


def _clean(app, doctree) -> None:
    if not app.env.docname.startswith("notebooks/"):
        return
    for node in list(doctree.findall(nodes.raw)):
        clean = output if "text_html" in node["classes"] else fragment
        node.replace_self(nodes.raw("", clean(node.astext()), format="html", classes=node["classes"]))
    for node in list(doctree.findall(nodes.reference)):
        if urlsplit(node.get("refuri", "")).scheme.lower() not in ("", "http", "https", "mailto"):
            node.replace_self(node.children)


def setup(app) -> dict[str, bool]:
    """Clean each notebook once it is read."""
    app.connect("doctree-read", _clean)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
