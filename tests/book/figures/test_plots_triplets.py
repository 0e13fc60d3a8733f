"""The range chart draws every interval, clipped, in the colours of what decides it."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book.figures import COLOURS, METHODS
from safescreen_book.figures.triplets import range_chart

matplotlib.use("Agg")

NAN, INF = np.nan, np.inf


def ranges(L, R):
    return ss.ranges.Ranges(*(np.array(end, dtype=float) for side in (L, R) for end in zip(*side, strict=True)))


WIDE = ranges([(NAN, NAN), (0.2, INF), (0.5, 2.0)], [(0.4, 3.0), (NAN, NAN), (NAN, NAN)])
NARROW = ranges([(NAN, NAN), (0.5, 4.0), (NAN, NAN)], [(NAN, NAN)] * 3)


def bars(ax):
    """Return {(row, colour): (low, high)} of the solid bars."""
    solid = [bar for bar in ax.patches if bar.get_alpha() is None]
    keys = [(round(bar.get_y() + bar.get_height() / 2), to_hex(bar.get_facecolor()).upper()) for bar in solid]
    return {key: (bar.get_x(), bar.get_x() + bar.get_width()) for key, bar in zip(keys, solid, strict=True)}


def test_linear_below_and_zero_on_top_clipped_to_the_span():
    import matplotlib.pyplot as plt

    ax = range_chart(WIDE, 1.0, (0.1, 5.0))
    blue, orange = COLOURS["L"], COLOURS["R"]
    expected = {(0, blue): (0.2, 5.0), (1, blue): (0.5, 2.0), (2, orange): (0.4, 3.0)}
    found = bars(ax)
    assert found.keys() == expected.keys()
    for key, ends in expected.items():
        assert found[key] == pytest.approx(ends)
    assert ax.get_xlim() == (5.0, 0.1)
    plt.close(ax.figure)


def test_the_first_method_is_drawn_last():
    import matplotlib.pyplot as plt

    ax = range_chart({"DGB": NARROW, "RRPB": WIDE}, 1.0, (0.1, 5.0), order=[0, 1, 2])
    assert [key for key in bars(ax) if key[0] == 1] == [(1, METHODS["RRPB"]), (1, METHODS["DGB"])]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["RRPB", "DGB"]
    plt.close(ax.figure)


def test_true_categories_are_pale_cells_that_fill_the_span():
    import matplotlib.pyplot as plt

    L, nobody = np.array([False, True, True]), np.zeros(3, dtype=bool)
    ax = range_chart(WIDE, 1.0, (0.1, 4.0), truth=[(1.0, ss.Screened(L, nobody)), (0.25, ss.Screened(L, ~L))])
    pale = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches if bar.get_alpha() is not None)
    np.testing.assert_allclose(pale, [(0.1, 0.5)] * 3 + [(0.5, 4.0)] * 2)
    plt.close(ax.figure)


@pytest.mark.parametrize("span", [(2.0, 1.0), (0.0, 1.0)])
def test_span_must_increase(span):
    with pytest.raises(ValueError, match="span must be positive and increasing"):
        range_chart(WIDE, 1.0, span)
