"""Helpers that all parts of the book use: to write a file whole or not at all, to read YAML into
records, and to name the nearest known word for an unknown one.
"""

import difflib
import json
import math
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

MOST_BYTES = 2**20
MOST_NODES = 20_000
LONGEST = 10_000
"""The most bytes of a YAML file, the most keys and values in it, and the most characters of one of
them. The files of the book are far below.
"""


class BookError(ValueError):
    """The manifest or the ledger has a mistake, or a request does not fit them; the message says
    where and why.
    """


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary name to write a file under. When the block ends without an error the file
    gets its own name, otherwise it is removed.
    """
    partial = path.with_name(f".{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Write plain values as JSON; the file appears whole or not at all."""
    with whole(path) as partial:
        partial.write_text(
            json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return path


def read_json(path: Path) -> dict | None:
    """Return the mapping in a file; None if there is no such file, or something else in it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def read_yaml(path: Path) -> dict:
    """Return the mapping in a file."""
    if not path.is_file():
        raise BookError(f"no {path.name} in {path.parent.name}/")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise BookError(f"{path.name}: it has {size} bytes, and at most {MOST_BYTES} are read")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (
        yaml.YAMLError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:  # the last four are what odd scalars make of it
        raise BookError(f"{path.name}: not valid YAML: {error}") from error
    return mapping(content, path.name)


if yaml.__with_libyaml__:

    class _SafeLoader(yaml.composer.Composer, yaml.CSafeLoader):
        """PyYAML's own on the parser of libyaml, which takes a tenth of the time."""

        def __init__(self, stream):
            yaml.CSafeLoader.__init__(self, stream)
            yaml.composer.Composer.__init__(self)
else:
    _SafeLoader = yaml.SafeLoader


class _Loader(_SafeLoader):
    """A YAML loader that limits the size of a text and of its parts.

    The content of an alias counts each time it is used, because a few aliases can stand for a very
    long text.
    """

    def __init__(self, stream):
        super().__init__(stream)
        self.size = 0
        self.sizes = {}  # of what has an anchor

    def compose_node(self, parent, index):
        event = self.peek_event()
        before = self.size
        if isinstance(event, yaml.AliasEvent):
            self.size += self.sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            self.size += 1 + len(event.value) // 100
            if len(event.value) > LONGEST:
                found = f"a text of {len(event.value)} characters, and at most {LONGEST} are read"
                raise _composer_error(found, event)
        else:
            self.size += 1
        if self.size > MOST_NODES:
            found = f"more than {MOST_NODES} keys and values (a long text counts as many)"
            raise _composer_error(found, event)
        node = super().compose_node(parent, index)
        self.sizes.setdefault(event.anchor, self.size - before)
        return node

    def construct_mapping(self, node, deep=False):
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for name, count in names.items():
            if count > 1:
                twice = f"the key {name!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, twice, node.start_mark)
        return super().construct_mapping(node, deep)


def _composer_error(what: str, event: yaml.Event) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, f"found {what}", event.start_mark)


def mapping(value, where: str) -> dict:
    """Return a copy of a mapping of names."""
    if not isinstance(value, dict):
        raise BookError(f"{where}: expected a mapping, found {type(value).__name__}")
    for key in value:
        if not isinstance(key, str):
            raise BookError(f"{where}: the key {key!r} is not a string; put it in quotes")
    return dict(value)


def folder_name(name: str, where: str) -> str:
    """Return a name if every system accepts it as the name of a folder or file, and an address as a
    part of it.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+=,-]{0,199}", name):
        raise BookError(
            f"{where} cannot be a folder's name: it must have at most 200 characters, of "
            "A-Z a-z 0-9 _ . + = , - only, and begin with a letter or a digit"
        )
    return name


def plain(value, where: str):
    """Return a value if a notebook may get it as a parameter."""
    if not isinstance(value, bool | int | float | str):
        raise BookError(f"{where}: expected a number, boolean or string, found {value!r}")
    return value


def record(kind: type, raw, where: str, **given):
    """Make a dataclass from a mapping and the values `given`, and check that each field has its
    annotated type. `where` stands at the beginning of every error.
    """
    raw = mapping(raw, where)
    wanted = {field.name: field for field in fields(kind) if field.name not in given}
    for key in raw:
        if key not in wanted:
            raise BookError(f"{where}: " + unknown("key", key, wanted))
    for name, field in wanted.items():
        if name not in raw and field.default is MISSING and field.default_factory is MISSING:
            raise BookError(f"{where}: key {name!r} is missing")
    found = {key: _typed(value, wanted[key].type, f"{where}: {key}") for key, value in raw.items()}
    try:
        return kind(**given, **found)
    except BookError as error:
        raise BookError(f"{where}: {error}") from None


def _typed(value, kind, where: str):
    if kind == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise BookError(f"{where}: expected a list of strings, found {value!r}")
        return tuple(value)
    if get_origin(kind) is Mapping:
        inner = get_args(kind)[1]
        items = mapping(value, where).items()
        return {name: _typed(item, inner, f"{where}: {name}") for name, item in items}
    if kind is Any:
        return plain(value, where)
    if is_dataclass(kind):
        return record(kind, value, where)
    if kind in (int, float):
        number = isinstance(value, int if kind is int else int | float)
        if not number or isinstance(value, bool) or not 0 < value < math.inf:
            wanted = ": expected a positive whole" if kind is int else " must be a positive"
            raise BookError(f"{where}{wanted} number, found {value!r}")
        return kind(value)
    if not isinstance(value, kind):
        expected = "true or false" if kind is bool else "a string"
        raise BookError(f"{where}: expected {expected}, found {value!r}")
    return value


def inside(path: Path, folder: Path) -> Path:
    """Return a path that lies in a folder. A BookError is raised if it leads out of the folder
    through symbolic links.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        where = f"{path.name} leads out of {folder.name}/ by a symbolic link"
        raise BookError(f"{where}; only files in that folder are read")
    return path


def unknown(what: str, name, known: Iterable) -> str:
    """Return a sentence about an unknown name, which names the nearest known ones.

    >>> unknown("experiment", "path-tim", ["path-time", "rates"])
    "unknown experiment 'path-tim'; did you mean path-time? Known: path-time, rates"
    >>> unknown("claim", "F6", ["F6a", "F6b", "F7"])
    "unknown claim 'F6'; did you mean F6a or F6b? Known: F6a, F6b, F7"
    """
    known = sorted(map(str, known))
    close = [one for one in known if name and one.startswith(str(name))][:5]
    close = close or difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {' or '.join(close)}?" if close else "."
    return f"unknown {what} {str(name)!r}{hint} Known: {', '.join(known)}"
