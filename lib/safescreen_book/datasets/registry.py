"""What is known of each data set: shape, scaling, origin, files and their checksums (`registry.yml`)."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml

from safescreen_book._common import unknown


@dataclass(frozen=True)
class FileSpec:
    """One file, named by its unpacked content.

    Attributes
    ----------
    name : str
        Name of the unpacked file; an ``.npz`` file is its own content.
    sha256 : str
        Checksum of the unpacked content.
    packed, packed_sha256 : str or None
        Name and checksum of the packed form in use.
    url : str or None
        Public address of the original, packed or not; None for converted files.
    """

    name: str
    sha256: str
    packed: str | None = None
    packed_sha256: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class Part:
    """One part (train, valid, test, ...) of a data set and how it is read.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    format : str
        A reader: ``libsvm``, ``table``, ``nips-dense``, ``nips-sparse``, ``idx``, ``npz`` or ``sklearn``.
    data : tuple of str
        Files, stacked in this order.
    labels : str or None
        File of the labels when they are apart.
    suffix : str
        What follows ``X``, ``y``, ... in the keys of an ``.npz`` file.
    rows : str
        Key of the index array in the ``.npz`` file that picks the rows; ``~key`` picks all others.
    delimiter : str or None
        Of a table; None is white space.
    codes : mapping or None
        Words used as labels in a table, and the integers they stand for.
    dense : bool
        Whether a sparse text holds a dense matrix.
    """

    shape: tuple[int, int]
    format: str
    data: tuple[str, ...] = ()
    labels: str | None = None
    suffix: str = ""
    rows: str = ""
    delimiter: str | None = None
    codes: MappingProxyType | None = None
    dense: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files the part is read from."""
        return self.data + ((self.labels,) if self.labels else ())


@dataclass(frozen=True)
class Info:
    """The registry's entry of one data set.

    Attributes
    ----------
    name, title : str
        Short name and the name it is known by.
    papers : tuple of str
        Keys of the papers that use it.
    classes : int
        Number of classes.
    scaling : str
        What ``load(..., scale="paper")`` does: ``none``, ``minmax`` (each feature to [-1, 1] linearly),
        ``unit`` (each feature divided by its maximum), ``div255``, or ``shipped`` (the file has both forms).
    features, source, licence, note : str
        Kind of values, origin, terms of use, what to mind.
    labels : mapping
        Labels of the source that are re-coded, and as what; two classes are -1 and +1.
    parts : mapping of str to Part
        The first one defines the range of the scaling.
    files : mapping of str to FileSpec
        Empty for the sets that scikit-learn carries.
    """

    name: str
    title: str
    papers: tuple[str, ...]
    classes: int
    scaling: str
    features: str
    source: str
    licence: str
    parts: MappingProxyType
    note: str = ""
    labels: MappingProxyType = field(default_factory=lambda: MappingProxyType({}))
    files: MappingProxyType = field(default_factory=lambda: MappingProxyType({}))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features of the first part."""
        return next(iter(self.parts.values())).shape

    @property
    def embedded(self) -> bool:
        """Whether scikit-learn carries the set, so that no file is needed."""
        return not self.files

    def part(self, split: str) -> Part:
        """Part named `split`; ValueError lists the parts there are."""
        if split not in self.parts:
            raise ValueError(f"split: {self.name} has no part {split!r}, only {', '.join(self.parts)}")
        return self.parts[split]


def _part(entry: dict) -> Part:
    codes = entry.pop("codes", None)
    return Part(
        shape=tuple(entry.pop("shape")),
        data=tuple(entry.pop("data", ())),
        codes=MappingProxyType(codes) if codes else None,
        **entry,
    )


@cache
def _registry() -> dict[str, Info]:
    text = files(__package__).joinpath("registry.yml").read_text(encoding="utf-8")
    registry = {}
    for name, entry in yaml.safe_load(text).items():
        parts = {key: _part(part) for key, part in entry.pop("parts").items()}
        specs = {key: FileSpec(key, **spec) for key, spec in entry.pop("files", {}).items()}
        registry[name] = Info(
            name=name,
            papers=tuple(entry.pop("papers")),
            parts=MappingProxyType(parts),
            labels=MappingProxyType(entry.pop("labels", {})),
            files=MappingProxyType(specs),
            **entry,
        )
    return registry


def names() -> tuple[str, ...]:
    """Return the names of the data sets, those embedded in scikit-learn first.

    >>> names()[:4]
    ('iris', 'wine', 'breast-cancer', 'digits')
    """
    return tuple(_registry())


def info(name: str) -> Info:
    """Return the registry's entry of a data set; a ValueError offers close names where there is none.

    >>> info("a9a").shape
    (32561, 123)
    """
    registry = _registry()
    if name not in registry:
        raise ValueError("name: " + unknown("data set", name, registry))
    return registry[name]
