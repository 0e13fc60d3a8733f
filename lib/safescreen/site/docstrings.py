"""Docstrings in the numpydoc form, as HTML."""

import html
import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

Resolve = Callable[[str], str | None]  # a name in a docstring to an address, relative to the page

_ROLES = ("class", "func", "data", "meth", "attr", "mod", "exc", "obj", "ref")
_LISTS = ("Parameters", "Attributes", "Other Parameters", "Returns", "Yields", "Receives", "Raises", "Warns")
_TEXTS = ("Notes", "References", "Examples")


def render(doc: str | None, resolve: Resolve) -> str:
    """Return a docstring as HTML.

    Parameters
    ----------
    doc : str or None
        As :func:`inspect.getdoc` gives it.
    resolve : callable
        From a name to an address, or None when the name means nothing here.

    Returns
    -------
    str
        A fragment; names in roles and in double backquotes that `resolve` knows are links, examples are highlighted.

    Examples
    --------
    >>> render("Return ``f(x)``, see :func:`g`.", {"g": "#g"}.get)
    '<p>Return <code>f(x)</code>, see <a href="#g"><code>g</code></a>.</p>'
    """
    from docutils.core import publish_doctree, publish_from_doctree

    if not doc:
        return ""
    _register_roles()
    settings = {"report_level": 2, "halt_level": 2, "file_insertion_enabled": False, "raw_enabled": False, "embed_stylesheet": False}
    tree = publish_doctree(_restructured(doc), settings_overrides=settings)
    writer = _writer()()
    writer.resolve = resolve
    publish_from_doctree(tree, writer=writer, settings_overrides={**settings, "output_encoding": "unicode"})
    return re.sub(r"<p>\s*</p>\s*", "", writer.parts["body"]).strip()


def summary(doc: str | None, resolve: Resolve) -> str:
    """Return the first paragraph of a docstring as HTML, without a paragraph around it.

    Parameters
    ----------
    doc : str or None
    resolve : callable
        As for :func:`render`.

    Returns
    -------
    str
    """
    first = (doc or "").strip().partition("\n\n")[0]
    return re.sub(r"</?p>", "", render(first, resolve))


def signature(value: Any) -> str:
    """Return how a function or class is called.

    Parameters
    ----------
    value : callable
        Compiled functions too.

    Returns
    -------
    str
        From the opening bracket on, without annotations; empty when it has none.

    Examples
    --------
    >>> signature(signature)
    '(value)'
    """
    try:
        given = inspect.signature(getattr(value, "py_func", value))
    except (TypeError, ValueError):
        return ""
    empty = inspect.Parameter.empty
    parameters = [parameter.replace(annotation=empty) for parameter in given.parameters.values() if parameter.name != "self"]
    text = str(inspect.Signature(parameters))
    return re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>|<factory>", "...", text)


def highlighted(code: str, language: str = "python") -> str:
    """Return code as highlighted HTML.

    Parameters
    ----------
    code : str
    language : {"python", "pycon", "bash"}
        `pycon` for prompts with answers.

    Returns
    -------
    str
        A `div` of class `highlight`.
    """
    import pygments
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return pygments.highlight(code, get_lexer_by_name(language), HtmlFormatter())


def _restructured(doc: str) -> str:
    """The docstring with the sections of numpydoc turned into rubrics and definition lists."""
    from numpydoc.docscrape import NumpyDocString

    parsed = NumpyDocString(doc)
    parts = ["\n".join(parsed["Summary"]), "\n".join(parsed["Extended Summary"])]
    for name in _LISTS:
        if parsed[name]:
            parts += [_rubric(name), "\n".join(_items(parsed[name]))]
    if parsed["See Also"]:
        others = [(other, "\n".join(text)) for names, text in parsed["See Also"] for other, _ in names]
        parts += [_rubric("See Also"), "\n".join(f"* :obj:`{other}` {text}" for other, text in others)]
    for name in _TEXTS:
        if parsed[name]:
            parts += [_rubric(name), "\n".join(parsed[name])]
    return "\n\n".join(part for part in parts if part.strip())


def _rubric(name: str) -> str:
    return f".. rubric:: {name}"


def _items(parameters: Iterable) -> Iterable[str]:
    for name, kind, text in parameters:
        names = ", ".join(f":given:`{_plain(part)}`" for part in name.split(",")) if name else ""
        kinds = f":kind:`{_plain(kind)}`" if kind else ""
        yield " ".join(filter(None, [names, kinds]))
        yield "\n".join(f"    {line}" for line in text or ["\\ "])


def _plain(text: str) -> str:
    """Text for a role: no backquotes, stars as they are."""
    return re.sub(r":\w+:`~?([^`]*)`|`+", r"\1", text).strip().replace("\\", "\\\\")


@cache
def _register_roles() -> None:
    """The roles of Sphinx that docstrings use, and two for what stands in a list: a name that is given, and its kind."""
    from docutils import nodes
    from docutils.parsers.rst import roles

    def name_role(role, rawtext, text, lineno, inliner, options=None, content=None):
        return [nodes.literal(rawtext, text.replace("\x00", ""), classes=[role])], []

    for role in (*_ROLES, "given", "kind"):
        roles.register_local_role(role, name_role)


@cache
def _writer():
    from docutils import nodes
    from docutils.writers import html5_polyglot

    class Translator(html5_polyglot.HTMLTranslator):
        def visit_literal(self, node):
            text = node.astext()
            if "given" in node["classes"]:
                self.body.append(f"<code>{html.escape(text, quote=False)}</code>")
                raise nodes.SkipNode
            if "kind" in node["classes"]:
                words = re.sub(r"(?<![\w'\"])[A-Z]\w+", lambda word: self.link(word[0]), html.escape(text, quote=False))
                self.body.append(f'<span class="kind">{words}</span>')
                raise nodes.SkipNode
            target, shown = self.resolve(text), text
            if node["classes"]:  # a role: `~` hides all but the last part, `text <name>` shows another text
                shown, _, name = text.partition(" <")
                target = self.resolve(name.rstrip(">") or shown.lstrip("~"))
                shown = shown.rpartition(".")[2] if shown.startswith("~") else shown
            code = f"<code>{html.escape(shown, quote=False)}</code>"
            self.body.append(f'<a href="{html.escape(target)}">{code}</a>' if target else code)
            raise nodes.SkipNode

        visit_title_reference = visit_literal  # single backquotes

        def link(self, name):
            target = self.resolve(name)
            return f'<a href="{html.escape(target)}">{name}</a>' if target else name

        def visit_doctest_block(self, node):
            self.body.append(highlighted(node.astext(), "pycon"))
            raise nodes.SkipNode

        def visit_rubric(self, node):
            self.body.append(f"<h5>{html.escape(node.astext())}</h5>\n")
            raise nodes.SkipNode

    class Writer(html5_polyglot.Writer):
        def __init__(self):
            super().__init__()
            self.translator_class = self._translate

        def _translate(self, document):
            translator = Translator(document)
            translator.resolve = self.resolve
            return translator

    return Writer
