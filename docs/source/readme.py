"""What README.md says in numbers, written into it from committed results; and the pages that it
leads to, filled (`docs/source/filled.py`).

python docs/source/readme.py           # after results, the ledger or a page have changed
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "lib")]

from _ext.numbers import numbers  # noqa: E402

FILE = ROOT / "README.md"


def gains() -> str:
    """Return what screening gains, at one stop."""
    known = numbers()
    return (
        f"**Screening makes a path of solutions {known['screening gains least']} to "
        f"{known['screening gains most']} times faster** on {known['data sets of screening']} data "
        "sets of the papers, with triplets in a list, the test RRPB, and the papers' stop: an "
        "absolute duality gap of 1e-6 at every lambda "
        "([the records](outputs/paper/51-path-time)). With a looser stop it gains less, and with "
        "cheap passes it can cost something: [should I use this?]"
        "(docs/should-i-use-this.md) has the numbers.\n"
    )


def written(text: str) -> str:
    """Return a text with its generated parts as they are now."""
    for name, part in {"gains": gains()}.items():
        between = rf"(<!-- {name}: docs/source/readme.py -->\n).*?(<!-- end -->)"
        text, count = re.subn(between, lambda m, part=part: m[1] + part + m[2], text, flags=re.S)
        assert count == 1, f"README.md has {count} parts called {name}"
    return text


if __name__ == "__main__":
    import filled

    filled.main()
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
