"""Parameters of notebooks: plain values in one cell, and a check of the values given in their
place.
"""

import ast
import math
import sys
from collections.abc import Mapping
from typing import Any

from safescreen_book._common import BookError, plain, unknown

PLACES = ("output_dir", "rows_dir")
"""Parameters that say where files are: the runner sets them, and they change no result."""

PAPERMILL = "papermill"
"""Where parameters come from that are given on its command line."""

_MAY_BE_0 = ("n_lams", "seed")  # the first stands for no limit then


def assigned(source: str, where: str) -> dict[str, Any]:
    """Return names and values of a cell of plain numbers, booleans and strings; a BookError says
    where it is not.
    """
    found = {}
    try:
        nodes = ast.parse(source).body
    except SyntaxError as error:
        raise BookError(f"{where}: its parameters cell is not Python: {error}") from error
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or getattr(node, "value", None) is None:
            raise BookError(f"{where}: its parameters cell must hold `name = value` lines only")
        try:
            found[target.id] = plain(ast.literal_eval(node.value), target.id)
        except ValueError as error:
            as_text = ""
            if where == PAPERMILL and isinstance(node.value, ast.Constant):
                as_text = f"; if it is a text, give it with -r {target.id} {node.value.value}"
            raise BookError(
                f"{where}: parameter {target.id} = {ast.unparse(node.value)} is not a plain "
                f"number, boolean or string{as_text}"
            ) from error
    return found


def check(given: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> None:
    """Refuse a parameter that is unknown, has another type than its default, or is out of range.

    If the default of an integer is positive, the value must be positive as well, with the
    exceptions `_MAY_BE_0`. All other numbers must be finite. They may be negative only if the
    default is.

    >>> check({"repeats": 0}, {"repeats": 2, "seed": 0}, "run 51/iris")
    Traceback (most recent call last):
        ...
    safescreen_book._common.BookError: run 51/iris: repeats must be at least 1, found 0
    """
    for name, value in given.items():
        if name not in defaults:
            raise BookError(f"{where}: " + unknown("parameter", name, defaults))
        default = defaults[name]
        kind = next(kind for kind in (bool, int, float, str) if isinstance(default, kind))
        if not isinstance(value, int | float if kind is float else kind) or isinstance(
            value, bool
        ) != (kind is bool):
            raise BookError(
                f"{where}: {name} = {value!r} is of another type than the notebook's {name} "
                f"= {default!r}{_as_text(name, value, kind, where)}"
            )
        low = (
            -math.inf
            if kind not in (int, float) or default < 0
            else int(kind is int and default > 0 and name not in _MAY_BE_0)
        )
        if kind in (int, float) and not low <= value < math.inf:
            raise BookError(
                f"{where}: {name} must be {'finite' if low < 0 else f'at least {low}'}, "
                f"found {value!r}"
            )


def _as_text(name, value, kind, where):
    """Return how papermill is made to hand over a text that looks like something else."""
    return f"; give it as text with -r {name} {value}" if where == PAPERMILL and kind is str else ""


def check_injected() -> None:
    """Call `check`, within a notebook, on the values that papermill has put in place of its
    parameters.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = shell.user_ns.get("In", []) if shell else []
    for own, given in zip(cells, cells[1:], strict=False):
        if given.startswith("# Parameters\n"):
            check(assigned(given, PAPERMILL), assigned(own, "notebook"), PAPERMILL)
