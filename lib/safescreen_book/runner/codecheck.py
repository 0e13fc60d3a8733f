"""The list of outputs that a reader can compare (`codecheck.yml`), and the certificate of somebody
who has compared them.

The list has the format of the CODECHECK community. It names the report that the outputs belong to,
and each committed output of an experiment of the manifest, with the tables and figures of the
papers that it stands for. Whoever checks it for CODECHECK adds who checked, and where the
certificate is. The certificate of this module reports the replays of one commit: which records
agree, on which machine, and in how much time.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from safescreen_book.ledger import Claim
from safescreen_book.runner import fingerprint, folders
from safescreen_book.runner.manifest import RECORDS, Manifest

NAME = "codecheck.yml"
SPECIFICATION = "https://codecheck.org.uk/spec/config/1.0/"
REPORT = "docs/article.md"
CHECK = (
    "codechecker",
    "report",
    "summary",
    "certificate",
    "repository",
    "source",
    "check_time",
)
"""What a codechecker adds to the list."""


def paper(root: Path) -> dict[str, Any]:
    """Return title, authors and address of the report that the outputs belong to."""
    title = (root / REPORT).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "title": title,
        "authors": [_author(one) for one in citation["authors"]],
        "reference": f"{project['urls']['Repository']}/blob/main/{REPORT}",
    }


def _author(author: Mapping[str, str]) -> dict[str, str]:
    """Return an author of `CITATION.cff` as CODECHECK names people."""
    parts = [author[key] for key in ("given-names", "family-names", "name") if key in author]
    named = {"name": " ".join(parts)}
    if "orcid" in author:
        named["ORCID"] = author["orcid"].rsplit("/", 1)[-1]
    return named


def added(path: Path) -> dict[str, Any]:
    """Return what a codechecker has added to the list in a file; nothing if there is none."""
    if not path.is_file():
        return {}
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {name: content[name] for name in CHECK if name in content}


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


def configuration(
    paper: Mapping[str, Any], files: list[dict[str, str]], added: Mapping[str, Any]
) -> str:
    """Return the text of `codecheck.yml`."""
    head = (
        "---\n"
        "# Written by `safescreen codecheck` from the manifest of experiments.\n"
        f"# {len(files)} files; `make codecheck` compares their rows from a fresh clone.\n"
        f"# A codechecker adds {', '.join(CHECK[:4])}.\n"
        "# They stay when this file is written anew.\n"
    )
    content = {"version": SPECIFICATION, "paper": paper, "manifest": files, **added}
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
