"""Reading the manifest `experiments.yml`: which notebook is run with what, per profile.

    51-path-time:
      title: Total time of a regularisation path
      notebook: 51-path-time            # default: the experiment's name
      claims: [STS19-F9]
      data: [iris, wine]                # every data set a run may read
      outputs: [results.csv]            # files each run must leave
      profiles:
        smoke: {seconds: 10, memory_mb: 300, runs: {iris: {dataset: iris}}}

A run whose parameters have a `dataset` (several: separated by commas) needs those data sets; any other run
needs all that `data` lists.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from safescreen_book.runner.manifest import PROFILES, Experiment, Manifest, ManifestError, Profile, Run, unknown

_REQUIRED = {"title", "profiles"}
_OPTIONAL = {"notebook", "claims", "data", "outputs"}
_PROFILE_KEYS = {"seconds", "memory_mb", "runs"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+=,-]*")


def notebook_parameters(nb, name: str) -> dict[str, Any]:
    """Return names and defaults from the cell tagged `parameters`.

    Parameters
    ----------
    nb : NotebookNode
        A notebook.
    name : str
        Its name, for messages.

    Returns
    -------
    dict
        Plain values by parameter name.

    Raises
    ------
    ManifestError
        If there is not exactly one such cell or a default is not a plain number, boolean or string.
    """
    cells = [c for c in nb.cells if c.cell_type == "code" and "parameters" in c.metadata.get("tags", ())]
    if len(cells) != 1:
        raise ManifestError(f"notebook {name}: needs one cell tagged 'parameters', found {len(cells)}")
    found = {}
    for node in ast.parse(cells[0].source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or getattr(node, "value", None) is None:
            raise ManifestError(f"notebook {name}: its parameters cell holds more than `name = value` lines")
        try:
            found[target.id] = _plain(ast.literal_eval(node.value), f"notebook {name}: parameter {target.id}")
        except ValueError as error:
            text = ast.unparse(node.value)
            raise ManifestError(f"notebook {name}: parameter {target.id} = {text} is not plain") from error
    return found


def load_manifest(folder: Path, claim_ids: Iterable[str] | None = None) -> Manifest:
    """Read and check `experiments.yml`.

    Parameters
    ----------
    folder : Path
        The folder of the manifest and of the notebooks.
    claim_ids : iterable of str, optional
        Ids of the ledger; given, every claim an experiment serves must be among them.

    Returns
    -------
    Manifest
        With every notebook known to exist. Parameters are checked against the notebooks by
        `Manifest.check_parameters`, which must read them.

    Raises
    ------
    ManifestError
        If the file is missing or not YAML, or an entry has an unknown or missing key, profile, notebook or
        claim.
    """
    path = Path(folder) / "experiments.yml"
    if not path.is_file():
        raise ManifestError(f"no experiments.yml in {Path(folder).name}/")
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ManifestError(f"experiments.yml: not valid YAML: {error}") from error
    entries = _mapping(raw, "experiments.yml")
    experiments = {name: _experiment(name, entry, Path(folder)) for name, entry in entries.items()}
    if claim_ids is not None:
        known = set(claim_ids)
        for exp in experiments.values():
            for claim in exp.claims:
                if claim not in known:
                    raise ManifestError(f"experiment {exp.name}: " + unknown("claim", claim, known))
    return Manifest(Path(folder), experiments)


def _experiment(name, entry, folder: Path) -> Experiment:
    where = f"experiment {name}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ManifestError(f"{where}: {name!r} cannot be a folder's name")
    entry = _keys(entry, where, _REQUIRED, _OPTIONAL)
    notebook = entry.get("notebook", name)
    if not (folder / f"{notebook}.ipynb").is_file() and not (folder / f"{notebook}.py").is_file():
        raise ManifestError(f"{where}: there is no notebook {notebook} in {folder.name}/")
    data = _strings(entry.get("data", []), f"{where}: data")
    profiles = {}
    for profile, body in _mapping(entry["profiles"], f"{where}: profiles").items():
        if profile not in PROFILES:
            raise ManifestError(f"{where}: " + unknown("profile", profile, PROFILES))
        profiles[profile] = _profile(name, body, f"{where}, profile {profile}")
    experiment = Experiment(
        name=name,
        title=str(entry["title"]),
        notebook=notebook,
        profiles=profiles,
        claims=_strings(entry.get("claims", []), f"{where}: claims"),
        data=data,
        outputs=_strings(entry.get("outputs", []), f"{where}: outputs"),
    )
    for run in (run for profile in profiles.values() for run in profile.runs):
        for dataset in experiment.data_of(run):
            if dataset not in data:
                raise ManifestError(f"run {run}: data set {dataset!r} is not in the experiment's data")
    return experiment


def _profile(experiment: str, body, where: str) -> Profile:
    body = _keys(body, where, _PROFILE_KEYS, set())
    for key in ("seconds", "memory_mb"):
        if isinstance(body[key], bool) or not isinstance(body[key], int | float) or not body[key] > 0:
            raise ManifestError(f"{where}: {key} must be a positive number, found {body[key]!r}")
    runs = []
    for name, parameters in _mapping(body["runs"], f"{where}: runs").items():
        if not _NAME.fullmatch(str(name)):
            raise ManifestError(f"{where}: run {name!r} cannot be a folder's name")
        parameters = _mapping(parameters or {}, f"{where}: run {name}")
        plain = {key: _plain(value, f"{where}: run {name}: {key}") for key, value in parameters.items()}
        runs.append(Run(experiment, str(name), plain))
    return Profile(tuple(runs), float(body["seconds"]), float(body["memory_mb"]))


def _plain(value, where: str):
    if value is None or not isinstance(value, bool | int | float | str):
        raise ManifestError(f"{where}: expected a number, boolean or string, found {value!r}")
    return value


def _mapping(value, where: str) -> dict:
    if not isinstance(value, dict):
        raise ManifestError(f"{where}: expected a mapping, found {type(value).__name__}")
    return value


def _strings(value, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ManifestError(f"{where}: expected a list of strings, found {value!r}")
    return tuple(value)


def _keys(entry, where: str, required: set, optional: set) -> dict:
    entry = _mapping(entry, where)
    for key in entry:
        if key not in required | optional:
            raise ManifestError(f"{where}: " + unknown("key", key, required | optional))
    for key in sorted(required):
        if key not in entry:
            raise ManifestError(f"{where}: key {key!r} is missing")
    return entry
