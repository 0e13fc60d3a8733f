"""The public names of the library: what the reference has to speak of."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import safescreen

_ROOT = Path(safescreen.__file__).resolve().parent


@dataclass
class Entry:
    """A public name.

    Attributes
    ----------
    name : str
        The shortest dotted name it can be reached by.
    home : str
        The module whose page describes it.
    kind : {"class", "function", "data"}
    value : object
    source : tuple of (str, int) or None
        File, relative to the package, and line of the definition.
    """

    name: str
    home: str
    kind: str
    value: Any = field(repr=False)
    source: tuple[str, int] | None = None

    @property
    def link(self) -> str:
        """Address below the site's root."""
        return f"api/{self.home}.html#{self.name}"

    @property
    def short(self) -> str:
        """The name without those of packages."""
        return self.name.rpartition(".")[2]

    def methods(self) -> Iterator[tuple[str, Any]]:
        """Yield public methods and properties of a class, those of its parents in this library included.

        Yields
        ------
        tuple of (str, object)
            Name and function or property, in the order of their definition.
        """
        if self.kind != "class":
            return
        seen = set()
        for parent in self.value.__mro__:
            if not parent.__module__.startswith("safescreen"):
                continue
            for name, member in vars(parent).items():
                member = getattr(member, "__func__", member)
                if name.startswith("_") or name in seen or not (inspect.isfunction(member) or isinstance(member, property)):
                    continue
                seen.add(name)
                if inspect.getdoc(member):
                    yield name, member


class Reference:
    """All public names, by every dotted path that leads to them.

    Attributes
    ----------
    modules : dict of str to module
        The public packages and modules, by name.
    entries : dict of str to Entry
        By shortest name.
    exports : dict of str to list of Entry
        What the module of that name exports.
    links : dict of str to str
        Address below the site's root, by any dotted path: modules, entries and methods.
    """

    def __init__(self, modules: dict[str, ModuleType]):
        self.modules = modules
        self.entries: dict[str, Entry] = {}
        self.exports: dict[str, list[Entry]] = {name: [] for name in modules}
        self.links = {name: f"api/{name}.html" for name in modules}
        self.names: dict[str, Entry] = {}
        found: dict[Any, list[tuple[str, str]]] = {}
        values = {}
        for module, content in modules.items():
            for name in content.__all__:
                value = getattr(content, name)
                if isinstance(value, ModuleType):
                    continue
                key = id(value) if _kind(value) != "data" else (name, id(value))
                values[key] = value
                found.setdefault(key, []).append((module, name))
        for key, places in found.items():
            self._add(values[key], places)

    def _add(self, value: Any, places: list[tuple[str, str]]) -> None:
        module, name = min(places, key=lambda place: (place[0].count("."), place[0]))
        homes = [place[0] for place in places if place[0] != "safescreen"] or ["safescreen"]
        defined = getattr(value, "__module__", None)
        home = next((place for place in homes if place == defined), min(homes, key=lambda place: (place.count("."), place)))
        entry = Entry(f"{module}.{name}", home, _kind(value), value, _source(value))
        self.entries[entry.name] = entry
        paths = [f"{place}.{alias}" for place, alias in places]
        if entry.kind != "data":
            paths.append(f"{defined}.{value.__qualname__}")
        for path in paths:
            self.links[path] = entry.link
            self.names[path] = entry
            for method, _ in entry.methods():
                self.links[f"{path}.{method}"] = f"{entry.link}.{method}"
                self.names[f"{path}.{method}"] = entry
        for place, _ in places:
            self.exports[place].append(entry)

    def resolve(self, path: str, inside: str = "safescreen") -> str | None:
        """Return the address of what a name in a docstring means.

        Parameters
        ----------
        path : str
            A name, dotted or not.
        inside : str, default "safescreen"
            The module or class it is written in.

        Returns
        -------
        str or None
            Address below the site's root.
        """
        path = path.removesuffix("()").replace("ss.", "safescreen.", 1) if path.startswith("ss.") else path.removesuffix("()")
        if path in self.links:
            return self.links[path]
        while inside:
            if f"{inside}.{path}" in self.links:
                return self.links[f"{inside}.{path}"]
            inside = inside.rpartition(".")[0]
        if path[:1].isupper():  # a class that needs no more than its name
            named = {entry.link for entry in self.entries.values() if entry.short == path}
            return named.pop() if len(named) == 1 else None
        return None

    def homes(self) -> dict[str, list[Entry]]:
        """Return the entries that each module's page describes.

        Returns
        -------
        dict of str to list of Entry
            By module, in the order of the source.
        """
        homes = {name: [entry for entry in self.entries.values() if entry.home == name] for name in self.modules}
        return {name: sorted(entries, key=lambda entry: entry.source or ("", 0)) for name, entries in homes.items()}


def public_names() -> Reference:
    """Return the reference of this library.

    Public are the packages, and the modules that a public package names in ``__all__`` or that stand beside the first package's
    ``__init__``, if they have an ``__all__`` and no underscore.

    Returns
    -------
    Reference

    Examples
    --------
    >>> reference = public_names()
    >>> reference.resolve("ss.solve"), reference.entries["safescreen.Problem"].kind
    ('api/safescreen.solvers.html#safescreen.solve', 'class')
    """
    modules = {"safescreen": safescreen}
    for info in pkgutil.walk_packages([str(_ROOT)], "safescreen."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        parent, _, last = info.name.rpartition(".")
        named = parent in modules and last in modules[parent].__all__ and isinstance(getattr(modules[parent], last), ModuleType)
        if parent not in modules or not (info.ispkg or parent == "safescreen" or named):
            continue
        module = importlib.import_module(info.name)
        if hasattr(module, "__all__"):
            modules[info.name] = module
    return Reference(modules)


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "data"


def _source(value: Any) -> tuple[str, int] | None:
    value = inspect.unwrap(getattr(value, "py_func", value))
    try:
        path = Path(inspect.getsourcefile(value)).resolve()
        return path.relative_to(_ROOT).as_posix(), inspect.getsourcelines(value)[1] or 1
    except (TypeError, OSError, ValueError):
        return None
