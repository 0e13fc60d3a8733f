"""Every formula of every committed notebook can be typeset; each notebook is in one chapter."""

import re
from collections import Counter
from pathlib import Path

import pytest

from safescreen.experiments import pages
from safescreen.experiments.formulas import converter
from safescreen.experiments.notebooks import read_source, stems
from safescreen.site.chapters import chapters

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def texts():
    return {name: "\n\n".join(c.source for c in read_source(FOLDER, name).cells if c.cell_type == "markdown") for name in stems(FOLDER)}


def test_every_formula_is_typeset(texts):
    typeset, count, failed = converter(), 0, []

    def note(tex, display):
        nonlocal count
        count += 1
        made = typeset(tex, display)
        if not made.startswith("<math"):
            failed.append(tex)
        return made

    for name, text in texts.items():
        formulas = []
        rest = pages._take_out(text, note, formulas)
        rest = re.sub(pages._CODE, "", rest, flags=re.DOTALL)
        assert not re.search(r"\\(begin|frac|lambda|langle)\b", rest), name
    assert count > 4000
    assert not failed


def test_every_notebook_is_in_one_chapter(texts):
    made = chapters(next(iter(texts.values())), list(texts))
    assert Counter(name for chapter in made for name in chapter.notebooks) == Counter(list(texts))
    assert made[0].title == "Start" and "More" not in [chapter.title for chapter in made]
