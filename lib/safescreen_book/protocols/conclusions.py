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
"""

import math

import numpy as np
from scipy import stats

COLUMNS = (
    "claim",
    "dataset",
    "conclusion",
    "place",
    "whose",
    "paper",
    "agrees",
    "ours",
    "low",
    "high",
    "n",
    "rule",
    "verdict",
    "note",
)
"""`agrees` says whether the paper's own value for this data set fulfils the conclusion; `whose`
is "paper", "program" (the paper's, at what its authors' program does instead), or "own".
"""

LEVEL = 0.95


class Conclusions:
    """The conclusions of one run, in the order in which they were judged.

    Parameters
    ----------
    claim : str
        Id in the ledger.
    dataset : str
        What the run is about, one of the items over which the paper counts.
    """

    def __init__(self, claim: str, dataset: str):
        self.claim = claim
        self.dataset = dataset
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
        note: str = "",
    ) -> str:
        """Judge "the mean is above `bound`" by a value of each draw (paired: differences or ratios
        within a draw); return the verdict.

        The interval is Student's, of the logarithms with `log`, as is right for ratios. The
        conclusion stands where the interval is above, does not where it is below, and is undecided
        where the bound is inside, or with fewer than two values.

        Parameters
        ----------
        bound : float
        ours : array
        conclusion, place : str
            The sentence, and where the paper says so.
        paper : float, optional
            The paper's own value for this data set.
        whose : {"paper", "program", "own"}
        log : bool
        note : str
        """
        return self._judge("above", bound, ours, conclusion, place, paper, whose, log, note)

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
        note: str = "",
    ) -> str:
        """Judge "the mean is below `bound`", as :meth:`above`."""
        return self._judge("below", bound, ours, conclusion, place, paper, whose, log, note)

    def _judge(self, side, bound, ours, conclusion, place, paper, whose, log, note) -> str:
        numbers = _sample(ours, bound, log, conclusion)
        mean, low, high = _interval(numbers, log)
        if side == "above":
            stands = low > bound
            fails = high < bound
            agrees = paper > bound
        else:
            stands = high < bound
            fails = low > bound
            agrees = paper < bound
        return self._add(
            conclusion=conclusion,
            place=place,
            whose=whose,
            paper=paper,
            agrees=math.isnan(paper) or bool(agrees),
            ours=mean,
            low=low,
            high=high,
            n=numbers.size,
            rule=f"{LEVEL:.0%} interval {side} {bound:g}",
            verdict=_verdict(stands, fails),
            note=note,
        )

    def fact(
        self, holds: bool, conclusion: str, place: str, *, note: str, whose: str = "paper"
    ) -> str:
        """Note what neither a clock nor a draw decides; return the verdict."""
        numbers = dict.fromkeys(("paper", "ours", "low", "high"), math.nan)
        verdict = "stands" if holds else "does not"
        told = {"conclusion": conclusion, "place": place, "whose": whose, "note": note}
        return self._add(**told, **numbers, agrees=True, n=1, rule="exact", verdict=verdict)

    def frame(self):
        """Return the rows as a pandas.DataFrame with columns `COLUMNS`."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def _add(self, **row) -> str:
        if row["whose"] not in ("paper", "program", "own"):
            raise ValueError(f"whose: expected 'paper', 'program' or 'own', found {row['whose']!r}")
        self._rows.append({"claim": self.claim, "dataset": self.dataset, **row})
        return row["verdict"]


def _sample(ours, bound: float, log: bool, conclusion: str) -> np.ndarray:
    """Return the numbers of the draws, or refuse them."""
    numbers = np.asarray(ours, dtype=float).ravel()
    usable = numbers.size > 0 and np.isfinite(numbers).all()
    if log:
        usable = usable and numbers.min() > 0.0 and bound > 0.0
    if not usable:
        needed = "positive" if log else "finite"
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


def _verdict(stands: bool, fails: bool) -> str:
    if stands:
        return "stands"
    return "does not" if fails else "undecided"
