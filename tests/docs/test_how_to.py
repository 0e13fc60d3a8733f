"""The examples of hand-written pages run, with large numbers made smaller, and each page of how
to do what is in the table of contents.
"""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
OTHERS = [ROOT / "docs" / f"{name}.md" for name in ("index", "coming-from")]
SMALLER = {
    "n = 60_000": "n = 1_200",
    "1_000)": "40)",
    "lams[200:220]": "lams[5:9]",
    "2, 4_000)": "2, 400)",
    "1e2, 51)": "1e2, 5)",
}
"""What stands in the pages, and what is run."""


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.stem)
def test_examples_run(page, capsys):
    text = page.read_text(encoding="utf-8")
    blocks, names = re.findall(r"```python\n(.*?)```", text, flags=re.S), {"__name__": page.stem}
    assert blocks
    for block in blocks:
        for large, small in SMALLER.items():
            block = block.replace(large, small)
        exec(compile(block, str(page), "exec"), names)
    printed = capsys.readouterr().out
    assert printed.strip() and "nan" not in printed


def test_each_page_is_in_the_table_of_contents():
    listed = re.findall(
        r"^how-to/([\w-]+)$", (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8"), flags=re.M
    )
    assert sorted(listed) == [page.stem for page in PAGES]
