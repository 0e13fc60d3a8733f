"""What README.md says in numbers, written into it from committed results.

python docs/readme.py           # after results or the ledger have changed
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "lib")]

from _ext.claims import COLUMNS, PAPERS, table_of  # noqa: E402
from _ext.numbers import numbers  # noqa: E402
from safescreen_book import ledger, wording  # noqa: E402

FILE = ROOT / "README.md"


def wine() -> str:
    """Return the sentence on the path over wine."""
    known = numbers()
    return (
        f"**{known['wine triplets']} triplets of wine, {known['wine lams']} values of lam: "
        f"{known['wine seconds of the authors']} s by the program of the method's authors, "
        f"{known['wine seconds here']} s here.**\n"
    )


def papers() -> str:
    """Return the table of the papers: statements, tables and figures, conclusions."""
    folder = ROOT / "notebooks"
    numbers = table_of(ledger.load_claims(folder), ledger.judged(folder))
    groups = ["statements", "tables and figures", "conclusions"]
    rows = [["", *groups], ["---"] * 4]
    for paper, title in PAPERS.items():
        row, rest = [title], list(numbers[paper])
        for names in COLUMNS:
            found, rest = rest[: len(names)], rest[len(names) :]
            words = [name.removeprefix("statements ") for name in names]
            words = [name.removeprefix("conclusions that ") for name in words]
            counted = zip(found, words, strict=True)
            row.append(", ".join(wording.numbered(n, word) for n, word in counted if n))
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def written(text: str) -> str:
    """Return a text with its generated parts as they are now."""
    for name, part in {"wine": wine(), "papers": papers()}.items():
        between = rf"(<!-- {name}: docs/readme.py -->\n).*?(<!-- end -->)"
        text, count = re.subn(between, lambda m, part=part: m[1] + part + m[2], text, flags=re.S)
        assert count == 1, f"README.md has {count} parts called {name}"
    return text


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
