"""The command ``safescreen``, which runs the command line of the book if the book is installed."""

import importlib.util
import sys


def main():
    """Run the command line of the book, or say how to get the book. Return the exit code."""
    if importlib.util.find_spec("safescreen_book") is None:
        text = (
            "safescreen: the experiments are not part of this package; they come with its "
            "repository: clone it and run make install there"
        )
        print(text, file=sys.stderr)
        return 2
    try:
        book = importlib.import_module("safescreen_book.cli")
    except ModuleNotFoundError as error:
        print(
            f"safescreen: {error.name} is not installed; in the checkout: make install, or "
            "pip install -e '.[book,cluster]' --group dev",
            file=sys.stderr,
        )
        return 2
    return book.main()


if __name__ == "__main__":
    sys.exit(main())
