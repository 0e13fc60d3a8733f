"""Code that a reader of a page seldom needs is folded: cells that only import, cells that draw, and
the long cells of experiments. JupyterLab shows all of it."""

import ast

LONG = 12
"""Lines of a cell, from which on an experiment's is folded."""

FOLDED = "hide-input"
"""The tag of a folded cell, as Jupyter Book has it."""


def is_plumbing(source: str, tags=(), *, is_experiment: bool = False) -> bool:
    """Return whether the code of a cell is folded.

    >>> is_plumbing("import numpy\\nimport safescreen as ss\\nplt.rcParams.update({})\\nn = 3")
    True
    >>> is_plumbing("axes.plot(x)\\nfigures.show('a line')")
    True
    >>> is_plumbing("ball = ss.gradient_bound(prob, x, lam)")
    False
    >>> is_plumbing("x = f(0)\\n" * 12), is_plumbing("x = f(0)\\n" * 12, is_experiment=True)
    (False, True)
    """
    if "parameters" in tags:
        return False
    if "figures.show(" in source or "plt.show()" in source:
        return True
    if is_experiment and len(source.strip().splitlines()) >= LONG:
        return True
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a magic command, or what is no Python
        return False
    imports = sum(isinstance(each, ast.Import | ast.ImportFrom) for each in statements)
    others = [each for each in statements if not isinstance(each, ast.Import | ast.ImportFrom)]
    return imports > 1 and all(_is_setting(each) for each in others)


def _is_setting(statement: ast.stmt) -> bool:
    """Whether a statement names a constant or sets how figures look."""
    if isinstance(statement, ast.Expr):
        return ast.unparse(statement).startswith("plt.rcParams")
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
