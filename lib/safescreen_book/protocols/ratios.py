"""Ratios of seconds, one a repeat: what a record keeps of them where the seconds are too many to
keep, and ratios again from that.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np


def kept(ratios) -> dict[str, Any]:
    """Return how many ratios there are, their geometric mean, and the standard deviation of their
    logarithms (NaN of one): all that Student's interval of the logarithms depends on.

    >>> kept([2.0, 2.0])
    {'n': 2, 'ratio': 2.0, 'deviation': 0.0}
    """
    logs = np.log(np.asarray(ratios, dtype=float))
    deviation = float(logs.std(ddof=1)) if logs.size > 1 else np.nan
    return {"n": logs.size, "ratio": float(np.exp(logs.mean())), "deviation": deviation}


def again(row: Mapping[str, Any]) -> np.ndarray:
    """Return as many ratios with the same mean and deviation as :func:`kept` has of them.

    They are not those of the repeats, and only a mean and an interval may be taken of them.

    >>> again(kept([1.0, 4.0])).round(9).tolist()
    [1.0, 4.0]
    """
    logs = np.zeros(int(row["n"]))
    if logs.size > 1:
        step = row["deviation"] * np.sqrt(0.5 * (logs.size - 1))
        logs[0] = -step
        logs[-1] = step
    return row["ratio"] * np.exp(logs)
