"""Read the manifest `experiments.yml`, which says for each profile which notebook runs with which
parameters.

    51-path-time:
      title: Total time of a regularisation path
      notebook: 51-path-time            # default: the experiment's name
      claims: [STS19-F9]
      data: [iris, wine]                # every data set a run may read
      outputs: [results.csv]            # files each run must leave
      profiles:
        smoke: {seconds: 10, memory_mb: 300, runs: {iris: {dataset: iris}}}

A run whose parameters have a `dataset` (several: separated by commas) needs those data sets; any
other run needs all that `data` lists."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from safescreen_book._common import (
    BookError,
    folder_name,
    mapping,
    plain,
    read_yaml,
    record,
    unknown,
)
from safescreen_book.runner.manifest import (
    PROFILES,
    RECORDS,
    Experiment,
    Manifest,
    Profile,
    Replay,
    Run,
)


def load_manifest(folder: Path, claim_ids: Iterable[str] | None = None) -> Manifest:
    """Read and check `experiments.yml`; a BookError says what is wrong and where.

    It checks that every notebook exists, and that the claims are among `claim_ids`, the ids of the
    ledger, if these are given. Parameters are checked by `Manifest.check_parameters`, because that
    has to read the notebooks.
    """
    folder = Path(folder)
    known = None if claim_ids is None else set(claim_ids)
    experiments = {
        name: _experiment(name, entry, folder)
        for name, entry in read_yaml(folder / "experiments.yml").items()
    }
    for experiment in experiments.values():
        for claim in experiment.claims if known is not None else ():
            if claim not in known:
                raise BookError(f"experiment {experiment.name}: " + unknown("claim", claim, known))
    return Manifest(folder, experiments)


def _experiment(name, entry, folder: Path) -> Experiment:
    where = f"experiment {name}"
    folder_name(name, where)
    entry = mapping(entry, where)
    profiles = {}
    for profile, body in mapping(entry.pop("profiles", None), f"{where}: profiles").items():
        if profile not in PROFILES:
            raise BookError(f"{where}: " + unknown("profile", profile, PROFILES))
        profiles[profile] = _profile(name, body, f"{where}, profile {profile}")
    replay = None
    records = {run.name for run in profiles[RECORDS].runs} if RECORDS in profiles else set()
    if "replay" in entry:
        replay = _replay(entry.pop("replay"), records, f"{where}: replay")
    experiment = record(Experiment, entry, where, name=name, profiles=profiles, replay=replay)
    experiment = replace(experiment, notebook=experiment.notebook or name)
    if experiment.shown and experiment.shown not in records:
        raise BookError(f"{where}: shown: " + unknown("run", experiment.shown, records))
    for file in (experiment.notebook, *experiment.outputs):
        folder_name(file, f"{where}: {file!r}")
    if not any(
        (folder / f"{experiment.notebook}.{ending}").is_file() for ending in ("py", "ipynb")
    ):
        raise BookError(f"{where}: there is no notebook {experiment.notebook} in {folder.name}/")
    known = set(experiment.data)
    runs = [run for profile in profiles.values() for run in profile.runs]
    for run in (run for run in runs if "dataset" in run.parameters):
        for dataset in experiment.data_of(run):
            if dataset not in known:
                raise BookError(f"run {run}: data set {dataset!r} is not in the experiment's data")
    return experiment


def _replay(body, records: set[str], where: str) -> Replay:
    """Return how records are replayed: parameters of a small part, and how its tables are
    compared; or why a clock decides all.
    """
    replay = record(Replay, body, where)
    for name in (*replay.runs, *replay.without, *replay.rounding):
        if name not in records:
            raise BookError(f"{where}: " + unknown("run", name, records))
    return replay


def _profile(experiment: str, body, where: str) -> Profile:
    body = mapping(body, where)
    runs = []
    for name, parameters in mapping(body.pop("runs", None), f"{where}: runs").items():
        folder_name(name, f"{where}: run {name!r}")
        given = mapping(parameters or {}, f"{where}: run {name}")
        for key, value in given.items():
            plain(value, f"{where}: run {name}: {key}")
        runs.append(Run(experiment, name, given))
    return record(Profile, body, where, runs=tuple(runs))
