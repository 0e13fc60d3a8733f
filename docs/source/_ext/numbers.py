"""Numbers and tables in hand-written pages, taken from committed results.

A text names a number: {number}`wine seconds here`. The directive `committed` shows rows of a table
that runs have left, `benchmark` a table of the last benchmarks. They read the checkout that the
pages come from: `outputs/paper`, ledger, manifest and `benchmarks/`."""

import csv
import functools
import re
from collections import Counter
from pathlib import Path

import pandas
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole

from _ext.claims import STANDS
from _ext.results import short
from _ext.stage import link, paragraph, table
from safescreen_book import ledger
from safescreen_book.protocols import judging
from safescreen_book.runner import folders
from safescreen_book.runner.loading import load_manifest

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / "notebooks"
RECORDS = ROOT / "outputs" / "paper"


@functools.cache
def numbers() -> dict[str, str]:
    """Return every number that a text may name."""
    found = _gains() | _draws() | _paths() | _searches() | _fits() | _errors()
    return found | _claims() | _experiments() | _records() | _replays()


def shown(value: float, digits: int = 2) -> str:
    """Return a number to some significant digits, without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


PAPERS_SETS = ("iris", "wine", "segment", "satimage", "phishing")
"""Of STS19 Figure 9, those whose paths were run at the stop that the paper prints."""


def _gains() -> dict[str, str]:
    """How many times faster RRPB makes a path: at the stop of the paper, and at a relative gap."""
    found = {"data sets of screening": {5: "five"}.get(len(PAPERS_SETS), str(len(PAPERS_SETS)))}
    for stop, ending in (("", ""), (" at a relative gap", "-relative")):
        factors = []
        for name in PAPERS_SETS:
            path = RECORDS / "51-path-time" / f"{name}{ending}" / "table_time.csv"
            table = pandas.read_csv(path).set_index("method")
            factors.append(float(table.at["RRPB", "factor"]))
        found[f"screening gains least{stop}"] = shown(min(factors))
        found[f"screening gains most{stop}"] = shown(max(factors))
    return found


def _draws() -> dict[str, str]:
    """How many draws the runs of two tables have: most of them, and in brackets the others."""
    metrics = ("wine", "breast-cancer", "digits", "segment")
    tables = {"paths": ("51-path-time", PAPERS_SETS), "metrics": ("59-other-software", metrics)}
    found = {}
    for name, (experiment, runs) in tables.items():
        sets: dict[int, list[str]] = {}
        for run in runs:
            rows = pandas.read_csv(RECORDS / experiment / run / "results.csv")
            sets.setdefault(rows["draw"].nunique(), []).append(run)
        most = max(sets, key=lambda n: len(sets[n]))
        others = ", ".join(f"{n} on {' and '.join(sets[n])}" for n in sets if n != most)
        found[f"draws of {name}"] = f"{most} draws" + (f" ({others})" if others else "")
    return found


def _paths() -> dict[str, str]:
    """The program of the authors of STS19 and this library on the same paths."""
    with (ROOT / "benchmarks" / "authors.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for data in ("iris", "wine"):
        paths = {(row["who"], row["method"]): row for row in rows if row["dataset"] == data}
        seconds = {key: float(row["seconds"]) for key, row in paths.items()}
        theirs = seconds["authors", "RRPB"]
        ours = seconds["safescreen", "triplets, RRPB"]
        found[f"{data} triplets"] = f"{int(paths['authors', 'RRPB']['n_triplets']):,}"
        found[f"{data} lams"] = paths["authors", "RRPB"]["n_lams"]
        found[f"{data} seconds of the authors"] = shown(theirs)
        found[f"{data} seconds here"] = shown(ours)
        found[f"{data} seconds of products"] = shown(
            seconds["safescreen", "products, no screening"]
        )
        found[f"{data} times faster"] = shown(theirs / ours)
    return found


def _searches() -> dict[str, str]:
    """How many times faster SafeSVCCV is than the faster rival, where all of them ended."""
    found = {}
    for kind, name in SEARCHES.items():
        factors = search_factors(name).values()
        found[f"{kind} search gains least"] = shown(min(factors))
        found[f"{kind} search gains most"] = shown(max(factors))
    return found


def search_factors(name: str) -> dict[str, float]:
    """Return the seconds of the faster rival over ours by the data, from a table of searches."""
    found = {}
    for row in rows_of(name):
        rivals = [row[head] for head in ("SVC", "oneDAL", "LinearSVC") if head in row]
        if all(re.fullmatch(r"[\d.]+", seconds) for seconds in rivals):
            ours = float(row["SafeSVCCV"].split()[0])
            found[next(iter(row.values()))] = min(map(float, rivals)) / ours
    return found


SEARCHES = {
    "linear": "hinge | LinearSVC",
    "kernel": "rows | SVC | oneDAL | `SafeSVCCV` | at `tol=1e-3` | choice: C, gamma | score | "
    "difference | at `tol=1e-3` | MB: SVC, oneDAL, `SafeSVCCV`",
}
"""Tables of the benchmarks with seconds of searches."""


def _fits() -> dict[str, str]:
    """Seconds of one fit of the most rows, and the machines that benchmarks ran on."""
    last = rows_of("rows | LinearSVC")[-1]
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    machines = re.search(r"^## Last run\n+(.+?)\n\n", text, re.M | re.S)
    found = {"most rows": last["rows"], "machines of benchmarks": machines[1].replace("`", "")}
    for head in ("LinearSVC", "SafeSVC, linear", "SVC, rbf", "SafeSVC, rbf"):
        found[f"seconds of {head}"] = last[head].split(" s")[0]
    return found


def _errors() -> dict[str, str]:
    """Errors of neighbours on digits, in percent."""
    table = pandas.read_csv(RECORDS / "59-other-software" / "digits" / "table_software.csv")
    errors = table.set_index("method")["error"]
    return {f"error of {name}": f"{errors[name]:.1%}".replace("%", " %") for name in METHODS}


METHODS = ("Euclid", "NCA (scikit-learn)", "LMNN (PyLMNN)", "TripletMetric")


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of the benchmarks by their heads, each with its first column."""
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    head, _, *rows = map(_cells, table_called(name, text)[0])
    places = {name: head.index(name) for name in head}
    return [{name: row[place] for name, place in places.items()} for row in rows]


def _cells(line: str) -> list[str]:
    """Return the entries of a line of a table, without marks."""
    return [cell.strip().strip("*").replace("`", "") for cell in line.strip("|").split("|")]


def _claims() -> dict[str, str]:
    """Counts of the ledger over the papers, without what goes beyond them."""
    claims = ledger.load_claims(NOTEBOOKS)
    printed = [claim for claim in claims if claim.paper != "ours"]
    items = Counter(claim.status for claim in printed if claim.kind in "FB")
    statements = Counter(claim.status for claim in printed if claim.kind not in "FB")
    conclusions: Counter[str] = Counter()
    rows = ledger.judged(NOTEBOOKS)
    absent = ledger.absent(claims, rows, judging.load().rules)
    for counts in ledger.stands(claims, rows).values():
        conclusions.update(counts)
    found = {
        "statements": statements.total(),
        "items": items.total(),
        "verified": items["verified"] + statements["verified"],
        "conclusions": conclusions.total(),
        "conclusions absent": len(absent),
    }
    found |= {
        f"conclusions {cause}": int((absent["cause"] == cause).sum()) for cause in ledger.CAUSES
    }
    found |= {f"statements {status}": statements[status] for status in ledger.STATUSES}
    found |= {f"items {status}": items[status] for status in ledger.STATUSES}
    found["items that stand"] = sum(items[status] for status in STANDS)
    found |= {f"conclusions {word}": conclusions[word] for word in _VERDICTS}
    return {name: str(count) for name, count in found.items()}


_VERDICTS = ("stands", "does not", "undecided")


def _experiments() -> dict[str, str]:
    manifest = load_manifest(NOTEBOOKS)
    found = {
        "theorem notebooks": str(len(list(NOTEBOOKS.glob("[1-4]*.ipynb")))),
        "experiment notebooks": str(len({experiment.notebook for experiment in manifest})),
    }
    for size in ("smoke", "laptop"):
        seconds = sum(e.profiles[size].seconds for e in manifest if size in e.profiles)
        found[f"minutes of {size}"] = shown(seconds / 60.0)
        found[f"hours of {size}"] = shown(seconds / 3600.0)
    return found


def _records() -> dict[str, str]:
    """What the committed results of the papers' size took."""
    paths = sorted(RECORDS.glob("[!.]*/[!.]*/result.json"))
    records = [found for path in paths if (found := folders.read_result(path.parent))]
    versions = {str(one.get("versions", {}).get("safescreen", "?")) for one in records}
    return {
        "records": str(len(records)),
        "hours of records": shown(sum(one["seconds"].get("wall", 0.0) for one in records) / 3600.0),
        "versions of records": ", ".join(sorted(versions)),
    }


def _replays() -> dict[str, str]:
    """What the last replay of each record said."""
    paths = sorted(RECORDS.glob("[!.]*/[!.]*/replays.jsonl"))
    last = [found[-1] for path in paths if (found := folders.read_replays(path.parent))]
    return {
        "records replayed": str(len(last)),
        "records that agree": str(sum(one.get("agrees") is True for one in last)),
        "minutes of replays": shown(sum(one.get("seconds", 0.0) for one in last) / 60.0),
    }


class Number(SphinxRole):
    """A number by its name."""

    def run(self):
        if self.text not in numbers():
            return [], [self.inliner.reporter.error(f"no number is called {self.text!r}")]
        return [nodes.Text(numbers()[self.text])], []


class Committed(SphinxDirective):
    """Some columns of a table that the runs of an experiment left, a run after the other.

    Entries of a list are parted by semicolons. `where` keeps rows: `whose = ours; method = a | b`.
    """

    required_arguments = 2
    option_spec = {  # noqa: RUF012
        "runs": directives.unchanged_required,
        "columns": directives.unchanged_required,
        "heads": directives.unchanged,
        "where": directives.unchanged,
    }

    def run(self):
        experiment, file = self.arguments
        app = self.env.app
        columns = _listed(self.options["columns"])
        heads = _listed(self.options.get("heads", "")) or columns
        page = f"results/paper/{experiment}"
        rows = []
        for run in _listed(self.options["runs"]):
            frame = pandas.read_csv(RECORDS / experiment / run / file)
            for condition in _listed(self.options.get("where", "")):
                column, _, values = condition.partition(" = ")
                frame = frame[frame[column].isin(_listed(values, "|"))]
            for row in frame[columns].itertuples(index=False):
                title = link(app, run, page, nodes.make_id(f"run-{run}"))
                rows.append([title, *map(_cell, row)])
        if not rows:
            raise self.error(f"no such rows in {file} of {experiment}")
        source = paragraph("From ", link(app, experiment, page), ".", style="soft")
        return [table(["data", *heads], rows, _numeric(rows)), source]


MADE = re.compile(r"\((\d+\.\d+\.\d+, [^;)]+)[;)]")
"""The version and machine of a table of benchmarks, as its text names them."""


def table_called(name: str, text: str) -> tuple[list[str], str]:
    """Return the lines of the one table of a text whose first heads are `name`, and the version and
    machine that the text above it names; ValueError if there is no such table, or several.
    """
    found = [*re.finditer(rf"^\| {re.escape(name)} \|.*\n(?:\|.*\n)+", text, re.M)]
    if len(found) != 1:
        raise ValueError(f"benchmarks/README.md has {len(found)} tables of {name!r}, not one")
    above = re.split(r"^\|.*\n", text[: found[0].start()], flags=re.M)[-1]
    made = MADE.findall(above)
    if not made:
        raise ValueError(f"no version and machine, as (0.4.0, Xeon), is named above {name!r}")
    return found[0][0].strip().splitlines(), made[-1]


class Benchmark(SphinxDirective):
    """A table of the last run in `benchmarks/README.md`, named by the heads of its first columns,
    as many as no other table begins with.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
        try:
            lines, made = table_called(self.arguments[0], text)
        except ValueError as error:
            raise self.error(str(error)) from None
        head, _, *rows = map(_cells, lines)
        source = paragraph(f"From benchmarks/ ({made}).", style="soft")
        return [table(head, rows, _numeric(rows)), source]


def _listed(text: str, between: str = ";") -> list[str]:
    return [part.strip() for part in text.split(between) if part.strip()]


def _numeric(rows) -> list[int]:
    """Return the columns with numbers in every row."""
    places = range(1, len(rows[0]))
    return [place for place in places if all(_is_number(row[place]) for row in rows)]


def _cell(value) -> str:
    if isinstance(value, float):
        return "" if value != value else short(float(f"{value:.3g}"))
    return str(value)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[\d.,]*(e[-+]\d+)?\*?", text) is not None


def setup(app) -> dict[str, bool]:
    """Add the role `number`, the directives `committed` and `benchmark`."""
    app.add_role("number", Number())
    app.add_directive("committed", Committed)
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
