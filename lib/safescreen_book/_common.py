"""What all parts of the book use: files that appear whole, records made of YAML, and the sentence for an unknown name."""

import difflib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml


class BookError(ValueError):
    """The manifest, the ledger, or a request made of them does not make sense; the message says where and why."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield the name to write a file under: it gets its own when the block has ended well, else nothing is left."""
    partial = path.with_name(f".{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Write plain values, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_json(path: Path) -> dict | None:
    """Return the mapping in a file; None if there is no such file, or something else in it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def read_yaml(path: Path) -> dict:
    """Return the mapping in a file."""
    if not path.is_file():
        raise BookError(f"no {path.name} in {path.parent.name}/")
    try:
        return mapping(yaml.safe_load(path.read_text(encoding="utf-8")), path.name)
    except yaml.YAMLError as error:
        raise BookError(f"{path.name}: not valid YAML: {error}") from error


def mapping(value, where: str) -> dict:
    """Return a copy of a mapping."""
    if not isinstance(value, dict):
        raise BookError(f"{where}: expected a mapping, found {type(value).__name__}")
    return dict(value)


def record(kind: type, raw, where: str, **given):
    """Make a dataclass of a mapping and what is `given`: a string, positive number or list of strings for each field, as annotated."""
    raw = mapping(raw, where)
    wanted = {field.name: field for field in fields(kind) if field.name not in given}
    for key in raw:
        if key not in wanted:
            raise BookError(f"{where}: " + unknown("key", key, wanted))
    for name, field in wanted.items():
        if name not in raw and field.default is MISSING:
            raise BookError(f"{where}: key {name!r} is missing")
    return kind(**given, **{key: _typed(value, wanted[key].type, f"{where}: {key}") for key, value in raw.items()})


def _typed(value, kind, where: str):
    if kind == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise BookError(f"{where}: expected a list of strings, found {value!r}")
        return tuple(value)
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise BookError(f"{where} must be a positive number, found {value!r}")
        return float(value)
    if not isinstance(value, kind):
        raise BookError(f"{where}: expected a string, found {value!r}")
    return value


def unknown(what: str, name, known: Iterable) -> str:
    """Return the sentence for a name that is not known, with the nearest that is.

    >>> unknown("experiment", "path-tim", ["path-time", "rates"])
    "unknown experiment 'path-tim'; did you mean path-time? Known: path-time, rates"
    """
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else "."
    return f"unknown {what} {str(name)!r}{hint} Known: {', '.join(known)}"
