"""`python -m safescreen` is the command `safescreen`."""

import sys

from safescreen.cli import main

if __name__ == "__main__":
    sys.exit(main())
