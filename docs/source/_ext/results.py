"""Pages of results: for each experiment its runs, what they left, and what did not run with the
command that runs it.
"""

import ast
import base64
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
from safescreen_book import ledger, verdicts, wording
from safescreen_book._common import MOST_BYTES, BookError, inside
from safescreen_book.datasets import advice
from safescreen_book.protocols import judging
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
                row | {"sentence": sentence, "question": _question(row)}
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


def _question(row) -> str:
    return wording.question(row | {"whose": judging.load().whose(row)})


FEW_DRAWS = (
    "These runs are small. What two or three draws cannot decide stands in one grey line; it needs "
    "more draws, and is not a failure. What came out at the paper's size stands first."
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


def _decided(words) -> str:
    """Return how the conclusions of small runs came out, the undecided ones as what they are."""
    return wording.counts(words).replace("undecided", "need more draws")


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
                if profile == RECORDS:
                    said = [wording.counts(row["verdict"] for row in found) if found else ""]
                else:
                    words = [row["verdict"] for row in found]
                    said = [_decided(words) if found else "", _at_the_papers_size(app, found)]
                finished = sum(status in folders.DONE for status in statuses)
                done = f"{finished} of {len(runs)}"
                status = pill(min(statuses, key=_WORST.index))
                rows.append([title, status, done, *said, _claims(app, experiment)])
        head = ["experiment", "status", "runs", "conclusions", "claims"]
        if profile == RECORDS:
            return [table(head, rows, (2,))]
        head.insert(4, "the same at the paper's size")
        return [paragraph(FEW_DRAWS, style="soft"), table(head, rows, (2,))]


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
            page += paragraph(FEW_DRAWS, style="soft")
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
        """Of a finished run: the headline, figures, the paper's numbers beside ours; folded, what
        was asked; then tables and environment.
        """
        folder, result = run["folder"], run["result"]
        if result is None:
            return
        yield from self._headline(run)
        notebook = self.env.app.manifest.folder / f"{self.experiment.notebook}.ipynb"
        for path in pictures(self.experiment, folder):
            text = f"{caption(notebook, path.stem)} ({run['run'].name})"
            words = f"{run['run'].name}: {described(notebook, path.stem)}"
            yield nodes.figure(
                "", nodes.image(uri=self._uri(path), alt=words), nodes.caption("", text)
            )
        for path in folder.glob("comparison.csv"):
            yield paragraph("The paper's numbers beside ours", style="soft")
            yield _csv(path)
        yield from map(paragraph, run["more"])
        if run["conclusions"]:
            yield from self._found(run["conclusions"], profile)
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

    def _headline(self, run):
        """Yield what the run says of the figures and tables that it serves, a sentence each."""
        rows = pandas.DataFrame(run["conclusions"])
        for claim in self.experiment.claims if len(rows) else ():
            told = _told(rows.assign(run=run["run"].name), claim)
            if told is not None:
                yield paragraph(link_claim(self.env.app, claim), " ", *told, style="headline")

    def _found(self, conclusions, profile):
        """Yield one fold: what was asked, by what rule, and what was found, the paper's conclusions
        first. A small run says what came out at the paper's size before that, and in one line
        what it cannot decide itself.
        """
        small = profile != RECORDS
        inside, theirs = [], []
        order, rules = list(wording.WHOSE), judging.load()
        for row in sorted(conclusions, key=lambda row: order.index(rules.whose(row))):
            said = [pill(row["verdict"]), " ", row["sentence"]]
            record = _of_records(self.env.app, row) if small else None
            if record is not None:
                sets = f", {record['agree']} of {record['of']} data sets agree"
                said = ["At the paper's size: ", pill(record["verdict"]), f"{sets}. Here: ", *said]
                if row["verdict"] == "undecided":
                    theirs.append(record["verdict"])
            inside += [paragraph(*said), paragraph(row["question"], style="soft")]
        verdict = [row["verdict"] for row in conclusions]
        counts = _decided(verdict) if small else wording.counts(verdict)
        yield from folded(f"what was asked, and what was found: {counts}", *inside)
        if small and (few := verdict.count("undecided")):
            known = f" At the paper's size, of these: {wording.counts(theirs)}." if theirs else ""
            line = f"Too few draws here to decide {few} of {len(verdict)} questions.{known}"
            yield paragraph(line, style="soft few")

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


def _told(rows, claim: str):
    """Return the headline of a claim as parts of a paragraph, None if runs do not tell it."""
    row = verdicts.headline(rows, claim, judging.load())
    if row is None:
        return None
    rule = judging.load().named(claim, row["conclusion"])
    said = _uncounted(row) if rule.whose == "paper" else " (Our own question, not counted.)"
    return [
        f"{row['dataset']}: {wording.headline(row)}",
        nodes.inline("", said, classes=["soft"]),
    ]


def _uncounted(row) -> str:
    """Return why a conclusion of the paper is not counted in a run, or empty."""
    why = {
        "own": " (Not counted: other settings here, or the paper's own number does not show it.)",
        "program": " (At the stop of its authors' program.)",
    }
    return why.get(row["whose"], "")


class Gallery(SphinxDirective):
    """A card for every table and figure of the papers, in their order, from the largest size that
    ran: our figure, the finding in a sentence, and a mark; then what goes beyond the papers.
    """

    def run(self):
        app, self.pictures = self.env.app, set()  # no picture stands on two cards
        sections, shown = [], set()
        for paper, title in PAPERS.items():
            section = nodes.section("", nodes.title("", title), ids=[f"figures-{paper.lower()}"])
            cards = nodes.container(classes=["cards"])
            for claim in sorted(items_of(app, paper), key=_number):
                serving = [each for each in app.manifest if claim.id in each.claims]
                shown.update(each.name for each in serving)
                cards += self._card(claim, serving)
            section += cards
            sections.append(section)
        title = nodes.title("", "Beyond the papers")
        section = nodes.section("", title, ids=["figures-beyond"])
        cards = nodes.container(classes=["cards"])
        for experiment in app.manifest:
            if experiment.name not in shown:
                runs, page = _largest(app, experiment)
                head = [paragraph(link(app, experiment.title, page), style="head")]
                rows = [
                    row | {"run": run["run"].name} for run in runs for row in run["conclusions"]
                ]
                told = next((row for row in rows if row["ours"] not in ("", None)), None)
                if told is not None:
                    head += self._told(told, small=not page.startswith(f"results/{RECORDS}/"))
                name = told["run"] if told is not None else ""
                cards += self._made(head, experiment, runs, page, name, "")
        section += cards
        return [*sections, section]

    def _card(self, claim, serving):
        """Return the card of a figure or table: of the first experiment that tells it."""
        app, rules = self.env.app, judging.load()
        found = []
        for experiment in serving:
            runs, page = _largest(app, experiment)
            rows = [row | {"run": run["run"].name} for run in runs for row in run["conclusions"]]
            told = verdicts.headline(pandas.DataFrame(rows), claim.id, rules) if rows else None
            found.append((told, rows, experiment, runs, page))
        head = [paragraph(link_claim(app, claim.id), style="head")]
        head.append(paragraph(claim.what, style="soft"))
        if not found:
            return self._drawn(claim, head)
        found.sort(key=lambda each: (each[0] is None, not each[3]))
        told, rows, experiment, runs, page = found[0]
        if told is not None:
            small = not page.startswith(f"results/{RECORDS}/")
            rows = [row for row in rows if row["claim"] == claim.id] if small else None
            head += self._said(claim, told, rows)
        else:
            head.append(paragraph("Not judged at this size." if runs else "Not run at this size."))
        name = told["run"] if told is not None else ""
        figure = rules.headlines.get(claim.id, {}).get("figure", "")
        return self._made(head, experiment, runs, page, name, figure)

    def _said(self, claim, told, rows):
        """Yield the headline of a card, the mark of the same question, and how many of the paper's
        conclusions stand: in `rows` of small runs, or in the records.
        """
        yield from self._told(told, small=rows is not None)
        if rows is None:
            judged = self.env.app.judged
            frame = judged[(judged["claim"] == claim.id) & (judged["whose"] == "paper")]
        else:
            rules = judging.load()
            theirs = [row for row in rows if _is_the_papers(row, rules)]
            frame = pandas.DataFrame(row | {"whose": "paper"} for row in theirs)
        words = list(verdicts.summarize(frame)["verdict"]) if len(frame) else []
        if words:
            counts = wording.counts(words) if rows is None else _decided(words)
            status = f" In the ledger: {claim.status}." if rows is None else ""
            lacks = f" {ledger.lacking(claim)}" if status and claim.missing else ""
            yield paragraph(f"The paper's conclusions: {counts}.{status}{lacks}", style="soft")

    def _told(self, row, *, small: bool):
        """Yield a finding in a sentence, and the mark and the question that it answers."""
        yield paragraph(f"{row['dataset']}: {wording.headline(row)}", style="headline")
        rule = judging.load().named(row["claim"], row["conclusion"])
        if rule is None:
            return
        verdict, sets = row["verdict"], ""
        if not small and row["whose"] == "paper":
            together = _of_records(self.env.app, row)
            verdict, sets = together["verdict"], _over_sets(together)
        mark = _mark(row, rule, verdict, small=small)
        yield paragraph(mark, " ", _asked(row, rule, small=small), sets)

    def _made(self, head, experiment, runs, page, name, figure):
        """Return a card with a figure of a run, by its name or the first."""
        app = self.env.app
        card = nodes.container(classes=["card"])
        runs = [run for run in runs if run["run"].name == name] or runs
        for run in runs[:1]:
            paths = pictures(experiment, run["folder"])
            paths = [path for path in paths if path.stem == figure] or paths[:1]
            for path in [path for path in paths if path not in self.pictures]:
                self.pictures.add(path)
                notebook = app.manifest.folder / f"{experiment.notebook}.ipynb"
                words = f"{run['run'].name}: {described(notebook, path.stem)}"
                place = nodes.make_id(f"run-{run['run'].name}")
                card += self._picture(_address(self.env, path), words, link(app, "", page, place))
        card += head
        if runs:
            card += paragraph("All figures: ", link(app, experiment.title, page), style="soft")
        return card

    def _picture(self, uri, words, target):
        """Return a picture that leads somewhere."""
        image = nodes.image(uri=uri, alt=words)
        image["loading"] = "lazy"
        if isinstance(target, nodes.reference):
            target += image
            image = target
        return nodes.figure("", image)

    def _drawn(self, claim, head):
        """Return the card of a figure or table that a notebook draws or derives."""
        app = self.env.app
        card = nodes.container(classes=["card"])
        if words := app.drawn.get(claim.id):
            page = link(app, "", f"notebooks/{claim.notebook}", claim.id)
            card += self._picture(f"/drawn/{claim.id}.png", words, page)
        card += head
        card += paragraph(claim.headline, style="headline")
        made = "Drawn" if claim.kind == "F" else "Derived and computed"
        place = link_cell(app, claim)
        card += paragraph(pill(claim.status), f" {made} in notebook ", place)
        return card


def _over_sets(summary) -> str:
    """Return how many comparisons, one a data set or panel, agree with a conclusion of the paper,
    if there are several.
    """
    agree, decided, of = (summary[name] for name in ("agree", "decided", "of"))
    if of == 1:
        return ""
    if agree == of:
        return f" All {of} comparisons agree."
    numbers = {"agree": agree, "differ": decided - agree, "undecided": of - decided}
    words = [wording.numbered(number, word) for word, number in numbers.items() if number]
    return f" Of {of} comparisons {', '.join(words)}."


def _mark(row, rule, verdict: str, *, small: bool):
    """Return the mark of the question that a headline tells: of its verdict over all data sets."""
    if not small and rule.whose == "paper" and row["whose"] != "paper":
        return pill("not counted", "undecided")
    if verdict == "undecided":
        return pill("too few draws to decide" if small else "undecided", "undecided")
    if rule.whose == "own":  # the colour of no verdict, since none is counted
        return pill("yes" if verdict == "stands" else "no", "undecided")
    return pill("agrees" if verdict == "stands" else "differs", verdict)


def _asked(row, rule, *, small: bool) -> str:
    """Return what was asked, and whether it is counted; in small runs nothing is."""
    if rule.whose == "own":
        return f"We also asked whether {rule.asks}."
    said = f"The paper, as we read it: {rule.asks}."
    if small or row["whose"] == "paper":
        return said
    return f"{said} No run had the paper's data and settings; this one stands in."


def _is_the_papers(row, rules) -> bool:
    """Whether a conclusion is one of the paper's, whatever the size of the run."""
    rule = rules.named(row["claim"], row["conclusion"])
    return rule is not None and rule.whose == "paper"


def _draw(app) -> None:
    """Put the pictures of figures that notebooks draw among the pages: of each claim the picture
    that is nearest to its cell.
    """
    app.drawn = {}
    served = {name for experiment in app.manifest for name in experiment.claims}
    for claim in app.claims.values():
        if claim.kind != "F" or claim.id in served or not claim.notebook:
            continue
        try:
            alt, data = nearest_picture(app.manifest.folder / f"{claim.notebook}.ipynb", claim.cell)
        except (*_BROKEN, StopIteration):
            continue
        if data.startswith(b"\x89PNG"):
            app.drawn[claim.id] = str(alt) or claim.what
            put(app, f"drawn/{claim.id}.png", data)


def nearest_picture(notebook: Path, tag: str) -> tuple[str, bytes]:
    """Return the words for the picture nearest to the first cell with a tag, and the picture."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    place = [tag in cell["metadata"].get("tags", ()) for cell in cells].index(True)
    near = sorted(range(len(cells)), key=lambda each: (abs(each - place), each))
    alt, picture = next(filter(None, (_picture(cells[each]) for each in near)))
    return alt, base64.b64decode(picture)


def _picture(cell):
    """Return the words for the first picture that a cell shows, and the picture; else None."""
    for output in cell.get("outputs", ()):
        picture = output.get("data", {}).get("image/png")
        if picture:
            return output.get("metadata", {}).get("image/png", {}).get("alt", ""), picture
    return None


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
    _draw(app)
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
            landing = Path(app.confdir, "results.md").read_text(encoding="utf-8")
            landing = landing.partition("```")[0]
            gallery = "```{gallery}\n```\n\n## Every run\n\n"
            hidden = "\n```{toctree}\n:hidden:\n\nclaims\n```\n"
            put(app, "index.md", f"{landing}{gallery}{body}{hidden}")
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
