"""Pages of results: for each experiment its runs, what they left, and what did not run with the command that runs it."""

import csv
import json
import math
import os
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from _ext.claims import page_of
from _ext.stage import link, paragraph, pill, put, table
from safescreen_book.runner import batch, folders
from safescreen_book.runner.manifest import PROFILES, Run

_ROWS = 40  # of a long table; the whole is beside the page
_ENVIRONMENT = ("peak_memory_mb", "cores", "threads", "machine", "git", "started")
_WORST = ("unreadable", "failed", "out of date", "not run", "data missing", "complete")


def runs_of(app, experiment, profile: str) -> list[dict]:
    """Return the runs of an experiment: those of the manifest, then what else is in its folder.

    Parameters
    ----------
    app : Sphinx
    experiment : Experiment
    profile : str

    Returns
    -------
    list of dict
        `run`, `folder`, `status`, `missing` data sets, `result` and `failure`; a file that cannot be read is an `error`.
    """
    wanted = list(experiment.profiles[profile].runs) if profile in experiment.profiles else []
    there = sorted(path.parent.name for path in (app.outputs / profile / experiment.name).glob("[!.]*/result.json"))
    others = [Run(experiment.name, name, {}) for name in there if name not in {run.name for run in wanted}]
    found = []
    for run in [*wanted, *others]:
        folder = folders.run_folder(app.outputs, profile, run)
        entry = {"run": run, "folder": folder, "missing": (), "result": None, "failure": None, "error": "", "summary": {}}
        try:
            if run in others:
                state = folders.state(folder)
            else:
                (item,) = batch.plan(app.manifest, [run], profile, app.outputs)
                state, entry["missing"] = item.state, item.missing if item.state.status != "complete" else ()
            status = "data missing" if entry["missing"] and state.status == "not run" else state.status
            entry |= {"status": status, "result": state.result, "failure": state.failure}
            if state.result is not None and (folder / "summary.json").is_file():
                entry["summary"] = _summary(folder / "summary.json")
        except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            entry |= {"status": "unreadable", "error": f"{type(error).__name__}: {error}"}
        found.append(entry)
    return found


def _summary(path: Path) -> dict:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not all({"claim", "paper", "ours", "stands"} <= set(row) for row in content.get("conclusions", ())):
        raise ValueError("summary.json is no summary")
    return content


class ResultsDirective(SphinxDirective):
    """What there is at one size: a row an experiment."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        app, profile, rows = self.env.app, self.arguments[0], []
        for experiment in app.manifest:
            entries = runs_of(app, experiment, profile)
            if entries:
                found = {entry["status"] for entry in entries}
                stands = [row["stands"] is True for entry in entries for row in entry["summary"].get("conclusions", ())]
                title = link(app, experiment.title, f"results/{profile}/{experiment.name}")
                done = f"{sum(entry['status'] == 'complete' for entry in entries)} of {len(entries)}"
                conclusions = f"{sum(stands)} of {len(stands)}" if stands else ""
                status = pill(next(status for status in _WORST if status in found))
                rows.append([title, status, done, conclusions, _claims(app, experiment)])
        return [table(["experiment", "status", "runs", "conclusions that stand", "claims"], rows, (2, 3))]


class ExperimentDirective(SphinxDirective):
    """The page of an experiment at one size."""

    required_arguments = 2

    def run(self):
        """Return a section with one for each run."""
        app, (profile, name), self.figures = self.env.app, self.arguments, 0
        experiment = app.manifest.experiments[name]
        page = nodes.section("", nodes.title("", experiment.title), ids=[name])
        notebook = link(app, experiment.notebook, f"notebooks/{experiment.notebook}")
        serves = [" · serves ", *_claims(app, experiment)] if experiment.claims else []
        page += paragraph(f"At the {profile} size · notebook ", notebook, *serves, classes=["soft"])
        for entry in runs_of(app, experiment, profile):
            page += self._run(entry, profile)
        return [page]

    def _run(self, entry, profile):
        run, folder = entry["run"], entry["folder"]
        title = nodes.title("", run.name, nodes.Text(" "), pill(entry["status"]))
        section = nodes.section("", title, ids=[nodes.make_id(f"run-{run.name}")])
        if entry["error"]:
            where = os.path.relpath(folder, self.env.app.outputs)
            section += paragraph("What is in ", _code(where), " cannot be read: ", _code(entry["error"]), classes=["failure"])
        if failure := entry["failure"]:
            where = [f" in cell {failure['cell']} (", _code(failure.get("line", "")), ")"] if "cell" in failure else []
            section += paragraph("The last attempt failed", *where, ": ", _code(failure.get("error", "")), classes=["failure"])
        if entry["missing"]:
            sets = " ".join(entry["missing"])
            section += paragraph(f"Not here: {', '.join(entry['missing'])}. To fetch: ", _code(f"safescreen data fetch {sets}"))
        if entry["status"] != "complete":
            changed = "The notebook, its parameters, the library or the data changed since. " if entry["status"] == "out of date" else ""
            section += paragraph(changed, "To run it: ", _code(f"safescreen run {run} --profile {profile}"))
        if entry["result"] is not None and not entry["error"]:
            section += self._left(entry)
        files = [name for name in ("notebook.ipynb", "notebook.failed.ipynb") if (folder / name).is_file()]
        if files:
            section += paragraph("Download: ", *_between([self._download(folder / name) for name in files], ", "), classes=["soft"])
        return section

    def _left(self, entry):
        """What a finished run left: conclusions, the paper's numbers, figures, tables, environment."""
        folder, summary, result = entry["folder"], entry["summary"], entry["result"]
        for row in [summary["conclusions"]] if summary.get("conclusions") else []:
            verdict = [[r["claim"], str(r["paper"]), str(r["ours"]), _verdict(r["stands"])] for r in row]
            yield table(["claim", "the paper", "here", "stands"], verdict)
        for line in summary.get("explanation", ()):
            yield paragraph(str(line))
        if (folder / "comparison.csv").is_file():
            yield paragraph("The paper's numbers beside ours", classes=["soft"])
            yield from self._table(folder / "comparison.csv")
        for path in self._ordered(folder.glob("*.png"), entry["run"]):
            self.figures += 1
            image = nodes.image(uri=self._uri(path), alt=path.stem)
            text = f"Figure {self.figures}. {caption(folder / 'notebook.ipynb', path.stem)}, {entry['run'].name}."
            yield nodes.figure("", image, nodes.caption("", text))
        for path in sorted(folder.glob("table_*.csv")) or sorted(folder.glob("results.csv")):
            yield from self._table(path, path.stem)
        seconds = result.get("seconds", {})
        yield _raw(f"<details><summary>{seconds.get('wall', math.nan):.1f} s: parameters and environment</summary>")
        shown = result.get("parameters", {}) | {key: result[key] for key in _ENVIRONMENT if key in result}
        shown |= {f"seconds, {key}": value for key, value in seconds.items()} | result.get("versions", {})
        yield table(["", ""], [[str(key), str(value)] for key, value in shown.items()])
        yield _raw("</details>")

    def _table(self, path, summary=""):
        """A CSV file, long ones folded and cut; a broken one is named."""
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                head, *lines = csv.reader(stream)
            if any(len(line) != len(head) for line in lines):
                raise ValueError("rows of different lengths")
        except (OSError, ValueError, csv.Error) as error:
            yield paragraph(_code(path.name), f" cannot be read: {error}", classes=["failure"])
            return
        numeric = [i for i in range(len(head)) if all(_is_number(line[i]) for line in lines)]
        rows = [[short(text) for text in line] for line in lines[:_ROWS]]
        cut = f" (the first {_ROWS} here)" if len(lines) > _ROWS else ""
        if summary:
            yield _raw(f"<details{' open' if len(lines) <= 15 else ''}><summary>{summary}, {len(lines)} rows{cut}</summary>")
        yield table(head, rows, numeric)
        if summary:
            yield paragraph(self._download(path), classes=["soft"])
            yield _raw("</details>")

    def _ordered(self, paths, run):
        listed = self.env.app.manifest.experiments[run.experiment].outputs
        return sorted(paths, key=lambda path: (listed.index(path.name) if path.name in listed else len(listed), path.name))

    def _uri(self, path):
        return "/" + Path(os.path.relpath(path, self.env.srcdir)).as_posix()

    def _download(self, path):
        return addnodes.download_reference("", "", nodes.literal("", path.name), refdoc=self.env.docname, reftarget=self._uri(path))


def caption(notebook: Path, figure: str) -> str:
    """Return the heading above the cell of an executed notebook that records a figure; its file's name without one."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, LookupError, TypeError):
        return figure
    heading = figure
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = ([heading, *re.findall(r"(?m)^##+ +(.+)$", source)])[-1]
        elif re.search(rf"""\.figure\(\s*['"]{re.escape(figure)}['"]""", source):
            return re.sub(r"[`*$\\]", "", heading)
    return figure


def short(text: str) -> str:
    """Return a number to four significant digits, any other text as it is.

    Examples
    --------
    >>> [short(text) for text in ("12.34567", "735000", "546668.2", "1.3e-07", "iris", "")]
    ['12.35', '735000', '546668', '1.3e-07', 'iris', '']
    """
    if not _is_number(text) or not text or text.lstrip("-").isdigit():
        return text
    value = float(text)
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _verdict(stands) -> nodes.Node | str:
    return pill("yes" if stands else "no") if isinstance(stands, bool) else str(stands)


def _claims(app, experiment) -> list:
    known = [app.claims.get(name) for name in experiment.claims]
    return _between([link(app, claim.id, page_of(claim), claim.id) for claim in known if claim], ", ")


def _between(parts: list, mark: str) -> list:
    return [piece for part in parts for piece in (mark, part)][1:]


def _code(text) -> nodes.literal:
    return nodes.literal("", str(text))


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def _stage(app) -> None:
    """Write the pages of every size that has results; of a report, those of its own size, and their list as the first page."""
    report = app.config.report_profile
    for profile in [report] if report else PROFILES:
        ran = {e.name for e in app.manifest if any((app.outputs / profile / e.name).glob("[!.]*/*.json"))}
        pages = [e.name for e in app.manifest if profile in e.profiles or e.name in ran] if report or ran else []
        tree = "\n".join(f"/results/{profile}/{name}" for name in pages)
        body = f"```{{results}} {profile}\n```\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
        if report:
            landing = Path(app.confdir, "results.md").read_text(encoding="utf-8").partition("```")[0]
            put(app, "index.md", f"{landing}## The {profile} size\n\n{body}\n```{{toctree}}\n:hidden:\n\nclaims\n```\n")
        elif pages:
            put(app, f"results/{profile}.md", f"# Results at the {profile} size\n\n{body}")
        for name in pages:
            put(app, f"results/{profile}/{name}.md", f"```{{experiment}} {profile} {name}\n```\n")


def _outdated(app, env, added, changed, removed) -> list[str]:
    """Results are read each time: what they depend on is all over the disk."""
    return [name for name in env.found_docs if name.startswith("results/") or app.config.report_profile]


def setup(app) -> dict[str, bool]:
    """Add the directives `results` and `experiment`."""
    app.add_directive("results", ResultsDirective)
    app.add_directive("experiment", ExperimentDirective)
    app.connect("builder-inited", _stage)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
