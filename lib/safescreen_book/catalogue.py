"""Every region, rule and range of the library, read off its functions: what each takes, costs,
rests on, and how it holds in floating point.

A function belongs to the catalogue if it returns or takes a region, or returns what is screened or
what is known of held-out margins.
Claims of the ledger name its entries in ``about``.

>>> entry = catalogue()["spheres.duality_gap_bound"]
>>> entry.takes, entry.sources
(('prob', 'x', 'lam', 'alpha'), ('STS19 Theorem 4',))
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from safescreen_book._common import BookError

MODULES = ("spheres", "rules", "ranges", "svm", "hdsl.screening", "validation")
REGIONS = ("Sphere", "Dome", "SlopeBall")
MASKS = ("Screened", "Ranges", "FeatureMask")
HELD_OUT = ("MarginBounds", "LamChoice")
SOURCE = re.compile(
    r"\b(?:STS19|STS18|SSS13|SSS14|HDSL19) "
    r"(?:Theorem|Lemma|Algorithm|equation|section|appendix|appendices)s? [A-Z0-9.]*[A-Z0-9]"
)


@dataclass(frozen=True)
class Entry:
    """A function of the catalogue.

    Attributes
    ----------
    name : str
        Module and function, as ``rules.sphere``.
    kind : str
        ``"region"``, ``"rule"``, ``"ranges"`` or ``"held-out"``.
    function : callable
    takes : tuple of str
        The names of its parameters.
    summary, cost, rounding : str
        Sentences of its docstring: the first one, the one after ``Cost:``, the one that begins with
        ``Safe in floating point``. The last two may be empty.
    sources : tuple of str
        Places in the papers.
    """

    name: str
    kind: str
    function: Callable
    takes: tuple[str, ...]
    summary: str
    cost: str
    rounding: str
    sources: tuple[str, ...]


def catalogue() -> dict[str, Entry]:
    """Return the entries by name, in the order of :data:`MODULES`."""
    return {entry.name: entry for module in MODULES for entry in _entries(module)}


def check_names(names, where: str) -> None:
    """Raise a BookError for a name that no entry has."""
    unknown = sorted(set(names) - set(catalogue()))
    if unknown:
        raise BookError(f"{where}: about names no test of the library: {', '.join(unknown)}")


def _entries(module: str) -> Iterator[Entry]:
    functions = vars(importlib.import_module(f"safescreen.{module}")).items()
    for name, function in functions:
        own = getattr(function, "__module__", "").startswith(f"safescreen.{module}")
        if name.startswith("_") or not (inspect.isfunction(function) and own):
            continue
        signature = inspect.signature(function)
        returned = _type_name(signature.return_annotation)
        types = {_type_name(p.annotation) for p in signature.parameters.values()} | {returned}
        if types.isdisjoint(REGIONS + MASKS + HELD_OUT):
            continue
        yield _entry(f"{module}.{name}", function, returned)


def _entry(name: str, function: Callable, returned: str) -> Entry:
    doc = inspect.getdoc(function) or ""
    words = " ".join(doc.split())
    return Entry(
        name=name,
        kind=_kind(returned),
        function=function,
        takes=tuple(inspect.signature(function).parameters),
        summary=" ".join(doc.partition("\n\n")[0].split()),
        cost=_sentence(words, r"Cost: (.*?[^.])\.(?= [A-Z]|$)"),
        rounding=_sentence(words, r"(Safe in floating point.*?)\.(?= [A-Z]|$)"),
        sources=tuple(dict.fromkeys(SOURCE.findall(words))),
    )


def _kind(returned: str) -> str:
    if returned == "Ranges":
        return "ranges"
    if returned in HELD_OUT:
        return "held-out"
    return "region" if returned in REGIONS else "rule"


def _sentence(words: str, pattern: str) -> str:
    found = re.search(pattern, words)
    return found.group(1) if found else ""


def _type_name(annotation) -> str:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2]
    return getattr(annotation, "__name__", "")
