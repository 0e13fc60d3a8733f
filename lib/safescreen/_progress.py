"""Progress bars, where tqdm is installed and somebody asks for one."""

from contextlib import nullcontext
from types import SimpleNamespace


def progress_bar(shown, desc, *, total=None, unit="it"):
    """Return a context with ``update``: tqdm's bar on a terminal if `shown`, else a silent one."""
    if not shown:
        return nullcontext(SimpleNamespace(update=lambda n=1: None))
    try:
        from tqdm import tqdm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a progress bar needs tqdm (pip install tqdm); without it leave verbose or progress False") from error
    return tqdm(desc=desc, total=total, unit=unit, disable=None)
