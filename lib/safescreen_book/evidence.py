"""The evidence of the ledger. Nobody types its numbers: each of them is a reference to the output
of a notebook or a run.

A reference in braces stands for a number, or for the finding of a run:

* ``{problems#1}``: the first number in the printed line of the claim's notebook that has the
  word *problems*; lines of the claim's own cells come first. ``{code: words#1}``: in a line of
  the cell's source. ``{28b-midpoint-gap-bound-at-work: iris#2}``: in another notebook.
* ``{51-path-time/iris: RRPB makes the path faster}``: our number for that conclusion of a
  committed run; ``.low``, ``.high`` or ``.paper`` behind it for the others.
* ``{72-sparse-text/dexter/table_errors: hdsl.error}``: a column, in the row whose first column
  says *hdsl*, of a table of a committed run.

* ``{SSS14-B4: shrinking makes the solver faster}``: the mean ratio over the data sets of the paper,
  ties included, by their logarithms; behind it ``.low`` or ``.high`` for the ends of Student's
  interval over data sets, ``.of`` for how many there are, ``.stands``, ``.fails`` and
  ``.undecided`` for how many have that verdict, and ``.less`` for how many ratios are below 1.

A format may follow, as Python has it: ``{ratio#1|.0%}``. What is typed between backticks is a
formula or a quotation.

>>> printed_number(["45 random problems, 62 % of 3140 terms removed"], "terms removed", 3)
'3140'
>>> typed("45 problems (Theorem 10, section 3.6), {problems#1} of SSS14, `8 L lam^2`")
['45']
>>> typed("five draws of three sets, two balls, a thousand random draws")
['five draws', 'thousand random draws']
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safescreen_book import verdicts, wording
from safescreen_book._common import BookError, inside

_REFERENCE = re.compile(r"\{([^{}|]+)(?:\|([^{}]+))?\}")
_PLACES = re.compile(
    r"\(\d+\)|(?:sections?|[Tt]ables?|[Ff]igures?|[Tt]heorems?|[Ll]emmas?|[Aa]lgorithms?|[Pp]ropositions?"
    r"|[Cc]orollary|[Rr]emarks?|[Aa]ppendix|eqs?\.|[Ee]quations?|formulas?|conditions?|panels?"
    r"|inequality|[Cc]ases?|[Tt]ests?|[Bb]alls?|[Ee]xperiments?|N)"
    r"[ .]?\(?[\dA-Z]+(?:\.\d+)*[a-d]?\)?(?:(?:,| to| and) \(?\d+(?:\.\d+)*\)?)*"
)
_NUMBER = re.compile(r"(?<![\w^.])\d+(?:[ ,]\d{3})*(?!\d)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w^])")
_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|hundred|thousand)"
    r" (?:\w+ )?(?:draws|repeats|splits|runs)\b",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"(?:[A-Z]{3,4}\d\d|NEW)-[\w.]+")
_OVER_SETS = ("low", "high", "of", "stands", "fails", "undecided", "less")
_COLUMNS = ("ours", "low", "high", "paper", "n")


@dataclass
class Sources:
    """The sources of the numbers: the notebooks of a folder, and the records in `outputs/paper`
    beside it.
    """

    folder: Path
    _lines: dict = field(default_factory=dict, repr=False)
    _tables: dict = field(default_factory=dict, repr=False)
    _judged: Any = field(default=None, repr=False)

    def lines(self, notebook: str) -> list[tuple[str, frozenset, str]]:
        """Return the lines of a notebook with the tags of their cells: printed ones as "printed",
        those of its source as "code".
        """
        if notebook not in self._lines:
            from safescreen_book.runner import notebooks

            path = self.folder / f"{notebook}.ipynb"
            if not path.is_file():
                raise BookError(f"there is no notebook {notebook}")
            found = []
            for cell in notebooks.read(path).cells:
                if cell.cell_type == "code":
                    tags = frozenset(cell.metadata.get("tags", ()))
                    found += [("code", tags, line) for line in cell.source.splitlines()]
                    texts = map(_text, cell.outputs)
                    found += [("printed", tags, line) for text in texts for line in text]
            self._lines[notebook] = found
        return self._lines[notebook]

    def table(self, run: str, name: str):
        """Return a table of a committed run, its values as they are written."""
        if (run, name) not in self._tables:
            import pandas as pd

            outputs = self.folder.resolve().parent / "outputs" / "paper"
            path = outputs / run / f"{name}.csv"
            if not path.is_file():
                raise BookError(f"no {name}.csv in outputs/paper/{run}")
            frame = pd.read_csv(inside(path, outputs), dtype=str, keep_default_na=False)
            self._tables[run, name] = frame
        return self._tables[run, name]

    def resolve(self, reference: str, notebook: str, tag: str) -> str:
        """Return what a reference stands for, in the evidence of a claim whose cell has a tag; a
        BookError says why it stands for nothing.
        """
        place, colon, what = reference.partition(": ")
        if colon and "/" in place:
            return self._of_run(place, what)
        if colon and _CLAIM.fullmatch(place):
            return self._over_sets(place, what)
        words, _, number = (what if colon else reference).rpartition("#")
        if not words or not number.isdigit():
            raise BookError("expected WORDS#NUMBER, as in {problems#1}")
        kind = "code" if place == "code" and colon else "printed"
        where = notebook if kind == "code" or not colon else place
        lines = [line for line in self.lines(where) if line[0] == kind and words in line[2]]
        own = [line for _, tags, line in lines if tag in tags and where == notebook]
        return printed_number(own or [line for *_, line in lines], words, int(number))

    def _over_sets(self, claim: str, what: str) -> str:
        from safescreen_book.protocols.judging import NOT_ITS

        if self._judged is None:
            outputs = self.folder.resolve().parent / "outputs" / "paper"
            self._judged = verdicts.committed(outputs)
        words, dot, column = what.rpartition(".")
        if not dot or column not in _OVER_SETS:
            words, column = what, "mean"
        rows = self._judged
        rows = rows[(rows["claim"] == claim) & (rows["conclusion"] == words)]
        rows = rows[(rows["whose"] == "paper") | rows["note"].str.contains(NOT_ITS, regex=False)]
        if rows.empty:
            raise BookError(f"{claim} has no conclusion {words!r} of the paper")
        return str(verdicts.over_sets(rows)[column])

    def _of_run(self, place: str, what: str) -> str:
        run, _, table = place.partition("/")
        name, _, table = table.partition("/")
        run = f"{run}/{name}"
        words, dot, column = what.rpartition(".")
        if table:
            frame = self.table(run, table)
            chosen = frame[frame.iloc[:, 0] == words]
            if len(chosen) != 1 or column not in frame:
                raise BookError(
                    f"{table}.csv of {run} must have one row {words!r} and a column {column!r}, "
                    f"found {len(chosen)} such rows"
                )
            return chosen[column].iloc[0]
        if not dot or column not in _COLUMNS:
            words, column = what, "ours"
        frame = self.table(run, "conclusions")
        chosen = frame[frame["conclusion"].str.contains(words, regex=False)]
        exact = chosen[chosen["conclusion"] == words]
        chosen = exact if len(exact) == 1 else chosen
        if len(chosen) != 1:
            raise BookError(f"one conclusion of {run} must have {words!r}, found {len(chosen)}")
        return chosen[column].iloc[0]


def printed_number(lines: Sequence[str], words: str, number: int) -> str:
    """Return the n-th number, as a text, of the only line that has these words.

    Parameters
    ----------
    lines : sequence of str
        Equal ones count once.
    words : str
    number : int
        From 1 on.
    """
    different = sorted({line for line in lines if words in line})
    if len(different) != 1:
        raise BookError(f"one line must have {words!r}, found {len(different)}")
    found = _NUMBER.findall(different[0].replace("_", ""))
    if not 1 <= number <= len(found):
        raise BookError(f"the line with {words!r} must have {number} numbers, found {len(found)}")
    return found[number - 1]


def render(text: str, sources: Sources, notebook: str, tag: str, *, strict: bool = True) -> str:
    """Return evidence with the numbers in place of its references. For a reference without a number
    a BookError is raised; unless `strict`, the text says that there is no such number.
    """

    def shown(match: re.Match) -> str:
        try:
            value = sources.resolve(match[1], notebook, tag)
            if match[2]:
                return _formatted(value, match[2])
            place = match[1].partition(":")[0]
            if "/" in place:
                return wording.number(float(value), 3)
            if _CLAIM.fullmatch(place) and not value.isdigit():
                return wording.number(float(value), 3)
            return value
        except (LookupError, OSError, ValueError) as error:
            if strict:
                raise BookError(f"evidence {match[0]}: {error}") from error
            return "(no such number)"

    return _REFERENCE.sub(shown, text).replace("`", "")


def headline(text: str) -> str:
    """Return the first sentence of evidence that has a reference to a number, or the first of all.

    >>> headline("It is drawn. It screens {rates#1} of {rates#2}. All is safe")
    'It screens {rates#1} of {rates#2}.'
    >>> headline("It is drawn: nothing is counted")
    'It is drawn: nothing is counted'
    """
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z{])", text)
    return next((each for each in sentences if _REFERENCE.search(each)), sentences[0])


def typed(text: str) -> list[str]:
    """Return the numbers in evidence that somebody typed. The numbers of references, formulas,
    theorems, sections and figures do not count, nor does a single digit unless it is followed by
    per cent. A number in words counts before draws, repeats, splits and runs.
    """
    rest = _PLACES.sub("", re.sub(r"`[^`]*`", "", _REFERENCE.sub("", text)))
    found = list(_NUMBER.finditer(rest))
    digits = [each[0] for each in found if len(each[0]) > 1 or rest[each.end() :].startswith(" %")]
    return digits + [each[0] for each in _WORDS.finditer(rest)]


def wrong(text: str, sources: Sources, notebook: str, tag: str) -> Iterable[str]:
    """Yield a sentence for each typed number and for each reference without a number."""
    if numbers := typed(text):
        yield f"evidence has typed numbers: {', '.join(numbers)}"
    for match in _REFERENCE.finditer(text):
        try:
            render(match[0], sources, notebook, tag)
        except BookError as error:
            yield str(error)


def _formatted(value: str, spec: str) -> str:
    text = format(float(value.replace(",", "").replace(" ", "")), spec)
    return text.replace("%", " %")


def _text(output) -> list[str]:
    """Return the printed lines of an output of a cell."""
    if output.output_type == "stream":
        return output.text.splitlines()
    return output.get("data", {}).get("text/plain", "").splitlines()
