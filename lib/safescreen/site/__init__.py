"""The book, its results, its ledger and the reference of the library as a static site that needs nothing from elsewhere."""

from safescreen.site.build import build
from safescreen.site.names import Entry, Reference, public_names

__all__ = ["Entry", "Reference", "build", "public_names"]
