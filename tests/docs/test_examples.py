"""The examples of README and pages run as they stand, and print what stands below them."""

import re

import pytest

import examples

pytestmark = pytest.mark.slow

PAGES = examples.pages()


def is_near(here, there):
    """Whether two words are the same, or numbers that rounding may have moved: gaps by a factor of
    ten, others by a hundredth.
    """
    words = [word.strip("%,;:()").replace(",", "") for word in (here, there)]
    if here == there or not all(re.fullmatch(r"[+-]?[\d.]+(e[+-]\d+)?", word) for word in words):
        return here == there
    a, b = map(float, words)
    return max(a, b) <= (10.0 if "e-" in there else 1.01) * min(a, b)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_stands_below_them(page):
    blocks = examples.BLOCK.findall(page.read_text(encoding="utf-8"))
    printed = examples.run([code for code, _ in blocks], page.stem)
    for (code, shown), found in zip(blocks, printed, strict=True):
        assert shown or examples.needs_a_cluster(code) or code == blocks[-1][0], code
        here, there = found.split(), shown.split()
        assert len(here) == len(there), (found, shown)
        assert all(map(is_near, here, there)), (found, shown)
        if page.stem == "README":  # the same on every machine
            assert found == shown


@pytest.mark.parametrize(
    ("here", "there", "near"),
    [
        ("1.2e-07", "5e-08", True),
        ("1.2e-07", "1e-09", False),
        ("89", "90", False),
        ("98%", "98%", True),
        ("1,000", "1,001", True),
        ("True", "False", False),
    ],
)
def test_numbers_of_other_machines(here, there, near):
    assert is_near(here, there) == near


def test_a_page_is_written_with_what_it_prints():
    text = "a\n\n```python\nx = 1\nprint(x)\n```\n\n```text\n2\n```\n\nb\n\n```python\nx + 1\n```\n"
    assert examples.written(text, "page") == text.replace("text\n2", "text\n1")


def test_each_page_is_in_the_table_of_contents():
    folder = examples.SOURCE / "how-to"
    text = (examples.SOURCE / "how-to.md").read_text(encoding="utf-8")
    listed = re.findall(r"^how-to/([\w-]+)$", text, flags=re.M)
    assert sorted(listed) == sorted(page.stem for page in folder.glob("*.md"))
