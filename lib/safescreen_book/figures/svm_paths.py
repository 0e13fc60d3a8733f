"""Figures of the experiments with support vector machines: rates and seconds along C, and seconds beside a paper's."""

import numpy as np

from safescreen_book.figures.style import canvas

__all__ = ["TESTS", "along", "dots"]

TESTS = {
    "BT1": "#D55E00",
    "BT2": "#009E73",
    "IT": "#0072B2",
    "naive": "#0072B2",
    "heuristic": "#009E73",
    "safe": "#D55E00",
    "all": "#CC79A7",
}
"""One colour a test, those of the papers' figures: red, green, blue."""


def along(curves, *, ax=None, title="", xlabel="$C$", ylabel="rate", log_x=True, log_y=False, marks=False):
    """Draw numbers along C, a line a method; rates get the axis from 0 to 1.

    Parameters
    ----------
    curves : dict of (array, array)
        Places and values by method, see :data:`TESTS` for the colours.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str
    log_x, log_y : bool
        Logarithmic axes.
    marks : bool
        A dot at every value.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (4.6, 3.0)) as ax:
        widths = np.linspace(2.6, 1.1, max(len(curves), 2))  # curves that coincide stay visible
        for order, (name, (places, values)) in enumerate(curves.items()):
            style = {"color": TESTS.get(name), "linewidth": widths[order], "marker": "o" if marks else None}
            ax.plot(places, values, markersize=2.5, label=name, **style)
        ax.set(xscale="log" if log_x else "linear", xlabel=xlabel, ylabel=ylabel, title=title)
        if log_y:
            ax.set(yscale="log")
        elif ylabel == "rate":
            ax.set(ylim=(-0.02, 1.02))
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        ax.legend(loc="best")
    return ax


def dots(ours, paper=None, *, cut=(), ax=None, title="", xlabel="CPU seconds"):
    """Draw seconds on a logarithmic axis, a row a method: filled dots are ours, open ones a paper's.

    Parameters
    ----------
    ours, paper : dict of float
        By method; NaN and methods that are missing draw nothing.
    cut : sequence of str
        Methods whose run was ended early: an arrow to the right.
    ax : matplotlib axes, optional
    title, xlabel : str

    Returns
    -------
    matplotlib axes
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    names, paper = list(ours), paper or {}
    with canvas(ax, (4.2, 0.8 + 0.26 * len(names))) as ax:
        rows = np.arange(len(names))
        values = np.array([float(ours[name]) for name in names])
        theirs = np.array([float(paper.get(name, np.nan)) for name in names])
        ax.plot(values, rows, "o", color="#0072B2", markersize=6, label="ours")
        if np.isfinite(theirs).any():
            ax.plot(theirs, rows, "o", markerfacecolor="white", color="#D55E00", markersize=6, label="paper")
        for row in (k for k, name in enumerate(names) if name in cut):
            ax.annotate("stopped", (values[row], row), xytext=(8, -3), textcoords="offset points", fontsize=8, color="#0072B2")
        ax.set(xscale="log", yticks=rows, yticklabels=names, xlabel=xlabel, title=title, ylim=(len(names) - 0.5, -0.5))
        ax.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 3.0) if np.nanmax([values, theirs]) < 30.0 * np.nanmin([values, theirs]) else (1.0,))
        )
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.grid(axis="both", color="#EAEAEA", linewidth=0.8)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.12)
        ax.legend(loc="best")
    return ax
