"""The one figure with lines: numbers along a path of lam or C, iterations, ratios, dimensions."""

import numpy as np

from safescreen_book.figures.style import COLOURS, canvas, styles

SHAPES = "os^vD<>p"


def lines(
    curves,
    x=None,
    *,
    dots=None,
    ax=None,
    title="",
    xlabel=None,
    ylabel="",
    log="",
    path=False,
    share=False,
    ratio=False,
    marks=False,
    legend="best",
):
    """Draw a line for each curve, in the style of its method. Later curves are thinner, so that
    curves that coincide stay visible.

    Parameters
    ----------
    curves : dict of sequences or of tuples (x, y)
        By label, see :func:`safescreen_book.figures.styles`.
    x : sequence, optional
        Positions of all curves that are not tuples. Left out: 0, 1, 2, ...
    dots : dict of tuples (x, y), optional
        Drawn as marks without a line.
    ax, title, xlabel, ylabel : matplotlib axes and str, optional
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    path : bool
        The horizontal axis is lam: logarithmic, from large to small.
    share : bool
        The vertical axis goes from 0 to 1.
    ratio : bool
        The vertical axis is logarithmic with a line at 1.
    marks : {False, True, "apart"}
        A dot at every value, or a few marks on each curve. These have another shape on each curve
        and stand at other places, so that one sees which curves lie over each other.
    legend : {"best", "right", None}
    """
    dots = dots or {}
    chosen = iter(styles([*curves, *dots]))
    if path:
        log += "x"
    if ratio:
        log += "y"
    with canvas(ax, (5.2, 3.2)) as ax:
        widest = 2.2 if marks == "apart" else min(0.7 + 0.7 * len(curves), 4.2)
        widths = np.linspace(widest, 1.4, len(curves))
        for order, ((label, curve), width) in enumerate(zip(curves.items(), widths, strict=True)):
            if isinstance(curve, tuple):
                at, values = curve
            else:
                values = curve
                at = np.arange(len(curve)) if x is None else x
            marked = _marks(marks, order, len(curves), len(at))
            ax.plot(at, values, linewidth=width, label=label, **marked, **next(chosen))
        for order, (label, (at, values)) in enumerate(dots.items()):
            ax.plot(
                at,
                values,
                "os^v"[order % 4],
                color=next(chosen)["color"],
                markersize=4,
                label=label,
                zorder=3,
            )
        if ratio:
            ax.axhline(1.0, color="#555555", linewidth=0.8, zorder=0.9)  # above the grid
        if x is None and "x" not in log:
            ax.xaxis.get_major_locator().set_params(
                integer=not any(isinstance(curve, tuple) for curve in curves.values())
            )
        for axis in log:
            logarithmic(ax, axis)
        if path:
            ax.set_xlim(max(ax.get_xlim()), min(ax.get_xlim()))
        if share:
            ax.set_ylim(-0.02, 1.02)
        ax.set(
            xlabel=r"$\lambda$, from large to small" if path and xlabel is None else xlabel or "",
            ylabel=ylabel,
        )
        ax.set_title(title)
        ax.grid(axis="y", color=COLOURS["grid"], linewidth=0.8)
        if legend:
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            ax.legend(
                **(beside if legend == "right" else {"loc": legend, "ncols": 1 + (len(curves) > 6)})
            )
    return ax


def _marks(marks, order, n_curves, n_points):
    """Return shape and places of the marks of a curve, options of ``plot``.

    >>> [_marks("apart", order, 3, 30)["markevery"] for order in range(3)]
    [(0, 6), (2, 6), (4, 6)]
    """
    if marks != "apart":
        return {"marker": "o", "markersize": 3} if marks else {}
    step = max(n_curves, n_points // 5)
    return {
        "marker": SHAPES[order % len(SHAPES)],
        "markevery": (order * step // n_curves % n_points, step),
        "markersize": 6,
        "markerfacecolor": "white",
        "markeredgewidth": 1.4,
    }


def logarithmic(ax, name):
    """Make an axis logarithmic. If its range is small, label more than one number a decade, and if
    it is very small, a few round numbers.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    getattr(ax, f"set_{name}scale")("log")
    axis = getattr(ax, f"{name}axis")
    low, high = sorted(getattr(ax, f"get_{name}lim")())
    if high < 50.0 * low:
        subs = (1.0, 2.0, 5.0) if high < 8.0 * low else (1.0, 3.0)
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high))
        inside = [tick for tick in np.outer(subs, decades).flat if low <= tick <= high]
        few = MaxNLocator(3, steps=[1, 2, 5, 10])
        axis.set_major_locator(LogLocator(subs=subs) if len(inside) > 1 else few)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
