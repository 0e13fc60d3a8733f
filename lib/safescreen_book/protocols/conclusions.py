"""Conclusions of a paper, judged by rules that are written before the run: by a 95 % interval over
draws, and never by one draw.

>>> found = Conclusions("STS19-F9", "segment")
>>> where = {"place": "section 7.2", "log": True}
>>> found.above(1.0, [2.2, 2.5, 2.4], "RRPB makes the path faster", paper=6.4, **where)
'stands'
>>> found.below(1.0, [0.9, 1.2, 0.8], "PGB beside it makes it faster still", paper=0.91, **where)
'undecided'
>>> found.frame()["verdict"].tolist()
['stands', 'undecided']

What was found is said in a sentence, see :mod:`safescreen_book.wording`:

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
"""`found` is what was found, in words, with a gap for the number (`wording.sentence`); `counted` is
what the `n` values are of, draws or repeats; `agrees` says whether the paper's own value for this
data set fulfils the conclusion; `whose` is "paper", "program" (the paper's, at what its authors'
program does instead), or "own".
"""

LEVEL = 0.95

CLOCK = 0.03
"""What an interval of ratios of seconds has to be beyond its bound, as a part of it.

A second run on a busy machine moved such ratios further than the interval of the first one said:
two of the records that were made again changed their verdicts, both within a hundredth of the
bound.
"""


class Conclusions:
    """The conclusions of one run, in the order in which they were judged.

    Parameters
    ----------
    claim : str
        Id in the ledger.
    dataset : str
        What the run is about, one of the items over which the paper counts.
    counted : str
        What the values are of: "draws", "repeats", "splits".
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

        The interval is Student's, of the logarithms with `log`, as is right for ratios. The
        conclusion stands where the interval is above, does not where it is below, and is undecided
        where the bound is inside, or with fewer than two values. Ratios of seconds, `clock`, have
        to be beyond the bound by more than `CLOCK` of it.

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
        numbers = _sample(ours, scale, row["conclusion"])
        mean, low, high = _interval(numbers, scale.log)
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
        """Note what neither a clock nor a draw decides; return the verdict."""
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
        """Return what was found, a sentence a conclusion."""
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


def _sample(ours, scale: _Scale, conclusion: str) -> np.ndarray:
    """Return the numbers of the draws, or refuse them."""
    numbers = np.asarray(ours, dtype=float).ravel()
    usable = numbers.size > 0 and np.isfinite(numbers).all()
    if scale.log:
        usable = usable and numbers.min() > 0.0 and scale.bound > 0.0
    if not usable:
        needed = "positive" if scale.log else "finite"
        found = numbers.tolist()
        raise ValueError(f"ours: {conclusion}: needs {needed} numbers, found {found}")
    return numbers


def _interval(numbers: np.ndarray, log: bool) -> tuple[float, float, float]:
    """Return mean and Student's interval to six digits; NaN for the ends if there is one number."""
    values = np.log(numbers) if log else numbers
    half = math.nan
    if values.size > 1:
        half = stats.t.interval(LEVEL, values.size - 1)[1] * stats.sem(values)
    ends = values.mean() + np.array([0.0, -half, half])
    mean, low, high = (float(f"{end:.6g}") for end in (np.exp(ends) if log else ends))
    return mean, low, high
