"""Execute the wanted runs, skip those that are unchanged, and keep the results of those that have
finished.
"""

import math
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from safescreen_book import datasets, places
from safescreen_book._common import BookError
from safescreen_book.runner import cluster, fingerprint, progress
from safescreen_book.runner.here import Here
from safescreen_book.runner.manifest import RECORDS, Manifest, Run
from safescreen_book.runner.plans import Plan, plan
from safescreen_book.runner.worker import THREAD_VARIABLES, UNFINISHED

OUTCOMES = ("done", "unchanged", "data missing", "elsewhere", "unfinished", "failed")
"""The outcomes of runs, in the order of the counts."""

REPORT = (
    "A failure is a bug, of the book or of the library. Report it with this output and that of "
    "`safescreen versions`."
)

LOOK = 0.1
"""Seconds between two checks of the runs that are under way."""


def run_all(
    manifest: Manifest,
    runs: Sequence[Run],
    profile: str,
    outputs: Path,
    *,
    jobs: int | None = None,
    force: bool = False,
    dirty: bool = False,
    data_required: bool = False,
    command: str = "safescreen run",
    scheduler: str | None = None,
    pages: progress.Pages | None = None,
    deadline: float = math.inf,
) -> int:
    """Execute runs in processes of their own, `jobs` at a time (by default as many as cores),
    report on each, and return the exit code.

    The code is 0; 1 if a run failed, or lacks data and `data_required`; `worker.UNFINISHED` if one
    was not finished by the `deadline`; and 130 after Ctrl-C. `command` is printed as the command to
    go on with. After the deadline, a time as of `time.time`, neither a run nor a part of one
    begins, and what is under way is finished. With `force` complete and unchanged runs are
    executed too. Records need a tree without uncommitted changes, or `dirty`. `scheduler` is the
    address of a Dask scheduler whose workers execute the runs, or `local` for a cluster of `jobs`
    processes started here. The results come back to `outputs`. If a cluster has had no worker for
    `cluster.PATIENCE` seconds, a ClusterError names the lost runs. With `pages` the shortest run
    comes first, so that there are pages soon, and the others follow from the longest on.
    """
    outcomes: dict[str, str] = {}
    todo = []
    for item in plan(manifest, runs, profile, outputs):
        outcome, sentence = _without_a_run(item, force)
        if outcome:
            outcomes[str(item.run)] = outcome
        else:
            todo.append(replace(item, deadline=deadline, fresh=force))
        if sentence:
            tqdm.write(f"{item.run}: {sentence}")
    if todo and profile == RECORDS and not dirty:
        _need_clean_tree(manifest.folder)
    seconds = {str(item.run): progress.expected(item, manifest, profile) for item in todo}
    todo.sort(key=lambda item: seconds[str(item.run)] or math.inf, reverse=True)
    if pages is not None:
        todo = todo[-1:] + todo[:-1]
    jobs = _at_a_time(jobs, len(todo), scheduler)
    if todo:
        _announce(seconds, jobs, scheduler)
    interrupted = False
    with _terminated_like_interrupted(), closing(progress.Bars(seconds, jobs, pages)) as shown:
        try:
            with closing(_executed(todo, jobs, scheduler, shown)) as ended:
                for item, outcome, sentence in ended:
                    outcomes[str(item.run)] = outcome
                    shown.ended(str(item.run), sentence)
        except KeyboardInterrupt:
            interrupted = True
    counts = Counter(outcomes.values())
    ended = [name for name, outcome in outcomes.items() if outcome in ("failed", "unfinished")]
    left = list(shown.left) if interrupted else ended
    again = f"To go on: {command}"
    if force:
        again = f"With --force the same command does all of it again; left: {' '.join(left)}"
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    if interrupted:
        done = f"Interrupted: {summary or 'nothing done'}, {len(left)} left"
        print(f"{done}; what is finished is kept. {again}", flush=True)
        return 130
    where = f"Results: {places.shown(outputs / profile)}"
    print(f"{summary or 'nothing to do'}. {where}{f'. {again}' if left else ''}", flush=True)
    if counts["failed"]:
        print(REPORT, flush=True)
    return _exit_code(counts, data_required)


def _exit_code(counts: Counter, data_required: bool) -> int:
    if counts["failed"] or (data_required and counts["data missing"]):
        return 1
    return UNFINISHED if counts["unfinished"] else 0


def _without_a_run(item: Plan, force: bool) -> tuple[str, str]:
    """Return the outcome of a run that need not or cannot be executed, and a sentence on it;
    otherwise an empty outcome.
    """
    if item.state.done and not force:
        return "unchanged", "unchanged"
    if item.missing:
        names = " ".join(item.missing)
        return "data missing", f"data missing: {names} ({datasets.advice(item.missing)})"
    return "", item.status if item.state.why else ""


def _at_a_time(jobs: int | None, n_runs: int, scheduler: str | None) -> int:
    """Return how many runs this machine executes at a time; 1 if a cluster executes them."""
    if scheduler not in (None, "local"):
        return 1
    return max(1, min(jobs or fingerprint.cores(), n_runs))


def _announce(seconds: dict[str, float | None], jobs: int, scheduler: str | None) -> None:
    how = "on the workers of a cluster"
    at_a_time = None
    if scheduler in (None, "local"):
        how = f"{jobs} at a time with {_threads(jobs)} of {fingerprint.cores()} cores each"
        at_a_time = jobs
    if len(seconds) > 1:
        how += ", the longest first"
    tqdm.write(progress.announcement(seconds.values(), how, at_a_time))


def _executed(
    todo: Sequence[Plan], jobs: int, scheduler: str | None, shown: progress.Bars
) -> Iterator[tuple[Plan, str, str]]:
    """Yield each plan with its outcome when it has ended. On leaving, end all runs that are under
    way.
    """
    if not todo:
        return
    environment = _environment(jobs)
    if scheduler is None:
        place = closing(Here(jobs, environment))
    else:
        threads = {name: environment[name] for name in THREAD_VARIABLES}
        place = cluster.connect(scheduler, jobs, threads if scheduler == "local" else {})
    with place as workers:
        yield from _execute(todo, workers, shown)


def _execute(
    todo: Sequence[Plan], workers: Here | cluster.Cluster, shown: progress.Bars
) -> Iterator[tuple[Plan, str, str]]:
    """Yield each plan when it has ended, and what became of it."""
    waiting: dict[Future, Plan] = {workers.submit(item): item for item in todo}
    while waiting:
        ended, _ = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in ended:
            if future.cancelled():  # which `check` will say
                continue
            item = waiting[future]
            try:
                outcome = workers.outcome(item, future)
            except OSError as error:
                outcome = item.failed(error)
            del waiting[future]
            yield item, *outcome
        workers.check(waiting)
        shown.show(workers.running())


def _environment(jobs: int) -> dict[str, str]:
    """The worker's environment: this package, and its share of the cores."""
    threads = _threads(jobs)
    environment = places.environment()
    for name in THREAD_VARIABLES:
        given = environment.get(name, "")
        most = int(given) if given.isdigit() else 0
        environment[name] = str(min(threads, most or threads))
    return environment


def _need_clean_tree(folder: Path) -> None:
    git = fingerprint.git_state(folder)
    if git is not None and git["dirty"]:
        raise BookError(
            "a record names the commit it was made from, and tracked files have changes "
            "that are not committed: commit, or add --dirty"
        )


def _threads(jobs: int) -> int:
    return max(1, fingerprint.cores() // jobs)


@contextmanager
def _terminated_like_interrupted():
    """A context in which SIGTERM, with which a batch system ends a job, is treated like Ctrl-C."""
    try:
        older = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, older)
