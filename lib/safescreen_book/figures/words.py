"""Words of a caption that are computed from what is drawn."""

import re

import numpy as np


def listed(values, number="{:.2f}"):
    """Return names with their numbers as words of a sentence, for :func:`show`.

    Parameters
    ----------
    values : dict of float, of sequences or of tuples (x, y)
        By name, as :func:`bars` and :func:`lines` take them. A curve is represented by its mean;
        NaN is left out.
    number : str
        Format of the numbers.

    Examples
    --------
    >>> listed({"PGB": 0.5, "DGB": ([3.0, 1.0], [0.25, 0.5])})
    'PGB 0.50, DGB 0.38'
    >>> listed({"iris, k = 5": 18, "wine, k = 5": 30}, "{:.0f}")
    'iris, k = 5: 18; wine, k = 5: 30'
    >>> listed({10: 0.9, 20: 1.0})
    '10: 0.90; 20: 1.00'
    """
    finite = {name: _finite(value) for name, value in values.items()}
    return _joined({name: number.format(y.mean()) for name, y in finite.items() if y.size})


def ends(curves, number="{:.2f}"):
    """Return for each curve its first and its last height, as words of a sentence.

    `curves` are what :func:`lines` takes: sequences or tuples (x, y) by name; NaN is left out.

    >>> ends({"GB": [0.95, 0.7, 0.5], "PGB": ([2.0, 1.0], [0.8, 0.801])})
    'GB from 0.95 to 0.50, PGB 0.80 at both ends'
    """
    words = {}
    for name, curve in curves.items():
        y = _finite(curve)
        if y.size:
            first, last = number.format(y[0]), number.format(y[-1])
            words[name] = f"{first} at both ends" if first == last else f"from {first} to {last}"
    return _joined(words)


def _finite(value):
    heights = np.asarray(value[1] if isinstance(value, tuple) else value, dtype=float)
    return heights[np.isfinite(heights)]


def _joined(words):
    """Return names with what is said of each, names and numbers kept apart."""
    names = [str(name) for name in words]
    apart = any("," in name or NUMBER.search(name) for name in names)
    between, after = (": ", "; ") if apart else (" ", ", ")
    plain = [name.replace("$", "").replace("\\,", " ").replace("\\", "") for name in names]
    return after.join(
        f"{name}{between}{said}" for name, said in zip(plain, words.values(), strict=True)
    )


NUMBER = re.compile(r"(^| )[\d.]+(e[-+]?\d+)?$")
"""A name that ends with a number; another one behind it would be read together with it."""
