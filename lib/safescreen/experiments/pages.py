"""Notebooks as web pages that need nothing from elsewhere."""

import html
import importlib.util
import re
from collections.abc import Callable, Iterable
from pathlib import Path

_CODE = r"```.*?```|~~~.*?~~~|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_MATH = re.compile(
    rf"(?P<code>{_CODE})"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?P<environment>\\begin\{(?P<name>(?:equation|align|gather|multline)\*?)\}.*?\\end\{(?P=name)\})"
    r"|(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*?[^\s\\$])?)\$(?!\d)",
    re.DOTALL,
)
_PLACE = r"SAFESCREENFORMULA(\d+)X"
_SCRIPT = dict(zip("BEFHILMR", "ℬℰℱℋℐℒℳℛ", strict=True))  # the script letters that Unicode has elsewhere


def body(nb) -> str:
    """Return a notebook's cells as HTML.

    Every cell is a `div` whose id is `cell-id=` and the cell's id. Formulas become MathML when the package
    latex2mathml is installed, and stay TeX otherwise.

    Parameters
    ----------
    nb : NotebookNode
        An executed notebook; it is not changed.

    Returns
    -------
    str
        A fragment to put into a page with the report's style.
    """
    import nbformat
    from nbconvert import HTMLExporter

    nb = nbformat.from_dict(nb)
    convert, formulas = _converter(), []
    for index, cell in enumerate(nb.cells):
        cell = nb.cells[index] = nbformat.from_dict(cell)
        if cell.cell_type == "markdown":
            cell.source = _take_out(cell.source, convert, formulas)
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(nb)
    words = list(map(_words, formulas))
    page = re.sub(rf"<[^<>]*{_PLACE}[^<>]*>", lambda tag: _put_back(tag[0], words), page)
    return _put_back(page, formulas)


def highlighting() -> str:
    """Return the style sheet of highlighted code.

    Returns
    -------
    str
        CSS.
    """
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(style="tango").get_style_defs(".highlight")


def title(nb, default: str) -> str:
    """Return the first heading of a notebook.

    Parameters
    ----------
    nb : NotebookNode
        A notebook.
    default : str
        What to return when it has none.

    Returns
    -------
    str
        Plain text; of formulas their letters, ``λ`` for ``$\\lambda$``, where `body` would typeset them.
    """
    for cell in nb.cells:
        found = re.search(r"(?m)^#\s+(.+)$", cell.source) if cell.cell_type == "markdown" else None
        if found:
            formulas: list[str] = []
            text = re.sub(r"[*`]", "", _take_out(found[1], _converter(), formulas))
            return _put_back(text, map(_letters, formulas)).strip()
    return default


def read(path: Path):
    """Return a notebook.

    Parameters
    ----------
    path : Path
        An .ipynb.

    Returns
    -------
    NotebookNode
        As nbformat 4.
    """
    import nbformat

    return nbformat.read(path, as_version=4)


def _converter() -> Callable[[str, str], str] | None:
    if not importlib.util.find_spec("latex2mathml"):
        return None
    from latex2mathml.converter import convert

    def typeset(tex: str, display: str) -> str:
        plain = re.sub(r"\\(begin|end)\{(aligned|align|split|gather|gathered)\*?\}", r"\\\1{align*}", tex)
        plain = re.sub(r"\\(begin|end)\{(equation|multline)\*?\}", "", plain)
        plain = re.sub(r"\\mathcal\s*(?:\{\s*([A-Z])\s*\}|([A-Z]))", lambda m: _script(m[1] or m[2]), plain)
        try:
            return convert(plain, display=display).replace("<mi>&</mi>", "")
        except Exception:  # a parser of its own, which raises what it likes: show the TeX
            return f"<code>{html.escape(tex)}</code>"

    return typeset


def _script(letter: str) -> str:
    return _SCRIPT.get(letter, chr(0x1D49C + ord(letter) - ord("A")))


def _take_out(text: str, convert, formulas: list[str]) -> str:
    """Markdown with its formulas typeset, added to a list and replaced by words; as it is if nothing can typeset."""
    return text if convert is None else _MATH.sub(lambda match: _set_aside(match, convert, formulas), text)


def _put_back(text: str, formulas: Iterable[str]) -> str:
    formulas = list(formulas)
    return re.sub(_PLACE, lambda match: formulas[int(match[1])], text)


def _letters(formula: str) -> str:
    """The text of a typeset formula."""
    return html.unescape(re.sub(r"<[^<>]*>", "", formula))


def _words(formula: str) -> str:
    """The same for an attribute, such as the id of a heading."""
    return re.sub(r"\W+", "-", _letters(formula)).strip("-")


def _set_aside(match: re.Match, convert, formulas: list[str]) -> str:
    """Replace a formula by a word that markdown leaves alone."""
    if match["code"] is not None:
        return match["code"]
    block = match["display"] or match["environment"]
    formulas.append(convert(block or match["inline"], "block" if block else "inline"))
    return f"SAFESCREENFORMULA{len(formulas) - 1}X"
