"""The ledger `claims.yml`: every numbered statement, algorithm, table and figure of the papers, and
whether it holds.

    STS19:
      - {id: STS19-T5, kind: T, what: "RPB ball", status: verified, notebook: 15-path-bound,
         evidence: "sympy derivation; 200 random problems"}

A claim that is not `open` names a notebook and its evidence. That notebook has an executed code
cell which is tagged with the claim's id (or with `cell`) and asserts something. The numbers of the
evidence are references to outputs, see `evidence`. If runs of the paper's size have judged a table
or figure, its status must follow from `conclusions.csv` in `outputs/paper/`.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from safescreen_book import catalogue, evidence, verdicts, wording
from safescreen_book._common import BookError, folder_name, mapping, read_yaml, record, unknown
from safescreen_book.runner import imports, notebooks

STATUSES = (
    "open",
    "verified",
    "misprint",
    "corrected",
    "refuted",
    "reproduced",
    "differs",
    "partial",
)
TOLD = ("evidence", "fair")
"""Fields about our own findings, as `Claim.missing`: their numbers are references."""

CAUSES = {
    "unpublished": "data never published",
    "elsewhere": "data not at hand",
    "time": "computing time",
}
"""For want of what rows of a paper are missing, what can never be had first."""

ACCUSATIONS = ("corrected", "refuted", "differs")
KINDS = {
    "L": "lemma",
    "T": "theorem",
    "D": "derivation",
    "A": "algorithm",
    "F": "figure",
    "B": "table",
}


@dataclass(frozen=True)
class Claim:
    """One line of the ledger."""

    paper: str  # its key
    id: str
    kind: str  # letter of `KINDS`
    what: str  # the statement in short
    status: str  # one of `STATUSES`
    notebook: str | None = None  # its name, without an ending
    # what was run, on what, and the figure, its numbers as references until `with_evidence`
    evidence: str | None = None
    cell: str = ""  # tag of the cell that would fail if the claim failed; the id when left out
    # the reading kindest to the authors, and what of the paper was not at hand; every one of
    # `ACCUSATIONS` has it
    fair: str = ""
    also: str = ""  # other places of the paper, and its number in STS18 (`sts18` in the file)
    # what runs do not cover, by cause (`CAUSES`), and the file that would close it; such a claim is
    # never `reproduced`
    missing: Mapping[str, str] = field(default_factory=dict)
    about: tuple[str, ...] = ()  # tests of the library that it is about, see `catalogue`
    headline: str = ""  # the sentence of the evidence that a card tells, see `with_evidence`


def load_claims(folder: Path) -> tuple[Claim, ...]:
    """Read `claims.yml` of a folder of notebooks and check its form; a BookError names the
    claim.
    """
    papers = read_yaml(Path(folder) / "claims.yml")
    for paper, entries in papers.items():
        folder_name(paper, f"claims.yml: {paper!r}")
        if not isinstance(entries, list):
            raise BookError(
                f"claims.yml, {paper}: expected a list of claims, found {type(entries).__name__}"
            )
    claims = tuple(_claim(paper, entry) for paper, entries in papers.items() for entry in entries)
    twins = [name for name, count in Counter(claim.id for claim in claims).items() if count > 1]
    if twins:
        raise BookError(f"claims.yml: these ids occur twice: {', '.join(twins)}")
    return claims


def _claim(paper: str, entry) -> Claim:
    entry = mapping(entry, f"claims.yml, {paper}")
    if not entry.get("id"):
        raise BookError(f"claims.yml, {paper}: expected a mapping with an id, found {entry!r}")
    where = f"claim {entry['id']}"
    elsewhere = entry.pop("sts18", None)
    claim = record(Claim, entry, where, paper=paper)
    folder_name(claim.id, where)
    for key, known in (("kind", KINDS), ("status", STATUSES)):
        if getattr(claim, key) not in known:
            raise BookError(
                f"{where}: {key} {getattr(claim, key)!r} is not one of {', '.join(known)}"
            )
    for cause in claim.missing:
        if cause not in CAUSES:
            raise BookError(f"{where}: missing: " + unknown("cause", cause, CAUSES))
    marked = ("notebook", "evidence") if claim.status != "open" else ()
    for key in ("what", *marked, *(("fair",) if claim.status in ACCUSATIONS else ())):
        if not getattr(claim, key):
            raise BookError(f"{where}: {claim.status} without {key}")
    catalogue.check_names(claim.about, where)
    also = [claim.also, f"STS18 {elsewhere}" if elsewhere else ""]
    return replace(claim, cell=claim.cell or claim.id, also=", ".join(filter(None, also)))


def lacking(claim: Claim) -> str:
    """Return what runs of a claim do not cover, a sentence for each cause.

    >>> lacking(Claim("P", "P-F1", "F", "a", "partial", missing={"time": "the last panel"}))
    'For want of computing time: the last panel.'
    """
    told = [f"For want of {CAUSES[cause]}: {claim.missing[cause]}." for cause in _causes(claim)]
    return " ".join(told)


def _causes(claim: Claim) -> list[str]:
    """Return the causes for which a claim has rows missing, what can never be had first."""
    return [cause for cause in CAUSES if cause in claim.missing]


def find_cell(nb, tag: str):
    """Return the first code cell of a notebook with a tag, or None."""
    tagged = (cell for cell in nb.cells if tag in cell.metadata.get("tags", ()))
    return next((cell for cell in tagged if cell.cell_type == "code"), None)


def with_evidence(
    claims: Iterable[Claim], folder: Path, *, strict: bool = True
) -> tuple[Claim, ...]:
    """Return the claims with numbers in place of their references, and with the first sentence that
    has such a number as their headline. For a reference without a number a BookError names it and
    its claim; alternatively the text says that there is no such number.
    """
    sources = evidence.Sources(Path(folder))
    done = []
    for claim in claims:
        texts = {name: getattr(claim, name) for name in TOLD if getattr(claim, name)}
        if claim.evidence:
            texts["headline"] = evidence.headline(claim.evidence)
        where = (claim.notebook or "", claim.cell)
        missing = dict(claim.missing)
        try:
            for name, text in texts.items():
                told = evidence.render(text, sources, *where, strict=strict).rstrip()
                texts[name] = told if told.endswith((".", "?", "!")) else f"{told}."
            for cause, text in missing.items():
                missing[cause] = evidence.render(text, sources, *where, strict=strict)
        except BookError as error:
            raise BookError(f"claim {claim.id}: {error}") from error
        done.append(replace(claim, missing=missing, **texts))
    return tuple(done)


def judged(folder: Path, *, strict: bool = True):
    """Return the committed conclusions, see `verdicts.committed`, beside a folder of notebooks."""
    outputs = Path(folder).resolve().parent / "outputs" / "paper"
    return verdicts.committed(outputs, strict=strict)


def problems(claims: Iterable[Claim], folder: Path) -> Iterator[str]:
    """Yield a sentence for each mistake. There are four kinds: a claim that is not open and has no
    notebook, or no cell in it that ran without an error and asserts something; a status that does
    not follow from committed conclusions; a conclusion on a claim that does not exist (``-`` stands
    for no claim); and evidence with typed numbers.
    """
    claims = tuple(claims)
    rows = judged(folder)
    sources = evidence.Sources(Path(folder))
    read = {}
    unknown = sorted({*rows["claim"]} - {"-"} - {claim.id for claim in claims})
    yield from (f"claim {name}: judged by runs, and not in the ledger" for name in unknown)
    for claim in claims:
        found = rows[rows["claim"] == claim.id] if claim.kind in "BF" else ()
        if len(found) and (follows := verdicts.status(found, claim.missing)) != claim.status:
            yield f"claim {claim.id}: {claim.status} in the ledger, {follows} by its runs"
        if claim.status == "open":
            continue
        told = [getattr(claim, name) for name in TOLD]
        for text in filter(None, [*told, *claim.missing.values()]):
            for problem in evidence.wrong(text, sources, claim.notebook, claim.cell):
                yield f"claim {claim.id}: {problem}"
        path = Path(folder) / f"{claim.notebook}.ipynb"
        if not path.is_file():
            yield f"claim {claim.id}: there is no notebook {claim.notebook}"
            continue
        if path not in read:
            read[path] = notebooks.read(path)
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
    """Return whether code asserts something that is not a constant, or calls an `assert...`
    function.

    >>> asserts("assert gap < 1e-6"), asserts("assert True")
    (True, False)
    >>> asserts("np.testing.assert_allclose(a, b)")
    True
    """
    nodes = list(ast.walk(imports.parsed(source)))
    names = [
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        for node in nodes
        if isinstance(node, ast.Call)
    ]
    return any(name.startswith("assert") for name in names) or any(
        isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant | ast.Tuple)
        for node in nodes
    )


def counts(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """Return how many claims have each status, by paper, then by status."""
    table: dict[str, dict[str, int]] = {}
    for claim in claims:
        table.setdefault(claim.paper, dict.fromkeys(STATUSES, 0))[claim.status] += 1
    return table


def experiments(claims: Iterable[Claim], rows, rules) -> dict[str, Counter]:
    """Return for each paper how its tables and figures came out: "drawings" have no rules, the
    others are "reproduced", "differs", "undecided" or, where all that could be judged stands, one
    of `CAUSES`.
    """
    asked = {rule.claim for rule in rules}
    table: dict[str, Counter] = {claim.paper: Counter() for claim in claims}
    for claim in claims:
        if claim.kind not in "BF":
            continue
        word = claim.status
        if claim.id not in asked:
            word = "drawings"
        elif claim.status == "partial":
            found = rows[(rows["claim"] == claim.id) & (rows["whose"] == "paper")]
            decided = set(verdicts.summarize(found)["verdict"]) <= {"stands"}
            word = next(iter(_causes(claim)), "undecided") if decided else "undecided"
        table[claim.paper][word] += 1
    return table


def absent(claims: Iterable[Claim], rows, rules):
    """Return the conclusions of the papers that no run judged as the paper's, a row each with its
    `claim`, `conclusion` and `cause`; and the `verdict` of the runs that stand in, on other data or
    settings, "none" if there are none.

    The cause is that of the claim, empty if it has none. A claim with several has the first of
    `CAUSES`, unless the rule says what it `lacks`.
    """
    import pandas as pd

    known = {claim.id: claim for claim in claims}
    theirs = rows[rows["whose"] == "paper"]
    judged = set(zip(theirs["claim"], theirs["conclusion"], strict=True))
    asked = {(rule.claim, rule.asks): rule for rule in rules if rule.whose == "paper"}
    found = []
    for (name, conclusion), rule in asked.items():
        if name not in known or (name, conclusion) in judged:
            continue
        cause = rule.lacks or next(iter(_causes(known[name])), "")
        same = rows[(rows["claim"] == name) & (rows["conclusion"] == conclusion)]
        verdict = "none"
        if len(same):
            (verdict,) = verdicts.summarize(same.assign(whose="own"))["verdict"]
        found.append((name, conclusion, cause, verdict))
    return pd.DataFrame(found, columns=["claim", "conclusion", "cause", "verdict"])


def left(found) -> list[str]:
    """Return how many conclusions of `absent` were not judged for each cause, and what the runs say
    that stand in, in words.
    """
    told = []
    for cause, words in CAUSES.items():
        verdict = found["verdict"][found["cause"] == cause]
        if not len(verdict):
            continue
        beside = verdict[verdict != "none"]
        said = f" (stand-ins: {wording.counts(beside)})" if len(beside) else ""
        told.append(f"{len(verdict)} not judged for want of {words}{said}")
    return told


def stands(claims: Iterable[Claim], rows) -> dict[str, Counter]:
    """Return for each paper how many of its conclusions in `rows` have each verdict, over all data
    sets.
    """
    table: dict[str, Counter] = {claim.paper: Counter() for claim in claims}
    summary = verdicts.summarize(rows[rows["whose"] == "paper"])
    for claim in claims:
        table[claim.paper].update(summary["verdict"][summary["claim"] == claim.id])
    return table
