"""A page for each public module, each public name described once, with the notebooks that use
it.
"""

import functools
import html
import importlib
import inspect
import itertools
import pkgutil
import re
from types import ModuleType

import numpydoc.xref
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

import safescreen
from _ext.mathml import typeset
from _ext.stage import put, table
from safescreen.cones import Cone
from safescreen.terms import Terms
from safescreen_book.runner import imports

CONTRACTS = (Terms, Cone)
"""What these declare is for spheres, rules and solvers: it is described once, there."""
ELSEWHERE = {
    "array": ":class:`array <numpy.ndarray>`",
    "CSR": ":class:`CSR <scipy.sparse.csr_array>`",
    "numpy.random.Generator": ":class:`numpy.random.Generator`",
    "TypeError": ":class:`TypeError`",
    "ValueError": ":class:`ValueError`",
}
"""Types of other libraries; with intersphinx they are links."""


@functools.cache
def modules() -> dict[str, ModuleType]:
    """Return the public packages, and the public modules beside the first one, that say what
    they export.
    """
    found = {"safescreen": safescreen}
    for info in pkgutil.walk_packages(safescreen.__path__, "safescreen."):
        public = not any(part.startswith("_") for part in info.name.split("."))
        if (
            public
            and (info.ispkg or info.name.count(".") == 1)
            and not info.name.endswith(".bench")
        ):
            module = importlib.import_module(info.name)
            if hasattr(module, "__all__"):
                found[info.name] = module
    return found


@functools.cache
def names() -> dict[str, tuple[str, object]]:
    """Return the module whose page describes it, and the value, by the shortest path of each
    public name.
    """
    places: dict[int, list[tuple[str, str]]] = {}
    for module, content in modules().items():
        for name in content.__all__:
            if not isinstance(getattr(content, name), ModuleType):
                places.setdefault(id(getattr(content, name)), []).append((module, name))
    found = {}
    for paths in places.values():
        short, name = min(paths, key=lambda path: (path[0].count("."), path))
        homes = [module for module, _ in paths if module != "safescreen"] or ["safescreen"]
        found[f"{short}.{name}"] = homes[0], getattr(modules()[short], name)
    return found


def used(source: str) -> set[str]:
    """Return the public names that code uses, by their shortest paths."""
    paths = (
        itertools.accumulate(path.split("."), "{}.{}".format)
        for path in imports.uses(imports.parsed(source))
    )
    values = [_value(path) for path in itertools.chain.from_iterable(paths)]
    shortest = {id(value): name for name, (_, value) in names().items()}
    return {shortest[id(value)] for value in values if id(value) in shortest}


def _value(path: str):
    """What a path such as `safescreen.spheres.dgb` leads to; None outside of this library."""
    first, *parts = path.split(".")
    try:
        return functools.reduce(getattr, parts, safescreen) if first == "safescreen" else None
    except AttributeError:
        return None


def _aliases(app, config) -> None:
    """Let types of parameters link to the classes of the library, and with intersphinx to those
    of `ELSEWHERE`.
    """
    numpydoc.xref.DEFAULT_LINKS.clear()
    if not config.report_profile:
        config.numpydoc_xref_aliases = {
            n.rpartition(".")[2]: n for n, (_, value) in names().items() if inspect.isclass(value)
        }
        if "sphinx.ext.intersphinx" in config.extensions:
            config.numpydoc_xref_aliases |= ELSEWHERE


def contract(value) -> type | None:
    """Return the class of `CONTRACTS` that a class fulfils, if it is not that class."""
    if not inspect.isclass(value):
        return None
    return next((base for base in CONTRACTS if issubclass(value, base) and value != base), None)


class Names(SphinxDirective):
    """A table of public names with the first sentence on each: those of a module, or those in the
    content, one a line.
    """

    optional_arguments = 1
    has_content = True

    def run(self):
        wanted = [line.strip() for line in self.content if line.strip()]
        if self.arguments:
            (module,) = self.arguments
            wanted += [name for name, (home, _) in names().items() if home == module]
        rows = []
        for name in dict.fromkeys(wanted):
            if name not in names():
                raise self.error(f"{name!r} is no public name")
            shown = nodes.literal("", name.removeprefix("safescreen."))
            where = {"reftype": "obj", "reftarget": name, "refdoc": self.env.docname}
            link = addnodes.pending_xref("", shown, refdomain="py", refexplicit=True, **where)
            texts, _ = self.parse_inline(first_sentence(names()[name][1]))
            rows.append([link, [nodes.inline("", "", *texts)]])
        return [table(["name", "what it is"], rows, widths=(30, 70))]


def first_sentence(value) -> str:
    """Return the first sentence of a docstring without roles, of a table its keys."""
    if isinstance(value, dict):
        return f"By name: {', '.join(f'`{key}`' for key in value)}"
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return re.split(r"(?<=[.:;]) (?=[A-Z`])", text)[0].rstrip(".:;,")


def _stage(app) -> None:
    if app.config.report_profile:
        return
    users: dict[str, list[str]] = {}
    for notebook, nb in app.notebooks.items():
        for name in used(
            "\n".join(
                "".join(cell["source"]) for cell in nb["cells"] if cell["cell_type"] == "code"
            )
        ):
            users.setdefault(name, []).append(notebook)
    for module in modules():
        here = {name: value for name, (home, value) in names().items() if home == module}
        if not here:  # the package itself: all its names have other homes
            continue
        text = [module, "=" * len(module), "", f".. automodule:: {module}", "   :no-members:", ""]
        if here:
            text += [
                ".. autosummary::",
                "   :nosignatures:",
                "",
                *(f"   {name.removeprefix(module + '.')}" for name in here),
                "",
            ]
        for name, value in here.items():
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            text += [f".. auto{kind}:: {name}"]
            if kind == "class":
                text += ["   :members:", "   :inherited-members: object"]
            base = contract(value)
            if base is not None:
                hidden = [member for member in dir(base) if not member.startswith("_")]
                text += [f"   :exclude-members: {', '.join(hidden)}"]
            text += [""]
            if base is not None:
                text += [f"   It has the members of :class:`{base.__name__}` too.", ""]
            if isinstance(value, dict):  # instead of all that is in it
                text[-1:] = [
                    "   :no-value:",
                    "",
                    f"   By name: {', '.join(f'``{key}``' for key in value)}.",
                    "",
                ]
            if name in users:
                notebooks = ", ".join(
                    f":doc:`{title_of(app.notebooks[notebook])} </notebooks/{notebook}>`"
                    for notebook in users[name]
                )
                text += ["   .. rst-class:: soft", "", f"   Used in {notebooks}", ""]
        put(app, f"reference/{module}.rst", "\n".join(text))


def title_of(nb) -> str:
    """Return the first heading of a notebook as plain text; what is in it as TeX is set."""
    texts = ("".join(cell["source"]) for cell in nb["cells"] if cell["cell_type"] == "markdown")
    heading = re.search(r"(?m)^# +(.+)$", "\n".join(texts))
    title = re.sub(r"\$([^$]+)\$", lambda found: _set(found[1]), heading[1] if heading else "")
    return re.sub(r"[`<>*]", "", title).strip() or "a notebook"


def _set(tex: str) -> str:
    """Return the letters of a formula."""
    return html.unescape(re.sub(r"<[^>]*>", "", typeset(tex, "inline")))


def _unique(app, env, node, contnode):
    """Resolve a name without its module when the reference has only one such name."""
    if node.get("refdomain") == "py":
        ending = "." + node["reftarget"].lstrip(".").removeprefix("ss.")
        objects = env.get_domain("py").objects
        found = {
            (entry.docname, entry.node_id)
            for name, entry in objects.items()
            if name.endswith(ending)
        }
        if len(found) == 1:
            return make_refnode(
                app.builder, node["refdoc"], *found.pop(), contnode, node["reftarget"]
            )
    return None


def _skip(app, what, name, obj, skip, options) -> bool | None:
    """Leave out what classes have from elsewhere."""
    inside = getattr(obj, "fget", obj)
    return (
        None
        if (getattr(inside, "__module__", None) or "safescreen").startswith("safescreen")
        else True
    )


def _returned(app, what, name, obj, options, signature, returned) -> tuple | None:
    """Show the class that a function or method returns, if that is one word."""
    kind = (
        inspect.get_annotations(obj, eval_str=True).get("return")
        if what in ("function", "method")
        else None
    )
    word = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    return (
        (signature, {"ndarray": "array"}.get(word, word))
        if word.isidentifier() and word not in ("Any", "NoneType")
        else None
    )


def _back_links(app, pagename, templatename, context, doctree) -> None:
    """Leave on a page of code only those links to the reference that lead to an entry: viewcode
    assumes that all names of a file are described under one module.
    """
    if pagename.startswith("_modules/"):
        objects = app.env.get_domain("py").objects
        context["body"] = re.sub(
            r'<a class="viewcode-back" href="[^"#]*#([^"]*)">\[docs\]</a>',
            lambda found: found[0] if found[1] in objects else "",
            context["body"],
        )


def setup(app) -> dict[str, bool]:
    """Stage the pages, add the directive `names`; resolve short names."""
    app.add_directive("names", Names)
    app.connect("config-inited", _aliases, priority=100)
    app.connect("builder-inited", _stage)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _returned)
    app.connect("missing-reference", _unique)
    app.connect("html-page-context", _back_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
