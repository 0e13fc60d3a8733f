"""Run experiments in a batch: manifest, folders of runs, workers, the two files of a notebook."""

import sys

# nbformat imports jsonschema, which builds a parser of international addresses if it can. It takes
# two seconds of each process, and a notebook holds no such address to check.
sys.modules.setdefault("rfc3987_syntax", None)
