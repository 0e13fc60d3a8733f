"""Figures of terms show every one where it is, in the colours of what decides it."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import safescreen as ss
from safescreen_book import figures
from safescreen_book.figures import COLOURS

NAN, INF = np.nan, np.inf


@pytest.fixture(scope="module")
def problem():
    X = np.array([[0.0, 0.0], [1.0, 0.2], [0.5, 2.0], [1.5, 2.5], [3.0, 1.0], [3.5, 1.5]])
    return ss.Problem(ss.Triplets.from_labels(X, [0, 0, 1, 1, 2, 2]), ss.SmoothedHinge(0.3))


def dots(ax):
    return {
        text.get_text(): len(part.get_offsets())
        for text, part in zip(ax.get_legend().texts, ax.collections, strict=True)
    }


def test_terms_on_loss_counts_and_places_every_term(problem):
    margins = np.array([-0.5, 0.8, 1.2, 2.0])
    screened = ss.Screened(
        np.array([True, False, False, False]), np.array([False, False, False, True])
    )
    ax = figures.terms_on_loss(problem.loss, margins, screened)
    assert dots(ax) == {"undecided: 2": 2, "linear part, L: 1": 1, "zero part, R: 1": 1}
    assert ax.collections[1].get_offsets().tolist() == [[-0.5, 1.5 - 0.15]]
    assert dots(figures.terms_on_loss(problem.loss, margins))["undecided: 4"] == 4
    assert dots(figures.terms_on_loss(problem.loss, margins, screened, rest="C"))["C: 2"] == 2


def test_shares_add_up_to_one(problem):
    solutions = ss.path(problem, [100.0, 50.0, 25.0])
    ax = figures.shares(solutions, title="shares")
    tops = [part.get_paths()[0].vertices[:, 1].max() for part in ax.collections]
    assert (
        tops[-1] == 1.0 and ax.get_title(loc="left") == "shares" and ax.get_xlim() == (100.0, 25.0)
    )


def ranges(L, R):
    return ss.ranges.Ranges(
        *(np.array(end, dtype=float) for side in (L, R) for end in zip(*side, strict=True))
    )


WIDE = ranges([(NAN, NAN), (0.2, INF), (0.5, 2.0)], [(0.4, 3.0), (NAN, NAN), (NAN, NAN)])


def bars(ax):
    """Return {(row, colour): (low, high)} of the solid bars."""
    solid = [bar for bar in ax.patches if bar.get_alpha() is None]
    keys = [
        (round(bar.get_y() + bar.get_height() / 2), to_hex(bar.get_facecolor()).upper())
        for bar in solid
    ]
    return {
        key: (bar.get_x(), bar.get_x() + bar.get_width())
        for key, bar in zip(keys, solid, strict=True)
    }


def test_linear_below_and_zero_on_top_clipped_to_the_span():
    ax = figures.range_chart(WIDE, 1.0, (0.1, 5.0))
    expected = {
        (0, COLOURS["L"]): (0.2, 5.0),
        (1, COLOURS["L"]): (0.5, 2.0),
        (2, COLOURS["R"]): (0.4, 3.0),
    }
    found = bars(ax)
    assert found.keys() == expected.keys()
    for key, ends in expected.items():
        assert found[key] == pytest.approx(ends)
    assert ax.get_xlim() == (5.0, 0.1)


def test_true_categories_are_pale_cells_that_fill_the_span():
    L, nobody = np.array([False, True, True]), np.zeros(3, dtype=bool)
    ax = figures.range_chart(
        WIDE, 1.0, (0.1, 4.0), truth=[(1.0, ss.Screened(L, nobody)), (0.25, ss.Screened(L, ~L))]
    )
    pale = sorted(
        (bar.get_x(), bar.get_x() + bar.get_width())
        for bar in ax.patches
        if bar.get_alpha() is not None
    )
    np.testing.assert_allclose(pale, [(0.1, 0.5)] * 3 + [(0.5, 4.0)] * 2)
