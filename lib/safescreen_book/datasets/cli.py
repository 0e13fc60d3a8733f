"""``safescreen data list | fetch | verify``."""

from __future__ import annotations

import sys

from safescreen_book.datasets import store
from safescreen_book.datasets.registry import info, names


def add_parser(subparsers):
    """Add ``data`` and its three actions; each sets ``func(args) -> int``, an exit code.

    Parameters
    ----------
    subparsers : argparse subparsers action
        What ``ArgumentParser.add_subparsers`` returned.

    Returns
    -------
    argparse.ArgumentParser
        The parser of ``data``.
    """
    parser = subparsers.add_parser("data", help="list, fetch or verify the data sets")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listing = actions.add_parser("list", help="every data set, and whether it is here")
    listing.set_defaults(func=list_sets)

    fetching = actions.add_parser("fetch", help="download what is not here, and check it")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="data sets")
    fetching.add_argument("--all", action="store_true", help="every set that has a public address")
    fetching.set_defaults(func=fetch_sets)

    verifying = actions.add_parser("verify", help="check the files that are here against their checksums")
    verifying.add_argument("names", nargs="*", metavar="NAME", help="data sets; all that are here by default")
    verifying.set_defaults(func=verify_sets)
    return parser


def _where(name: str) -> str:
    """One word for where a data set is."""
    entry = info(name)
    if entry.embedded:
        return "scikit-learn"
    if store.available(name):
        return "here"
    missing = [spec for spec in entry.files.values() if store.locate(spec) is None]
    return "to fetch" if all(spec.url for spec in missing) else "missing"


def list_sets(args) -> int:
    """Print one line a data set."""
    columns = "{:<14} {:>6} {:>8} {:>7}  {:<8} {:<13} {:<12} {}"
    print(columns.format("name", "rows", "features", "classes", "scaling", "papers", "where", "title"))
    for name in names():
        entry = info(name)
        papers, where = " ".join(entry.papers) or "-", _where(name)
        print(columns.format(name, *entry.shape, entry.classes, entry.scaling, papers, where, entry.title))
    print("looked in: " + ", ".join(str(folder) for folder in store.folders()))
    return 0


def _check_names(chosen) -> bool:
    try:
        for name in chosen:
            info(name)
    except ValueError as error:
        print(error, file=sys.stderr)
        return False
    return True


def _each(chosen, action, done: str) -> int:
    """Run `action` on each set, reporting as it goes; 1 if any failed."""
    failed = 0
    for name in chosen:
        try:
            paths = action(name)
        except (store.DataNotFoundError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{name}: {done} ({', '.join(path.name for path in paths) or 'part of scikit-learn'})")
    return int(failed > 0)


def fetch_sets(args) -> int:
    """Fetch the sets named, or all that have an address."""
    if not _check_names(args.names):
        return 2
    if bool(args.names) == args.all:
        print("name the data sets to fetch, or give --all", file=sys.stderr)
        return 2
    chosen = args.names
    if args.all:
        chosen = [name for name in names() if any(spec.url for spec in info(name).files.values())]
    return _each(chosen, store.fetch, "here")


def verify_sets(args) -> int:
    """Verify the sets named, or all that are here."""
    if not _check_names(args.names):
        return 2
    chosen = args.names or [name for name in names() if store.available(name) and not info(name).embedded]
    if not chosen:
        print("no data files are here; `safescreen data list` says what there is")
    return _each(chosen, store.verify, "checksums are right")
