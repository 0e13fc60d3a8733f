"""Progress bars: a bar of tqdm if it is installed, else a line on standard error every few
seconds.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Self

EVERY = 5.0
"""Seconds between two lines."""


def progress_bar(shown: bool, desc: str, *, total: int | None = None, unit: str = "it") -> Any:
    """Return a context with ``update``. It shows a bar on a terminal, or lines without tqdm, if
    `shown` is true; otherwise it is silent.
    """
    if not shown:
        return nullcontext(SimpleNamespace(update=lambda n=1: None))
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return Lines(desc, total, unit)
    return tqdm(desc=desc, total=total, unit=unit, disable=None)


class Lines:
    """Progress in lines, for use without tqdm: a line every few seconds, and one line at
    the end.
    """

    def __init__(self, desc: str, total: int | None, unit: str):
        self.desc = desc
        self.unit = unit
        self.of = "" if total is None else f" of {total}"
        self.n = 0
        self.facts = ""
        self.shown = sys.stderr is not None and sys.stderr.isatty()
        self.started = self.last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._write()

    def set_postfix(self, **facts: object) -> None:
        """Set the facts that are shown behind the count."""
        self.facts = "".join(f", {name}={fact}" for name, fact in facts.items())

    def update(self, n: int = 1) -> None:
        """Count n more."""
        self.n += n
        if time.monotonic() - self.last >= EVERY:
            self._write()

    def _write(self):
        self.last = time.monotonic()
        if self.shown:
            seconds = self.last - self.started
            print(
                f"{self.desc}: {self.n}{self.of} {self.unit}, {seconds:.0f} s{self.facts}",
                file=sys.stderr,
                flush=True,
            )
