"""What all figures share: colours, the quiet style, axes to draw on."""

from contextlib import contextmanager

__all__ = ["COLOURS", "METHODS", "NAMES", "STYLE", "canvas", "panels"]

COLOURS = {"L": "#0072B2", "C": "#8A8A8A", "R": "#D55E00", "optimum": "#000000", "cone": "#F1EDE3"}
"""Colours that stay apart for the colour-blind (Okabe and Ito): linear part, undecided, zero part."""

NAMES = {"L": "linear part, L", "C": "undecided", "R": "zero part, R"}

METHODS = {
    "none": "#8A8A8A",
    "GB": "#E69F00",
    "PGB": "#56B4E9",
    "DGB": "#D55E00",
    "RRPB": "#0072B2",
    "RRPB+PGB": "#009E73",
    "MGB": "#CC79A7",
    "ranges": "#5D4A9C",
    "product": "#3B3B3B",
    "product+RRPB": "#B5A642",
}
"""One colour a screening method, the same in every figure."""

STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#333333",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "figure.dpi": 100,
    "savefig.dpi": 110,
}
"""The quiet style all figures share (matplotlib rc parameters)."""


@contextmanager
def canvas(ax, figsize):
    """Yield `ax`, or the axes of a new figure of that size in inches, in the quiet style."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        yield plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def panels(ncols=2, width=9.0, height=3.2, **options):
    """Return ``(figure, axes)`` of a row of panels; sizes in inches, `options` as for ``plt.subplots``."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        return plt.subplots(1, ncols, figsize=(width, height), layout="constrained", **options)
