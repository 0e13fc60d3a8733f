"""The command `safescreen`: run experiments, report, check the ledger, fetch data, make the
notebooks.
"""

import argparse
import io
import math
import os
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from safescreen.cluster.workers import ClusterError
from safescreen_book import datasets, ledger, places, verdicts, wording
from safescreen_book._common import BookError, unknown
from safescreen_book.datasets.cli import add_parser as add_data
from safescreen_book.runner import batch, codecheck, fingerprint, folders, notebooks
from safescreen_book.runner import replay as replaying
from safescreen_book.runner import show as showing
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.manifest import PROFILES, RECORDS, Manifest
from safescreen_book.runner.progress import Pages, duration
from safescreen_book.runner.worker import uncoloured


def main(argv: list[str] | None = None) -> int:
    """Run the command line, by default the process's own arguments; return its exit code.

    The code is 0 if all went well, 1 if something failed or is wrong, 2 if the request makes no
    sense, 75 if the time given to `run` was over before all was done, 130 after Ctrl-C, and 141 if
    the reader of the output has gone.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a log of hours can be followed
    try:
        code = _execute(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # `safescreen list | head` has seen enough
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # for what Python flushes at its end
        os.close(nowhere)
        return 141
    return code


def _execute(argv: list[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    options.command_line = shlex.join(["safescreen", *arguments])
    try:
        return options.func(options)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        hint = (
            "the book is used from a checkout: make install there, or "
            "pip install -e '.[book,cluster]' --group dev"
        )
        print(f"safescreen: {error.name} is not installed; {hint}", file=sys.stderr)
    except (ValueError, OSError, ClusterError) as error:
        print(f"safescreen: {error}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="safescreen",
        description="Safe screening: the book's experiments, report, ledger and data.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = commands.add_parser(
        "run",
        help="execute experiments, skipping what is complete and unchanged",
        description="Execute experiments of the manifest (all, when none is named) as notebooks; "
        "results go to outputs/PROFILE/EXPERIMENT/RUN/. Finished results stay, and so do finished "
        "parts of a run; the same command goes on after a stop.",
    )
    run.add_argument("names", nargs="*", metavar="NAME", help="an experiment, or EXPERIMENT/RUN")
    run.add_argument("--profile", choices=PROFILES, default="laptop", help="size (default: laptop)")
    run.add_argument(
        "--jobs",
        type=_positive,
        metavar="N",
        help="processes at a time, which share the cores (one for each)",
    )
    run.add_argument(
        "--report",
        action="store_true",
        help="make the pages too: once a run is done, again as others are, and at the end",
    )
    run.add_argument(
        "--repeats",
        type=_positive,
        default=1,
        metavar="N",
        help="do each run that has a seed N times, counting it up (1)",
    )
    run.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of a Dask cluster, given up after 300 seconds without any; "
        "'local' starts one of N processes",
    )
    run.add_argument(
        "--for",
        type=_seconds,
        default=math.inf,
        metavar="TIME",
        dest="seconds",
        help="begin nothing after so long (2h, 90min, 600s): what is under way is finished, and "
        "the exit code is 75 if something is left",
    )
    run.add_argument("--force", action="store_true", help="also redo what is unchanged")
    run.add_argument(
        "--dirty",
        action="store_true",
        help="make records (profile paper) though tracked files have uncommitted changes",
    )
    run.add_argument(
        "--data", metavar="DIR", help="folder of data sets (default: $SAFESCREEN_DATA, data/)"
    )
    run.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        dest="parameters",
        help="set a notebook parameter; the result goes to a folder of its own",
    )
    run.set_defaults(func=_run)

    replay = commands.add_parser(
        "replay",
        help="compare records with what the library says now, on a small part of each",
        description="Run a small part of each record's notebook and compare all that no clock "
        "decides. What is found is written beside the record, which is never changed itself.",
    )
    replay.add_argument("names", nargs="*", metavar="NAME", help="an experiment, or EXPERIMENT/RUN")
    replay.add_argument(
        "--jobs", type=_positive, metavar="N", help="processes at a time (one for each core)"
    )
    replay.add_argument(
        "--embedded", action="store_true", help="only records of data that come with the project"
    )
    replay.add_argument("--only-compare", action="store_true", help="write nothing")
    replay.set_defaults(func=_replay)

    show = commands.add_parser(
        "show",
        help="judge and draw the rows of finished runs again, with the rules of now",
        description="Run each notebook on the rows of its results, which takes seconds: "
        "conclusions, tables and figures are made again, rows are not.",
    )
    show.add_argument("names", nargs="*", metavar="NAME", help="an experiment, or EXPERIMENT/RUN")
    show.add_argument("--profile", choices=PROFILES, default=RECORDS, help="size (default: paper)")
    show.add_argument(
        "--jobs", type=_positive, metavar="N", help="processes at a time (one for each core)"
    )
    show.add_argument(
        "--check", action="store_true", help="write nothing; fail if a table would change"
    )
    show.set_defaults(func=_show)

    report = commands.add_parser(
        "report", help="make the pages of the results of one size, outputs/PROFILE/report/"
    )
    report.add_argument(
        "--profile", choices=PROFILES, default="laptop", help="size (default: laptop)"
    )
    site = commands.add_parser(
        "site", help="make all pages, outputs/site/: book, results, claims and reference"
    )
    site.set_defaults(profile="")

    listing = commands.add_parser("list", help="list experiments, their runs and what is done")
    listing.add_argument("--profile", choices=PROFILES, help="only this size")
    listing.set_defaults(func=_list)

    check = commands.add_parser(
        "codecheck",
        help="list what a reader may compare (codecheck.yml), or certify what the replays said",
        description="Write codecheck.yml: every committed output, and what it stands for. With "
        "--certificate write what the replays of this commit said of the records instead.",
    )
    check.add_argument(
        "--certificate", metavar="FILE", help="a JSON file: commit, machine, hours, what agrees"
    )
    check.set_defaults(func=_codecheck)

    claims = commands.add_parser(
        "claims",
        help="print the ledger of claims and check its evidence",
        description="Print the ledger and check it; of claims that are named, their evidence and "
        "what the runs of the paper's size found.",
    )
    claims.add_argument("names", nargs="*", metavar="ID", help="a claim, as in STS19-F9")
    claims.set_defaults(func=_claims)

    add_data(commands)

    books = commands.add_parser(
        "notebooks",
        help="make the notebooks from their texts and execute them",
        description="Make NAME.ipynb from NAME.py and execute it, for all notebooks when none is "
        "named. An experiment shows the rows of the record that the manifest names.",
    )
    books.add_argument("names", nargs="*", metavar="NAME", help="a notebook, without an ending")
    books.add_argument(
        "--check", action="store_true", help="only check that pairs agree and were executed"
    )
    books.set_defaults(func=_notebooks)

    versions = commands.add_parser(
        "versions",
        help="print on what results depend here: processor, BLAS, versions",
        description="Print the machine, the BLAS libraries with their kernels and threads, and the "
        "versions of packages, as a report of a failure needs them.",
    )
    versions.set_defaults(func=_versions)

    for command in (report, site):
        command.set_defaults(func=_pages)
    for command in (run, replay, show, report, site, listing, check, claims, books):
        command.add_argument(
            "--notebooks", metavar="DIR", help="folder of notebooks, manifest and ledger"
        )
    for command in (run, replay, show, report, site, listing, check, claims):
        command.add_argument(
            "--outputs", metavar="DIR", help="where results go ($SAFESCREEN_OUTPUTS)"
        )
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def _seconds(text: str) -> float:
    """Return a time such as `2h`, `90min` or `600s` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(h|min|s)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2h, 90min or 600s")
    return float(found[1]) * {"h": 3600.0, "min": 60.0, "s": 1.0}[found[2]]


def _value(text: str) -> Any:
    """A parameter from the command line: a number or boolean where it reads as one, else the
    text.
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _given(values, texts) -> dict[str, Any]:
    """Parameters from the command line; what is a text in the notebook stays one."""
    return {
        name: text if isinstance(values.get(name), str) else _value(text) for name, text in texts
    }


def _load(options):
    folder = places.notebooks_folder(options.notebooks)
    ids = (
        {claim.id for claim in ledger.load_claims(folder)}
        if (folder / "claims.yml").is_file()
        else None
    )
    return load_manifest(folder, ids), places.outputs_folder(options.outputs)


def _run(options) -> int:
    deadline = time.time() + options.seconds
    if options.scheduler is not None and deadline < math.inf:
        raise ValueError(
            "--for needs parts, which are kept on this machine only; leave out --for or --scheduler"
        )
    if options.data is not None:
        if not Path(options.data).is_dir():
            raise FileNotFoundError(f"--data: {options.data} is not a folder")
        os.environ["SAFESCREEN_DATA"] = str(places.resolved(options.data, "data folder"))
    manifest, outputs = _load(options)
    runs = manifest.select(options.names, options.profile)
    if options.parameters:
        runs = [
            run.override(_given(manifest.check_parameters(run), options.parameters)) for run in runs
        ]
    runs = [repeat for run in runs for repeat in manifest.repeats(run, options.repeats)]
    pages = None
    if options.report:
        _sphinx()
        command = [
            "-m",
            "safescreen_book",
            "report",
            "--profile",
            options.profile,
            "--notebooks",
            manifest.folder,
            "--outputs",
            outputs,
        ]
        pages = Pages(
            [sys.executable, *map(str, command)],
            outputs / options.profile / "report" / "index.html",
        )
    code = batch.run_all(
        manifest,
        runs,
        options.profile,
        outputs,
        jobs=options.jobs,
        force=options.force,
        dirty=options.dirty,
        data_required=bool(options.names),
        command=options.command_line,
        scheduler=options.scheduler,
        pages=pages,
        deadline=deadline,
    )
    if pages is None or code == 130:
        return code
    for line in _headlines(outputs / options.profile):
        print(line)
    return _pages(options) or code


SUBJECTS = {"STS": "Triplets", "SSS": "Samples", "HDSL": "Sparse similarities"}
"""What the papers are about, by what the names of their claims begin with."""


def _headlines(folder: Path) -> list[str]:
    """Return one sentence on each subject: the first headline with a number that the runs of a
    folder have.
    """
    from safescreen_book.protocols import judging  # with scipy, which takes its time

    rules = judging.load()
    rows = verdicts.committed(folder, strict=False)
    found: dict[str, str] = {}
    for claim in rules.headlines:
        (subject,) = (word for start, word in SUBJECTS.items() if claim.startswith(start))
        row = verdicts.headline(rows, claim, rules)
        if subject not in found and row is not None and row["ours"] == row["ours"]:
            found[subject] = f"{subject}, {row['dataset']}: {wording.headline(row)} ({claim})"
    return list(found.values())


def _replay(options) -> int:
    """Replay records; return 1 where one of them differs, or lacks its data."""
    manifest, outputs = _load(options)
    plans = batch.plan(manifest, manifest.select(options.names, RECORDS), RECORDS, outputs)
    counts = Counter()
    todo = []
    for plan in plans:
        obstacle = _obstacle(plan, manifest, options.embedded)
        if obstacle:
            counts[obstacle] += 1
            if obstacle == "data missing":
                names = " ".join(plan.missing)
                print(f"{plan.run}: data missing: {names} ({datasets.advice(plan.missing)})")
            elif options.names:
                print(f"{plan.run}: {obstacle}")
        else:
            todo.append(plan)
    replays = {name: experiment.replay for name, experiment in manifest.experiments.items()}
    git = fingerprint.git_state(manifest.folder)
    jobs = options.jobs or fingerprint.cores()
    began = time.perf_counter()
    with tqdm(total=len(todo), unit="record", disable=None) as bar:
        for plan, found, seconds in replaying.run(todo, replays, manifest.folder, jobs):
            bar.update()
            if found is None:
                counts["ended by the system"] += 1
                tqdm.write(f"{plan.run}: the system ended its process; nothing is recorded")
                continue
            if found.follows:
                counts["follow rounding"] += 1
                tqdm.write(f"{plan.run}: follows rounding ({found.follows}); nothing is recorded")
            elif found.agrees:
                counts["confirmed"] += 1
                size = f"the largest difference is {found.largest:.2g} times its tolerance"
                rows = wording.numbered(found.rows, "rows agree")
                tqdm.write(f"{plan.run}: {rows}, {size} ({seconds:.0f} s)")
            else:
                counts["differ"] += 1
                rows = wording.numbered(found.rows, "rows compared")
                tqdm.write(f"{plan.run}: DIFFERS ({rows}, {seconds:.0f} s)")
            for line in found.differences:
                tqdm.write(f"    {line}")
            if not options.only_compare and not found.follows:
                replaying.append(plan.folder, replaying.entry(found, git, seconds))
    summary = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"{summary} in {time.perf_counter() - began:.0f} s")
    failed = counts["differ"] + counts["ended by the system"] + counts["data missing"]
    return int(failed > 0)


def _show(options) -> int:
    """Judge and draw rows again; return 1 where that fails, a table differs and may not, or there
    is no result.
    """
    manifest, outputs = _load(options)
    chosen = manifest.select(options.names, options.profile)
    plans = [
        plan
        for plan in batch.plan(manifest, chosen, options.profile, outputs)
        if plan.state.result and "rows_dir" in plan.parameters
    ]
    jobs = options.jobs or fingerprint.cores()
    counts = Counter()
    began = time.perf_counter()
    with tqdm(total=len(plans), unit="result", disable=None) as bar:
        for shown in showing.run(plans, manifest.folder, jobs, write=not options.check):
            bar.update()
            if shown.error:
                counts["failed"] += 1
                tqdm.write(f"{shown.plan.run}: {shown.error}")
            elif shown.different:
                counts["differ"] += 1
                tqdm.write(f"{shown.plan.run}: {', '.join(shown.different)}")
            else:
                counts["as they were"] += 1
    summary = ", ".join(f"{number} {what}" for what, number in counts.items())
    if not plans:
        print(f"nothing to show: no run named has a result at profile {options.profile}")
        return 1
    print(f"{summary} in {time.perf_counter() - began:.0f} s")
    return int(counts["failed"] > 0 or (options.check and counts["differ"] > 0))


def _obstacle(plan, manifest, embedded: bool) -> str:
    """Return why a record is not replayed, empty where it is; refuse wrong parameters."""
    replay = manifest.experiments[plan.run.experiment].replay
    if replay is None or replay.reason(plan.run.name):
        return "not replayed"
    if not plan.state.done:
        return plan.state.status
    if embedded and not all(datasets.info(name).embedded for name in plan.data):
        return "left out"
    if plan.missing:
        return "data missing"
    asked = {**plan.run.parameters, **replay.parameters_of(plan.run.name)}
    manifest.check_parameters(replace(plan.run, parameters=asked))
    return ""


def _sphinx():
    """Return what Sphinx builds pages with, and the checkout whose docs/ they are made from."""
    from sphinx.cmd.build import build_main

    root = places.checkout()
    if root is None:
        raise FileNotFoundError("no checkout found, and the pages are made from its docs/")
    return build_main, root


def _pages(options) -> int:
    """Call Sphinx with docs/source/conf.py: all pages, where any warning is an error, or one size's
    results and the ledger.
    """
    build_main, root = _sphinx()
    (_, outputs), profile = _load(options), options.profile
    target = outputs / profile / "report" if profile else outputs / "site"
    source = outputs / ".sphinx" / (profile or "site") / "source"
    source.mkdir(parents=True, exist_ok=True)
    folders = {
        "notebooks_dir": places.notebooks_folder(options.notebooks),
        "outputs_dir": outputs,
        "report_profile": profile,
    }
    settings = [part for name, value in folders.items() for part in ("-D", f"{name}={value}")]
    strict = [] if profile else ["-W", "--keep-going", "-j", "auto"]
    # pickles, which must not come with somebody's outputs
    with tempfile.TemporaryDirectory(prefix="safescreen-") as doctrees:
        code = build_main(
            [
                "-q",
                *strict,
                "-c",
                str(root / "docs" / "source"),
                "-d",
                doctrees,
                *settings,
                str(source),
                str(target),
            ]
        )
    if (target / "index.html").is_file():
        what = "All figures, in the papers' order: open" if profile else "Open"
        print(f"{what} {places.shown(target / 'index.html')}")
    return code


def _list(options) -> int:
    (manifest, outputs), total, found = _load(options), {}, {}
    for experiment in manifest:
        claims = f"  ({', '.join(experiment.claims)})" if experiment.claims else ""
        print(f"{experiment.name}  {experiment.title}{claims}")
        for name, profile in experiment.profiles.items():
            if options.profile in (None, name):
                items = batch.plan(manifest, profile.runs, name, outputs)
                seconds = sum(_cost(item, profile) for item in items)
                print(f"  {name}: about {seconds:,.0f} s, {profile.memory_mb:g} MB")
                total[name] = total.get(name, 0.0) + seconds
                for item in items:
                    print(f"    {item.run}  {item.status}")
                    found.setdefault(name, Counter())[item.state.status] += 1
    print()
    for name, seconds in total.items():
        states = ", ".join(f"{number} {status}" for status, number in found[name].most_common())
        length = duration(seconds)
        runs = wording.numbered(found[name].total(), "runs")
        print(f"{name}: {runs}, {states}; all of them take about {length}")
    print("To run all of a size: safescreen run --profile laptop; one: safescreen run NAME")
    return 0


def _cost(item, profile) -> float:
    """Return how long a run took, or about how long it takes if it was not run."""
    return item.state.result["seconds"]["wall"] if item.state.done else profile.share(item.run)


def _codecheck(options) -> int:
    """Write the list or the certificate; return 1 where a record differs that agreed before."""
    manifest, outputs = _load(options)
    if options.certificate is None:
        files = codecheck.entries(manifest, ledger.load_claims(manifest.folder), outputs)
        root = manifest.folder.parent
        path = root / codecheck.NAME
        text = codecheck.configuration(codecheck.paper(root), files, codecheck.added(path))
        path.write_text(text, encoding="utf-8")
        print(f"{places.shown(path)}: {len(files)} files")
        return 0
    found = codecheck.certificate(outputs, fingerprint.git_state(manifest.folder))
    folders.write_json(Path(options.certificate), found)
    counts = ", ".join(f"{len(found[word])} {word}" for word in ("agree", "differ", "left_out"))
    print(f"commit {found['commit'][:7]}: {counts.replace('_', ' ')}; {found['hours']} hours")
    new = [name for name in found["differ"] if name not in found["known"]]
    if found["known"]:
        print(f"differ, as they did before: {', '.join(found['known'])}")
    if new:
        print(f"differ, and did not before: {', '.join(new)}")
    return int(bool(new))


def _versions(options) -> int:
    print(*fingerprint.described(), sep="\n")
    return 0


_MEANING = """\
verified: derived and checked; misprint: true, printed with a slip; corrected: true once corrected;
refuted: false; reproduced: the paper's conclusions stand; differs: a main one does not; partial:
rows are missing, or a conclusion is undecided"""


def _claims(options) -> int:
    folder = places.notebooks_folder(options.notebooks)
    claims = ledger.load_claims(folder)
    if options.names:
        return _told(claims, folder, options.names)
    width = max(len(claim.id) for claim in claims)
    for claim in claims:
        print(f"{claim.id:{width}}  {claim.status:10}  {claim.notebook or '-':24}  {claim.what}")
    print()
    stands = ledger.stands(claims, ledger.judged(folder))
    for paper, row in ledger.counts(claims).items():
        parts = ", ".join(f"{count} {status}" for status, count in row.items() if count)
        found = stands[paper]
        print(
            f"{paper:{width}}  {parts}"
            + (f"; conclusions: {wording.counts(found.elements())}" if found else "")
        )
    print(_MEANING)
    if (folder / "experiments.yml").is_file():
        print(_records(folder, options.outputs))
    wrong = list(ledger.problems(claims, folder))
    for problem in wrong:
        print(f"WRONG: {problem}")
    return int(bool(wrong))


def _told(claims, folder: Path, names: list[str]) -> int:
    """Print claims: what they say, their evidence, and what each run found."""
    from safescreen_book.protocols import judging  # with scipy, which takes its time

    rules = judging.load(folder)
    known = {claim.id: claim for claim in claims}
    for name in names:
        if name not in known:
            raise ValueError(unknown("claim", name, known))
    rows = ledger.judged(folder)
    absent = ledger.absent(claims, rows, rules.rules)
    named = [known[name] for name in names]
    for claim in ledger.with_evidence(named, folder, strict=False):
        print(f"{claim.id}  {claim.status}\n{claim.what}")
        print(f"Evidence: {claim.evidence or '-'}")
        if claim.fair:
            print(f"In fairness: {claim.fair}")
        if claim.missing:
            print(f"Missing: {ledger.lacking(claim)}")
        found = rows[rows["claim"] == claim.id]
        judged = verdicts.summarize(found[found["whose"] == "paper"])["verdict"].tolist()
        told = [wording.counts(judged)] if judged else []
        told += ledger.left(absent[absent["claim"] == claim.id])
        if told:
            print(f"The paper's conclusions: {'; '.join(told)}")
        of_claim = found.to_dict("records")
        for whose, title in wording.WHOSE.items():  # the paper's first
            group = [row for row in of_claim if rules.whose(row) == whose]
            if group:
                print(f"{title}:")
            for row in group:
                run = f"{row['experiment']}/{row['run']}"
                print(f"  {row['dataset']}: {wording.sentence(row)} ({run})")
        print()
    return 0


def _records(folder: Path, outputs: str | None) -> str:
    """Return how many records there are in each state; data sets that are not here have the
    checksums that they must have.
    """
    manifest = load_manifest(folder)
    plans = batch.plan(
        manifest, manifest.select([], RECORDS), RECORDS, places.outputs_folder(outputs)
    )
    found = Counter(item.state.status for item in plans)
    return "records: " + ", ".join(f"{number} {status}" for status, number in found.most_common())


def _notebooks(options) -> int:
    folder = places.notebooks_folder(options.notebooks)
    known = notebooks.stems(folder)
    for name in options.names:
        if name not in known:
            raise ValueError(unknown("notebook", name, known))
    if options.check:
        wrong = list(notebooks.problems(folder, options.names or None))
        print("\n".join(wrong) or "every notebook agrees with its text and was executed in order")
        return int(bool(wrong))
    return _refresh(folder, options.names or known)


def _refresh(folder: Path, names: list[str]) -> int:
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    manifest = load_manifest(folder) if (folder / "experiments.yml").is_file() else Manifest(folder)
    outputs = places.outputs_folder(folder.resolve().parent / "outputs")
    failed = 0
    with tqdm(names, unit="notebook", disable=None) as bar:
        for name in bar:
            bar.set_description(name)
            try:
                given = showing.given_to(name, manifest, outputs)
                notebooks.refresh(folder, name, given=given)
            except (BookError, CellExecutionError, DeadKernelError, FileNotFoundError) as error:
                failed += 1
                tqdm.write(f"{name}: FAILED, what was there is kept\n{uncoloured(str(error))}")
            else:
                tqdm.write(f"{name}: executed")
    return int(failed > 0)
