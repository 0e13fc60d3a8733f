"""Figures of the notebooks on similarity learning: what was measured against what bounds it."""

import numpy as np

from safescreen_book.figures.style import canvas

__all__ = ["measured_and_bounds", "sparsity"]


def measured_and_bounds(x, measured, bounds, *, ax=None, title="", xlabel="", ylabel="", log="xy"):
    """Draw measurements as dots and bounds as lines, dashed those that are false.

    Parameters
    ----------
    x : sequence of float
        Horizontal positions of all.
    measured : dict of sequences
        By label.
    bounds : dict of (sequence, bool)
        By label: the values, and whether it is a bound.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str
    log : {"", "x", "y", "xy"}
        Logarithmic axes.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.4)) as ax:
        for colour, marker, (name, values) in zip(("#0072B2", "#009E73", "#CC79A7"), "osv", measured.items(), strict=False):
            ax.plot(x, values, marker, color=colour, markersize=5, label=name, zorder=3)
        true, false = iter(("#000000", "#8A8A8A", "#56B4E9")), iter(("#D55E00", "#E69F00", "#B5A642"))
        for name, (values, holds) in bounds.items():
            ax.plot(x, values, "-" if holds else "--", color=next(true if holds else false), label=name)
        ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        ax.set_title(title)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return ax


def sparsity(similarity, *, ax=None, title="", size=3.0):
    """Draw where the entries of a sparse M are: blue positive, red negative, row 0 on top; marks grow with the entries.

    Parameters
    ----------
    similarity : SparseSimilarity
    ax : matplotlib axes, optional
    title : str
        The number of non-zero entries is added.
    size : float
        Area of the largest mark in square points; none is smaller than a twentieth of it.

    Returns
    -------
    matplotlib axes
    """
    M = similarity.to_sparse()
    i, j = M.coords
    areas = size * np.maximum(np.abs(M.data) / np.abs(M.data).max(), 0.05)
    with canvas(ax, (3.6, 3.8)) as ax:
        for sign, colour, label in ((1, "#0072B2", "positive"), (-1, "#D55E00", "negative")):
            some = sign * M.data > 0.0
            ax.scatter(j[some], i[some], s=areas[some], color=colour, linewidths=0, label=label)
        d = similarity.d
        ax.set(xlim=(-0.5, d - 0.5), ylim=(d - 0.5, -0.5), aspect="equal")
        ax.locator_params(nbins=5)
        ax.set_title(f"{title}: {M.count_nonzero()} entries" if title else f"{M.count_nonzero()} entries")
    return ax
