"""One-line figures of the notebooks.

Every function draws on the given axes, or on a figure of its own, and returns the axes; matplotlib is imported
when one is called. The pictures of one subject are a module: `dome`, `frank_wolfe`, `hdsl`, `intersection`, `paths`, `space`
(the cone of 2 x 2 metrics, sliders), `svm`, `svm_paths`, `triplets`; what every subject draws is here.
"""

from safescreen_book.figures import dome, frank_wolfe, hdsl, intersection, paths, space, svm, svm_paths, triplets
from safescreen_book.figures.basic import balls, bars, lines, points_and_metric, rates, shares, terms_on_loss
from safescreen_book.figures.style import COLOURS, METHODS, STYLE, panels

__all__ = [
    "COLOURS",
    "METHODS",
    "STYLE",
    "balls",
    "bars",
    "dome",
    "frank_wolfe",
    "hdsl",
    "intersection",
    "lines",
    "panels",
    "paths",
    "points_and_metric",
    "rates",
    "shares",
    "space",
    "svm",
    "svm_paths",
    "terms_on_loss",
    "triplets",
]
