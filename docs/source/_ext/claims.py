"""The ledger as pages, a badge above each cell that checks a claim, and links from statements in
texts.
"""

import re
from collections import Counter

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from _ext.stage import folded, link, paragraph, pill, put, table
from safescreen_book import ledger, verdicts, wording
from safescreen_book.protocols import judging
from safescreen_book.runner.manifest import RECORDS

STANDS = ("verified", "misprint", "reproduced")
PAPERS = {
    "STS19": "Safe triplet screening (KDD 2018; Neural Computation 2019)",
    "SSS13": "Safe sample screening (ICML 2013)",
    "SSS14": "Safe sample screening, extended (arXiv 2014)",
    "HDSL19": "Sparse similarity learning, HDSL (Neurocomputing 2019)",
}
_KINDS = {
    "Theorem": "T",
    "Proposition": "P",
    "Corollary": "C",
    "Lemma": "L",
    "Algorithm": "A",
    "Figure": "F",
    "Fig.": "F",
    "Table": "B",
}
_STATEMENT = re.compile(
    rf"\b([A-Z]{{3,4}}\d\d) ({'|'.join(map(re.escape, _KINDS))}) (\d+)\b(?!\.\d)"
)
_LEAVE = nodes.reference | nodes.literal | nodes.literal_block | nodes.title | nodes.math


def link_claim(app, name: str, text: str = "") -> nodes.Node:
    """Return a link to a claim, or only the text when the ledger has no such claim."""
    return (
        link(app, text or name, f"claims/{app.claims[name].paper}", name)
        if name in app.claims
        else nodes.Text(text or name)
    )


GROUPS = ("statements", "tables and figures", "conclusions")


def table_of(claims, rows) -> dict[str, list[str]]:
    """Return for each paper what became of each of `GROUPS`, in words."""
    claims = list(claims)
    rules = judging.load().rules
    items, stands = ledger.experiments(claims, rows, rules), ledger.stands(claims, rows)
    absent = ledger.absent(claims, rows, rules)
    paper_of = absent["claim"].str.partition("-")[0]
    found = {}
    for paper in PAPERS:
        kinds = Counter(c.status for c in claims if c.paper == paper and c.kind not in "FB")
        judged = stands.get(paper, Counter())
        found[paper] = [
            _counted(kinds, _STATEMENTS),
            _counted(items.get(paper, Counter()), _ITEMS),
            "; ".join([wording.counts(judged.elements()), *ledger.left(absent[paper_of == paper])]),
        ]
    return found


_STATEMENTS = {"verified": "as printed", "misprint": "with a slip", "corrected": "corrected"}
_ITEMS = {"drawings": "drawn or derived", "reproduced": "experiments reproduced"}
_ITEMS |= {cause: f"in part (for want of {words})" for cause, words in ledger.CAUSES.items()}
_ITEMS |= {"undecided": "undecided", "differs": "differ"}


def _counted(numbers, words) -> str:
    """Return numbers with what they count, those that are not 0."""
    told = [wording.numbered(numbers[key], word) for key, word in words.items() if numbers[key]]
    return ", ".join(told)


class Ledger(SphinxDirective):
    """Counts by paper and status."""

    def run(self):
        app, rows = self.env.app, []
        for paper, counts in ledger.counts(app.claims.values()).items():
            numbers = [str(counts[status] or "") for status in ledger.STATUSES]
            rows.append([link(app, paper, f"claims/{paper}"), str(sum(counts.values())), *numbers])
        return [
            table(
                ["paper", "claims", *map(pill, ledger.STATUSES)],
                rows,
                range(1, 2 + len(ledger.STATUSES)),
            )
        ]


class Papers(SphinxDirective):
    """What became of each paper: its statements, tables and figures, and conclusions."""

    def run(self):
        app = self.env.app
        rows = [
            [link(app, PAPERS[paper], f"claims/{paper}"), *told]
            for paper, told in table_of(app.claims.values(), app.judged).items()
        ]
        return [table(["paper", *GROUPS], rows, widths=(26, 22, 30, 22))]


class Changed(SphinxDirective):
    """What was changed in the rules after a run had been seen."""

    def run(self):
        app, rows = self.env.app, []
        rules = judging.load()
        changes = [([nodes.Text(change["which"])], change) for change in rules.changed]
        for rule in rules.rules:
            name = [link_claim(app, rule.claim), nodes.Text(f": {rule.asks}")]
            changes += [(name, change) for change in rule.changed]
        for name, change in changes:
            what = _capital(change["what"].replace(" -> ", " → "))
            what = f"{what}. {_capital(change['why'])}."
            verdict = change["verdict"].replace(" -> ", " → ")
            rows.append([name, what, f"{verdict} (before: {change['commit']})"])
        head = ["conclusion", "before → after, and why", "verdict before → after"]
        return [table(head, rows, widths=(30, 45, 25))]


class Items(SphinxDirective):
    """Every table and figure of a paper, or of all: its verdict, the runs it stands on, and what
    is missing.
    """

    optional_arguments = 1

    def run(self):
        app, rows = self.env.app, []
        absent = ledger.absent(app.claims.values(), app.judged, judging.load().rules)
        for claim in app.claims.values():
            if claim.kind in "FB" and claim.paper in (self.arguments or PAPERS):
                found = app.judged[app.judged["claim"] == claim.id]
                words = verdicts.summarize(found[found["whose"] == "paper"])["verdict"].tolist()
                stands = [wording.counts(words)] if words else []
                stands += ledger.left(absent[absent["claim"] == claim.id])
                seen = _runs(app, found) or [link_cell(app, claim)]
                rows.append(
                    [
                        link_claim(app, claim.id),
                        claim.what,
                        pill(claim.status),
                        "; ".join(stands),
                        seen,
                        ledger.lacking(claim),
                    ]
                )
        head = ["item", "what it shows", "verdict", "conclusions", "runs", "missing"]
        return [table(head, rows, widths=(9, 28, 11, 12, 20, 20))]


class Absent(SphinxDirective):
    """What no run covers for want of data that are not at hand, and what somebody types who has
    them.
    """

    def run(self):
        app, rows = self.env.app, []
        for claim in app.claims.values():
            lacks = claim.missing.get("elsewhere")
            experiment = app.manifest.experiments.get(claim.notebook or "")
            if not lacks or experiment is None or RECORDS not in experiment.profiles:
                continue
            found = app.judged[app.judged["claim"] == claim.id]
            found = found[found["experiment"] == experiment.name]
            found = found.sort_values("whose", key=lambda whose: whose != "paper", kind="stable")
            run = str(experiment.profiles[RECORDS].runs[0])
            if len(found):
                run = f"{experiment.name}/{found['run'].iloc[0]}"
            typed = nodes.literal("", f"safescreen run {run} --profile {RECORDS} -p dataset NAME")
            rows.append([link_claim(app, claim.id), f"{lacks}.", typed])
        return [table(["item", "what is missing", "with the data"], rows, widths=(12, 48, 40))]


class Slips(SphinxDirective):
    """What is not as printed: each with the reading that is kindest to its authors."""

    def run(self):
        app = self.env.app
        slips = [
            claim
            for claim in app.claims.values()
            if claim.status in ("misprint", *ledger.ACCUSATIONS)
        ]
        rows = [
            [
                link_claim(app, claim.id),
                claim.what,
                pill(claim.status),
                claim.fair or claim.evidence,
            ]
            for claim in slips
        ]
        return [table(["item", "what it says", "verdict", "in fairness, or the slip"], rows)]


class Claims(SphinxDirective):
    """The claims of one paper, a section each."""

    required_arguments = 1

    def run(self):
        app, paper = self.env.app, self.arguments[0]
        page = nodes.section("", nodes.title("", f"Claims of {paper}"), ids=[paper])
        for claim in (claim for claim in app.claims.values() if claim.paper == paper):
            title = nodes.title("", claim.id, nodes.Text(" "), pill(claim.status))
            where = [", ".join(filter(None, [ledger.KINDS[claim.kind], claim.also]))]
            if claim.notebook:
                where += [" · ", link_cell(app, claim)]
            fair = (
                [paragraph(nodes.emphasis("", "In fairness: "), claim.fair)] if claim.fair else []
            )
            fair += (
                [paragraph(nodes.emphasis("", "Missing: "), ledger.lacking(claim))]
                if claim.missing
                else []
            )
            parts = [
                paragraph(claim.what),
                *fair,
                paragraph(claim.evidence or "", style="soft"),
                paragraph(*where, style="soft"),
            ]
            parts += _judged(app, claim)
            page += nodes.section("", title, *parts, ids=[claim.id], classes=["claim"])
        return [page]


def _judged(app, claim):
    """Yield the conclusions of runs on a claim: what was asked, its verdict over the data sets,
    and on a click what was found on each of them.
    """
    found = app.judged[app.judged["claim"] == claim.id]
    if not len(found):
        return
    groups, rules = found.groupby(["conclusion", "whose"], sort=False), judging.load()
    for row in verdicts.summarize(found).itertuples():
        group = groups.get_group((row.conclusion, row.whose))
        several = f" ({row.agree} of {row.of} data sets)" if row.of > 1 else ""
        one = group.iloc[0].to_dict()
        one["whose"] = rules.whose(one)
        whose = f" {_capital(wording.WHOSE[one['whose']])}{several}."
        yield paragraph(f"{_capital(row.conclusion)}.", whose, " ", pill(row.verdict))
        lines = []
        for each in group.to_dict("records"):
            page = f"results/paper/{each['experiment']}"
            run = link(app, each["run"], page, nodes.make_id(f"run-{each['run']}"))
            lines.append(paragraph(f"{each['dataset']}: {wording.sentence(each)} Run: ", run))
        asked = [paragraph(wording.question(one))]
        asked += _history(rules.named(claim.id, row.conclusion))
        yield from folded("what was found, and the rule", *asked, *lines)
    yield paragraph("Runs: ", *_runs(app, found), style="soft")


def _history(rule):
    """Yield since when a rule stands, and what was changed of it after a run had been seen."""
    if rule is None:
        return
    version, _, commit = rule.since.partition(", ")
    yield paragraph(f"Since: version {version}, commit {commit}.")
    for change in rule.changed:
        what = change["what"].replace(" -> ", " → ")
        verdict = change["verdict"].replace(" -> ", " → ")
        said = f"{what}, because {change['why']}. Verdict: {verdict}."
        yield paragraph(f"Changed after a run: {said} Before: commit {change['commit']}.")


def _capital(text):
    return text[:1].upper() + text[1:]


def link_cell(app, claim):
    """Return a link to the cell of a claim, or to its notebook where that is not shown."""
    return link(
        app,
        claim.notebook or "",
        f"notebooks/{claim.notebook}",
        claim.id if _cell(app, claim) else "",
    )


def _runs(app, found):
    """Return links to the runs that rows come from, by experiment."""
    parts = []
    for experiment, runs in found.groupby("experiment", sort=False)["run"]:
        page = f"results/paper/{experiment}"
        parts += ["; ", link(app, experiment, page), ": "]
        parts += [
            part
            for run in runs.unique()
            for part in (link(app, run, page, nodes.make_id(f"run-{run}")), ", ")
        ][:-1]
    return parts[1:]


class Badge(SphinxDirective):
    """A line above a cell: id, status and statement of a claim, as they are in the ledger."""

    required_arguments = 1

    def run(self):
        app, name = self.env.app, self.arguments[0]
        if name not in app.claims:
            raise self.error(f"the ledger has no claim {name!r}")
        claim = app.claims[name]
        parts = [link_claim(app, name), " ", pill(claim.status), " ", claim.what]
        badge = paragraph(*parts, style="badge")
        badge["ids"] = [name]
        return [badge]


def _cell(app, claim: ledger.Claim) -> dict | None:
    """The code cell that would fail if a claim failed."""
    cells = app.notebooks.get(claim.notebook, {}).get("cells", ()) if claim.status != "open" else ()
    tagged = (cell for cell in cells if claim.cell in cell["metadata"].get("tags", ()))
    return next((cell for cell in tagged if cell["cell_type"] == "code"), None)


def _stage(app) -> None:
    """Write a page a paper; in the notebooks, put badges before the cells."""
    for claim in app.claims.values():
        put(app, f"claims/{claim.paper}.md", f"```{{claims}} {claim.paper}\n```\n")
        if cell := _cell(app, claim):
            cells = app.notebooks[claim.notebook]["cells"]
            badge = f"```{{claim}} {claim.id}\n```"
            place = next(i for i, other in enumerate(cells) if other is cell)
            identity = f"badge-{claim.id.replace('.', '-')}"
            cells.insert(
                place, {"cell_type": "markdown", "id": identity, "metadata": {}, "source": badge}
            )


def _link_statements(app, doctree) -> None:
    """Turn `STS19 Theorem 1` in a text into a link, where the ledger has it."""
    for text in [text for text in doctree.findall(nodes.Text) if _STATEMENT.search(text)]:
        parents = [text.parent]
        while parents[-1].parent is not None:
            parents.append(parents[-1].parent)
        if not any(isinstance(node, _LEAVE) for node in parents):
            parts, end = [], 0
            for match in _STATEMENT.finditer(text):
                claim = f"{match[1]}-{_KINDS[match[2]]}{match[3]}"
                parts += [nodes.Text(text[end : match.start()]), link_claim(app, claim, match[0])]
                end = match.end()
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def setup(app) -> dict[str, bool]:
    """Add the directives that this module defines."""
    directives = {
        "ledger": Ledger,
        "papers": Papers,
        "items": Items,
        "absent": Absent,
        "slips": Slips,
        "changed": Changed,
        "claims": Claims,
        "claim": Badge,
    }
    for name, directive in directives.items():
        app.add_directive(name, directive)
    app.connect("builder-inited", _stage)
    app.connect("doctree-read", _link_statements)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
