"""What README.md says in numbers, written into it from committed results; and the pages that it
leads to, filled (`docs/filled.py`).

python docs/readme.py           # after results, the ledger or a page have changed
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "lib")]

from _ext.claims import GROUPS, PAPERS, in_words, table_of  # noqa: E402
from _ext.numbers import numbers  # noqa: E402
from safescreen_book import ledger  # noqa: E402

FILE = ROOT / "README.md"


def gains() -> str:
    """Return what screening gains, and what the solver gains."""
    known = numbers()
    return (
        f"**Screening makes a path of solutions {known['screening gains least']} to "
        f"{known['screening gains most']} times faster** ({known['data sets of screening']} data "
        "sets, solved as closely as in the papers). **The solver makes it "
        f"{known['wine times faster']} times faster** than the program of the method's authors, "
        f"which screens in the same way: {known['wine triplets']} triplets of wine, "
        f"{known['wine lams']} values of lam, {known['wine seconds of the authors']} s and "
        f"{known['wine seconds here']} s, both with a relative duality gap of one part in a "
        "million.\n"
    )


def papers() -> str:
    """Return the table of the papers: statements, tables and figures, conclusions."""
    folder = ROOT / "notebooks"
    numbers = table_of(ledger.load_claims(folder), ledger.judged(folder))
    rows = [["", *GROUPS], ["---"] * 4]
    rows += [[title, *in_words(numbers[paper])] for paper, title in PAPERS.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def written(text: str) -> str:
    """Return a text with its generated parts as they are now."""
    for name, part in {"gains": gains(), "papers": papers()}.items():
        between = rf"(<!-- {name}: docs/readme.py -->\n).*?(<!-- end -->)"
        text, count = re.subn(between, lambda m, part=part: m[1] + part + m[2], text, flags=re.S)
        assert count == 1, f"README.md has {count} parts called {name}"
    return text


if __name__ == "__main__":
    import filled

    filled.main()
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
