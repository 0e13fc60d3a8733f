"""``python -m safescreen.bench``: see `safescreen.bench.cli`."""

import sys

from safescreen.bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
