"""The manifest of experiments: which notebooks run, with which parameters, at which size."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safescreen_book._common import BookError, folder_name, unknown
from safescreen_book.parameters import PLACES, check
from safescreen_book.runner import notebooks

PROFILES = ("smoke", "laptop", "paper")

RECORDS = "paper"
"""The profile whose results are records, which are kept in git and never out of date."""


@dataclass(frozen=True)
class Run:
    """One execution of a notebook: its parameters, which are plain values, and its name, written
    `experiment/name`.
    """

    experiment: str
    name: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.experiment}/{self.name}"

    def override(self, parameters: Mapping[str, Any]) -> "Run":
        """Return this run with some parameters replaced, under a name of its own; the run itself
        when none is.

        >>> str(Run("51-path-time", "iris", {"dataset": "iris"}).override({"freq": 5}))
        '51-path-time/iris,freq=5'
        """
        if not parameters:
            return self
        tail = ",".join(f"{key}={value}" for key, value in parameters.items())
        name = re.sub(r"[^A-Za-z0-9_.+=,-]", "_", f"{self.name},{tail}")
        folder_name(name, f"run {self.experiment}/{name}")
        return replace(self, name=name, parameters={**self.parameters, **parameters})


@dataclass(frozen=True)
class Profile:
    """The runs of an experiment at one size, with the approximate seconds of all together and the
    memory of the largest. `seconds_of` names runs that take more or less than an equal share.
    """

    runs: tuple[Run, ...]
    seconds: float
    memory_mb: float
    seconds_of: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self):
        names = [run.name for run in self.runs]
        for name in self.seconds_of:
            if name not in names:
                raise BookError("seconds_of: " + unknown("run", name, names))
        others = len(names) - len(self.seconds_of)
        rest = self.seconds - sum(self.seconds_of.values())
        if rest < 0.0 or (rest == 0.0) != (others == 0):
            raise BookError(
                f"seconds_of leaves {rest:g} of {self.seconds:g} seconds for {others} other runs"
            )

    def share(self, run: Run) -> float:
        """Return about how long a run takes: its own seconds, or an equal share of the rest."""
        if run.name in self.seconds_of:
            return self.seconds_of[run.name]
        others = len(self.runs) - len(self.seconds_of)
        return (self.seconds - sum(self.seconds_of.values())) / others


@dataclass(frozen=True)
class ReplayTable:
    """How the rows of one table are compared.

    Attributes
    ----------
    keys : tuple of str
        Columns that say which row it is.
    exact : tuple of str
        Columns that must be equal.
    within : mapping
        Column to the largest difference that is allowed.
    counts : mapping
        Column of a count to the column of the number that are counted through: half a percent of
        it is allowed.
    gaps : mapping
        Column of an objective to the column of its duality gap: two values may differ by both gaps.
    relative : mapping
        The same for a column of gaps that are relative to the objective.
    first : int
        Number of rows that are compared, from the first on; 0 for all. It is used if a path is cut
        short, because then its last rows differ.
    digits : int
        Significant digits of the numbers in the table; 0 for all that there are.
    begins : bool
        Whether the first row of the replay has to be that of the record, as for the beginning of a
        path.
    """

    keys: tuple[str, ...]
    exact: tuple[str, ...] = ()
    within: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)
    relative: Mapping[str, str] = field(default_factory=dict)
    first: int = 0
    digits: int = 0
    begins: bool = False

    def __post_init__(self):
        for column, size in self.within.items():
            if isinstance(size, bool | str) or not 0.0 <= size < math.inf:
                raise BookError(f"{column}: expected the largest difference, found {size!r}")
        if not (self.keys and self.columns):
            raise BookError(
                "needs `keys`, and columns that are compared: `exact`, `within`, `counts`, `gaps` "
                "or `relative`"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are compared."""
        return (*self.exact, *self.within, *self.counts, *self.gaps, *self.relative)

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that a table has to have."""
        beside = (*self.counts.values(), *self.gaps.values(), *self.relative.values())
        return (*self.keys, *self.columns, *beside)


@dataclass(frozen=True)
class Replay:
    """How a record is replayed. If a clock decides everything in it, it is not replayed, and
    `clock` says why.

    `without` says for each run that is not replayed why it is not, and `rounding` for each whose
    rows may differ on a machine that rounds differently why they may.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, ReplayTable] = field(default_factory=dict)
    clock: str = ""
    without: Mapping[str, str] = field(default_factory=dict)
    rounding: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        if bool(self.clock) == bool(self.tables):
            found = "both" if self.clock else "neither"
            reason = "or `clock` with the reason why nothing is compared"
            raise BookError(f"needs either tables to compare, {reason}; found {found}")

    def reason(self, run: str) -> str:
        """Return why a run is not replayed; nothing if it is."""
        return self.clock or self.without.get(run, "")

    def parameters_of(self, run: str) -> dict[str, Any]:
        """Return the parameters that take the place of a run's own."""
        return {**self.parameters, **self.runs.get(run, {})}


@dataclass(frozen=True)
class Experiment:
    """One entry of the manifest."""

    name: str
    profiles: Mapping[str, Profile]  # by name; an experiment need not have all
    title: str
    notebook: str = ""  # its name, without an ending; the experiment's when left out
    claims: tuple[str, ...] = ()  # ids of the ledger it serves
    data: tuple[str, ...] = ()  # sets it may read
    outputs: tuple[str, ...] = ()  # files every run must leave
    replay: Replay | None = None  # how its records are compared with what the library says now
    shown: str = ""  # the record whose rows the committed notebook shows

    def data_of(self, run: Run) -> tuple[str, ...]:
        """Return the data sets that a run reads: those that its parameter `dataset` names, or else
        all of the experiment.
        """
        named = run.parameters.get("dataset")
        return self.data if named is None else tuple(part.strip() for part in str(named).split(","))


@dataclass(frozen=True)
class Manifest:
    """All experiments by name, in the order of the file, with the folder of the file and of the
    notebooks.
    """

    folder: Path
    experiments: Mapping[str, Experiment] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self.experiments.values())

    def select(self, names: Iterable[str], profile: str) -> list[Run]:
        """Return the runs of a profile, each once, in the order of the manifest. `names` are of the
        form `experiment` or `experiment/run`, and may end in a slash; without names all runs are
        returned.
        """
        if profile not in PROFILES:
            raise BookError(f"profile: {profile!r} is not one of {', '.join(PROFILES)}")
        runs = [
            run for exp in self if profile in exp.profiles for run in exp.profiles[profile].runs
        ]
        wanted = [name.rstrip("/") for name in names]
        if not wanted:
            return runs
        chosen = set()
        for name in wanted:
            experiment, _, run_name = name.partition("/")
            if experiment not in self.experiments:
                raise BookError(unknown("experiment", experiment, self.experiments))
            hits = [run for run in runs if run.experiment == experiment]
            if not hits:
                raise BookError(f"experiment {experiment!r} has no runs at profile {profile!r}")
            if run_name and run_name not in {run.name for run in hits}:
                raise BookError(unknown(f"run at profile {profile}", name, hits))
            chosen |= {str(run) for run in hits if run_name in ("", run.name)}
        return [run for run in runs if str(run) in chosen]

    def seconds(self, run: Run, profile: str) -> float | None:
        """Return the approximate seconds of a run, see :meth:`Profile.share`; None for a run that
        is not in the manifest, such as one with other parameters.
        """
        entry = self.experiments[run.experiment].profiles[profile]
        return entry.share(run) if run in entry.runs else None

    def check_parameters(self, run: Run) -> dict[str, Any]:
        """Return the value a run gives every parameter of its notebook; one that `check` does
        not accept is refused.
        """
        notebook = self.experiments[run.experiment].notebook
        defaults = notebooks.parameters(notebooks.read_source(self.folder, notebook), notebook)
        if "output_dir" not in defaults:
            raise BookError(f"notebook {notebook}: its parameters cell lacks output_dir")
        for place in PLACES:
            if place in run.parameters:
                raise BookError(f"run {run}: {place} is set by the runner")
        check(run.parameters, defaults, f"run {run}")
        return {**defaults, **run.parameters}

    def repeats(self, run: Run, n: int) -> list[Run]:
        """Return a run and n - 1 more of it with its seed plus 1, 2, ...; the run alone when its
        notebook has no parameter `seed`.
        """
        seed = self.check_parameters(run).get("seed") if n > 1 else None
        if not isinstance(seed, int):
            return [run]
        return [run, *(run.override({"seed": seed + i}) for i in range(1, n))]
