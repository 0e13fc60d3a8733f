"""Replace an expression or statements of one function in Python source, found on the syntax tree.

Layout, comments and parentheses do not matter. What is not replaced keeps its text and, unless the
replacement has more lines, its line numbers.
"""

import ast
import difflib
import textwrap
from itertools import accumulate
from typing import NamedTuple

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
CLOSED = (*DEFINITIONS, ast.JoinedStr)
"""Nodes whose inside is not searched; Python 3.11 does not know where parts of f-strings are."""

BELOW = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields of a statement that hold other statements, or clauses with statements."""

LAYOUT = ("ctx", "kind", "type_comment")
"""Fields of nodes that say nothing about what is computed."""


class Place(NamedTuple):
    """Where a node stands: `field` of `parent`, or its entry `index` where the field is a list."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST


def same(one, other) -> bool:
    """Say whether two trees, lists of trees or constants are equal, wherever they stand."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, ast.AST):
        return same_fields(one, other, LAYOUT)
    return one == other


def same_fields(one: ast.AST, other: ast.AST, without: tuple[str, ...]) -> bool:
    """Say whether two nodes of one kind are equal in all fields but some."""
    for name in one._fields:
        if name in without:
            continue
        if not same(getattr(one, name, None), getattr(other, name, None)):
            return False
    return True


def parse(text: str) -> list[ast.stmt]:
    """Return the statements of a text; a ValueError says why it is not Python."""
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not Python: {error.msg}") from None


def is_expression(statements: list[ast.stmt]) -> bool:
    """Say whether statements are a single expression."""
    return len(statements) == 1 and isinstance(statements[0], ast.Expr)


def is_header(statements: list[ast.stmt]) -> bool:
    """Say whether statements are the header of a single one: its body is ``...``."""
    return len(statements) == 1 and same(getattr(statements[0], "body", None), parse("..."))


def fits(wanted: list[ast.stmt], found: list[ast.stmt]) -> bool:
    """Compare statements; a header fits a statement with any body and any ``else``."""
    if not is_header(wanted):
        return same(wanted, found)
    alike = [type(statement) for statement in wanted] == [type(statement) for statement in found]
    return alike and same_fields(wanted[0], found[0], (*BELOW, *LAYOUT))


def walk(parent: ast.AST) -> list[Place]:
    """Return the places of all expressions and statements below a node."""
    places = []
    for field, value in ast.iter_fields(parent):
        entries = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, node in entries:
            if isinstance(node, ast.expr | ast.stmt):
                places.append(Place(parent, field, index, node))
            if isinstance(node, ast.AST) and not isinstance(node, CLOSED):
                places.extend(walk(node))
    return places


def definitions(parent: ast.AST, outer: str = "") -> dict[str, list[Place]]:
    """Return the places of functions, methods and classes by qualified name.

    Several have one name where a property has a setter, or where an ``if`` chooses between two.
    """
    found = {}
    for field in BELOW:
        for index, node in enumerate(getattr(parent, field, ())):
            name = outer
            if isinstance(node, DEFINITIONS):
                name = f"{outer}.{node.name}".lstrip(".")
                found.setdefault(name, []).append(Place(parent, field, index, node))
            for inner, places in definitions(node, name).items():
                found.setdefault(inner, []).extend(places)
    return found


def places_in(tree: ast.Module, within: str, known: dict[str, list[Place]]) -> list[Place]:
    """Return the places in a function: itself, and what is in it but not in a definition in it."""
    if not within:
        return walk(tree)
    return [place for own in known[within] for place in (own, *walk(own.node))]


def find(places: list[Place], wanted: list[ast.stmt], as_expression: bool) -> list[Place]:
    """Return where an expression stands, or the first of several statements, from top to bottom."""
    if as_expression:
        found = [place for place in places if same(place.node, wanted[0].value)]
    else:
        found = [place for place in places if _starts(place, wanted)]
    return sorted(found, key=lambda place: (place.node.lineno, place.node.col_offset))


def _starts(place: Place, wanted: list[ast.stmt]) -> bool:
    """Say whether statements stand at a place."""
    return isinstance(place.node, ast.stmt) and fits(wanted, _run(place, len(wanted)))


def _run(place: Place, length: int) -> list[ast.stmt]:
    """Return a statement and those that follow it."""
    return getattr(place.parent, place.field)[place.index : place.index + length]


def locate(tree: ast.Module, within: str, old: str, as_expression: bool, nth: int = 0) -> Place:
    """Return the one place in a function where a text stands, or the nth."""
    known = definitions(tree)
    if within and within not in known:
        raise ValueError(f"there is no function or class {within!r}{_close(within, known)}")
    wanted, places = parse(old), places_in(tree, within, known)
    found = find(places, wanted, as_expression)
    where = within or "the code outside of functions"
    if not found:
        others = [n for n in known if find(places_in(tree, n, known), wanted, as_expression)]
        close = _close(old, map(_first_line, places))
        hint = f"; it stands in {', '.join(others)}" if others else close
        raise ValueError(f"{old!r} is not in {where}{hint}")
    lines = f"in lines {', '.join(str(place.node.lineno) for place in found)}"
    if nth and nth not in range(1, len(found) + 1):
        raise ValueError(f"{old!r} stands in {where} {lines}, and number {nth} is asked for")
    if len(found) > 1 and not nth:
        raise ValueError(f"{old!r} stands in {where} {lines}: give more of it, or nth")
    return found[max(nth, 1) - 1]


def _close(text: str, among) -> str:
    """Return the end of a sentence that names what is like a text."""
    close = difflib.get_close_matches(text, sorted(set(among)), n=3, cutoff=0.5)
    return f"; close to it: {', '.join(map(repr, close))}" if close else ""


def _first_line(place: Place) -> str:
    """Return the text of an expression or a statement, of a compound one its header."""
    first, *further = ast.unparse(place.node).splitlines()
    return f"{first} ..." if further else first


class _Text:
    """Source in which a piece is put in place of a node (columns of nodes count bytes)."""

    def __init__(self, source: str):
        self.data = f"{source.rstrip()}\n".encode()
        self.starts = [0, *accumulate(map(len, self.data.splitlines(keepends=True)))]

    def start(self, node) -> int:
        """Return where a node starts, decorators included."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        return self.starts[first - 1] + node.col_offset

    def end(self, node) -> int:
        """Return where a node ends."""
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def breaks(self, start: int, end: int, piece: str) -> str:
        """Return the line ends by which a piece is short of what stands between two places."""
        return "\n" * (self.data.count(b"\n", start, end) - piece.count("\n"))

    def put(self, start: int, end: int, piece: str) -> str:
        """Return the source with a piece in place of what stands between two places."""
        return (self.data[:start] + piece.encode() + self.data[end:]).decode()

    def expression(self, node: ast.expr, new: ast.expr) -> str:
        """Return the source with another expression in place of a node."""
        start, end = self.start(node), self.end(node)
        piece = ast.unparse(new)
        return self.put(start, end, f"({piece}{self.breaks(start, end, piece)})")

    def statements(self, run: list[ast.stmt], new: list[ast.stmt]) -> str:
        """Return the source with other statements in place of a run of them."""
        start, end = self.start(run[0]), self.end(run[-1])
        line_end = self.data.find(b"\n", end)
        rest = self.data[end:line_end].decode()
        if any(hasattr(statement, "body") for statement in new):
            piece = self._indented([ast.unparse(statement) for statement in new], run[0])
        else:
            piece = "; ".join(map(ast.unparse, new))
        if self.data.startswith(b"elif", start):
            piece = f"el{piece}" if piece.startswith("if") else f"else: {piece}"
        return self.put(start, line_end, piece + rest + self.breaks(start, end, piece))

    def header(self, node: ast.stmt, new: ast.stmt) -> str:
        """Return the source with the header of a statement in place of another's, its body kept."""
        start, body = self.start(node), self.start(node.body[0])
        margin = self.data[self.data.rfind(b"\n", 0, body) + 1 : body].decode()
        piece = self._indented(ast.unparse(new).splitlines()[:-1], node)
        if self.data.startswith(b"elif", start):
            piece = f"el{piece}"
        breaks = self.breaks(start, body, piece) or "\n"
        return self.put(start, body, f"{piece} " if margin.strip() else piece + breaks + margin)

    @staticmethod
    def _indented(lines: list[str], node: ast.stmt) -> str:
        """Return lines of code indented as a node is, but for the first."""
        return textwrap.indent("\n".join(lines), " " * node.col_offset).lstrip()


def replaced(source: str, old: str, new: str, within: str = "", nth: int = 0) -> str:
    """Return source in which one expression, or one run of statements, is replaced by another.

    Parameters
    ----------
    source : str
        A module.
    old, new : str
        Two expressions, or statements. A statement whose body is ``...`` is its header only: it
        fits whatever the body is, and a new header keeps the body.
    within : str
        Qualified name of the function, method or class; by default the code outside of them.
    nth : int
        Which of several places, from 1; by default there must be one.

    Raises
    ------
    ValueError
        If `old` or `new` is not Python, if there is no such place or more than one, or if both are
        the same.
    """
    tree = ast.parse(source)
    wanted, given = parse(old), parse(new)
    if same(wanted, given):
        raise ValueError(f"{new!r} changes nothing")
    as_expression = is_expression(wanted) and is_expression(given)
    place = locate(tree, within, old, as_expression, nth)
    text = _Text(source)
    if as_expression:
        changed = text.expression(place.node, given[0].value)
        _put(place, 1, given[0].value)
    elif is_header(wanted) and is_header(given):
        changed = text.header(place.node, given[0])
        for name in BELOW:
            if hasattr(place.node, name):
                setattr(given[0], name, getattr(place.node, name))
        _put(place, 1, given[0])
    else:
        changed = text.statements(_run(place, len(wanted)), given)
        _put(place, len(wanted), *given)
    if not _is_source_of(changed, tree):
        raise ValueError(f"{new!r} cannot be written in place of {old!r}")
    return changed


def _put(place: Place, length: int, *nodes: ast.AST) -> None:
    """Put nodes at a place of the tree, instead of one or several."""
    if place.index is None:
        setattr(place.parent, place.field, nodes[0])
    else:
        getattr(place.parent, place.field)[place.index : place.index + length] = nodes


def _is_source_of(source: str, tree: ast.Module) -> bool:
    try:
        return same(ast.parse(source), tree)
    except SyntaxError:
        return False
