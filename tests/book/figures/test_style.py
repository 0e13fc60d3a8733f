"""One colour and dash a method, colours of L, C and R that no method has, and no figure that has
others.
"""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from safescreen_book import figures
from safescreen_book.figures import COLOURS, METHODS, OTHERS

ROOT = Path(__file__).resolve().parents[3]
REGIONS = [COLOURS[key] for key in "LCR"]


def test_no_two_methods_regions_or_other_curves_look_the_same():
    of_methods = {style["color"] for style in METHODS.values()}
    assert len({(style["color"], style["linestyle"]) for style in METHODS.values()}) == len(METHODS)
    assert len(set(REGIONS)) == 3 and not set(REGIONS) & (of_methods | set(OTHERS))
    assert not set(OTHERS) & of_methods


def test_every_colour_is_readable_on_white():
    """The brightest of Okabe and Ito's that are used are orange and sky blue."""
    for colour in {style["color"] for style in METHODS.values()} | set(OTHERS) | set(REGIONS):
        rgb = np.array(to_rgb(colour))
        light = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (light @ [0.2126, 0.7152, 0.0722] + 0.05) > 2.2, colour


@pytest.mark.parametrize("folder", ["lib/safescreen_book/figures", "notebooks"])
def test_only_the_table_holds_colours_that_are_not_grey(folder):
    found = {}
    for path in sorted((ROOT / folder).glob("*.py")):
        hues = [
            c
            for c in re.findall(r"#[0-9A-Fa-f]{6}\b", path.read_text(encoding="utf-8"))
            if np.ptp(to_rgb(c)) > 0.0
        ]
        found |= {path.name: hues} if hues and path.name != "style.py" else {}
    assert found == {}


def test_rows_have_the_colour_of_their_method():
    bars = figures.bars({"GB": 1.0, "IT": 2.0, "another program": 3.0}).patches
    assert [to_hex(bar.get_facecolor()).upper() for bar in bars] == [
        METHODS["GB"]["color"],
        METHODS["IT"]["color"],
        COLOURS["plain"],
    ]
    first, second = figures.dots({"shrink": 1.0, "IT": 2.0}).lines[:3:2]
    assert [first.get_color(), second.get_color()] == [
        METHODS["shrink"]["color"],
        METHODS["IT"]["color"],
    ]


def test_a_shown_figure_has_its_text(monkeypatch):
    """Once as metadata of the picture, once as an output of its own."""
    import IPython.display

    published = []
    monkeypatch.setattr(
        IPython.display, "display", lambda shown, **options: published.append((shown, options))
    )
    figure, _ = figures.panels(2)
    figures.show("Two empty panels")
    (picture, with_picture), (caption, with_caption) = published
    assert picture == {"text/plain": repr(figure)}
    assert with_picture["metadata"] == {"image/png": {"alt": "Two empty panels"}}
    assert caption["text/plain"] == "Two empty panels"
    assert with_caption["metadata"] == {"caption": True}
    assert not plt.get_fignums()


def test_matplotlib_is_not_imported_with_the_package():
    code = "import sys, safescreen, safescreen_book.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
