"""Run what is asked for, skip what is unchanged, keep what is finished."""

import math
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from pathlib import Path

from tqdm import tqdm

from safescreen_book import datasets, places
from safescreen_book._common import BookError
from safescreen_book.runner import cluster, fingerprint, progress
from safescreen_book.runner.here import Here
from safescreen_book.runner.manifest import RECORDS, Manifest, Run
from safescreen_book.runner.plans import Plan, plan
from safescreen_book.runner.worker import THREAD_VARIABLES

OUTCOMES = ("done", "unchanged", "data missing", "elsewhere", "failed")
"""What becomes of a run, in the order in which they are counted."""

LOOK = 0.1
"""Seconds between two looks at the runs that are under way."""


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
) -> int:
    """Execute runs in processes of their own, `jobs` at a time (as many as cores), say what became
    of each, and return the exit code.

    That is 0, 1 when a run failed (or lacks data, if `data_required`), 130 when interrupted; then
    `command` is what to type to go on. With `force` also what is complete and unchanged is done.
    Records are made from a tree without uncommitted changes, or with `dirty`. `scheduler` is the
    address of a Dask scheduler whose workers do the runs, or `local` for a cluster of `jobs`
    processes started here; the results come back to `outputs`. A ClusterError names the runs that
    are lost when a cluster has had no worker for `cluster.PATIENCE` seconds. Of `pages`, if there
    are any, the first are made when the shortest run is done, with which all begins then; the
    others follow from the longest on."""
    outcomes: dict[str, str] = {}
    todo = []
    for item in plan(manifest, runs, profile, outputs):
        outcome, sentence = _without_a_run(item, force)
        if outcome:
            outcomes[str(item.run)] = outcome
        else:
            todo.append(item)
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
    with _terminated_like_interrupted(), closing(progress.Progress(seconds, jobs, pages)) as shown:
        try:
            with closing(_executed(todo, jobs, scheduler, shown)) as ended:
                for item, outcome, sentence in ended:
                    outcomes[str(item.run)] = outcome
                    shown.ended(str(item.run), sentence)
        except KeyboardInterrupt:
            interrupted = True
    counts = Counter(outcomes.values())
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    left = list(shown.left) if interrupted else failed
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
    return int(counts["failed"] > 0 or (data_required and counts["data missing"] > 0))


def _without_a_run(item: Plan, force: bool) -> tuple[str, str]:
    """Return what becomes of a run that need not or cannot be done, else nothing; and what to
    say of it.
    """
    if item.state.done and not force:
        return "unchanged", "unchanged"
    if item.missing:
        names = " ".join(item.missing)
        return "data missing", f"data missing: {names} ({datasets.advice(item.missing)})"
    return "", item.status if item.state.why else ""


def _at_a_time(jobs: int | None, n_runs: int, scheduler: str | None) -> int:
    """Return how many runs are done at a time on this machine; 1 where others do them."""
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
    todo: Sequence[Plan], jobs: int, scheduler: str | None, shown: progress.Progress
) -> Iterator[tuple[Plan, str, str]]:
    """Yield each plan when it has ended, and what became of it; end what runs on the way out."""
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
    todo: Sequence[Plan], workers: Here | cluster.Cluster, shown: progress.Progress
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
    """Within, SIGTERM (a batch system's farewell) is treated like Ctrl-C."""
    try:
        older = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, older)
