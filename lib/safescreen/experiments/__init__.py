"""The book's batch job: manifest, runs, ledger of claims and report.

A notebook only needs `Recorder`; the command line (`safescreen run`, `report`, `claims`, `notebooks`)
uses the rest. Nothing here is imported by the numerical library.
"""

from .claims import Claim, load_claims
from .loading import load_manifest
from .manifest import Experiment, Manifest
from .output import Recorder

__all__ = ["Claim", "Experiment", "Manifest", "Recorder", "load_claims", "load_manifest"]
