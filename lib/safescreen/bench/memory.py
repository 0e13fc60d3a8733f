"""Resident memory of this process, now and at its peak since a reset."""

import sys
from pathlib import Path

__all__ = ["peak", "reset"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset():
    """Forget the peak where the system can (Linux), and return the bytes resident now."""
    import gc

    import psutil

    gc.collect()
    try:
        _CLEAR.write_text("5")
    except OSError:
        pass  # the peak so far stays: growth is overstated, never understated
    return psutil.Process().memory_info().rss


def peak():
    """Return the most bytes that were resident since the last reset, or ever where nothing can be reset."""
    if _STATUS.exists():
        [line] = [line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
