"""The pages of the reference: what is shown of a module, a class, a function."""

import html
import inspect
import re
from collections.abc import Callable
from typing import Any

from safescreen.site import docstrings, links
from safescreen.site.book import Book
from safescreen.site.names import Entry, Reference

_LONG = 300  # characters of a value


def module_page(name: str, reference: Reference, book: Book) -> dict[str, Any]:
    """Return what the page of a module shows.

    Parameters
    ----------
    name : str
        A module of the reference.
    reference : Reference
    book : Book

    Returns
    -------
    dict
        `name`, `doc`, `exports` (name, address, summary of all that it exports) and `entries` (what is described there).
    """
    resolve = _resolver(reference, name)
    exports = [
        {"entry": entry, "link": f"../{entry.link}", "summary": entry_summary(entry, reference)} for entry in reference.exports[name]
    ]
    entries = [_entry(entry, reference, book) for entry in reference.homes()[name]]
    return {"name": name, "doc": _finish(docstrings.render(inspect.getdoc(reference.modules[name]), resolve), reference, book),
            "exports": exports, "entries": entries}  # fmt: skip


def entry_summary(entry: Entry, reference: Reference) -> str:
    """Return the first paragraph on an entry, for a page of the reference.

    Parameters
    ----------
    entry : Entry
    reference : Reference

    Returns
    -------
    str
        HTML; of data its value.
    """
    if entry.kind == "data":
        return f"<code>{html.escape(_value(entry.value))}</code>"
    return docstrings.summary(inspect.getdoc(entry.value), _resolver(reference, entry.home, entry.value))


def source_page(text: str) -> str:
    """Return a source file as HTML, line `n` anchored as `L-n`.

    Parameters
    ----------
    text : str
        Python code.

    Returns
    -------
    str
    """
    import pygments
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return pygments.highlight(text, PythonLexer(), HtmlFormatter(lineanchors="L", linespans="S"))


def source_link(entry: Entry) -> str | None:
    """Return the address of a definition below the site's root.

    Parameters
    ----------
    entry : Entry

    Returns
    -------
    str or None
    """
    return f"source/{entry.source[0]}.html#L-{entry.source[1]}" if entry.source else None


def _entry(entry: Entry, reference: Reference, book: Book) -> dict[str, Any]:
    doc = "" if entry.kind == "data" else inspect.getdoc(entry.value) or ""
    known = {claim.id for claim in book.claims}
    resolve = _resolver(reference, entry.home, entry.value)
    methods = []
    for name, member in entry.methods():
        inside = f"{entry.home}.{entry.short}"
        text = _finish(docstrings.render(inspect.getdoc(member), _resolver(reference, inside, member)), reference, book)
        call = "" if isinstance(member, property) else docstrings.signature(member)
        methods.append({"name": name, "signature": call, "doc": text})
    return {
        "entry": entry,
        "signature": "" if entry.kind == "data" else docstrings.signature(entry.value),
        "doc": entry_summary(entry, reference) if entry.kind == "data" else _finish(docstrings.render(doc, resolve), reference, book),
        "methods": methods,
        "source": source_link(entry),
        "uses": [{"name": name, "title": book.titles[name], "cell": cell} for name, cell in book.uses.get(entry.name, {}).items()],
        "claims": sorted({claim for claim in links.statements(doc) if claim in known}),
    }


def _finish(page: str, reference: Reference, book: Book) -> str:
    page = links.link_code(page, {"ss": "safescreen"}, reference, "../")
    page = links.link_notebooks(page, book.titles, "../notebooks/")
    return links.link_statements(page, {claim.id for claim in book.claims}, "../")


def _resolver(reference: Reference, inside: str, value: Any = None) -> Callable[[str], str | None]:
    """From names to addresses as seen from a page of the reference; the value's own parameters mean themselves."""
    given = set(re.findall(r"\w+(?==)|\w+(?=[,)])", docstrings.signature(value))) if callable(value) else set()

    def resolve(path: str) -> str | None:
        target = None if path in given else reference.resolve(path, inside)
        return f"../{target}" if target else None

    return resolve


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{type(value).__name__} of {', '.join(map(str, value))}"
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]} ..."
