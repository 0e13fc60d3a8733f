"""Summaries of values of repeats or draws, for records that do not keep the values: their number,
mean and standard deviation. Student's interval depends on nothing else.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np


def kept(values) -> dict[str, Any]:
    """Return the number of values, their mean and their standard deviation (NaN if there is one
    value).

    >>> kept([1.0, 3.0, 5.0])
    {'n': 3, 'mean': 3.0, 'deviation': 2.0}
    """
    values = np.asarray(values, dtype=float).ravel()
    deviation = float(values.std(ddof=1)) if values.size > 1 else np.nan
    return {"n": values.size, "mean": float(values.mean()), "deviation": deviation}


def kept_ratios(ratios) -> dict[str, Any]:
    """Return the number of ratios, their geometric mean, and the standard deviation of their
    logarithms.

    >>> kept_ratios([2.0, 2.0])
    {'n': 2, 'ratio': 2.0, 'deviation': 0.0}
    """
    logs = kept(np.log(np.asarray(ratios, dtype=float)))
    return {"n": logs["n"], "ratio": float(np.exp(logs["mean"])), "deviation": logs["deviation"]}


def again(row: Mapping[str, Any]) -> np.ndarray:
    """Return as many values as :func:`kept` had, with the same mean and deviation.

    They are not the values of the repeats, so only a mean and an interval may be computed from
    them.

    >>> again(kept([1.0, 3.0, 5.0])).tolist()
    [1.0, 3.0, 5.0]
    """
    values = np.full(int(row["n"]), float(row["mean"]))
    if values.size > 1:
        step = row["deviation"] * np.sqrt(0.5 * (values.size - 1))
        values[0] -= step
        values[-1] += step
    return values


def again_ratios(row: Mapping[str, Any]) -> np.ndarray:
    """Return as many ratios as :func:`kept_ratios` had, with the same mean and deviation.

    >>> again_ratios(kept_ratios([1.0, 4.0])).round(9).tolist()
    [1.0, 4.0]
    """
    logs = {"n": row["n"], "mean": np.log(row["ratio"]), "deviation": row["deviation"]}
    return np.exp(again(logs))
