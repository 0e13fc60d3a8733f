"""One-line figures of the notebooks.

Every function draws on the axes ``ax``, or on a figure of its own, and returns the axes; matplotlib
is imported when one is called. Colours and dashes are those of :data:`METHODS`, of :data:`COLOURS`
for L, C and R, and of :data:`OTHERS`."""

from safescreen_book.figures.balls import balls, domes, weight_space
from safescreen_book.figures.bars import bars, dots
from safescreen_book.figures.expanded import expanded_line, expanded_space
from safescreen_book.figures.hdsl import pixel_pairs, sparsity
from safescreen_book.figures.lines import lines
from safescreen_book.figures.maps import rate_map
from safescreen_book.figures.points import points_and_metric, samples
from safescreen_book.figures.space import cone_scene, coordinates, scenes, sliders
from safescreen_book.figures.style import (
    COLOURS,
    METHODS,
    OTHERS,
    STYLE,
    panels,
    show,
    style_of,
    styles,
)
from safescreen_book.figures.terms import range_chart, shares, terms_on_loss
from safescreen_book.figures.words import ends, listed

__all__ = [
    "COLOURS",
    "METHODS",
    "OTHERS",
    "STYLE",
    "balls",
    "bars",
    "cone_scene",
    "coordinates",
    "domes",
    "dots",
    "ends",
    "expanded_line",
    "expanded_space",
    "lines",
    "listed",
    "panels",
    "pixel_pairs",
    "points_and_metric",
    "range_chart",
    "rate_map",
    "samples",
    "scenes",
    "shares",
    "show",
    "sliders",
    "sparsity",
    "style_of",
    "styles",
    "terms_on_loss",
    "weight_space",
]
