"""What stands around a page: its source, and where to edit it; and how wide its outputs are.

A hand-written page or a notebook leads to its file in the repository that `pyproject.toml` names as
`Repository`, where it names one, and else to the copy of it beside the pages. Generated pages have
neither; those of the reference show the code of each name instead. Printed sentences that are wider
than a page are wrapped; printed tables are scrolled, since their columns would not stand below each
other."""

from pathlib import Path

from docutils import nodes

BRANCH = "main"


def source(root: Path, page: str) -> str | None:
    """Return the file that a page is written in, from the checkout's root, or None."""
    for name in (f"docs/source/{page}.md", f"{page}.py"):
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
    file = source(Path(app.confdir).parents[1], pagename)
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


def setup(app) -> dict[str, bool]:
    """Link pages to their sources."""
    app.add_config_value("repository", "", "html")
    app.connect("doctree-read", wrap)
    app.connect("html-page-context", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
