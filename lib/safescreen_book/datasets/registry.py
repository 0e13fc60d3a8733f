"""The registry of data sets, `registry.yml`: shape, scaling, origin, files and checksums."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml

from safescreen_book._common import unknown


@dataclass(frozen=True)
class FileSpec:
    """One file, named by its unpacked content; an ``.npz`` file is its own content."""

    name: str
    sha256: str  # of the unpacked content
    packed: str | None = None  # name of the packed form in use
    packed_sha256: str | None = None
    # of the original, packed or not; None for converted files that have none
    url: str | None = None
    # name of the original of a converted file, LIBSVM text, which is taken in its place
    public: str | None = None
    values: str | None = None  # sha256 of the numbers in that: X, float64, and y, int64


@dataclass(frozen=True)
class Part:
    """One part (train, valid, test, ...) of a data set and how it is read."""

    shape: tuple[int, int]
    format: str  # a reader: libsvm, table, nips-dense, nips-sparse, idx, npz or sklearn
    data: tuple[str, ...] = ()  # files, stacked in this order
    labels: str | None = None  # their file when they are apart
    suffix: str = ""  # what follows X, y, ... in the keys of an .npz file
    # key of the index array in the .npz file that picks the rows; ~key picks all others
    rows: str = ""
    delimiter: str | None = None  # of a table; None is white space
    # words used as labels in a table, and the integers they stand for
    codes: MappingProxyType | None = None
    dense: bool = False  # whether a sparse text holds a dense matrix

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files the part is read from."""
        return self.data + ((self.labels,) if self.labels else ())


@dataclass(frozen=True)
class Info:
    """The registry's entry of one data set."""

    name: str
    title: str  # what it is known by
    papers: tuple[str, ...]  # keys of those that use it
    classes: int  # how many
    # of scale="paper": none, minmax (features to [-1, 1]), unit (over their maxima), div255,
    # shipped (the file has both)
    scaling: str
    features: str  # kind of values
    source: str
    licence: str
    parts: MappingProxyType  # by name; the range of the scaling is that of the first
    note: str = ""  # what to mind
    # those that are re-coded: two classes are -1 and +1
    labels: MappingProxyType = field(default_factory=lambda: MappingProxyType({}))
    # by name; none for the sets that scikit-learn carries
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
            raise ValueError(
                f"split: {self.name} has no part {split!r}, only {', '.join(self.parts)}"
            )
        return self.parts[split]


def _part(entry: dict) -> Part:
    codes = MappingProxyType(entry["codes"]) if "codes" in entry else None
    return Part(
        **entry
        | {"shape": tuple(entry["shape"]), "data": tuple(entry.get("data", ())), "codes": codes}
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
    """Return the registry's entry of a data set. For an unknown name a ValueError offers close
    ones.

    >>> info("a9a").shape
    (32561, 123)
    """
    registry = _registry()
    if name not in registry:
        raise ValueError("name: " + unknown("data set", name, registry))
    return registry[name]
