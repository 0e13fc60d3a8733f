"""What stands around a page: its source, and where to edit it; and how wide its outputs are.

A hand-written page or a notebook leads to its file in the repository that `pyproject.toml` names as
`Repository`, where it names one, and else to the copy of it beside the pages. Generated pages have
neither; those of the reference show the code of each name instead. Printed sentences that are wider
than a page are wrapped; printed tables are scrolled, since their columns would not stand below each
other. The navigation is made from titles alone: Sphinx would copy the headings of all pages for
each page, and leave them out."""

import copy
import functools
import posixpath
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.environment.adapters.toctree import global_toctree_for_doc

BRANCH = "main"


def source(root: Path, page: str) -> str | None:
    """Return the file that a page is written in, from the checkout's root, or None."""
    for name in (f"docs/{page}.md", f"{page}.py"):
        if (root / name).is_file() and not page.startswith("_"):
            return name
    return None


def links(repository: str, file: str) -> dict[str, str]:
    """Return the addresses where a file is shown and edited, as the theme calls them."""
    address = repository.rstrip("/")
    return {
        "theme_source_view_link": f"{address}/blob/{BRANCH}/{file}",
        "theme_source_edit_link": f"{address}/edit/{BRANCH}/{file}",
    }


def _link(app, pagename, templatename, context, doctree) -> None:
    file = source(Path(app.confdir).parent, pagename)
    if file is None:
        context["page_source_suffix"] = ""
    elif app.config.repository:
        context.update(links(app.config.repository, file))


WIDE, WIDEST = 92, 118
"""Characters of a line: more do not fit on a page, and more do not in smaller letters."""


def wrap(app, doctree) -> None:
    """Mark printed outputs that are no tables, those with fewer than two lines in which words have
    three blanks between them; and tables that fit in smaller letters.
    """
    for block in doctree.findall(nodes.literal_block):
        if "output" not in block["classes"]:
            continue
        lines = block.astext().splitlines()
        if sum("   " in line.strip() for line in lines) < 2:
            block["classes"].append("sentences")
        elif WIDE < max(map(len, lines), default=0) <= WIDEST:
            block["classes"].append("dense")


def _without_headings(toc: nodes.Element) -> nodes.Element:
    """Return the contents of a page with its title and its lists of pages, and nothing else."""
    slim = toc.deepcopy()
    for item in slim.children:
        if len(item) > 1:
            lists = list(item.findall(addnodes.toctree))
            item[1][:] = lists
            if not lists:
                item.pop(1)
    return slim


def _slim_navigation(app, env) -> None:
    """Have the navigation made from an environment without headings."""
    slim = copy.copy(env)
    slim.tocs = {name: _without_headings(toc) for name, toc in env.tocs.items()}

    @functools.cache
    def navigation(pagename, **options):
        found = global_toctree_for_doc(slim, pagename, app.builder, tags=app.tags, **options)
        return app.builder.render_partial(found)["fragment"]

    def navigate(app, pagename, templatename, context, doctree):
        whole = context["toctree"]
        if pagename not in env.all_docs:  # the same for all pages of a folder that are not in it
            pagename = posixpath.join(posixpath.dirname(pagename), "no page")

        def toctree(**options):
            return (
                navigation(pagename, **options) if options.get("titles_only") else whole(**options)
            )

        context["toctree"] = toctree

    app.connect("html-page-context", navigate, priority=300)


def setup(app) -> dict[str, bool]:
    """Link pages to their sources."""
    app.add_config_value("repository", "", "html")
    app.connect("env-check-consistency", _slim_navigation)
    app.connect("doctree-read", wrap)
    app.connect("html-page-context", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
