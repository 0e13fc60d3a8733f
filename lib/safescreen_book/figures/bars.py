"""Figures with a row for each method: bars of numbers, and dots of seconds beside a paper's."""

import numpy as np

from safescreen_book.figures.lines import logarithmic
from safescreen_book.figures.style import COLOURS, OTHERS, canvas, style_of


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
    a paper's.

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
            for seconds, face in ((ours[name], _colour(name)), (paper.get(name, np.nan), "white")):
                ax.plot(seconds, row, "o", color=_colour(name), markerfacecolor=face, markersize=6)
            if name in cut:  # on the side without the paper's dot
                side = "left" if paper.get(name, 0.0) > ours[name] else "right"
                ax.annotate(
                    "stopped",
                    (ours[name], row),
                    xytext=(8 if side == "right" else -8, -3),
                    textcoords="offset points",
                    ha="left" if side == "right" else "right",
                    fontsize=9,
                )
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
        if paper:
            for label, face in (("ours", "black"), ("paper", "white")):
                ax.plot([], [], "o", color="black", markerfacecolor=face, markersize=6, label=label)
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=4.2, ncols=2)
    return ax


def _colour(name):
    colour = style_of(name)["color"]
    return COLOURS["plain"] if colour in OTHERS else colour
