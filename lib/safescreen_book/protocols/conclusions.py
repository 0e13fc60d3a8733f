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
        self.claim, self.dataset, self._rows = claim, dataset, []

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
        return self._judge(1.0, bound, ours, conclusion, place, paper, whose, log, note)

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
        return self._judge(-1.0, bound, ours, conclusion, place, paper, whose, log, note)

    def fact(
        self, holds: bool, conclusion: str, place: str, *, note: str, whose: str = "paper"
    ) -> str:
        """Note what neither a clock nor a draw decides; return the verdict."""
        nan = math.nan
        return self._add(
            conclusion,
            place,
            whose,
            nan,
            True,
            nan,
            nan,
            nan,
            1,
            "exact",
            "stands" if holds else "does not",
            note,
        )

    def frame(self):
        """Return the rows as a pandas.DataFrame with columns `COLUMNS`."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def _judge(self, sign, bound, ours, conclusion, place, paper, whose, log, note):
        values = np.asarray(ours, dtype=float).ravel()
        if (
            values.size == 0
            or not np.isfinite(values).all()
            or (log and not (values.min() > 0.0 and bound > 0.0))
        ):
            raise ValueError(
                f"ours: {conclusion}: needs {'positive' if log else 'finite'} numbers, "
                f"found {values.tolist()}"
            )
        values = np.log(values) if log else values
        half = math.nan
        if values.size > 1:
            half = (
                stats.t.ppf(0.5 + 0.5 * LEVEL, values.size - 1)
                * values.std(ddof=1)
                / math.sqrt(values.size)
            )
        mean = float(values.mean())
        mean, low, high = (
            float(f"{math.exp(value) if log else value:.6g}")
            for value in (mean, mean - half, mean + half)
        )
        ends = (low, high) if sign > 0.0 else (-high, -low)
        verdict = (
            "stands"
            if ends[0] > sign * bound
            else "does not"
            if ends[1] < sign * bound
            else "undecided"
        )
        rule = f"{LEVEL:.0%} interval {'above' if sign > 0.0 else 'below'} {bound:g}"
        agrees = math.isnan(paper) or bool(sign * paper > sign * bound)
        return self._add(
            conclusion,
            place,
            whose,
            paper,
            agrees,
            mean,
            low,
            high,
            values.size,
            rule,
            verdict,
            note,
        )

    def _add(self, conclusion, place, whose, *rest):
        if whose not in ("paper", "program", "own"):
            raise ValueError(f"whose: expected 'paper', 'program' or 'own', found {whose!r}")
        self._rows.append((self.claim, self.dataset, conclusion, place, whose, *rest))
        return rest[-2]
