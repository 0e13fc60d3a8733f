"""Maps of screening rates over two axes, for dynamic screening along a path and for ranges from
many references.
"""

import numpy as np

from safescreen_book.figures.lines import logarithmic
from safescreen_book.figures.style import canvas


def rate_map(rates, lams, rows=None, *, ax=None, title="", rounds=None, colorbar=False):
    """Draw rates as colours from dark (rate 0) to bright (rate 1), with one column for each lam,
    from large to small.

    Parameters
    ----------
    rates : array of shape (rows, m)
        NaN is white.
    lams : array of shape (m,)
        Decreasing: of the solves, or of the references.
    rows : array, optional
        The lam that are screened, decreasing. Left out: rows are rounds of screening, upwards.
    ax, title : matplotlib axes and str, optional
    rounds : int, optional
        Height of the axis of rounds, to compare several maps.
    colorbar : bool
    """
    with canvas(ax, (4.2, 3.0 if rows is None else 3.6)) as ax:
        heights = np.arange(len(rates) + 1) - 0.5 if rows is None else _edges(rows)
        image = ax.pcolormesh(
            _edges(lams), heights, rates, cmap="cividis", vmin=0.0, vmax=1.0, rasterized=True
        )
        ax.set_title(title)
        logarithmic(ax, "x")
        ax.invert_xaxis()
        if rows is None:
            ax.set(
                xlabel=r"$\lambda$",
                ylabel="round of screening",
                ylim=(-0.5, (rounds or len(rates)) - 0.5),
            )
            ax.yaxis.get_major_locator().set_params(integer=True)
        else:
            ax.set(
                yscale="log",
                xlabel=r"$\lambda_0$ of the reference",
                ylabel=r"$\lambda$",
                aspect="equal",
            )
            ax.invert_yaxis()
        if colorbar:
            ax.figure.colorbar(image, ax=ax, label="screening rate")
    return ax


def _edges(lams):
    """Boundaries of cells around each lam, half-way on the logarithmic axis."""
    between = np.sqrt(np.multiply(lams[1:], lams[:-1]))
    return np.concatenate(([lams[0] ** 2 / between[0]], between, [lams[-1] ** 2 / between[-1]]))
