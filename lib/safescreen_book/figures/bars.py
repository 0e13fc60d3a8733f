"""Figures with a row for each method: bars of numbers, and dots of seconds beside a paper's."""

import numpy as np

from safescreen_book.figures.lines import logarithmic
from safescreen_book.figures.style import COLOURS, OTHERS, canvas, style_of

STOPPED = ">"
"""Marker of what was stopped: it would lie further to the right."""


def bars(values, *, ax=None, title="", xlabel="", number="{:.2f}"):
    """Draw horizontal bars, the first on top, each with its number.

    Parameters
    ----------
    values : dict of float
        By method; NaN draws nothing.
    ax, title, xlabel : matplotlib axes and str, optional
    number : str
        Format of the numbers.
    """
    names = list(values)
    lengths = np.array([float(v) for v in values.values()])
    with canvas(ax, (4.6, 0.5 + 0.32 * len(names))) as ax:
        drawn = ax.barh(
            names, np.nan_to_num(lengths), height=0.68, color=[_colour(name) for name in names]
        )
        ax.bar_label(
            drawn, ["" if np.isnan(v) else number.format(v) for v in lengths], padding=3, fontsize=9
        )
        ax.invert_yaxis()
        ax.set(xlabel=xlabel, title=title, xlim=(0.0, 1.16 * np.nanmax(lengths)))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return ax


def dots(ours, paper=None, *, cut=(), ax=None, title=""):
    """Draw processor seconds on a logarithmic axis, a row a method: filled dots are ours, open ones
    a paper's. Of a method that was stopped, which would take more, there is a triangle.

    Parameters
    ----------
    ours, paper : dict of float
        By method; NaN and methods that are missing draw nothing.
    cut : sequence of str
        Methods whose run was ended early.
    ax, title : matplotlib axes and str, optional
    """
    names = list(ours)
    paper = paper or {}
    with canvas(ax, (4.2, 0.8 + 0.26 * len(names))) as ax:
        for row, name in enumerate(names):
            marker = STOPPED if name in cut else "o"
            ax.plot(ours[name], row, marker, color=_colour(name), markersize=6)
            ax.plot(paper.get(name, np.nan), row, "o", color=_colour(name), mfc="white", ms=6)
        ax.margins(x=0.12)
        logarithmic(ax, "x")
        ax.set(
            yticks=range(len(names)),
            yticklabels=names,
            ylim=(len(names) - 0.5, -0.5),
            xlabel="CPU seconds",
            title=title,
        )
        ax.grid(axis="both", color=COLOURS["grid"], linewidth=0.8)
        ax.tick_params(axis="y", length=0)
        entries = [("ours", "o", "black"), ("paper", "o", "white")] if paper else []
        entries += [("stopped", STOPPED, "black")] if cut else []
        for label, marker, face in entries:
            ax.plot([], [], marker, color="black", mfc=face, markersize=6, label=label)
        if entries:
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=4.2, ncols=3)
    return ax


def _colour(name):
    colour = style_of(name)["color"]
    return COLOURS["plain"] if colour in OTHERS else colour
