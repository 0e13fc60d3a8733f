"""Report on a batch of runs: how long it will take, how far it is, and the pages of finished
results.
"""

import math
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tqdm import tqdm

from safescreen_book import places
from safescreen_book.runner.manifest import Manifest
from safescreen_book.runner.plans import Plan
from safescreen_book.runner.worker import THREAD_VARIABLES


def expected(item: Plan, manifest: Manifest, profile: str) -> float | None:
    """Return the seconds that a run should take on one core: those of its last result, or else of
    the manifest. None if neither has them.
    """
    result = item.state.result
    if result and result["hashes"].get("parameters") == item.hashes["parameters"]:
        spent = result["seconds"].get("cpu") or result["seconds"].get("wall")
        if isinstance(spent, int | float):
            return spent
    return manifest.seconds(item.run, profile)


def makespan(seconds: Collection[float], jobs: int) -> float:
    """Return how long runs take, `jobs` at a time and the longest first, if all cores are busy
    until the last run has started.
    """
    return max(sum(seconds) / jobs, max(seconds, default=0.0))


def duration(seconds: float) -> str:
    """Return a time in words, in a unit that suits it.

    >>> duration(40), duration(700), duration(11 * 3600)
    ('40 s', '12 min', '11 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def announcement(seconds: Collection[float | None], how: str, jobs: int | None) -> str:
    """Return a sentence on the runs to come: how many, how, and for how long. It says the time of
    all together only if the number of runs at a time is known.

    >>> text = announcement([600.0, 60.0, 60.0, None], "2 at a time", 2)
    >>> first, second = text.split(" by the manifest and earlier results, ")
    >>> first
    'Runs to do: 4, 2 at a time: 12 min of one core'
    >>> second
    'about 10 min in all; 1 of unknown length.'
    """
    known = [value for value in seconds if value is not None]
    parts = []
    if known:
        length = f"{duration(sum(known))} of one core by the manifest and earlier results"
        parts.append(length + (f", about {duration(makespan(known, jobs))} in all" if jobs else ""))
    if len(known) < len(seconds):
        parts.append(f"{len(seconds) - len(known)} of unknown length")
    return f"Runs to do: {len(seconds)}, {how}: {'; '.join(parts)}."


class Pages:
    """Pages of results. While runs end, a command makes them again and again, in at most a
    twentieth of the time. `first` is the page to open.
    """

    def __init__(self, command: Sequence[str], first: Path):
        self._command = command
        self._first = first
        self._told = False
        self._process = None
        self._began = 0.0
        self._next = 0.0
        self.outdated = False

    def look(self) -> None:
        """Start making them if they are out of date and it is time; say where they are when they
        are there for the first time.
        """
        now = time.monotonic()
        if self._process is not None and self._process.poll() is not None:
            if self._process.returncode == 0 and not self._told:
                self._told = True
                tqdm.write(
                    f"The first results can be read: open {places.shown(self._first)}, and "
                    "reload it now and then"
                )
            self._process = None
            self._next = now + 19.0 * (now - self._began)
        if self.outdated and self._process is None and now >= self._next:
            environment = {**places.environment(), **dict.fromkeys(THREAD_VARIABLES, "1")}
            quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            self._process = subprocess.Popen(
                self._command, env=environment, start_new_session=True, **quiet
            )
            self._began = now
            self.outdated = False

    def close(self) -> None:
        """Stop making them."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


class Bars:
    """A progress bar over the expected seconds of the runs, on a terminal. Elsewhere a line for
    each run says the same.

    A run of unknown length counts like an average one. The remaining time is estimated from the
    pace so far, averaged with the expected pace, which has the weight of a fifth of all runs.
    """

    def __init__(self, seconds: Mapping[str, float | None], jobs: int, pages: Pages | None = None):
        known = [value for value in seconds.values() if value is not None]
        usual = fmean(known) if known else 1.0
        self.left = {name: usual if value is None else value for name, value in seconds.items()}
        self._n = len(seconds)
        self._total = sum(self.left.values())
        self._jobs = jobs
        self._pages = pages
        self._began = None
        self._known = bool(known)
        self._running = {}
        self._bar = tqdm(
            total=self._total,
            bar_format="{percentage:3.0f}%|{bar:24}| {desc}",
            mininterval=0.5,
            disable=None,
        )

    def show(self, running: Mapping[str, float]) -> str:
        """Bring bar and pages up to date with the seconds that the running runs have taken;
        return how far it is.
        """
        self._running = running
        left = {name: max(0.0, value - running.get(name, 0.0)) for name, value in self.left.items()}
        reached = self._total - math.fsum(left.values())
        self._began = self._began or time.monotonic()
        before = (0.2 if self._known else 1e-9) * self._total
        pace = ((time.monotonic() - self._began) * self._jobs + before) / (reached + before)
        rest = (
            f", about {duration(pace * makespan(left.values(), self._jobs))} left" if left else ""
        )
        text = (
            f"{self._n - len(left)} of {self._n} "
            f"runs{rest if self._known or len(left) < self._n else ', time left unknown'}"
        )
        self._bar.set_description_str(
            ": ".join(filter(None, (text, ", ".join(running)))), refresh=False
        )
        self._bar.update(reached - self._bar.n)
        if self._pages is not None:
            self._pages.look()
        return text

    def ended(self, name: str, sentence: str) -> None:
        """Say what became of a run."""
        del self.left[name]
        if self._pages is not None:
            self._pages.outdated = True
        text = self.show(
            {other: seconds for other, seconds in self._running.items() if other != name}
        )
        tqdm.write(f"{sentence} ({text})" if self._bar.disable else sentence)

    def close(self) -> None:
        """Put the bar away, and stop making pages."""
        self._bar.close()
        if self._pages is not None:
            self._pages.close()
