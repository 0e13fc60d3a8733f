"""The manifest of experiments: what is run, with what, at which size."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PROFILES = ("smoke", "laptop", "paper")


class ManifestError(ValueError):
    """The manifest, or a request made of it, does not make sense; the message says where and why."""


@dataclass(frozen=True)
class Run:
    """One execution of a notebook.

    Parameters
    ----------
    experiment, name : str
        Together the run's identity, written `experiment/name`.
    parameters : dict
        Plain numbers, booleans and strings handed to the notebook.
    """

    experiment: str
    name: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.experiment}/{self.name}"

    def override(self, parameters: Mapping[str, Any]) -> "Run":
        """Return this run with some parameters replaced, under a name of its own.

        Parameters
        ----------
        parameters : dict
            New values by name.

        Returns
        -------
        Run
            Called `name,parameter=value,...`; the run itself when nothing is replaced.

        Examples
        --------
        >>> str(Run("51-path-time", "iris", {"dataset": "iris"}).override({"freq": 5}))
        '51-path-time/iris,freq=5'
        """
        if not parameters:
            return self
        tail = ",".join(f"{key}={value}" for key, value in parameters.items())
        name = re.sub(r"[^A-Za-z0-9_.+=,-]", "_", f"{self.name},{tail}")
        return replace(self, name=name, parameters={**self.parameters, **parameters})


@dataclass(frozen=True)
class Profile:
    """The runs of an experiment at one size.

    Parameters
    ----------
    runs : tuple of Run
        In the order of the manifest.
    seconds, memory_mb : float
        Rough cost of all runs together, and of the largest.
    """

    runs: tuple[Run, ...]
    seconds: float
    memory_mb: float


@dataclass(frozen=True)
class Experiment:
    """One entry of the manifest.

    Parameters
    ----------
    name, title : str
        Key and heading.
    notebook : str
        Name of the notebook, without an ending.
    profiles : dict
        Profile by name; an experiment need not have all.
    claims, data, outputs : tuple of str
        Ids of the ledger it serves; data sets it may read; files every run must leave.
    """

    name: str
    title: str
    notebook: str
    profiles: Mapping[str, Profile]
    claims: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def data_of(self, run: Run) -> tuple[str, ...]:
        """Return the data sets a run reads.

        Parameters
        ----------
        run : Run
            A run of this experiment.

        Returns
        -------
        tuple of str
            Those its `dataset` parameter names, else all of the experiment's.
        """
        named = run.parameters.get("dataset")
        return self.data if named is None else tuple(part.strip() for part in str(named).split(","))


@dataclass(frozen=True)
class Manifest:
    """All experiments, by name.

    Parameters
    ----------
    folder : Path
        The folder of the manifest and of the notebooks.
    experiments : dict
        Experiment by name, in the order of the file.
    """

    folder: Path
    experiments: Mapping[str, Experiment] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self.experiments.values())

    def select(self, names: Iterable[str], profile: str) -> list[Run]:
        """Return the runs asked for.

        Parameters
        ----------
        names : iterable of str
            `experiment` or `experiment/run`; none asks for everything.
        profile : {"smoke", "laptop", "paper"}
            The size.

        Returns
        -------
        list of Run
            In the manifest's order, each once.

        Raises
        ------
        ManifestError
            For a name, run or profile that is not in the manifest.
        """
        if profile not in PROFILES:
            raise ManifestError(f"profile: {profile!r} is not one of {', '.join(PROFILES)}")
        runs = [run for exp in self if profile in exp.profiles for run in exp.profiles[profile].runs]
        wanted = list(names)
        if not wanted:
            return runs
        chosen = set()
        for name in wanted:
            experiment, _, run_name = name.partition("/")
            if experiment not in self.experiments:
                raise ManifestError(unknown("experiment", experiment, self.experiments))
            hits = [run for run in runs if run.experiment == experiment]
            if not hits:
                raise ManifestError(f"experiment {experiment!r} has no runs at profile {profile!r}")
            if run_name and run_name not in {run.name for run in hits}:
                raise ManifestError(unknown(f"run at profile {profile}", name, hits))
            chosen |= {str(run) for run in hits if run_name in ("", run.name)}
        return [run for run in runs if str(run) in chosen]

    def check_parameters(self, run: Run) -> dict[str, Any]:
        """Return the values a run will have for every parameter of its notebook.

        Parameters
        ----------
        run : Run
            Any run of one of these experiments.

        Returns
        -------
        dict
            The notebook's defaults with the run's values laid over them.

        Raises
        ------
        ManifestError
            For a parameter the notebook's `parameters` cell does not have.
        """
        from safescreen_book.runner.loading import notebook_parameters
        from safescreen_book.runner.notebooks import read_source

        notebook = self.experiments[run.experiment].notebook
        defaults = notebook_parameters(read_source(self.folder, notebook), notebook)
        if "output_dir" not in defaults:
            raise ManifestError(f"notebook {notebook}: its parameters cell lacks output_dir")
        if "output_dir" in run.parameters:
            raise ManifestError(f"run {run}: output_dir is set by the runner")
        for name in run.parameters:
            if name not in defaults:
                raise ManifestError(f"run {run}: " + unknown(f"parameter of {notebook}", name, defaults))
        return {**defaults, **run.parameters}

    def repeats(self, run: Run, n: int) -> list[Run]:
        """Return a run and n - 1 more of it that differ in the seed.

        Parameters
        ----------
        run : Run
            Any run of one of these experiments.
        n : int
            How many in all.

        Returns
        -------
        list of Run
            The run itself, then those with its seed plus 1, 2, ..., under names of their own; the run alone when its notebook
            has no parameter `seed`, and would give the same again.
        """
        seed = self.check_parameters(run).get("seed") if n > 1 else None
        if not isinstance(seed, int):
            return [run]
        return [run, *(run.override({"seed": seed + i}) for i in range(1, n))]


def unknown(what: str, name, known: Iterable) -> str:
    """Return the sentence for a name that is not known, with the nearest that is.

    Parameters
    ----------
    what : str
        The kind of thing.
    name : object
        What was found.
    known : iterable
        What could have been.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> unknown("experiment", "path-tim", ["path-time", "rates"])
    "unknown experiment 'path-tim'; did you mean path-time? Known: path-time, rates"
    """
    known = sorted(str(item) for item in known)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown {what} {str(name)!r}{hint} Known: {', '.join(known)}".replace("' Known", "'. Known")
