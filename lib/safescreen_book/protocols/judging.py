"""Judge the rows of a run by the rules of `notebooks/conclusions.yml`. A notebook computes values,
one a draw, and this is the one place that compares them with a bound.

>>> seconds = {"none": [3.0, 3.1, 2.9], "GB": [2.0, 2.2, 1.9], "MGB": [1.0, 1.1, 0.9]}
>>> found = judge("51-path-time", "breast-cancer", {"seconds": seconds}, whose="own")
>>> print(*wording.sentences(found.to_dict("records")), sep="\\n")
MGB made the path 3.0 times faster (95 % interval 2.5 to 3.6, 3 draws). Stands.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from safescreen_book import places, wording
from safescreen_book._common import BookError, mapping, read_yaml, unknown
from safescreen_book.protocols.conclusions import CLOCK, Conclusions

FILE = "conclusions.yml"
KINDS = ("ratio", "difference", "value", "fact")
NOT_ITS = "in the paper, so that it is none of its conclusions"
"""How a note ends on a data set whose number in the paper does not show the conclusion: "a tie in
the paper, ...", or "otherwise in the paper, ..."."""
CHANGED = ("what", "why", "verdict", "commit")


@dataclass(frozen=True)
class Rule:
    """A conclusion, and how rows judge it.

    Exactly one of `ratio`, `difference`, `value` and `fact` says what is compared. A ratio or a
    difference is of two methods within a draw, by their numbers in the table `of`. In place of a
    method ``{smallest: [...]}`` or ``{largest: [...]}`` stands for one of several, the same in
    all draws.

    Attributes
    ----------
    id, claim, asks : str
        The name of the rule, the claim it belongs to, and the conclusion.
    needs : tuple of str
        Methods without which a run is not asked.
    whose, place : str
        "paper", with the place where the paper says so, or "own".
    since : str
        The version that first had the rule, and the commit.
    above, below : float or str
        The bound. ``paper`` is the paper's own value, and ``$name`` is a word of the notebook.
    draw : float
        In place of a bound, what the paper says of its one draw.
    slack : float
        By how much the bound is below the paper's value.
    log, clock : bool
        Whether the interval is that of logarithms; and whether it has to be beyond the bound by
        `conclusions.CLOCK`, because the values are ratios of seconds.
    found, note : str
        The result in words, see `wording.sentence`. ``$first`` and ``$second`` are the methods.
    paper : str or mapping
        Where the paper's numbers are printed, a table under `printed`; or its value for each data
        set; or "not printed".
    settings : str
        Which settings of a run have to be the paper's, where a notebook tells them apart.
    lacks : str
        For want of what no run has judged it, where its claim has several causes
        (`ledger.CAUSES`) and the first is not meant.
    changed : tuple of mapping
        What was changed after a run: what, why, the verdict before and after, and the commit.
    """

    notebook: str
    id: str
    claim: str
    asks: str
    whose: str
    since: str
    place: str = "-"
    ratio: tuple = ()
    difference: tuple = ()
    value: str = ""
    fact: str = ""
    needs: tuple = ()
    of: str = "values"
    above: float | str | None = None
    below: float | str | None = None
    draw: float | None = None
    slack: float = 0.0
    log: bool = False
    clock: bool = False
    found: str = ""
    note: str = ""
    paper: Any = "not printed"
    settings: str = ""
    lacks: str = ""
    changed: tuple = ()

    def __post_init__(self):
        kinds = [kind for kind in KINDS if getattr(self, kind)]
        if len(kinds) != 1:
            raise BookError(f"expected one of {', '.join(KINDS)}, found {kinds}")
        bounds = [key for key in ("above", "below", "draw") if getattr(self, key) is not None]
        if len(bounds) != (not self.fact):
            raise BookError("expected one of above, below and draw, and none for a fact")
        if self.whose not in ("paper", "own"):
            raise BookError(f"whose: expected 'paper' or 'own', found {self.whose!r}")
        if self.whose == "paper" and self.place == "-":
            raise BookError("a conclusion of the paper needs its place")
        if "$" in self.asks:
            raise BookError(f"asks: {self.asks!r} must not depend on the run")
        for change in self.changed:
            if set(change) != set(CHANGED):
                raise BookError(f"changed: expected {', '.join(CHANGED)}, found {sorted(change)}")


@dataclass(frozen=True)
class Rules:
    """The file `conclusions.yml`.

    Attributes
    ----------
    rules : tuple of Rule
    printed : mapping
        The papers' numbers: by table, column, data set and method.
    counted, names : mapping
        For each notebook, what its values belong to, and what its methods are called in words.
    changed : tuple of mapping
        What was changed after a run in all rules: as `Rule.changed`, and `which` rules.
    headlines : mapping
        For each table or figure of a paper the `rule` that its headline tells, and where the first
        one is not meant, the `run` and the `figure`.
    """

    rules: tuple[Rule, ...]
    printed: Mapping[str, Mapping]
    counted: Mapping[str, str]
    names: Mapping[str, Mapping[str, str]]
    changed: tuple[Mapping[str, str], ...] = ()
    headlines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, notebook: str) -> tuple[Rule, ...]:
        """Return the rules of a notebook, in their order."""
        found = tuple(rule for rule in self.rules if rule.notebook == notebook)
        if not found:
            raise BookError(f"{FILE}: " + unknown("notebook", notebook, self.counted))
        return found

    def headline(self, claim: str) -> Rule | None:
        """Return the rule that the headline of a table or figure tells, None if there is none."""
        wanted = self.headlines.get(claim, {}).get("rule")
        return next((rule for rule in self.rules if rule.id == wanted), None)

    def whose(self, row: Mapping[str, Any]) -> str:
        """Return whose the conclusion of a row is, a key of `wording.WHOSE`: "beside" where a
        conclusion of the paper was judged and is not counted.
        """
        rule = self.named(row["claim"], row["conclusion"])
        is_beside = row["whose"] == "own" and rule is not None and rule.whose == "paper"
        return "beside" if is_beside else row["whose"]

    def named(self, claim: str, asks: str) -> Rule | None:
        """Return the rule of a conclusion, None if there is no such rule."""
        return next((rule for rule in self.rules if (rule.claim, rule.asks) == (claim, asks)), None)


def load(folder: Path | None = None) -> Rules:
    """Read `conclusions.yml` of a folder of notebooks; a BookError names a rule with a mistake."""
    return _load(Path(folder or places.notebooks_folder()).resolve())


@cache
def _load(folder: Path) -> Rules:
    content = read_yaml(folder / FILE)
    printed = mapping(content.pop("printed", {}), f"{FILE}: printed")
    changed = tuple(content.pop("changed", ()))
    headlines = mapping(content.pop("headlines", {}), f"{FILE}: headlines")
    rules, counted, names = [], {}, {}
    for notebook, entry in content.items():
        entry = mapping(entry, f"{FILE}, {notebook}")
        counted[notebook] = entry.get("counted", "draws")
        names[notebook] = entry.get("names", {})
        for raw in entry["rules"]:
            rules += [
                _rule(notebook, one) for one in _expanded(mapping(raw, f"{FILE}, {notebook}"))
            ]
    ids = [rule.id for rule in rules]
    twins = sorted({name for name in ids if ids.count(name) > 1})
    if twins:
        raise BookError(f"{FILE}: these ids occur twice: {', '.join(twins)}")
    for claim, told in headlines.items():
        found = [rule for rule in rules if rule.id == told.get("rule")]
        if not found or found[0].claim != claim:
            raise BookError(
                f"{FILE}, headlines, {claim}: no rule of it is called {told.get('rule')!r}"
            )
        if found[0].whose != "paper":
            raise BookError(f"{FILE}, headlines, {claim}: {told['rule']} is a question of ours")
    return Rules(tuple(rules), printed, counted, names, changed, headlines)


def _expanded(raw: dict) -> list[dict]:
    """Return the entries that an entry with `each`, a list of words, stands for."""
    each = raw.pop("each", [{}])
    return [_filled(raw, words) for words in each]


def _rule(notebook: str, raw: dict) -> Rule:
    where = f"{FILE}, {raw.get('id', notebook)}"
    known = {field.name for field in fields(Rule)} - {"notebook"}
    for key in raw:
        if key not in known:
            raise BookError(f"{where}: " + unknown("key", key, known))
    lists = ("ratio", "difference", "changed", "needs")
    lists = {key: tuple(raw[key]) for key in lists if key in raw}
    try:
        return Rule(notebook, **{**raw, **lists})
    except (BookError, TypeError) as error:
        raise BookError(f"{where}: {error}") from None


def told(rows) -> dict[str, tuple[bool, str]]:
    """Return facts from rows with the columns `fact`, `holds` and `note`."""
    rows = rows.fillna({"note": ""})
    return {row["fact"]: (bool(row["holds"]), row["note"]) for row in rows.to_dict("records")}


def judge(
    notebook: str,
    dataset: str,
    tables: Mapping[str, Mapping],
    *,
    facts: Mapping[str, tuple[bool, str]] | None = None,
    whose: str | Mapping[str, str] = "paper",
    words: Mapping[str, Any] | None = None,
    chosen: Mapping[tuple, str] | None = None,
    about: Callable[[str, str], Mapping[str, str]] | None = None,
    claims: tuple[str, ...] = (),
    counted: str = "",
):
    """Return the conclusions of a run, a pandas.DataFrame with the columns `conclusions.COLUMNS`.

    A rule for which the run has no values is left out. A conclusion of the paper is our own where
    the run has not the paper's settings (`whose`). It is also our own on a data set whose number in
    the paper does not show it (`against`).

    Parameters
    ----------
    notebook, dataset : str
        Whose rules, and what the run was on, as the rows are to name it.
    tables : mapping
        By name, the values: of each method, or of each measure in the table "values", one number a
        draw. Where only ratios are kept, a pair of methods stands in place of a method.
    facts : mapping, optional
        By name, whether it holds, and a note.
    whose : str or mapping
        What the settings of the run make of a conclusion of the paper: "paper", "program" or "own";
        or this for each of the `settings` that rules name.
    words : mapping, optional
        What ``$name`` stands for in rules.
    chosen : mapping, optional
        By several methods, which of them is the smallest, where the tables do not tell.
    about : callable, optional
        A function of the two methods that returns what is special to them: `whose`, or a `note`.
    claims : tuple of str, optional
        Only rules of these claims.
    counted : str, optional
        What a value of this run belongs to, if it is not what it says for the notebook.
    """
    import pandas as pd

    rules = load()
    words = dict(words or {})
    frames = [Conclusions("-", dataset).frame()[:0]]
    for rule in rules.of(notebook):
        if claims and rule.claim not in claims:
            continue
        found = Conclusions(rule.claim, dataset, counted or rules.counted[notebook])
        if rule.fact:
            if rule.fact in (facts or {}):
                _fact(found, rule, facts[rule.fact], _owner(rule, whose), words)
        elif pair := _names(rule, tables.get(rule.of, {}), words, chosen):
            values = _values(rule, tables[rule.of], pair)
            theirs = _printed(rule, rules.printed, dataset, words)
            names = {key: rules.names[notebook].get(name, name) for key, name in pair.items()}
            more = dict(about(*pair.values())) if about and len(pair) == 2 else {}
            owner = "own" if rule.whose == "own" else more.pop("whose", _owner(rule, whose))
            _number(found, rule, values, theirs, owner, {**words, **names, **more})
        frames.append(found.frame())
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def against(paper: float, bound: float, side: str, margin: float, log: bool) -> str:
    """Return what a paper's value is where it does not show that values are above or below a bound:
    "a tie" if an interval as narrow as a point would decide nothing, or "otherwise".

    >>> [against(value, 1.0, "above", 0.03, True) for value in (1.2, 1.003, 0.9, math.nan)]
    ['', 'a tie', 'otherwise', '']
    """
    if math.isnan(paper):
        return ""
    if abs(math.log(paper / bound)) <= math.log1p(margin) if log else paper == bound:
        return "a tie"
    return "" if (paper > bound) == (side == "above") else "otherwise"


def _fact(found, rule, fact, whose, words) -> None:
    holds, note = fact
    text = wording.paired(Template(rule.found).safe_substitute(words), holds)
    note = Template(rule.note).safe_substitute(words) or note
    found.fact(bool(holds), rule.asks, rule.place, note=note, whose=whose, found=text)


def _number(found, rule, values, theirs, whose, words) -> None:
    """Judge numbers, one a draw; skip the rule if its bound is a number that the paper lacks."""
    if rule.draw is not None:
        text = Template(rule.found).safe_substitute(words)
        note = Template(rule.note).safe_substitute(words)
        found.among(rule.draw, values, rule.asks, rule.place, whose=whose, found=text, note=note)
        return
    side = "above" if rule.above is not None else "below"
    bound = getattr(rule, side)
    if bound == "paper":
        bound, words = theirs - rule.slack, {**words, "paper": wording.number(theirs)}
        theirs = math.nan
    elif isinstance(bound, str):
        bound = float(Template(bound).substitute(words))
    if math.isnan(bound):
        return
    log = rule.log or rule.clock
    notes = [Template(rule.note).safe_substitute(words), words.get("note", "")]
    margin = CLOCK if rule.clock else 0.0
    if whose != "own" and (shown := against(theirs, bound, side, margin, log)):
        whose = "own"
        notes.append(f"{shown} {NOT_ITS}")
    text = Template(rule.found).safe_substitute(words)
    if rule.found.startswith("$"):
        text = text[:1].upper() + text[1:]
    options = {"log": log, "clock": rule.clock, "whose": whose, "paper": theirs}
    options |= {"found": text, "note": "; ".join(filter(None, notes))}
    getattr(found, side)(bound, values, rule.asks, rule.place, **options)


def _owner(rule: Rule, whose) -> str:
    if rule.whose == "own":
        return "own"
    return whose if isinstance(whose, str) else whose[rule.settings]


def _names(rule: Rule, table, words, chosen) -> dict[str, str]:
    """Return the methods that are compared, by ``first`` and ``second``; nothing if one of them is
    not in the table.
    """
    found = {}
    known = {name for key in table for name in (key if isinstance(key, tuple) else (key,))}
    compared = _filled(rule.ratio or rule.difference or (rule.value,), words)
    for place, name in zip(("first", "second"), compared, strict=False):
        if isinstance(name, str):
            found[place] = name
            continue
        ((extreme, several),) = name.items()
        several = [one for one in several if one in known]
        if not several:
            return {}
        found[place] = (chosen or {}).get(tuple(several)) or _extreme(extreme, several, table)
    return found if known.issuperset([*found.values(), *rule.needs]) else {}


def _extreme(extreme: str, several, table) -> str:
    """Return the method with the smallest or the largest mean, that of logarithms of positive
    values.
    """
    if len(several) == 1:
        return several[0]
    values = {name: np.asarray(table[name], dtype=float) for name in several}
    positive = all((one > 0.0).all() for one in values.values())
    means = {name: np.mean(np.log(one) if positive else one) for name, one in values.items()}
    return {"smallest": min, "largest": max}[extreme](means, key=means.get)


def _values(rule: Rule, table, names: Mapping[str, str]):
    names = tuple(names.values())
    if len(names) == 1:
        return np.asarray(table[names[0]], dtype=float)
    if names in table:
        return np.asarray(table[names], dtype=float)
    a, b = (np.asarray(table[name], dtype=float) for name in names)
    return a / b if rule.ratio else a - b


def _printed(rule: Rule, printed, dataset: str, words) -> float:
    """Return the paper's value for a data set: as it is listed, or by the same rule from the
    numbers that the paper prints; NaN if there is none.
    """
    if isinstance(rule.paper, Mapping):
        return float(rule.paper.get(dataset, math.nan))
    if rule.paper == "not printed":
        return math.nan
    row = printed[rule.paper][rule.of].get(dataset, {})
    pair = _names(rule, row, words, None)
    return float(_values(rule, row, pair)) if pair else math.nan


def _filled(value, words):
    """Return texts, in lists and mappings too, with words in place of ``$name``; a text that is
    nothing else becomes the word itself, which may be a list.
    """
    if isinstance(value, str):
        if value[:1] == "$" and isinstance(words.get(value[1:]), list | float):
            return words[value[1:]]
        return Template(value).safe_substitute(words)
    if isinstance(value, Mapping):
        return {key: _filled(one, words) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(one, words) for one in value]
    return value
