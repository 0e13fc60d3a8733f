"""The order of the book: which notebook stands in which chapter."""

import re
from dataclasses import dataclass

_GROUPS = {  # by the first digit, for what the table of the first notebook leaves out
    "0": "Start",
    "5": "Experiments: triplets",
    "6": "Experiments: samples",
    "7": "Experiments: sparse similarities",
    "9": "Report",
}
_ROW = re.compile(r"(?m)^\|\s*([^|]+?)\s*\|\s*(\[?`\d\d-[^|]*)\|\s*$")


@dataclass(frozen=True)
class Chapter:
    """Some notebooks under a heading.

    Attributes
    ----------
    title : str
    notebooks : tuple of str
        Names in the order they are read in.
    """

    title: str
    notebooks: tuple[str, ...]


def chapters(contents: str, names: list[str]) -> list[Chapter]:
    """Return the chapters of the book.

    Parameters
    ----------
    contents : str
        The text of the notebook whose table of two columns groups the others: a title, names in backquotes, linked or not.
    names : list of str
        The notebooks there are, sorted.

    Returns
    -------
    list of Chapter
        Each notebook in exactly one; the start first, then the table's, then experiments, then what is in neither.

    Examples
    --------
    >>> for chapter in chapters("| the problem | [`10-a`](10-a.ipynb), `12-b` |", ["00-start", "10-a", "11-c", "12-b", "50-d"]):
    ...     print(chapter.title, *chapter.notebooks)
    Start 00-start
    The problem 10-a 12-b
    Experiments: triplets 50-d
    More 11-c
    """
    tables, placed = [], set()
    for title, row in _ROW.findall(contents):
        found = tuple(name for name in re.findall(r"`([\w-]+)`", row) if name in names and name not in placed)
        placed.update(found)
        if found:
            tables.append(Chapter(title[:1].upper() + title[1:], found))
    groups = {}
    for name in (name for name in names if name not in placed):
        groups.setdefault(_GROUPS.get(name[:1], "More"), []).append(name)
    order = ["Start", *(chapter.title for chapter in tables), *list(_GROUPS.values())[1:], "More"]
    every = tables + [Chapter(title, tuple(found)) for title, found in groups.items()]
    return sorted(every, key=lambda chapter: order.index(chapter.title))
