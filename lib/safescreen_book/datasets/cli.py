"""``safescreen data list | fetch | verify``."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from safescreen_book.datasets import store
from safescreen_book.datasets.registry import info, names


def add_parser(commands) -> None:
    """Add ``data`` and its three actions to subparsers of argparse; each sets
    ``func(options) -> int``, an exit code.
    """
    parser = commands.add_parser("data", help="list, fetch or verify the data sets")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listing = actions.add_parser("list", help="every data set, and whether it is here")
    listing.set_defaults(func=_list)

    fetching = actions.add_parser("fetch", help="download what is not here, and check it")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="data sets")
    fetching.add_argument("--all", action="store_true", help="every set that has a public address")
    fetching.set_defaults(func=_fetch)

    verifying = actions.add_parser(
        "verify", help="check the files that are here against their checksums"
    )
    verifying.add_argument(
        "names", nargs="*", metavar="NAME", help="data sets; all that are here by default"
    )
    verifying.set_defaults(func=_verify)


def _list(options) -> int:
    columns = "{:<14} {:>6} {:>8} {:>7}  {:<8} {:<13} {:<12} {}"
    print(
        columns.format("name", "rows", "features", "classes", "scaling", "papers", "where", "title")
    )
    for name in names():
        entry = info(name)
        papers = " ".join(entry.papers) or "-"
        where = _where(name)
        print(
            columns.format(
                name, *entry.shape, entry.classes, entry.scaling, papers, where, entry.title
            )
        )
    print("to fetch: `safescreen data fetch NAME` downloads it; missing: it has no public address")
    print("looked in: " + ", ".join(str(folder) for folder in store.folders()))
    return 0


def _where(name: str) -> str:
    entry = info(name)
    if entry.embedded:
        return "scikit-learn"
    missing = [spec for spec in entry.files.values() if store.locate(spec) is None]
    if not missing:
        return "here"
    return "to fetch" if all(spec.url for spec in missing) else "missing"


def _fetch(options) -> int:
    if bool(options.names) == options.all:
        raise ValueError("data fetch: name the data sets to fetch, or give --all")
    public = [name for name in names() if any(spec.url for spec in info(name).files.values())]
    return _each(public if options.all else options.names, store.fetch, "here")


def _verify(options) -> int:
    chosen = options.names or [
        name for name in names() if store.available(name) and not info(name).embedded
    ]
    if not chosen:
        print("no data files are here; `safescreen data list` says what there is")
    return _each(chosen, store.verify, "checksums are right")


def _each(chosen: Iterable[str], action: Callable[[str], list[Path]], done: str) -> int:
    """Do something with each set, once all their names are known, and say what became of it;
    return 1 if any failed.
    """
    failed = 0
    chosen = [info(name).name for name in chosen]
    for name in chosen:
        try:
            paths = action(name)
        except (store.DataNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
        else:
            print(
                f"{name}: {done} "
                f"({', '.join(path.name for path in paths) or 'part of scikit-learn'})"
            )
    return int(failed > 0)
