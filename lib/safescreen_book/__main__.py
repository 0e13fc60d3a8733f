"""``python -m safescreen_book`` is the command ``safescreen``."""

import sys

from safescreen_book.cli import main

if __name__ == "__main__":
    sys.exit(main())
