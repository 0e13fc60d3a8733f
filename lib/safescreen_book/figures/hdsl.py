"""Figures of sparse similarities: their matrices, and their atoms on the pixels of an image."""

import numpy as np

from safescreen_book.figures.style import SIGNS, canvas


def pixel_pairs(similarity, shape, background, *, ax=None, title=""):
    """Draw the atoms as lines between the two pixels they join: purple for the sign +, orange for
    -, wide for a large weight.

    Parameters
    ----------
    similarity : SparseSimilarity
        Its features are the pixels, row by row.
    shape : (int, int)
        Rows and columns of an image.
    background : array of shape `shape`
        Drawn in light grey.
    ax, title : matplotlib axes and str, optional
    """
    with canvas(ax, (3.0, 3.0)) as ax:
        ax.imshow(background, cmap="Greys", vmin=0.0, vmax=3.0 * background.max())
        for (i, j, sign), weight in zip(similarity.atoms.tolist(), similarity.weights, strict=True):
            rows, columns = np.unravel_index([i, j], shape)
            width = 0.4 + 3.0 * weight / similarity.weights.max()
            ax.plot(
                columns, rows, "-o", color=SIGNS[sign], linewidth=width, markersize=2.5, alpha=0.8
            )
        ax.set_title(title)
        ax.set(xticks=[], yticks=[])
    return ax


def sparsity(similarity, *, ax=None, title="", size=3.0):
    """Draw a mark for each entry of a sparse M: purple for positive, orange for negative, larger
    for larger entries. Row 0 is on top.

    Parameters
    ----------
    similarity : SparseSimilarity
    ax, title : matplotlib axes and str, optional
    size : float
        Area of the largest mark in square points; none is smaller than a twentieth of it.
    """
    M = similarity.to_sparse()
    d = similarity.d
    i, j = M.coords
    areas = size * np.maximum(np.abs(M.data) / np.abs(M.data).max(), 0.05)
    with canvas(ax, (3.6, 3.8)) as ax:
        for sign, colour in SIGNS.items():
            some = sign * M.data > 0.0
            # a path for each size otherwise
            ax.scatter(j[some], i[some], s=areas[some], color=colour, linewidths=0, rasterized=True)
        ax.set(xlim=(-0.5, d - 0.5), ylim=(d - 0.5, -0.5), aspect="equal")
        ax.locator_params(nbins=5)
        ax.set_title(f"{title}: {M.count_nonzero()} entries")
    return ax
