"""Every region, rule and range of the library, read off its functions: what each takes, costs,
rests on, and how it holds in floating point.

A function belongs to the catalogue if it returns or takes a region, or returns what is screened or
what is known of held-out margins.
Claims of the ledger name its entries in ``about``.

>>> entry = catalogue()["spheres.duality_gap_bound"]
>>> entry.takes, entry.sources
(('prob', 'x', 'lam', 'alpha'), ('STS19 Theorem 4',))
"""

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from safescreen_book._common import BookError

MODULES = ("spheres", "rules", "ranges", "svm", "validation")
REGIONS = ("Sphere", "Dome")
MASKS = ("Screened", "Ranges", "FeatureMask")
HELD_OUT = ("MarginBounds",)
SOURCE = re.compile(
    r"\b(?:STS19|STS18|SSS13|SSS14|HDSL19) "
    r"(?:Theorem|Lemma|Algorithm|equation|section|appendix|appendices)s? [A-Z0-9.]*[A-Z0-9]"
    r"(?: and [A-Z0-9.]*[A-Z0-9]\b)?"
)
CREDIT = {  # who else was first, as far as we know, and what this book adds
    "spheres.duality_gap_bound": (
        "Fercoq, Gramfort, Salmon 2015 (arXiv 1505.03410), for the dual of the lasso; Shibagaki, "
        "Karasuyama, Hatano, Takeuchi 2016 (arXiv 1602.02485), for samples",
        "",
    ),
    "spheres.constrained_duality_gap_bound": ("Zimmert et al. 2015, for samples", ""),
    "spheres.midpoint_gap_bound": (
        "very likely Tran, Elvira, Dang, Herzet 2023 (RYU, arXiv 2312.00640), sparse regression",
        "cones, many terms, rounding",
    ),
    "rules.features": (
        "Shibagaki, Karasuyama, Hatano, Takeuchi 2016 (arXiv 1602.02485): features and samples",
        "the non-negative cone, one ball for the solution and the slopes, shorter by the root of 2",
    ),
    "rules.cone_halfspace": ("", "the half-space of any ball (STS19 Theorem 9 has that of GB)"),
    "rules.intersection": ("", "any cone, triplets"),
    "ranges.midpoint_gap": ("", "the range of MGB, in the form of STS19 appendix L"),
    "svm.ball_1": ("", "references that are not exact"),
    "svm.ball_test_1": ("", "references that are not exact"),
    "svm.dome": ("", "references that are not exact"),
    "validation.ball_margins": (
        "Shibagaki, Suzuki, Karasuyama, Takeuchi 2015 (arXiv 1502.02344)",
        "",
    ),
}


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
        ``Safe in floating point`` with those that follow it in its paragraph. The last two may be
        empty.
    sources : tuple of str
        Places in the papers.
    first, ours : str
        Earlier work by others, and what this book adds (:data:`CREDIT`). Both may be empty.
    """

    name: str
    kind: str
    function: Callable
    takes: tuple[str, ...]
    summary: str
    cost: str
    rounding: str
    sources: tuple[str, ...]
    first: str
    ours: str


def catalogue() -> dict[str, Entry]:
    """Return the entries by name, in the order of :data:`MODULES`."""
    return {entry.name: entry for module in MODULES for entry in _entries(module)}


def check_names(names, where: str) -> None:
    """Raise a BookError for a name that no entry has."""
    unknown = sorted(set(names) - _names())
    if unknown:
        raise BookError(f"{where}: about names no test of the library: {', '.join(unknown)}")


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(catalogue())


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
    first, ours = CREDIT.get(name, ("", ""))
    words = " ".join(doc.split())
    return Entry(
        name=name,
        kind=_kind(returned),
        function=function,
        takes=tuple(inspect.signature(function).parameters),
        summary=" ".join(doc.partition("\n\n")[0].split()),
        cost=_sentence(words, r"Cost: (.*?[^.])\.(?= [A-Z]|$)"),
        rounding=_to_end_of_paragraph(doc, "Safe in floating point"),
        sources=tuple(dict.fromkeys(SOURCE.findall(words))),
        first=first,
        ours=ours,
    )


def _kind(returned: str) -> str:
    if returned == "Ranges":
        return "ranges"
    if returned in HELD_OUT:
        return "held-out"
    return "region" if returned in REGIONS else "rule"


def _to_end_of_paragraph(doc: str, words: str) -> str:
    for paragraph in doc.split("\n\n"):
        _, found, rest = " ".join(paragraph.split()).partition(words)
        if found:
            return (found + rest).partition(" Cost: ")[0].rstrip(".")
    return ""


def _sentence(words: str, pattern: str) -> str:
    found = re.search(pattern, words)
    return found.group(1) if found else ""


def _type_name(annotation) -> str:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2]
    return getattr(annotation, "__name__", "")
