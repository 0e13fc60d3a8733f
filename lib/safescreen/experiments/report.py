"""The report: one page on all experiments of a profile and the ledger, with the notebooks beside it."""

import csv
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import claims as ledger
from . import folders, pages
from .manifest import Experiment, Manifest, Run
from .notebooks import stems
from .runner import plan

_ROWS = 40  # of a long table; the whole is beside the page
_TEMPLATES = Path(__file__).with_name("templates")


def render(manifest: Manifest, profile: str, outputs: Path) -> Path:
    """Write `outputs/<profile>/report/`: index.html, notebooks, figures and tables; the folder can be moved.

    Parameters
    ----------
    manifest : Manifest
        The experiments.
    profile : str
        The size to report on.
    outputs : Path
        The outputs folder.

    Returns
    -------
    Path
        The index page. What has not run, failed or lacks data is listed with the command that runs it.
    """
    target = outputs / profile / "report"
    target.parent.mkdir(parents=True, exist_ok=True)
    new = folders.scratch_folder(target)
    try:
        templates = environment()
        (new / "notebooks").mkdir()
        page = templates.get_template("notebook.html.j2")
        book = _book(manifest.folder, new, page)
        experiments = [experiment(exp, manifest, profile, outputs, new, page) for exp in manifest]
        claims = _claims(manifest.folder, book)
        text = templates.get_template("report.html.j2").render(
            profile=profile, experiments=experiments, book=book, claims=claims, statuses=ledger.STATUSES
        )
        (new / "index.html").write_text(text, encoding="utf-8")
        folders.install(new, target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return target / "index.html"


def environment(*folders: Path):
    """Return the templates of some folders and of the report.

    Parameters
    ----------
    *folders : Path
        Searched first.

    Returns
    -------
    jinja2.Environment
        Text is escaped, unknown names are errors; `style` is the report's style sheet.
    """
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals["style"] = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return made


def _notebook(path: Path, target: Path, page, heading: str = "", beside: Sequence[str] = ()) -> str:
    nb = pages.read(path)
    name = heading or pages.title(nb, path.stem)
    body = pages.link_notebooks(pages.body(nb), beside)
    text = page.render(title=name, body=body, highlighting=pages.highlighting())
    target.write_text(text, encoding="utf-8")
    return name


def _book(folder: Path, new: Path, page) -> dict[str, dict[str, str]]:
    """The committed notebooks, by name."""
    book, names = {}, [name for name in stems(folder) if (folder / f"{name}.ipynb").is_file()]
    for name in names:
        link = f"notebooks/{name}.html"
        book[name] = {"link": link, "title": _notebook(folder / f"{name}.ipynb", new / link, page, beside=names)}
    return book


def _claims(folder: Path, book: dict) -> list[dict[str, Any]]:
    if not (folder / "claims.yml").is_file():
        return []
    claims = ledger.load_claims(folder)
    groups = []
    for paper, counts in ledger.counts(claims).items():
        rows = [
            {"claim": claim, "kind": ledger.KINDS[claim.kind], "link": _cell_link(claim, folder, book)}
            for claim in claims
            if claim.paper == paper
        ]
        groups.append({"paper": paper, "counts": counts, "total": len(rows), "rows": rows})
    return groups


def _cell_link(claim: ledger.Claim, folder: Path, book: dict) -> str | None:
    if claim.notebook not in book:
        return None
    cell = ledger.find_cell(pages.read(folder / f"{claim.notebook}.ipynb"), claim.cell)
    return book[claim.notebook]["link"] + (f"#cell-id={cell.id}" if cell else "")


def experiment(exp: Experiment, manifest: Manifest, profile: str, outputs: Path, new: Path, page) -> dict[str, Any]:
    """Return what a page shows of an experiment, after copying what its runs left.

    Parameters
    ----------
    exp : Experiment
        One of the manifest's.
    manifest : Manifest
        The experiments.
    profile : str
        The size.
    outputs : Path
        The outputs folder.
    new : Path
        The folder of the page, with a folder `notebooks` in it; links are relative to it.
    page : object
        `page.render(title, body, highlighting)` gives the page of an executed notebook.

    Returns
    -------
    dict
        `experiment`, `runs` and `status`; a run has its state, figures, tables and conclusions.
    """
    runs = list(exp.profiles[profile].runs) if profile in exp.profiles else []
    plans = {item.run.name: item for item in plan(manifest, runs, profile, outputs)}
    known = {run.name for run in runs}
    others = sorted(path.parent.name for path in (outputs / profile / exp.name).glob("[!.]*/result.json"))
    runs += [Run(exp.name, name, {}) for name in others if name not in known]
    entries = []
    for run in runs:
        item = plans.get(run.name)
        folder = folders.run_folder(outputs, profile, run)
        state = folders.state(folder) if item is None else item.state
        missing = list(item.missing) if item and state.status != "complete" else []
        status = "data missing" if missing and state.status == "not run" else state.status
        entries.append(
            {
                "run": run,
                "status": status,
                "missing": missing,
                "failure": state.failure,
                "result": state.result,
                "command": f"safescreen run {run} --profile {profile}",
                **_shown(run, folder, new, page, state.result is not None),
            }
        )
    return {"experiment": exp, "runs": entries, "status": _overall(e["status"] for e in entries)}


def _overall(statuses: Iterable[str]) -> str:
    order = ("failed", "out of date", "not run", "data missing", "complete")
    found = set(statuses)
    return next((status for status in order if status in found), "not at this profile")


def _shown(run: Run, folder: Path, new: Path, page, finished: bool) -> dict[str, Any]:
    """Copy what a run left, and read what the page shows of it."""
    shown: dict[str, Any] = {"figures": [], "tables": [], "comparison": None, "conclusions": [], "pages": {}}
    files = f"files/{run.experiment}/{run.name}"
    names = {"notebook.failed.ipynb": "where it failed"}
    if finished:
        names["notebook.ipynb"] = "executed notebook"
        (new / files).mkdir(parents=True)
        for source in sorted([*folder.glob("*.png"), *folder.glob("*.csv")]):
            shutil.copyfile(source, new / files / source.name)
        shown["figures"] = [f"{files}/{path.name}" for path in sorted(folder.glob("*.png"))]
        tables = sorted(folder.glob("table_*.csv")) or sorted(folder.glob("results.csv"))
        shown["tables"] = [{**table(path), "link": f"{files}/{path.name}"} for path in tables]
        if (folder / "comparison.csv").is_file():
            shown["comparison"] = table(folder / "comparison.csv")
        if (folder / "summary.json").is_file():
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            shown["conclusions"] = summary.get("conclusions", [])
    for name, label in names.items():
        if (folder / name).is_file():
            link = f"notebooks/{run.experiment}--{run.name}{'--failed' if 'failed' in name else ''}.html"
            _notebook(folder / name, new / link, page, f"{run}: {label}")
            shown["pages"][label] = link
    return shown


def table(path: str | os.PathLike) -> dict[str, Any]:
    """Read a CSV file for a page.

    Parameters
    ----------
    path : path
        The file, with a header line.

    Returns
    -------
    dict
        `name`, `columns`, `numeric` (one boolean a column), `rows` (at most 40, numbers to four digits) and
        `total`, how many there are.
    """
    with open(path, encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    columns, rows = lines[0] if lines else [], lines[1:]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    shown = [[short(value) for value in row] for row in rows[:_ROWS]]
    return {
        "name": Path(path).stem,
        "columns": columns,
        "numeric": numeric,
        "rows": shown,
        "total": len(rows),
    }


def short(text: str) -> str:
    """Return a number to four significant digits, any other text as it is.

    Parameters
    ----------
    text : str
        An entry of a table.

    Returns
    -------
    str
        What the page shows.

    Examples
    --------
    >>> [short(text) for text in ("12.34567", "735000", "1.3e+07", "iris", "")]
    ['12.35', '735000', '1.3e+07', 'iris', '']
    """
    try:
        value = float(text)
    except ValueError:
        return text
    return text if text.lstrip("-").isdigit() else f"{value:.4g}"


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
