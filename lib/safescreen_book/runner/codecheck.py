"""The list of outputs that a reader can compare (`codecheck.yml`), and the certificate of somebody
who has compared them.

The list has the format of the CODECHECK community. It names each committed output of an experiment
of the manifest, with the tables and figures of the papers to which it belongs. The certificate
reports the replays of one commit: which records agree, on which machine, and in how much time.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from safescreen_book.ledger import Claim
from safescreen_book.runner import fingerprint, folders
from safescreen_book.runner.manifest import RECORDS, Manifest

NAME = "codecheck.yml"
SPECIFICATION = "https://codecheck.org.uk/spec/config/1.0/"


def entries(manifest: Manifest, claims: Iterable[Claim], outputs: Path) -> list[dict[str, str]]:
    """Return file and comment of every committed output, in the order of the manifest."""
    known = {claim.id: claim for claim in claims}
    found = []
    for experiment in manifest:
        stands_for = ", ".join(name for name in experiment.claims if name in known)
        about = f"{experiment.title} ({stands_for})" if stands_for else experiment.title
        for folder in sorted((outputs / RECORDS / experiment.name).glob("[!.]*")):
            for name in experiment.outputs:
                if (folder / name).is_file():
                    path = Path(RECORDS, experiment.name, folder.name, name)
                    comment = f"{about}, run {folder.name}"
                    found.append({"file": f"outputs/{path.as_posix()}", "comment": comment})
    return found


def configuration(files: list[dict[str, str]]) -> str:
    """Return the text of `codecheck.yml`."""
    head = (
        "# Written by `safescreen codecheck` from the manifest of experiments.\n"
        f"# {len(files)} files; `make codecheck` compares their rows from a fresh clone.\n"
    )
    content = {"version": SPECIFICATION, "manifest": files}
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def certificate(outputs: Path, git: dict[str, Any] | None) -> dict[str, Any]:
    """Return a report on the replays of all records at the present commit.

    `known` names those that differ, but did so in the last replay of an earlier commit too: they
    are historic, and nothing new has been found. A ValueError is raised if there is no repository,
    if it has changes, or if no record was replayed at this commit.
    """
    if git is None or git["dirty"]:
        found = "none" if git is None else "one with changes"
        raise ValueError(f"a certificate needs a clone without changes, found {found}")
    agree: list[str] = []
    differ: dict[str, list[str]] = {}
    known: list[str] = []
    left_out: list[str] = []
    seconds = 0.0
    for result in sorted((outputs / RECORDS).glob("[!.]*/[!.]*/result.json")):
        name = "/".join(result.parts[-3:-1])
        replay = _replay(result.parent, git["commit"])
        if replay is None:
            left_out.append(name)
            continue
        seconds += replay["seconds"]
        if replay["agrees"]:
            agree.append(name)
        else:
            differ[name] = replay["differences"]
            if replay["rows"] and _differed_before(result.parent, git["commit"]):
                known.append(name)
    if not agree and not differ:
        raise ValueError(
            f"no record was replayed at {git['commit'][:7]}: run `safescreen replay` first"
        )
    return {
        "commit": git["commit"],
        **fingerprint.environment(),
        "hours": round(seconds / 3600.0, 3),
        "agree": agree,
        "differ": differ,
        "known": known,
        "left_out": left_out,
    }


def _replay(folder: Path, commit: str) -> Mapping[str, Any] | None:
    """Return the last replay of a record at a commit, made without changes to it."""
    replays = folders.read_replays(folder)
    found = [one for one in replays if one["commit"] == commit and not one["dirty"]]
    return found[-1] if found else None


def _differed_before(folder: Path, commit: str) -> bool:
    """Whether rows differed in the last replay of another commit."""
    earlier = [one for one in folders.read_replays(folder) if one["commit"] != commit]
    return bool(earlier) and earlier[-1]["rows"] > 0 and not earlier[-1]["agrees"]
