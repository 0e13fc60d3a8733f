"""Pages of results: for each experiment its runs, what they left, and what did not run with the
command that runs it.
"""

import ast
import json
import os
import re
from pathlib import Path

import pandas
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from _ext.claims import PAPERS, link_cell, link_claim
from _ext.stage import folded, link, paragraph, pill, put, raw, table
from safescreen_book import verdicts, wording
from safescreen_book._common import MOST_BYTES, BookError, inside
from safescreen_book.datasets import advice
from safescreen_book.runner import folders
from safescreen_book.runner.manifest import PROFILES, RECORDS, Run
from safescreen_book.runner.plans import plan

_ROWS = 40  # of a long table; the whole can be downloaded
_COLUMNS = 100  # of a wide one
_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)  # of a file not ours
_WORST = (
    "damaged",
    "failed",
    "changed",
    "not run",
    "data missing",
    "historic",
    "confirmed",
    "current",
    "complete",
)
_WHOLE = ("result.json", "failure.json", "summary.json", "conclusions.csv", folders.REPLAYS)
_NUMBER = "\0"  # stands for a number of a run in a text
_FEW = 8  # words, as in "Means along the path at the end"
_ENVIRONMENT = ("peak_memory_mb", "threads", "machine", "started")


def runs_of(app, experiment, profile: str) -> list[dict]:
    """Return what is known of the runs of an experiment, read once: those of the manifest, then
    what else is in its folder.
    """
    if (profile, experiment.name) in app.runs:
        return app.runs[profile, experiment.name]
    wanted = list(experiment.profiles[profile].runs) if profile in experiment.profiles else []
    there = sorted(
        path.parent.name
        for path in (app.outputs / profile / experiment.name).glob("[!.]*/result.json")
    )
    others = [
        Run(experiment.name, name, {}) for name in there if name not in {run.name for run in wanted}
    ]
    found = app.runs[profile, experiment.name] = [
        _run(app, run, profile, run in wanted) for run in [*wanted, *others]
    ]
    return found


def _run(app, run: Run, profile: str, planned: bool) -> dict:
    folder, missing, rows, more = folders.run_folder(app.outputs, profile, run), (), [], []
    known = {
        "run": run,
        "folder": folder,
        "missing": (),
        "result": None,
        "failure": None,
        "why": "",
        "conclusions": [],
        "more": [],
    }
    known["notebooks"] = []
    reading = folder / "result.json"
    try:
        for path in folder.rglob("*"):
            inside(path, app.outputs)
            if path.name in _WHOLE and (size := path.stat().st_size) > MOST_BYTES:
                reading = path
                raise BookError(f"it has {size} bytes, and at most {MOST_BYTES} are read")
        known["notebooks"] = sorted(folder.glob("notebook*.ipynb"))
        if planned:
            (item,) = plan(app.manifest, [run], profile, app.outputs)
            state, missing = item.state, item.missing if not item.state.done else ()
        else:
            state = folders.state(folder, record=profile == RECORDS)
        if state.result and (folder / "conclusions.csv").is_file():
            reading = folder / "conclusions.csv"
            rows = pandas.read_csv(reading, keep_default_na=False).to_dict("records")
            sentences = wording.sentences(rows)
            rows = [
                row | {"sentence": sentence, "question": wording.question(row)}
                for row, sentence in zip(rows, sentences, strict=True)
            ]
        if state.result and (folder / "summary.json").is_file():
            reading = folder / "summary.json"
            summary = json.loads(reading.read_text(encoding="utf-8"))
            more = [str(line) for line in summary.get("explanation", ())]
        status = "data missing" if missing and state.status == "not run" else state.status
        found = {"status": status, "missing": missing, "conclusions": rows, "more": more}
        found |= {"result": state.result, "failure": state.failure, "why": state.why}
        return (
            known
            | found
            | {"error": os.path.relpath(reading, app.outputs) if status == "damaged" else ""}
        )
    except _BROKEN as error:
        return known | {
            "status": "damaged",
            "error": f"{os.path.relpath(reading, app.outputs)}: {type(error).__name__}: {error}",
        }


FEW_DRAWS = (
    "These runs are small. Two draws decide little: an undecided conclusion is one that needs more "
    "of them, and no failure. What the same conclusions came to at the paper's size stands beside "
    "them."
)


def _of_records(app, row):
    """Return the verdict on a conclusion over all data sets at the paper's size, if there is one,
    and how many data sets agree.
    """
    same = (app.judged["claim"] == row["claim"]) & (app.judged["conclusion"] == row["conclusion"])
    theirs = app.judged[same]
    best = theirs[theirs["whose"] == "paper"]
    summary = verdicts.summarize(best if len(best) else theirs)
    if not len(summary):
        return None
    return summary.iloc[0]


def _at_the_papers_size(app, rows) -> str:
    keys = {(row["claim"], row["conclusion"]): row for row in rows}
    found = [_of_records(app, row) for row in keys.values()]
    words = [each["verdict"] for each in found if each is not None]
    return wording.counts(words) if words else ""


class Results(SphinxDirective):
    """What there is at one size: a row an experiment."""

    required_arguments = 1

    def run(self):
        app, profile, rows = self.env.app, self.arguments[0], []
        for experiment in app.manifest:
            if runs := runs_of(app, experiment, profile):
                title = link(app, experiment.title, f"results/{profile}/{experiment.name}")
                statuses = [run["status"] for run in runs]
                found = [row for run in runs for row in run["conclusions"]]
                said = [wording.counts(row["verdict"] for row in found) if found else ""]
                if profile != RECORDS:
                    said.append(_at_the_papers_size(app, found))
                finished = sum(status in folders.DONE for status in statuses)
                done = f"{finished} of {len(runs)}"
                status = pill(min(statuses, key=_WORST.index))
                rows.append([title, status, done, *said, _claims(app, experiment)])
        head = ["experiment", "status", "runs", "conclusions", "claims"]
        if profile == RECORDS:
            return [table(head, rows, (2,))]
        head.insert(4, "the same at the paper's size")
        return [paragraph(FEW_DRAWS), table(head, rows, (2,))]


class Experiment(SphinxDirective):
    """The page of an experiment at one size: a section a run."""

    required_arguments = 2

    def run(self):
        app, (profile, name) = self.env.app, self.arguments
        self.experiment = app.manifest.experiments[name]
        page = nodes.section("", nodes.title("", self.experiment.title), ids=[name])
        notebook = link(app, self.experiment.notebook, f"notebooks/{self.experiment.notebook}")
        serves = [" · serves ", *_claims(app, self.experiment)] if self.experiment.claims else []
        page += paragraph(f"At the {profile} size · notebook ", notebook, *serves, style="soft")
        if profile != RECORDS:
            page += paragraph(FEW_DRAWS)
        for run in runs_of(app, self.experiment, profile):
            title = nodes.title("", run["run"].name, nodes.Text(" "), pill(run["status"]))
            section = nodes.section("", title, ids=[nodes.make_id(f"run-{run['run'].name}")])
            for parts in (self._state(run, profile), self._left(run, profile), self._kept(run)):
                try:
                    section += [*parts]
                except _BROKEN as error:
                    said = _code(f"{type(error).__name__}: {error}")
                    section += paragraph("result.json cannot be read: ", said, style="failure")
            page += section
        return [page]

    def _state(self, run, profile):
        """What went wrong, and the command that runs it."""
        if run["error"]:
            yield paragraph("Cannot be read: ", _code(run["error"]), style="failure")
        if failure := run["failure"]:
            cell = (
                [f" in cell {failure['cell']} (", _code(failure.get("line", "")), ")"]
                if "cell" in failure
                else []
            )
            yield paragraph(
                "The last attempt failed",
                *cell,
                ": ",
                _code(failure.get("error", "")),
                style="failure",
            )
        if run["missing"]:
            yield paragraph(
                "Not here: ", _code(f"{' '.join(run['missing'])} ({advice(run['missing'])})")
            )
        if result := run["result"]:
            versions, commit = (
                result.get("versions", {}),
                (result.get("git") or {}).get("commit", ""),
            )
            made = f"Made with version {versions.get('safescreen', '?')}" + (
                f", commit {commit[:7]}" if commit else ""
            )
            day = f" on {str(result.get('started'))[:10]}" if result.get("started") else ""
            why = f" {run['status'].capitalize()}: {run['why']}." if run["why"] else ""
            yield paragraph(
                f"{made}{day}: its seconds are those of that version and machine.{why}",
                style="soft",
            )
        if run["status"] not in folders.DONE:
            yield paragraph(
                "To run it: ", _code(f"safescreen run {run['run']} --profile {profile}")
            )

    def _left(self, run, profile):
        """Of a finished run: conclusions, the paper's numbers, figures, tables, environment."""
        folder, result = run["folder"], run["result"]
        if result is None:
            return
        if run["conclusions"]:
            words = [row["verdict"] for row in run["conclusions"]]
            yield paragraph(f"Conclusions: {wording.counts(words)}.", style="soft")
            yield from self._found(run["conclusions"], profile)
        yield from map(paragraph, run["more"])
        for path in folder.glob("comparison.csv"):
            yield paragraph("The paper's numbers beside ours", style="soft")
            yield _csv(path)
        notebook = self.env.app.manifest.folder / f"{self.experiment.notebook}.ipynb"
        for path in pictures(self.experiment, folder):
            text = f"{caption(notebook, path.stem)} ({run['run'].name})"
            words = f"{run['run'].name}: {described(notebook, path.stem)}"
            yield nodes.figure(
                "", nodes.image(uri=self._uri(path), alt=words), nodes.caption("", text)
            )
        for path in sorted(folder.glob("table_*.csv")) or sorted(folder.glob("results.csv")):
            yield from folded(path.stem, _csv(path), paragraph(self._download(path), style="soft"))
        rows = result["parameters"] | {key: result[key] for key in _ENVIRONMENT if key in result}
        rows |= {f"seconds, {key}": value for key, value in result["seconds"].items()} | result[
            "versions"
        ]
        yield from folded(
            "parameters and environment",
            table(["", ""], [[str(key), str(value)] for key, value in rows.items()]),
        )

    def _found(self, conclusions, profile):
        """What was found, the paper's conclusions first; what was asked, and by what rule, on a
        click.
        """
        for row in sorted(conclusions, key=lambda row: list(wording.WHOSE).index(row["whose"])):
            said = []
            if profile != RECORDS:
                theirs = _of_records(self.env.app, row)
                if theirs is not None:
                    sets = f", {theirs['agree']} of {theirs['of']} data sets agree"
                    said = [" At the paper's size: ", pill(theirs["verdict"]), sets + "."]
            yield paragraph(pill(row["verdict"]), " ", row["sentence"], *said)
            yield from folded("what was asked", paragraph(row["question"]))

    def _kept(self, run):
        for path in run["notebooks"]:
            yield paragraph(
                "Executed: " if path.stem == "notebook" else "Where it failed: ",
                self._download(path),
                style="soft",
            )

    def _uri(self, path):
        return _address(self.env, path)

    def _download(self, path):
        return addnodes.download_reference(
            "", "", _code(path.name), refdoc=self.env.docname, reftarget=self._uri(path)
        )


class Gallery(SphinxDirective):
    """Every figure of every experiment at the largest size that ran, small, in the order of the
    figures and tables of the papers; then what goes beyond them.
    """

    def run(self):
        app = self.env.app
        self.shown = set()
        sections = []
        for paper, title in PAPERS.items():
            section = nodes.section("", nodes.title("", title), ids=[f"figures-{paper.lower()}"])
            for claim in sorted(items_of(app, paper), key=_number):
                section += self._item(claim)
            sections.append(section)
        title = nodes.title("", "Beyond the papers")
        section = nodes.section("", title, ids=["figures-beyond"])
        for experiment in app.manifest:
            if experiment.name not in self.shown:
                section += self._experiment(experiment)
        return [*sections, section]

    def _item(self, claim):
        """Yield what there is for a figure or table of a paper."""
        app = self.env.app
        head = [link_claim(app, claim.id), " ", pill(claim.status), " ", claim.what]
        yield paragraph(*head, style="item")
        serving = [experiment for experiment in app.manifest if claim.id in experiment.claims]
        if not serving and claim.notebook:
            yield paragraph("In notebook ", link_cell(app, claim), style="soft")
        for experiment in app.manifest:
            if claim.id in experiment.claims:
                if experiment.name in self.shown:
                    page = _largest(app, experiment)[1]
                    yield paragraph(
                        "Shown above: ", link(app, experiment.title, page), style="soft"
                    )
                else:
                    yield from self._experiment(experiment)

    def _experiment(self, experiment):
        """Yield the figures of an experiment, a link to its page each."""
        app = self.env.app
        self.shown.add(experiment.name)
        runs, page = _largest(app, experiment)
        notebook = app.manifest.folder / f"{experiment.notebook}.ipynb"
        figures = nodes.container(classes=["gallery"])
        for run in runs:
            name = run["run"].name
            for path in pictures(experiment, run["folder"]):
                text = caption(notebook, path.stem)
                words = f"{name}: {described(notebook, path.stem)}"
                image = nodes.image(uri=_address(self.env, path), alt=words)
                image["loading"] = "lazy"
                target = link(app, "", page, nodes.make_id(f"run-{name}"))
                if isinstance(target, nodes.reference):
                    target += image
                    image = target
                label = nodes.caption("", f"{name}: {text}")
                figures += nodes.figure("", image, label)
        title = [link(app, experiment.title, page)]
        if not len(figures):
            title += [": no figures, or not run"]
        yield paragraph(*title)
        if len(figures):
            yield figures


def items_of(app, paper: str) -> list:
    """Return the tables and figures of a paper."""
    return [claim for claim in app.claims.values() if claim.paper == paper and claim.kind in "FB"]


def _number(claim) -> tuple[bool, int, str]:
    """Figures by their number, then tables by theirs."""
    number = re.search(r"-[A-Z](\d+)(\w*)$", claim.id)
    return (claim.kind == "B", int(number[1]) if number else 0, claim.id)


def _largest(app, experiment):
    """Return the finished runs of an experiment at the largest size with any, and their page."""
    sizes = [app.config.report_profile] if app.config.report_profile else reversed(PROFILES)
    for size in sizes:
        if (app.outputs / size / experiment.name).is_dir():
            runs = [run for run in runs_of(app, experiment, size) if run["result"] is not None]
            if runs:
                return runs, f"results/{size}/{experiment.name}"
    return [], f"notebooks/{experiment.notebook}"


def pictures(experiment, folder: Path) -> list[Path]:
    """Return the figures that a run has left, in the order of the manifest."""
    order = {name: place for place, name in enumerate(experiment.outputs)}
    paths = folder.glob("*.svg")
    return sorted(paths, key=lambda path: (order.get(path.name, len(order)), path.name))


def _address(env, path: Path) -> str:
    """Return how Sphinx names a file that lies anywhere."""
    return "/" + Path(os.path.relpath(path, env.srcdir)).as_posix()


def caption(notebook: Path, figure: str) -> str:
    """Return the heading above the cell of a notebook that records a figure, which names the
    paper's where it is one; or its own name.
    """
    heading, _ = _recorded(notebook, figure)
    return re.sub(r"[`*$]", "", heading) or figure


def described(notebook: Path, figure: str) -> str:
    """Return what is drawn in a figure that a notebook records, in words: the sentences of its
    alternative text that hold for every run; or its caption.

    The cell gives that text to ``figures.show``. Of a sentence with a number of the run in it, what
    comes before the number is kept: of the first sentence always, of others if it is long enough to
    say something.
    """
    _, source = _recorded(notebook, figure)
    said = []
    for place, text in enumerate(re.split(r"(?<=[.;]) +(?=[A-Z])", _shown_text(source))):
        if _NUMBER in text:
            text = re.split(rf"[:;,.]?[^:;,.]*{_NUMBER}", text)[0]
            if place > 0 and len(text.split()) <= _FEW:
                continue
        if text.strip():
            said.append(text.strip().rstrip(".;"))
    return f"{'. '.join(said)}." if said else caption(notebook, figure)


def _recorded(notebook: Path, figure: str) -> tuple[str, str]:
    """Return the heading above the cell that records a figure, and the source of this cell."""
    heading = ""
    try:
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                heading = [heading, *re.findall(r"(?m)^##+ +(.+)$", source)][-1]
            elif re.search(rf"""\.figure\(\s*['"]{re.escape(figure)}['"]""", source):
                return heading, source
    except _BROKEN:
        pass
    return "", ""


def _shown_text(source: str) -> str:
    """Return the text that a cell gives to ``figures.show``, with a mark for each number of a
    run; empty if there is none.
    """
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return ""
    for call in calls:
        if ast.unparse(call.func).endswith("figures.show") and call.args:
            text = call.args[0]
            pieces = text.values if isinstance(text, ast.JoinedStr) else [text]
            return "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else _NUMBER for piece in pieces
            )
    return ""


def _csv(path: Path) -> nodes.Node:
    """A table cut when it is long, numbers to four digits; a broken one is named."""
    try:
        frame = pandas.read_csv(path)
    except _BROKEN as error:
        return paragraph(_code(path.name), f" cannot be read: {error}", style="failure")
    cut = (
        f"<p class='soft'>The first {_ROWS} of {len(frame)} rows.</p>" if len(frame) > _ROWS else ""
    )
    shown = frame.head(_ROWS).rename(columns=lambda name: str(name).replace("_", " "))
    made = shown.to_html(
        index=False,
        border=0,
        na_rep="",
        float_format=short,
        justify="left",
        classes="docutils",
        max_cols=_COLUMNS,
    )
    return raw(f'<div class="table-wrapper">{made}{cut}</div>')


def short(value: float) -> str:
    """Return a number to four significant digits, but without an exponent up to a billion."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _claims(app, experiment) -> list[nodes.Node]:
    return [
        part for name in experiment.claims for part in (nodes.Text(", "), link_claim(app, name))
    ][1:]


def _code(text) -> nodes.literal:
    return nodes.literal("", str(text))


def _stage(app) -> None:
    """Write the pages of every size that has results; of a report, those of its own size, and
    their list as the first page.
    """
    report, app.runs = app.config.report_profile, {}
    for profile in [report] if report else PROFILES:
        ran = {
            e.name
            for e in app.manifest
            if any((app.outputs / profile / e.name).glob("[!.]*/*.json"))
        }
        pages = (
            [e.name for e in app.manifest if profile in e.profiles or e.name in ran]
            if report or ran
            else []
        )
        tree = "\n".join(f"/results/{profile}/{name}" for name in pages)
        body = f"```{{results}} {profile}\n```\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
        if report:
            landing = (
                Path(app.confdir, "results.md").read_text(encoding="utf-8").partition("```")[0]
            )
            put(
                app,
                "index.md",
                f"{landing}## The {profile} "
                f"size\n\n{body}\n```{{toctree}}\n:hidden:\n\nclaims\n```\n",
            )
        elif pages:
            put(app, f"results/{profile}.md", f"# Results at the {profile} size\n\n{body}")
        for name in pages:
            put(app, f"results/{profile}/{name}.md", f"```{{experiment}} {profile} {name}\n```\n")


def setup(app) -> dict[str, bool]:
    """Add the directives `results`, `experiment` and `gallery`."""
    app.add_directive("gallery", Gallery)
    app.add_directive("results", Results)
    app.add_directive("experiment", Experiment)
    app.connect("builder-inited", _stage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
