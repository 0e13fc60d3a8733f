"""Conclusions in words: the finding, the question, and how many stand. Notebooks, ledger, terminal
and pages take their sentences from here.

>>> row = {"conclusion": "RRPB makes the path faster", "whose": "paper", "agrees": True}
>>> row |= {"found": "RRPB made the path {} times {faster|slower}", "counted": "draws", "n": 5}
>>> row |= {"paper": 5.5, "ours": 3.0, "low": 1.1, "high": 8.5, "verdict": "stands", "note": ""}
>>> row |= {"rule": "95% interval above 1"}
>>> print(sentence(row).replace("; ", ";\\n"))
RRPB made the path 3.0 times faster (95 % interval 1.1 to 8.5, 5 draws);
the paper: 5.5 times. Stands.
>>> sentence(row | {"paper": 76.0}).rpartition("; the paper")[2]
': 76 times. The direction stands; the size was not asked.'
>>> sentence(row | {"low": 0.8, "verdict": "undecided", "n": 2}).partition("; ")[2]
'the paper: 5.5 times. Undecided at this size.'
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

VERDICTS = ("stands", "does not", "undecided")

WHOSE = {
    "paper": "the paper's conclusion",
    "program": "the paper's conclusion, at the stop of its authors' program",
    "beside": (
        "the paper's conclusion, on other data or settings, or where the paper's own number does "
        "not show it, which is not counted"
    ),
    "own": "our own question, which is not counted among the paper's conclusions",
}
"""Whose a conclusion is, in words."""

FEW = 3
"""With this number of draws or fewer a conclusion is undecided because the run is small."""

AMONG = "the paper's draw is among the central 95% of ours"
"""The rule that judges one draw of a paper, as it is kept."""

_OF_ONE = {"experiments": "experiment", "stand": "stands", "do": "does", "differ": "differs"}
_OF_ONE |= {"rows": "row", "agree": "agrees", "runs": "run"}
"""Words of several things, as they are said of one."""

_NUMBER = re.compile(r"\{\}( times| points| %|)")
_PAIR = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")


def sentence(row: Mapping[str, Any]) -> str:
    """Return the finding on a conclusion: our number with its interval, the paper's number, and the
    verdict.

    Parameters
    ----------
    row : mapping
        A row of `Conclusions.frame()`. Its `found` is a sentence with ``{}`` in place of the
        number. A pair such as ``{faster|slower}`` stands for the word that fits the sign of the
        result. For a ratio below 1 that is the second word, and the number is the inverse ratio.

    Returns
    -------
    str
    """
    if _is_of_one_draw(row):
        return f"{_among(row)} {_verdict(row)}"
    if _is_number(row["ours"]):
        return f"{_measured(row)} {_verdict(row)}"
    text, note = _fact(row)
    return f"{text}{note}. {_verdict(row)}"


def headline(row: Mapping[str, Any]) -> str:
    """Return the finding on a conclusion in one short sentence: our number and the paper's, without
    the interval and the verdict.

    >>> row = {"found": "RRPB made the path {} times {faster|slower}", "rule": "above 1"}
    >>> headline(row | {"paper": 5.5, "ours": 3.0, "low": 1.1, "high": 8.5, "n": 5})
    'RRPB made the path 3.0 times faster; the paper: 5.5 times.'
    """
    if _is_of_one_draw(row):
        return _among(row)
    if _is_number(row["ours"]):
        return _measured(row, spread=False)
    text, note = _fact(row)
    return f"{text}{note}."


def sentences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each row, with its finding. If the rows are on several data sets, each
    begins with its own.
    """
    rows = list(rows)
    several = len({row["dataset"] for row in rows}) > 1
    return [f"{row['dataset']}: " * several + sentence(row) for row in rows]


def question(row: Mapping[str, Any]) -> str:
    """Return the question, whose conclusion it is, and the rule that judged it.

    >>> row = {"conclusion": "RRPB pays", "claim": "STS19-F9", "place": "section 7.2"}
    >>> row |= {"whose": "paper", "rule": "95% interval above 1", "note": "RRPB over none", "n": 3}
    >>> print(question(row | {"ours": 1.2}).replace(". ", ".\\n"))
    Asked: does it hold that RRPB pays? It is the paper's conclusion (STS19-F9, section 7.2).
    Rule: it stands if the 95 % interval of the mean is above 1.
    Note: RRPB over none.
    """
    where = ", ".join(part for part in (row["claim"], row["place"]) if part and part != "-")
    whose = WHOSE[row["whose"]] + (f" ({where})" if where else "")
    asked = f"Asked: does it hold that {row['conclusion']}? It is {whose}. "
    asked += f"Rule: {_rule(row['rule'])}."
    # the sentence on what is no number has the note already
    note = _note(row)
    return asked + (f" Note: {note}." if note and _is_number(row["ours"]) else "")


def counts(verdicts: Iterable[str]) -> str:
    """Return how many conclusions have each verdict.

    >>> counts(["stands", "undecided", "stands"])
    '2 stand, 1 undecided'
    """
    verdicts = list(verdicts)
    numbers = [verdicts.count(word) for word in VERDICTS]
    words = ("stand", "do not", "undecided")
    told = [numbered(count, word) for count, word in zip(numbers, words, strict=True) if count]
    return ", ".join(told) or "none"


def numbered(number: int, words: str) -> str:
    """Return words for several things, or for one, with their number.

    >>> numbered(1, "experiments reproduced"), numbered(1, "rows agree"), numbered(2, "differ")
    ('1 experiment reproduced', '1 row agrees', '2 differ')
    """
    if number == 1:
        words = " ".join(_OF_ONE.get(word, word) for word in words.split(" "))
    return f"{number} {words}"


def number(value: float, digits: int = 2) -> str:
    """Return a number to so many significant digits, without an exponent where that is short.

    >>> [number(value) for value in (3.0, 0.0471, 1234.5, 2.1e-7, -0.5)]
    ['3.0', '0.047', '1,234', '2.1e-07', '-0.50']
    """
    if value == 0.0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def paired(template: str, first: bool) -> str:
    """Return a sentence with the first or the second word of each pair.

    >>> paired("All balls {gave|did not give} the same optimum", False)
    'All balls did not give the same optimum'
    """
    return _PAIR.sub(lambda found: found[1 if first else 2], template)


def _note(row) -> str:
    """Return the note on a finding; records hold some that were written in other words."""
    new = r"; \1 solves did not reach the gap asked for"
    return re.sub(r", short of the gap in (\d+ of \d+) solves", new, _words(row["note"]))


def _fact(row) -> tuple[str, str]:
    """Return what was found where there is no number, and the note on it in brackets."""
    note = f" ({_note(row)})" if _note(row) else ""
    return _words(row["found"]) or f"{_capital(row['conclusion'])}: {_yes(row['verdict'])}", note


def _is_of_one_draw(row) -> bool:
    """Whether a conclusion is about one draw of the paper."""
    return row["rule"] == AMONG


def _among(row) -> str:
    """Return the sentence that says where the paper's draw lies among ours.

    >>> row = {"found": "{} % of the samples", "paper": 80.0, "ours": 78.7291, "low": 76.3}
    >>> print(_among(row | {"high": 81.2, "n": 1000, "counted": "draws"}).replace(", ", ",\\n"))
    The paper's draw,
    80 % of the samples,
    lies within what 95 % of 1,000 draws gave,
    76.3 to 81.2 %; their mean is 78.7 %.
    """
    paper, mean, low, high = (_float(row[name]) for name in ("paper", "ours", "low", "high"))
    unit = _NUMBER.search(row["found"])[1]
    theirs = row["found"].replace("{}", f"{paper:,g}", 1)
    n, counted = int(row["n"]), _words(row["counted"]) or "draws"
    if math.isnan(low):
        return f"The paper's draw: {theirs}; the mean of {n} {counted} is {_short(mean)}{unit}."
    lies = "lies within" if low <= paper <= high else "lies outside"
    ends = f"{_short(low)} to {_short(high)}{unit}"
    said = f"The paper's draw, {theirs}, {lies} what 95 % of {n:,} {counted} gave, {ends}"
    return f"{said}; their mean is {_short(mean)}{unit}."


def _short(value: float) -> str:
    """Return a number to three digits, a whole one without a fraction."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _measured(row, *, spread: bool = True) -> str:
    """Return the sentence with our number, the interval in brackets, and the paper's number."""
    template = _words(row["found"]) or f"{_capital(row['conclusion'])}: {{}}"
    is_ratio = " times {" in template
    pair = _PAIR.search(template)
    value, low, high, paper = (_float(row[name]) for name in ("ours", "low", "high", "paper"))
    neutral = 1.0 if is_ratio else 0.0
    turned = pair is not None and value < neutral
    if turned:
        value, low, high = _turn(value, is_ratio), _turn(high, is_ratio), _turn(low, is_ratio)
        paper = _turn(paper, is_ratio)
    bound = _bound(row["rule"], turned, is_ratio)
    digits = _digits(value, low, high, bound)
    unit = _NUMBER.search(template)[1]
    text = paired(template, not turned).replace("{}", number(value, digits), 1)
    if spread:
        text += f" ({_spread(row, low, high, digits)})"
    if not math.isnan(paper):
        word = ""
        if pair is not None and paper < neutral:  # the paper's is on the other side than ours
            paper = _turn(paper, is_ratio)
            word = f" {pair[1 if turned else 2]}"
        text += f"; the paper: {number(paper, _digits_off(paper))}{unit}{word}"
    return text + "."


def _spread(row, low: float, high: float, digits: int) -> str:
    counted = _words(row["counted"]) or "draws"
    if math.isnan(low):
        return f"one {counted.removesuffix('s')}, no interval"
    return f"95 % interval {number(low, digits)} to {number(high, digits)}, {row['n']} {counted}"


def _digits(value: float, low: float, high: float, bound: float) -> int:
    """Return how many digits tell the ends of an interval from one another and from the bound."""
    if high - low <= 1e-9 * abs(value):
        return _digits_off(value)
    for digits in range(2, 6):
        texts = [number(end, digits) for end in (low, high)]
        if math.isnan(low) or len({*texts, number(bound, digits)}) == 3:
            return _digits_off(value, digits)
    return 6


def _digits_off(value: float, digits: int = 2) -> int:
    """Return how many digits tell a number that is not 1 from 1, from so many on."""
    while digits < 5 and value != 1.0 and number(value, digits).rstrip("0") == "1.":
        digits += 1
    return digits


def _bound(rule: str, turned: bool, is_ratio: bool) -> float:
    found = re.search(r"(?:above|below) (\S+)", rule)
    if found is None:
        return math.nan
    bound = float(found[1])
    return _turn(bound, is_ratio) if turned and (bound > 0.0 or not is_ratio) else bound


def _turn(value: float, is_ratio: bool) -> float:
    return 1.0 / value if is_ratio else -value


def _verdict(row) -> str:
    if row["verdict"] == "undecided":
        if int(row["n"]) == 1:
            return (
                f"Undecided: one {(row['counted'] or 'draws').removesuffix('s')} decides nothing."
            )
        is_small = int(row["n"]) <= FEW or _is_of_one_draw(row)
        return "Undecided at this size." if is_small else "Undecided."
    stands = row["verdict"] == "stands"
    if not row["agrees"] or str(row["agrees"]) == "False":
        if stands:
            return "Stands, although the paper's own number for these data says otherwise."
        return "Does not stand, as in the paper's own number for these data."
    if stands and _asks_direction(row):
        return "The direction stands; the size was not asked."
    return "Stands." if stands else "Does not stand."


def _asks_direction(row) -> bool:
    """Whether a ratio was judged to be on one side of 1, and the paper's is not within its
    interval.
    """
    paper, low, high = (_float(row[name]) for name in ("paper", "low", "high"))
    asked = re.search(r"(?:above|below) 1(?: by|$)", row["rule"]) is not None
    return asked and (paper < low or paper > high)


def _rule(rule: str) -> str:
    if rule == AMONG:
        return "it stands if " + rule.replace("%", " %")
    if rule == "exact":
        return "an exact criterion, which neither a clock nor a draw decides"
    level, _, rest = rule.partition(" interval ")
    bound, _, margin = rest.partition(" by ")
    text = f"it stands if the {level.replace('%', ' %')} interval of the mean is {bound}"
    if margin:
        text += f" by more than {margin.replace('%', ' %')}, since a busy machine can move a ratio"
        text += " of seconds that far"
    return text


def _yes(verdict: str) -> str:
    return "yes" if verdict == "stands" else "no"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_number(value) -> bool:
    return not math.isnan(_float(value))


def _float(value) -> float:
    """Return a number, NaN of what a table leaves empty."""
    return math.nan if value in ("", None) else float(value)


def _words(value) -> str:
    """Return a text, the empty one of what a table leaves empty."""
    return value if isinstance(value, str) else ""
