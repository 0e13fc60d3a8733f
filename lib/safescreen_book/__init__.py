"""What makes the book: data sets, the papers' protocols, figures, the batch runner, the ledger of
claims and the command line.

The library never imports it.
"""

from safescreen_book.recorder import Recorder

__all__ = ["Recorder"]
