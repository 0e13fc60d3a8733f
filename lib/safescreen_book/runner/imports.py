"""Which modules of the library and of the book code imports, itself and through others; nothing is run for it."""

import ast
import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parsed(source: str) -> ast.Module:
    """Return code as a tree; a line of IPython's magics, or all of what is no Python, stands in it as a text."""
    for text in (source, re.sub(r"(?m)^(\s*)([%!].*)", lambda line: f"{line[1]}({line[2]!r},)", source)):
        with suppress(SyntaxError, ValueError):
            return ast.parse(text)
    return ast.parse(f"({source!r},)")


def uses(tree: ast.AST) -> set[str]:
    """Return the paths by which code uses what it imports, inside functions too; of what it only imports or hands on, the whole.

    >>> sorted(uses(ast.parse("import numpy as np; from a import b, c; np.linalg.norm(b.d, c)")))
    ['a.b.d', 'a.c', 'numpy.linalg.norm']
    """
    nodes, imported, found = list(ast.walk(tree)), {}, set()
    for node in nodes:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if isinstance(node, ast.ImportFrom):
                path = f"{node.module}.{alias.name}".removesuffix(".*")
            else:
                path = alias.name if alias.asname else alias.name.partition(".")[0]
                found |= {alias.name} if path != alias.name else set()
            imported.setdefault(alias.asname or path.rpartition(".")[2], set()).add(path)
    inner, used = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}, set()
    for node in (node for node in nodes if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner):
        parts = []
        while isinstance(node, ast.Attribute):
            node, parts = node.value, [node.attr, *parts]
        if isinstance(node, ast.Name) and node.id in imported:
            used.add(node.id)
            found |= {".".join([path, *parts]) for path in imported[node.id]}
    return found.union(*(paths for name, paths in imported.items() if name not in used))


def canonical(tree: ast.AST) -> str:
    """Return the code of a tree without its docstrings and comments.

    >>> canonical(ast.parse('def f(x):  # adds one\\n    "Add."\\n    return x+1'))
    'def f(x):\\n    return x + 1'
    """
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            kept = [line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
            node.body = kept or [ast.Pass()][isinstance(node, ast.Module) :]
    return ast.unparse(tree)


@cache
def closure(names: frozenset[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the hashes, by file, of all modules that the paths of `uses` lead to, and the names of all other packages they import.

    A package's `__init__` only hands on: it counts, with all it imports, where what is used of it cannot be traced to a module.
    """
    todo, files, others = list(names), {}, set()
    while todo:
        home = _home(name := todo.pop())
        if home is None:
            others.add(name.partition(".")[0])
        elif (file := home.relative_to(ROOT).as_posix().removeprefix("safescreen/")) not in files:
            files[file], further = _read(home.read_text(encoding="utf-8"))
            todo += further
    return dict(sorted(files.items())), frozenset(others)


@cache
def _read(source: str) -> tuple[str, Iterable[str]]:
    tree = ast.parse(source)
    return hashlib.sha256(canonical(tree).encode()).hexdigest()[:16], uses(tree)


def _home(name: str) -> Path | None:
    """The file that says what a path stands for; None for what is not of this project."""
    package, *rest = name.split(".")
    folder = ROOT / package
    if not (folder / "__init__.py").is_file():
        return None
    for place, part in enumerate(rest):
        exported, here = _exports((folder / "__init__.py").read_text(encoding="utf-8")).get(part), ".".join([package, *rest[: place + 1]])
        if exported and not f"{exported}.".startswith(f"{here}."):
            return _home(".".join([exported, *rest[place + 1 :]]))
        if (folder / f"{part}.py").is_file():
            return folder / f"{part}.py"
        if not (folder / part / "__init__.py").is_file():
            break
        folder /= part
    return folder / "__init__.py"


@cache
def _exports(source: str) -> dict[str, str]:
    """Where a package has from what it hands on."""
    froms = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in froms for alias in node.names}
