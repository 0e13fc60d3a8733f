"""Find what code imports, and remove its comments, without running it."""

import ast
import re
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of code. A line of IPython's magics, or a cell that is not Python,
    becomes a text in it.
    """
    for text in (
        source,
        re.sub(r"(?m)^(\s*)([%!].*)", lambda line: f"{line[1]}({line[2]!r},)", source),
    ):
        with suppress(SyntaxError, ValueError):
            return ast.parse(text)
    return ast.parse(f"({source!r},)")


def uses(tree: ast.AST) -> set[str]:
    """Return the dotted names by which code uses its imports, inside functions too. For an import
    that is only imported or passed on, the name is that of the import itself.

    >>> sorted(uses(ast.parse("import numpy as np; from a import b, c; np.linalg.norm(b.d, c)")))
    ['a.b.d', 'a.c', 'numpy.linalg.norm']
    """
    nodes = list(ast.walk(tree))
    imported = {}
    found = set()
    for node in nodes:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if isinstance(node, ast.ImportFrom):
                path = f"{node.module}.{alias.name}".removesuffix(".*")
            else:
                path = alias.name if alias.asname else alias.name.partition(".")[0]
                found |= {alias.name} if path != alias.name else set()
            imported.setdefault(alias.asname or path.rpartition(".")[2], set()).add(path)
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    used = set()
    for node in (
        node
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner
    ):
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
            kept = [
                line
                for line in body
                if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            ]
            node.body = kept or [ast.Pass()][isinstance(node, ast.Module) :]
    return ast.unparse(tree)
