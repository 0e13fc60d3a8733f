"""One colour and dash a method, colours of L, C and R that no method has, and no figure that has
others.
"""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

import safescreen as ss
from safescreen_book import figures
from safescreen_book.figures import COLOURS, METHODS, OTHERS, style_of, styles

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


def test_labels_that_begin_with_a_method_have_its_colour():
    exact, alias, counted, first, second = styles(
        ["DGB", "PGB = RPB", "away: 12", "DGB, enlarged", "DGB, slopes"]
    )
    assert (exact, alias, counted) == (METHODS["DGB"], METHODS["PGB"], METHODS["away"])
    assert {first["color"], second["color"]} == {METHODS["DGB"]["color"]}
    assert len({style["linestyle"] for style in (exact, first, second)}) == 3
    assert styles(["DGB, enlarged"]) == [METHODS["DGB"]]


def test_other_labels_differ_among_themselves():
    for n in (1, 3, 5, 12):
        found = styles([f"m = {k}" for k in range(n)])
        assert len({(style["color"], style["linestyle"]) for style in found}) == n


def drawn(ax):
    """Return {label: (colour, dash)} of the lines in a legend."""
    return {
        line.get_label(): (to_hex(line.get_color()).upper(), line._unscaled_dash_pattern)
        for line in ax.get_lines()
    }


def wanted(labels):
    plain = plt.figure().subplots()
    for label in labels:
        plain.plot([], [], label=label, **style_of(label))
    return drawn(plain)


BALL = ss.Sphere(np.array([1.0, 0.5]), 0.5)
MATRIX = ss.Sphere(np.eye(2), 0.5)
Z = np.array([[1.0, 0.2], [0.3, -1.0]])
HELPERS = {
    "lines": (
        lambda: figures.lines({"GB": [1.0, 2.0], "IT": ([1.0, 3.0], [2.0, 1.0])}),
        ("GB", "IT"),
    ),
    "balls": (
        lambda: figures.balls(ss.FreeSpace(2), {"DGB": BALL, "MGB": BALL}, {}),
        ("DGB", "MGB"),
    ),
    "weight_space": (
        lambda: figures.weight_space(Z, {"BT1": BALL, "BT2": BALL}, {}),
        ("BT1", "BT2"),
    ),
    "domes": (lambda: figures.domes(np.array([0.6, 0.8]), 2.0, {"MGB": BALL}, {}), ("MGB",)),
    "expanded_line": (lambda: figures.expanded_line((0.7, 0.9), (-0.5, 0.9)), ("BT1", "BT2")),
    "expanded_space": (
        lambda: figures.expanded_space(
            np.array([1.0, -0.5]),
            0.5,
            (0.0, 3.0),
            {"printed": (0.0, 2.0)},
            (0.5, 1.7),
            span=(-2.0, 2.0),
        ),
        ("printed",),
    ),
    "cone_scene": (
        lambda: figures.cone_scene(
            {"GB": MATRIX, "MGB": MATRIX}, {}, ax=figures.scenes(1, 1, 4, 4)[1][0]
        ),
        ("GB", "MGB"),
    ),
}


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_draw_methods_in_the_style_of_the_table(name):
    draw, labels = HELPERS[name]
    expected, found = wanted(labels), drawn(draw())
    assert {label: found[label] for label in labels} == expected


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
    assert picture is figure
    assert with_picture == {"metadata": {"image/png": {"alt": "Two empty panels"}}}
    assert caption["text/plain"] == "Two empty panels"
    assert with_caption["metadata"] == {"caption": True}
    assert not plt.get_fignums()


def test_figures_leave_the_settings_alone():
    before = dict(matplotlib.rcParams)
    figures.panels(3)
    figures.bars({"none": 1.0})
    assert dict(matplotlib.rcParams) == before


def test_matplotlib_is_not_imported_with_the_package():
    code = "import sys, safescreen, safescreen_book.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
