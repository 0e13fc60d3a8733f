"""Figures of the notebooks on the Frank-Wolfe method: matrices made of atoms, atoms on pixels, errors along iterations."""

import numpy as np

from safescreen_book.figures.style import canvas, panels

__all__ = ["STEPS", "curves", "matrices", "pixel_pairs", "steps"]

STEPS = {"forward": "#0072B2", "away": "#E69F00", "drop": "#D55E00", "pairwise": "#009E73", "swap": "#CC79A7", "none": "#8A8A8A"}
"""One colour a kind of step."""


def matrices(similarities, *, height=2.6):
    """Draw matrices side by side, blue where positive and red where negative, each on its own scale.

    Parameters
    ----------
    similarities : dict of SparseSimilarity
        By title.
    height : float
        Inches.

    Returns
    -------
    array of matplotlib axes
    """
    axes = panels(len(similarities), width=height * len(similarities), height=height + 0.2, squeeze=False)[1]
    for ax, (title, similarity) in zip(axes[0], similarities.items(), strict=True):
        M = similarity.to_sparse().toarray()
        top = np.abs(M).max()
        with canvas(ax, None):
            ax.imshow(M, cmap="RdBu", vmin=-top, vmax=top, interpolation="nearest")
            ax.set_title(title)
            ax.set(xticks=[], yticks=[])
    return axes[0]


def pixel_pairs(similarity, shape, *, background=None, ax=None, title=""):
    """Draw the atoms as lines between the two pixels they join: blue for the sign +, orange for -, wide for a large weight.

    Parameters
    ----------
    similarity : SparseSimilarity
        Its features are the pixels, row by row.
    shape : (int, int)
        Rows and columns of an image.
    background : array of shape `shape`, optional
        Drawn in light grey.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (3.0, 3.0)) as ax:
        image = np.zeros(shape) if background is None else np.asarray(background)
        ax.imshow(image, cmap="Greys", vmin=0.0, vmax=3.0 * max(float(image.max()), 1e-300))
        top = similarity.weights.max()
        for (i, j, sign), weight in zip(similarity.atoms.tolist(), similarity.weights, strict=True):
            rows, columns = np.unravel_index([i, j], shape)
            colour = "#0072B2" if sign > 0 else "#D55E00"
            ax.plot(columns, rows, "-o", color=colour, linewidth=0.4 + 3.0 * weight / top, markersize=2.5, alpha=0.8)
        ax.set_title(title)
        ax.set(xticks=[], yticks=[])
    return ax


def steps(errors, kinds, bounds=None, *, ax=None, title="", xlabel="iteration k", ylabel="error"):
    """Draw the error before each step, a dot in the colour of the kind of step, and bounds of it.

    Parameters
    ----------
    errors : sequence of float
        Positive ones are drawn, from iteration 1 on.
    kinds : sequence of str
        See :data:`STEPS`.
    bounds : dict of sequences, optional
        By label, as long as `errors`.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str

    Returns
    -------
    matplotlib axes
    """
    errors, kinds = np.asarray(errors, dtype=float), np.asarray(kinds)
    k = np.arange(errors.size)
    with canvas(ax, (5.2, 3.4)) as ax:
        for (name, values), style in zip((bounds or {}).items(), ("-", "--", ":"), strict=False):
            ax.plot(k[1:], np.asarray(values)[1:], style, color="black", linewidth=1.2, label=name)
        for name, colour in STEPS.items():
            chosen = (kinds == name) & (errors > 0.0) & (k > 0)
            if chosen.any():
                ax.plot(k[chosen], errors[chosen], "o", color=colour, markersize=3.5, label=f"{name}: {np.count_nonzero(chosen)}")
        ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log", yscale="log")
        ax.set_title(title)
        ax.legend(loc="best")
    return ax


def curves(named, *, ax=None, title="", xlabel="", ylabel="", log="xy", marks=False):
    """Draw lines through points.

    Parameters
    ----------
    named : dict of (sequence, sequence)
        By label: horizontal and vertical positions.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    marks : bool
        Dots at the points; on a logarithmic axis ticks as well.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.4)) as ax:
        colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
        for colour, (name, (x, y)) in zip(colours, named.items(), strict=False):
            ax.plot(x, y, "-o" if marks else "-", color=colour, markersize=4, label=name)
        ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
        if marks and "x" in log:
            ax.set_xticks(x, [f"{value:g}" for value in x])
            ax.minorticks_off()
        ax.set_title(title)
        ax.legend(loc="best")
    return ax
