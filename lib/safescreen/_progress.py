"""Progress bars, where tqdm is installed and somebody asks for one."""

from contextlib import nullcontext

__all__ = ["progress_bar"]


class _Silent(nullcontext):
    """A bar that shows nothing."""

    n = 0

    def __enter__(self):
        return self

    def update(self, n=1):
        """Count."""
        self.n += n

    def set_postfix(self, **values):
        """Show nothing."""

    def close(self):
        """End."""


def progress_bar(shown, desc, *, total=None, unit="it"):
    """Return a context with ``update(n)``, ``set_postfix(**values)``, ``close()``: tqdm's bar on a terminal if `shown`, else a silent one.

    Raises
    ------
    ModuleNotFoundError
        A bar is asked for, and tqdm is not installed.

    Examples
    --------
    >>> with progress_bar(False, "path") as bar:
    ...     bar.update(3)
    >>> bar.n
    3
    """
    if not shown:
        return _Silent()
    try:
        from tqdm import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a progress bar needs tqdm (pip install tqdm); without it leave verbose or progress False") from error
    return tqdm(desc=desc, total=total, unit=unit, disable=None)
