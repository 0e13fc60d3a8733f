"""Expressions and statements are found on the syntax tree, and what is around them stays as it
is.
"""

import ast
from collections import Counter

import pytest

from replacement import replaced, same

SOURCE = '''\
"""A module."""
import math

LEVEL = 0.05


def norm(x, *, power=2.0, exact=False):
    """Return a norm."""
    total = 0.0
    for value in x:  # each
        total += abs(value) ** (
            power  # of a sum
        )
    if total > 1.0 and not exact:
        return total
    elif total < 0.0:
        return math.nan
    return (total) ** (1.0 / power)


class Ball:
    @property
    def radius(self):
        return self._radius

    @radius.setter
    def radius(self, value):
        self._radius = max(value, 0.0)

    @staticmethod
    def of(points):
        def far(p):
            return p > 1.0

        é = [p for p in points if far(p)]; return é, len(é) > 1.0
'''


def lines(text):
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    "within, old, new, line",
    [
        ("", "0.05", "0.1", "LEVEL = (0.1)"),
        ("", "LEVEL = 0.05", "LEVEL = 0.1", "LEVEL = 0.1"),
        ("norm", "total>1.", "total >= 1.0", "if (total >= 1.0) and not exact:"),
        ("norm", "total > 1.0 and (not exact)", "exact", "if (exact):"),
        ("norm", "2.0", "3.0", "def norm(x, *, power=(3.0), exact=False):"),
        (
            "norm",
            "def norm(x, *, power=2.0, exact=False): ...",
            "def norm(x, exact): ...",
            "def norm(x, exact):",
        ),
        ("norm", "total**(1.0 / power)", "total", "return (total)"),
        ("norm", "return math.nan", "pass", "pass"),
        ("norm", "math.nan", "(math.inf)", "return (math.inf)"),
        ("norm", "if total < 0.0: ...", "if total < 1.0: ...", "elif total < 1.0:"),
        ("norm", "if total < 0.0: return math.nan", "pass", "else: pass"),
        ("norm", "if total < 0.0: return math.nan", "if exact: return math.nan", "elif exact:"),
        ("norm", "for value in x: ...", "for value in x[1:]: ...", "for value in x[1:]:"),
        ("norm", "total += abs(value) ** power", "total += value", "total += value"),
        ("norm", "total = 0.0", "total = 1.0; total -= 1", "total = 1.0; total -= 1"),
        ("Ball.radius", "@property\ndef radius(self): ...", "def radius(self): ...", ""),
        ("Ball.radius", "property", "cached_property", "@(cached_property)"),
        ("Ball.radius", "max(value, 0.0)", "value", "self._radius = (value)"),
        ("Ball.of", "1.0", "2.0", "é = [p for p in points if far(p)]; return é, len(é) > (2.0)"),
        (
            "Ball.of",
            "return é, len(é) > 1.0",
            "return é",
            "é = [p for p in points if far(p)]; return é",
        ),
        ("Ball.of.far", "p > 1.0", "p >= 1.0", "return (p >= 1.0)"),
        ("Ball", "class Ball: ...", "class Ball(list): ...", "class Ball(list):"),
    ],
)
def test_what_is_replaced(within, old, new, line):
    changed = replaced(SOURCE, old, new, within)
    assert not same(ast.parse(changed), ast.parse(SOURCE))
    further = Counter(lines(changed)) - Counter(lines(SOURCE))
    assert set(further) - {""} == {line} - {""}


def test_one_of_several():
    told = "'total' stands in norm in lines 9, 11, 14, 15, 16, 18: give more of it, or nth"
    with pytest.raises(ValueError, match=told):
        replaced(SOURCE, "total", "power", "norm")
    changed = replaced(SOURCE, "total", "power", "norm", nth=4)
    assert "return (power)" in changed
    with pytest.raises(ValueError, match="and number 7 is asked for"):
        replaced(SOURCE, "total", "power", "norm", nth=7)


@pytest.mark.parametrize(
    "within, old, new, told",
    [
        ("nor", "0.0", "1.0", "there is no function or class 'nor'; close to it: 'norm'"),
        (
            "norm",
            "total > 1.1",
            "total",
            "'total > 1.1' is not in norm; close to it: 'total > 1.0'",
        ),
        ("norm", "max(value, 0.0)", "value", "is not in norm; it stands in Ball.radius"),
        ("", "p > 1.0", "p", "is not in the code outside of functions; it stands in Ball.of.far"),
        ("norm", "total >", "total", "'total >' is not Python: invalid syntax"),
        ("norm", "total", "total =", "'total =' is not Python: invalid syntax"),
        ("norm", "total > 1.0", "(total) > 1.0", "changes nothing"),
        ("norm", "if total > 1.0: ...", "if (total > 1.0): ...", "changes nothing"),
        ("Ball.of", "return é, len(é) > 1.0", "if é: return 1", "cannot be written in place of"),
    ],
)
def test_what_does_not_fit_is_named(within, old, new, told):
    with pytest.raises(ValueError) as caught:
        replaced(SOURCE, old, new, within)
    assert told in str(caught.value)
