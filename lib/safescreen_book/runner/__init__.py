"""The batch job: manifest, run folders, workers, and the notebooks' two files."""

import sys

ADDRESSES = "rfc3987_syntax"
"""What jsonschema checks international addresses with, for a second of every process that imports
nbformat; a notebook has none to check.
"""

if ADDRESSES not in sys.modules:
    sys.modules[ADDRESSES] = None  # an ImportError, which jsonschema expects
    try:
        import nbformat  # noqa: F401
    finally:
        del sys.modules[ADDRESSES]
