"""The ledger as pages, a badge above each cell that checks a claim, and links from statements in texts."""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from _ext.stage import link, paragraph, pill, put, table
from safescreen_book import ledger

_KINDS = {"Theorem": "T", "Proposition": "P", "Corollary": "C", "Lemma": "L", "Algorithm": "A", "Figure": "F", "Fig.": "F", "Table": "B"}
_STATEMENT = re.compile(rf"\b([A-Z]{{3,4}}\d\d) ({'|'.join(map(re.escape, _KINDS))}) (\d+)\b(?!\.\d)")
_LEAVE = nodes.reference | nodes.literal | nodes.literal_block | nodes.title | nodes.math


def page_of(claim: ledger.Claim) -> str:
    """Return the page of the paper that makes a claim."""
    return f"claims/{claim.paper}"


class LedgerDirective(SphinxDirective):
    """Counts by paper and status."""

    def run(self):
        """Return the table; it changes with the ledger."""
        app = self.env.app
        self.env.note_dependency(str(app.manifest.folder / "claims.yml"))
        rows = []
        for paper, counts in ledger.counts(app.claims.values()).items():
            numbers = [str(counts[status] or "") for status in ledger.STATUSES]
            rows.append([link(app, paper, f"claims/{paper}"), str(sum(counts.values())), *numbers])
        return [table(["paper", "claims", *map(pill, ledger.STATUSES)], rows, range(1, 8))]


class ClaimsDirective(SphinxDirective):
    """The claims of one paper, a section each."""

    required_arguments = 1

    def run(self):
        """Return the sections; they change with the ledger."""
        app, paper = self.env.app, self.arguments[0]
        self.env.note_dependency(str(app.manifest.folder / "claims.yml"))
        page = nodes.section("", nodes.title("", f"Claims of {paper}"), ids=[paper])
        for claim in app.claims.values():
            if claim.paper == paper:
                title = nodes.title("", claim.id, nodes.Text(" "), pill(claim.status))
                where = ", ".join(filter(None, [ledger.KINDS[claim.kind], claim.also]))
                section = nodes.section("", title, paragraph(claim.what), ids=[claim.id], classes=["claim"])
                section += [paragraph(claim.evidence, classes=["evidence"])] if claim.evidence else []
                cell = link(app, claim.notebook, f"notebooks/{claim.notebook}", claim.id if cell_of(app, claim) else "")
                section += paragraph(where, " · ", cell, classes=["soft"]) if claim.notebook else paragraph(where, classes=["soft"])
                page += section
        return [page]


class BadgeDirective(SphinxDirective):
    """The badge of a claim: id and status in the argument, the statement as content."""

    required_arguments = 2
    has_content = True

    def run(self):
        """Return a line that can be linked to and leads to the ledger."""
        name, status = self.arguments
        back = link(self.env.app, name, page_of(self.env.app.claims[name]), name)
        badge = paragraph(back, " ", pill(status), " ", " ".join(self.content), classes=["badge"])
        badge["ids"] = [name]
        return [badge]


def cell_of(app, claim: ledger.Claim) -> dict | None:
    """Return the code cell that would fail if a claim failed."""
    cells = app.notebooks.get(claim.notebook, {}).get("cells", ())
    tagged = (cell for cell in cells if claim.cell in cell["metadata"].get("tags", ()))
    return next((cell for cell in tagged if cell["cell_type"] == "code"), None)


def _stage(app) -> None:
    """Write a page a paper; in the notebooks, put badges before the cells."""
    papers = dict.fromkeys(claim.paper for claim in app.claims.values())
    for paper in papers:
        put(app, f"claims/{paper}.md", f"```{{claims}} {paper}\n```\n")
    for claim in app.claims.values():
        cell = cell_of(app, claim)
        if cell and claim.status != "open":
            cells = app.notebooks[claim.notebook]["cells"]
            badge = f"```{{claim}} {claim.id} {claim.status}\n\n{' '.join(claim.what.split())}\n```"
            place = next(i for i, other in enumerate(cells) if other is cell)
            identity = f"badge-{claim.id.replace('.', '-')}"
            cells.insert(place, {"cell_type": "markdown", "id": identity, "metadata": {}, "source": badge})


def _link_statements(app, doctree) -> None:
    """Turn `STS19 Theorem 1` in a text into a link, where the ledger has it."""
    for text in list(doctree.findall(nodes.Text)):
        parent, ancestors = text.parent, []
        while parent is not None:
            ancestors.append(parent)
            parent = parent.parent
        if any(isinstance(node, _LEAVE) for node in ancestors) or not _STATEMENT.search(text):
            continue
        parts, end = [], 0
        for match in _STATEMENT.finditer(text):
            claim = app.claims.get(f"{match[1]}-{_KINDS[match[2]]}{match[3]}")
            if claim:
                parts += [nodes.Text(text[end : match.start()]), link(app, match[0], page_of(claim), claim.id)]
                end = match.end()
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def setup(app) -> dict[str, bool]:
    """Add the directives `ledger`, `claims` and `claim`."""
    app.add_directive("ledger", LedgerDirective)
    app.add_directive("claims", ClaimsDirective)
    app.add_directive("claim", BadgeDirective)
    app.connect("builder-inited", _stage)
    app.connect("doctree-read", _link_statements)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
