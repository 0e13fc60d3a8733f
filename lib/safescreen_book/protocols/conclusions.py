"""Judge conclusions of a paper over draws, and never by one draw of ours: an average of the paper
by the 95 % interval of our mean, one draw of the paper by whether it is among the central 95 % of
our draws. The rules are read from a file, see :mod:`safescreen_book.protocols.judging`.

>>> found = Conclusions("STS19-F9", "segment")
>>> where = {"place": "section 7.2", "log": True}
>>> found.above(1.0, [2.2, 2.5, 2.4], "RRPB makes the path faster", paper=6.4, **where)
'stands'
>>> found.below(1.0, [0.9, 1.2, 0.8], "PGB beside it makes it faster still", paper=0.91, **where)
'undecided'
>>> found.frame()["verdict"].tolist()
['stands', 'undecided']

A finding becomes a sentence, see :mod:`safescreen_book.wording`:

>>> found = Conclusions("STS19-F9", "segment")
>>> words = "RRPB made the path {} times {faster|slower}"
>>> found.faster([2.2, 2.5, 2.4], "RRPB makes the path faster", "section 7.2", found=words)
'stands'
>>> print(*found.sentences(), sep="\\n")
RRPB made the path 2.4 times faster (95 % interval 2.0 to 2.8, 3 draws). Stands.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from safescreen_book import wording

COLUMNS = (
    "claim",
    "dataset",
    "conclusion",
    "found",
    "place",
    "whose",
    "paper",
    "agrees",
    "ours",
    "low",
    "high",
    "n",
    "counted",
    "rule",
    "verdict",
    "note",
)
"""`found` is the finding in words, with a gap for the number (`wording.sentence`). `counted` says
what the `n` values belong to, such as draws. `agrees` says whether the paper's own value for this
data set fulfils the conclusion. `whose` is "paper"; "program" for a conclusion of the paper with
the settings of its authors' program; or "own".
"""

LEVEL = 0.95

FEWEST = 40
"""The fewest draws that have a central part of `LEVEL`: one draw lies beyond it on either side."""

CLOCK = 0.03
"""The part of the bound by which an interval of ratios of seconds has to be beyond it.

Reason: on a busy machine a second run moved such ratios further than the interval of the first run
said. Two of the records that were made again changed their verdicts, and both were within a
hundredth of the bound.
"""


class Conclusions:
    """The conclusions of one run, in the order in which they were judged.

    Parameters
    ----------
    claim : str
        Id in the ledger.
    dataset : str
        The data set of the run, or another item over which the paper counts.
    counted : str
        What each value belongs to: "draws", "repeats" or "splits".
    """

    def __init__(self, claim: str, dataset: str, counted: str = "draws"):
        self.claim = claim
        self.dataset = dataset
        self.counted = counted
        self._rows = []

    def above(
        self,
        bound: float,
        ours,
        conclusion: str,
        place: str,
        *,
        paper=math.nan,
        whose: str = "paper",
        log: bool = False,
        clock: bool = False,
        found: str = "",
        note: str = "",
    ) -> str:
        """Judge "the mean is above `bound`" by a value of each draw (paired: differences or ratios
        within a draw); return the verdict.

        The interval is Student's; with `log`, for ratios, it is that of the logarithms. The
        conclusion stands if the interval is above the bound, and does not stand if it is below. It
        is undecided if the bound is inside of the interval or if there are fewer than two values.
        For ratios of seconds (`clock`) the interval has to be beyond the bound by more than the
        part `CLOCK` of it.

        Parameters
        ----------
        bound : float
        ours : array
        conclusion, place : str
            The sentence, and where the paper says so.
        paper : float, optional
            The paper's own value for this data set.
        whose : {"paper", "program", "own"}
        log, clock : bool
            `clock` includes `log`.
        found : str
            What was found, with ``{}`` for the number, see :mod:`safescreen_book.wording`.
        note : str
        """
        scale = _Scale("above", bound, log or clock, CLOCK if clock else 0.0)
        words = {"conclusion": conclusion, "place": place, "found": found, "note": note}
        return self._judge(scale, ours, paper, whose=whose, **words)

    def faster(self, ours, conclusion: str, place: str, *, bound: float = 1.0, **options) -> str:
        """Judge "the mean ratio of seconds is above `bound`", as :meth:`above` with `clock`."""
        return self.above(bound, ours, conclusion, place, clock=True, **options)

    def below(
        self,
        bound: float,
        ours,
        conclusion: str,
        place: str,
        *,
        paper=math.nan,
        whose: str = "paper",
        log: bool = False,
        clock: bool = False,
        found: str = "",
        note: str = "",
    ) -> str:
        """Judge "the mean is below `bound`", as :meth:`above`."""
        scale = _Scale("below", bound, log or clock, CLOCK if clock else 0.0)
        words = {"conclusion": conclusion, "place": place, "found": found, "note": note}
        return self._judge(scale, ours, paper, whose=whose, **words)

    def _judge(self, scale, ours, paper, **row) -> str:
        numbers = _sample(ours, scale.log, row["conclusion"])
        if scale.log and scale.bound <= 0.0:
            raise ValueError(f"bound: {row['conclusion']}: {scale.bound} has no logarithm")
        mean, low, high = interval(numbers, scale.log)
        return self._add(
            **row,
            paper=paper,
            agrees=math.isnan(paper) or scale.holds(paper),
            ours=mean,
            low=low,
            high=high,
            n=numbers.size,
            rule=scale.rule,
            verdict=scale.verdict(low, high),
        )

    def among(
        self,
        paper: float,
        ours,
        conclusion: str,
        place: str,
        *,
        whose: str = "paper",
        found: str = "",
        note: str = "",
    ) -> str:
        """Judge "the paper's draw is one of ours"; return the verdict.

        The conclusion stands if the paper's number is not beyond the central part `LEVEL` of our
        draws, and does not stand if it is. It is undecided if there are fewer than `FEWEST` draws.

        Parameters
        ----------
        paper : float
            What the paper says of its one draw.
        ours : array
            The same number of each draw of ours.
        conclusion, place, whose, found, note
            As in :meth:`above`.
        """
        numbers = _sample(ours, False, conclusion)
        low, high = central(numbers)
        told = {"conclusion": conclusion, "place": place, "whose": whose, "note": note}
        told |= {"found": found}
        is_among = low <= paper <= high
        verdict = "stands" if is_among else "does not"
        return self._add(
            **told,
            paper=paper,
            agrees=True,
            ours=float(f"{numbers.mean():.6g}"),
            low=low,
            high=high,
            n=numbers.size,
            rule=wording.AMONG,
            verdict="undecided" if math.isnan(low) else verdict,
        )

    def fact(
        self,
        holds: bool,
        conclusion: str,
        place: str,
        *,
        note: str,
        whose: str = "paper",
        found: str = "",
    ) -> str:
        """Judge a fact that is either true or not, without a clock or draws; return the verdict."""
        numbers = dict.fromkeys(("paper", "ours", "low", "high"), math.nan)
        verdict = "stands" if holds else "does not"
        told = {"conclusion": conclusion, "place": place, "whose": whose, "note": note}
        told |= {"found": found}
        return self._add(**told, **numbers, agrees=True, n=1, rule="exact", verdict=verdict)

    def frame(self):
        """Return the rows as a pandas.DataFrame with columns `COLUMNS`."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def sentences(self) -> list[str]:
        """Return one sentence for each conclusion, with its finding."""
        return wording.sentences(self._rows)

    def _add(self, **row) -> str:
        if row["whose"] not in ("paper", "program", "own"):
            raise ValueError(f"whose: expected 'paper', 'program' or 'own', found {row['whose']!r}")
        told = {"claim": self.claim, "dataset": self.dataset, "counted": self.counted}
        self._rows.append(told | row)
        return row["verdict"]


@dataclass(frozen=True)
class _Scale:
    """What a mean is asked for: a side of a bound, and how far beyond it the interval has to be."""

    side: str
    bound: float
    log: bool
    margin: float

    @property
    def rule(self) -> str:
        """The rule in words, as it is kept."""
        beyond = f" by {self.margin:.0%}" if self.margin else ""
        return f"{LEVEL:.0%} interval {self.side} {self.bound:g}{beyond}"

    def holds(self, value: float) -> bool:
        """Whether a number is on the side that is asked for."""
        return bool(value > self.bound if self.side == "above" else value < self.bound)

    def verdict(self, low: float, high: float) -> str:
        """What an interval says; NaN for its ends decides nothing."""
        is_above = low > self.bound * (1.0 + self.margin)
        is_below = high < self.bound / (1.0 + self.margin)
        stands, fails = (is_above, is_below) if self.side == "above" else (is_below, is_above)
        if stands:
            return "stands"
        return "does not" if fails else "undecided"


def _sample(ours, log: bool, conclusion: str) -> np.ndarray:
    """Return the numbers of the draws, or refuse them."""
    numbers = np.asarray(ours, dtype=float).ravel()
    usable = numbers.size > 0 and np.isfinite(numbers).all()
    if log:
        usable = usable and numbers.min() > 0.0
    if not usable:
        needed = "positive" if log else "finite"
        found = numbers.tolist()
        raise ValueError(f"ours: {conclusion}: needs {needed} numbers, found {found}")
    return numbers


def central(numbers: np.ndarray) -> tuple[float, float]:
    """Return between which numbers the central part `LEVEL` of the draws lies, to six digits; NaN
    if there are fewer than `FEWEST`.

    >>> central(np.arange(1, 202))
    (6.0, 196.0)
    """
    if numbers.size < FEWEST:
        return math.nan, math.nan
    beyond = 0.5 * (1.0 - LEVEL)
    low, high = (float(f"{end:.6g}") for end in np.quantile(numbers, [beyond, 1.0 - beyond]))
    return low, high


def interval(numbers: np.ndarray, log: bool) -> tuple[float, float, float]:
    """Return mean and Student's interval to six digits; NaN for the ends if there is one number."""
    values = np.log(numbers) if log else numbers
    half = math.nan
    if values.size > 1:
        half = stats.t.interval(LEVEL, values.size - 1)[1] * stats.sem(values)
    ends = values.mean() + np.array([0.0, -half, half])
    mean, low, high = (float(f"{end:.6g}") for end in (np.exp(ends) if log else ends))
    return mean, low, high
