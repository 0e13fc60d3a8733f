"""Links between code, text, claims and the reference."""

import ast
import html
import re
from collections.abc import Callable, Iterable, Iterator

from safescreen.experiments import pages
from safescreen.site.names import Reference

_KINDS = {"Theorem": "T", "Proposition": "P", "Corollary": "C", "Lemma": "L", "Algorithm": "A", "Figure": "F", "Fig.": "F", "Table": "B"}
_STATEMENT = re.compile(rf"\b([A-Z]{{3,4}}\d\d) ({'|'.join(map(re.escape, _KINDS))}) (\d+)\b(?!\.\d)")
_NAME = r'<span class="n[a-z]?">(\w+)</span>'
_CHAIN = re.compile(rf'{_NAME}(?:<span class="o">\.</span>{_NAME})*')
_HIGHLIGHT = re.compile(r'(<div class="highlight[^"]*"><pre>)(.*?)(</pre>)', re.DOTALL)


def statements(text: str) -> Iterator[str]:
    """Yield the ids in the ledger of the statements a text names.

    Parameters
    ----------
    text : str

    Yields
    ------
    str

    Examples
    --------
    >>> list(statements("STS19 Theorem 6, and SSS14 Lemma 9"))
    ['STS19-T6', 'SSS14-L9']
    """
    for match in _STATEMENT.finditer(text):
        yield _claim(match)


def link_statements(page: str, claims: Iterable[str], root: str) -> str:
    """Return a page with the statements of the ledger as links to it.

    Parameters
    ----------
    page : str
        HTML; what is inside tags, links, code and formulas is left alone.
    claims : iterable of str
        Ids that the ledger has.
    root : str
        The site's root as seen from the page.

    Returns
    -------
    str
    """
    known = set(claims)

    def _link(match: re.Match) -> str:
        claim = _claim(match)
        return f'<a class="statement" href="{root}claims.html#{claim}">{match[0]}</a>' if claim in known else match[0]

    parts = re.split(r"(<a\b.*?</a>|<pre\b.*?</pre>|<code\b.*?</code>|<math\b.*?</math>|<h1\b.*?</h1>|<[^>]*>)", page, flags=re.DOTALL)
    return "".join(part if index % 2 else _STATEMENT.sub(_link, part) for index, part in enumerate(parts))


def imported(sources: Iterable[str]) -> dict[str, str]:
    """Return what the names that code imports from this library stand for.

    Parameters
    ----------
    sources : iterable of str
        The code cells of a notebook.

    Returns
    -------
    dict of str to str
        Dotted path by name; names that are also assigned to are left out.

    Examples
    --------
    >>> imported(["import safescreen as ss", "from safescreen import plots"])
    {'ss': 'safescreen', 'plots': 'safescreen.plots'}
    """
    names, assigned = {}, set()
    for node in (node for source in sources for node in ast.walk(_tree(source))):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names if _ours(alias.name)}
        elif isinstance(node, ast.ImportFrom) and _ours(node.module or "") and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            assigned.add(node.name)
    return {name: path for name, path in names.items() if name not in assigned}


def used(source: str, names: dict[str, str], reference: Reference) -> list[str]:
    """Return the public names that code uses.

    Parameters
    ----------
    source : str
    names : dict of str to str
        What :func:`imported` returned.
    reference : Reference

    Returns
    -------
    list of str
        Shortest names of entries, each once, in the order of the code's tree.
    """
    found = {}
    for node in ast.walk(_tree(source)):
        path = _dotted(node)
        entry = reference.names.get(_expand(path, names)) if path else None
        if entry:
            found[entry.name] = True
    return list(found)


def link_code(page: str, names: dict[str, str], reference: Reference, root: str) -> str:
    """Return a page with names of the library in highlighted code, and in short pieces of code, as links to the reference.

    Parameters
    ----------
    page : str
        HTML with code highlighted by pygments.
    names : dict of str to str
        What :func:`imported` returned.
    reference : Reference
    root : str
        The site's root as seen from the page.

    Returns
    -------
    str
    """

    def _chain(match: re.Match) -> str:
        parts = re.findall(_NAME, match[0])
        spans = re.findall(r"<span[^>]*>[^<]*</span>", match[0])
        for length in range(len(parts), 0, -1):
            target = reference.links.get(_expand(".".join(parts[:length]), names))
            if target and parts[0] in names:
                return f'<a href="{root}{target}">{"".join(spans[: 2 * length - 1])}</a>{"".join(spans[2 * length - 1 :])}'
        return match[0]

    def _piece(match: re.Match) -> str:
        path, _, call = match[1].partition("(")
        target = reference.links.get(_expand(path, {"ss": "safescreen", **names})) if "." in path else None
        return f'<a href="{root}{target}">{match[0]}</a>' if target else match[0]

    page = _HIGHLIGHT.sub(lambda match: match[1] + _CHAIN.sub(_chain, match[2]) + match[3], page)
    return _outside_links(r"<code>([A-Za-z_][\w.]*(?:\([^<]*)?)</code>", _piece, page)


def link_notebooks(page: str, titles: dict[str, str], here: str) -> str:
    """Return a page with the names of other notebooks, and links to their files, as links to their pages.

    Parameters
    ----------
    page : str
        HTML.
    titles : dict of str to str
        Title by name of the notebooks there are.
    here : str
        From the page to the folder of notebooks, with a slash at its end.

    Returns
    -------
    str
    """

    def _link(match: re.Match) -> str:
        if match[1] not in titles:
            return match[0]
        return f'<a href="{here}{match[1]}.html" title="{html.escape(titles[match[1]])}">{match[0]}</a>'

    page = pages.link_notebooks(page, titles, here)
    return _outside_links(r"<code>([\w-]+)</code>", _link, page)


def _outside_links(pattern: str, replace: Callable[[re.Match], str], page: str) -> str:
    both = re.compile(rf"<a\b.*?</a>|{pattern}", re.DOTALL)
    return both.sub(lambda match: match[0] if match[0].startswith("<a") else replace(match), page)


def _claim(match: re.Match) -> str:
    return f"{match[1]}-{_KINDS[match[2]]}{match[3]}"


def _ours(module: str) -> bool:
    return module.partition(".")[0] == "safescreen"


def _tree(source: str) -> ast.AST:
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        return ast.Module([], [])


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (value := _dotted(node.value)):
        return f"{value}.{node.attr}"
    return None


def _expand(path: str, names: dict[str, str]) -> str:
    first, dot, rest = path.partition(".")
    return names.get(first, first) + dot + rest
