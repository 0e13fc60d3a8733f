"""Notebooks as web pages that need nothing from elsewhere."""

import functools
import html
import re
from collections.abc import Iterable
from pathlib import Path

from .formulas import converter

_CODE = r"```.*?```|~~~.*?~~~|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_MATH = re.compile(
    rf"(?P<code>{_CODE})"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?P<environment>\\begin\{(?P<name>(?:equation|align|gather|multline)\*?)\}.*?\\end\{(?P=name)\})"
    r"|(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*?[^\s\\$])?)\$(?!\d)",
    re.DOTALL,
)
_PLACE = r"SAFESCREENFORMULA(\d+)X"


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

    nb = nbformat.from_dict(nb)
    convert, formulas = converter(), []
    for index, cell in enumerate(nb.cells):
        cell = nb.cells[index] = nbformat.from_dict(cell)
        if cell.cell_type == "markdown":
            cell.source = _take_out(cell.source, convert, formulas)
    page, _ = _exporter().from_notebook_node(nb)
    words = list(map(_words, formulas))
    page = re.sub(rf"<[^<>]*{_PLACE}[^<>]*>", lambda tag: _put_back(tag[0], words), page)
    return _put_back(page, formulas)


@functools.cache
def _exporter():
    """nbconvert's, made once; without the sanitizer, which takes half of the time: these notebooks are ours."""
    from nbconvert import HTMLExporter

    return HTMLExporter(template_name="basic", filters={"clean_html": _as_it_is})


def _as_it_is(text: str) -> str:
    return text


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
            text = re.sub(r"[*`]", "", _take_out(found[1], converter(), formulas))
            return _put_back(text, map(_letters, formulas)).strip()
    return default


def link_notebooks(page: str, names: Iterable[str], here: str = "") -> str:
    """Return a page whose links to notebooks lead to their pages; of a link to one that has no page, only its text stays.

    Parameters
    ----------
    page : str
        HTML.
    names : iterable of str
        The notebooks that have a page.
    here : str, default ""
        From the page to the folder of those pages, with a slash at its end.

    Returns
    -------
    str

    Examples
    --------
    >>> link_notebooks('<a href="10-a.ipynb">a</a>', ["10-a"], "../book/")
    '<a href="../book/10-a.html">a</a>'
    """
    known = set(names)

    def _link(match: re.Match) -> str:
        return f'<a href="{here}{match[1]}.html{match[2]}">{match[3]}</a>' if match[1] in known else match[3]

    return re.sub(r'<a href="([\w-]+)\.ipynb((?:#[^"]*)?)">(.*?)</a>', _link, page, flags=re.DOTALL)


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
    tex = block or match["inline"]
    if match.string[: match.start()].rpartition("\n")[2].lstrip().startswith(">"):
        tex = re.sub(r"\n[ \t]*>[ \t]?", "\n", tex)  # the marks of a quotation
    formulas.append(convert(tex, "block" if block else "inline"))
    return f"SAFESCREENFORMULA{len(formulas) - 1}X"
