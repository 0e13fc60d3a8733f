"""The ledger `claims.yml`: every numbered statement, algorithm, table and figure, and what became of it.

    STS19:
      - {id: STS19-T5, kind: T, what: "RPB ball", status: verified, notebook: 15-path-bound,
         evidence: "sympy derivation; 200 random problems"}

A claim that is not `open` names a notebook and its evidence, and that notebook has an executed code cell,
tagged with the claim's id (or with `cell`), which asserts something.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

STATUSES = ("open", "verified", "corrected", "refuted", "reproduced", "partial")
KINDS = {
    "L": "lemma",
    "T": "theorem",
    "D": "derivation",
    "A": "algorithm",
    "F": "figure",
    "B": "table",
}
_REQUIRED = {"id", "kind", "what", "status"}
_OPTIONAL = {"notebook", "evidence", "cell", "also", "sts18"}


class LedgerError(ValueError):
    """The ledger does not make sense; the message names the claim."""


@dataclass(frozen=True)
class Claim:
    """One line of the ledger.

    Parameters
    ----------
    id, paper, kind, what : str
        Identity, key of the paper, letter of `KINDS`, statement in short.
    status : str
        One of `STATUSES`.
    notebook, evidence : str or None
        Name of the notebook, without an ending; what was run, on what, and the figure.
    cell : str
        Tag of the cell that would fail if the claim failed.
    also : str
        Other places of the paper, and its number in other papers.
    """

    id: str
    paper: str
    kind: str
    what: str
    status: str = "open"
    notebook: str | None = None
    evidence: str | None = None
    cell: str = ""
    also: str = ""


def load_claims(folder: Path) -> tuple[Claim, ...]:
    """Read `claims.yml` and check its form.

    Parameters
    ----------
    folder : Path
        The folder of notebooks.

    Returns
    -------
    tuple of Claim
        In the order of the file.

    Raises
    ------
    LedgerError
        If the file is missing or a claim has an unknown key, kind or status, a twin, or no evidence.
    """
    path = Path(folder) / "claims.yml"
    if not path.is_file():
        raise LedgerError(f"no claims.yml in {Path(folder).name}/")
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise LedgerError(f"claims.yml: not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise LedgerError(f"claims.yml: expected lists by paper, found {type(raw).__name__}")
    claims = tuple(_claim(paper, entry) for paper, entries in raw.items() for entry in entries)
    twins = [name for name, count in Counter(claim.id for claim in claims).items() if count > 1]
    if twins:
        raise LedgerError(f"claims.yml: twice in the ledger: {', '.join(twins)}")
    return claims


def _claim(paper: str, entry) -> Claim:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        raise LedgerError(f"claims.yml, {paper}: expected a mapping with an id, found {entry!r}")
    where = f"claim {entry['id']}"
    for key in entry:
        if key not in _REQUIRED | _OPTIONAL:
            raise LedgerError(f"{where}: unknown key {key!r}")
    for key in sorted(_REQUIRED):
        if not entry.get(key):
            raise LedgerError(f"{where}: {key} is missing")
    if entry["kind"] not in KINDS:
        raise LedgerError(f"{where}: kind {entry['kind']!r} is not one of {', '.join(KINDS)}")
    if entry["status"] not in STATUSES:
        raise LedgerError(f"{where}: status {entry['status']!r} is not one of {', '.join(STATUSES)}")
    for key in ("notebook", "evidence"):
        if entry["status"] != "open" and not entry.get(key):
            raise LedgerError(f"{where}: {entry['status']} without {key}")
    also = [str(entry["also"])] if entry.get("also") else []
    also += [f"STS18 {entry['sts18']}"] if entry.get("sts18") else []
    return Claim(
        id=entry["id"],
        paper=paper,
        kind=entry["kind"],
        what=entry["what"],
        status=entry["status"],
        notebook=entry.get("notebook"),
        evidence=entry.get("evidence"),
        cell=entry.get("cell") or entry["id"],
        also=", ".join(also),
    )


def find_cell(nb, tag: str):
    """Return the code cell with a tag.

    Parameters
    ----------
    nb : NotebookNode
        A notebook.
    tag : str
        The tag.

    Returns
    -------
    NotebookNode or None
        The first such cell.
    """
    tagged = (cell for cell in nb.cells if tag in cell.metadata.get("tags", ()))
    return next((cell for cell in tagged if cell.cell_type == "code"), None)


def problems(claims: Iterable[Claim], folder: Path) -> Iterator[str]:
    """Yield what is wrong with the evidence of the claims that are not open.

    Parameters
    ----------
    claims : iterable of Claim
        The ledger.
    folder : Path
        The folder of notebooks.

    Yields
    ------
    str
        One sentence a problem: no such notebook or cell, a cell that did not run, failed, or asserts nothing.
    """
    import nbformat

    read = {}
    for claim in claims:
        if claim.status == "open":
            continue
        path = Path(folder) / f"{claim.notebook}.ipynb"
        if not path.is_file():
            yield f"claim {claim.id}: there is no notebook {claim.notebook}"
            continue
        if path not in read:
            read[path] = nbformat.read(path, as_version=4)
        cell = find_cell(read[path], claim.cell)
        if cell is None:
            yield f"claim {claim.id}: {claim.notebook} has no code cell tagged {claim.cell!r}"
        elif cell.execution_count is None:
            yield f"claim {claim.id}: its cell in {claim.notebook} was not executed"
        elif any(output.output_type == "error" for output in cell.outputs):
            yield f"claim {claim.id}: its cell in {claim.notebook} ended in an error"
        elif not asserts(cell.source):
            yield f"claim {claim.id}: its cell in {claim.notebook} asserts nothing"


def asserts(source: str) -> bool:
    """Return whether code could fail: it asserts something that is not a constant.

    Parameters
    ----------
    source : str
        Python code; lines of IPython magics are left out.

    Returns
    -------
    bool
        True for an `assert`, or a call of a function whose name begins with `assert`.

    Examples
    --------
    >>> asserts("assert gap < 1e-6"), asserts("assert True"), asserts("np.testing.assert_allclose(a, b)")
    (True, False, True)
    """
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        return False
    for node in nodes:
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant | ast.Tuple):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.startswith("assert"):
                return True
    return False


def counts(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """Return how many claims have each status.

    Parameters
    ----------
    claims : iterable of Claim
        The ledger.

    Returns
    -------
    dict of dict
        By paper, then by status, every status of `STATUSES` present.
    """
    table: dict[str, dict[str, int]] = {}
    for claim in claims:
        table.setdefault(claim.paper, dict.fromkeys(STATUSES, 0))[claim.status] += 1
    return table
