"""Figures of the dome test and of what changes with C: domes in the plane, curves over a parameter."""

import numpy as np

from safescreen_book.figures.style import COLOURS, METHODS, canvas

__all__ = ["curves", "domes"]


def domes(normal, radius, spheres, points, *, ax=None, title=""):
    """Draw the dome ``||w|| <= radius, <normal, w> >= ||normal||^2`` of the plane, balls and points.

    Parameters
    ----------
    normal : array of shape (2,)
        The solution for the smallest C; the edge of the half-space goes through it.
    radius : float
        At least the norm of `normal`.
    spheres : dict of Sphere
        By label. What they have in common is shaded; what is far from the dome is cut off.
    points : dict of arrays of shape (2,)
        By label; a point labelled ``optimum`` is a star.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        The radius is smaller than the norm of the normal: there is no dome.
    """
    normal, radius = np.asarray(normal, dtype=float), float(radius)
    length = float(np.linalg.norm(normal))
    if not 0.0 < length <= radius:
        raise ValueError(f"radius must be at least the norm of normal, {length:g}, which must be positive; got {radius:g}")
    half = np.arccos(length / radius)
    angles = np.arctan2(normal[1], normal[0]) + np.linspace(-half, half, 201)
    arc, turn = radius * np.array([np.cos(angles), np.sin(angles)]), np.linspace(0.0, 2.0 * np.pi, 301)
    with canvas(ax, (4.4, 3.8)) as ax:
        ax.fill(*arc, color="#E69F00", alpha=0.18, linewidth=0, zorder=0)
        ax.plot(*np.hstack([arc, arc[:, :1]]), color="#E69F00", label="dome", zorder=1)
        for (label, ball), colour in zip(spheres.items(), (COLOURS["L"], "#009E73", "#CC79A7"), strict=False):
            ring = np.asarray(ball.center)[:, None] + ball.radius * np.array([np.cos(turn), np.sin(turn)])
            ax.plot(*ring, color=colour, label=label, zorder=2)
        low, high = arc.min(axis=1), arc.max(axis=1)
        pad = 0.2 * np.max(high - low)
        low, high = low - pad, high + pad
        if spheres:
            grid = np.meshgrid(*(np.linspace(low[k], high[k], 401) for k in range(2)))
            away = [np.hypot(grid[0] - b.center[0], grid[1] - b.center[1]) - b.radius for b in spheres.values()]
            ax.contourf(*grid, np.max(away, axis=0), levels=[-np.inf, 0.0], colors=[COLOURS["L"]], alpha=0.25, zorder=1)
        for order, (label, w) in enumerate(points.items()):
            star = label == "optimum"
            ax.plot(*w, "*" if star else "o", color="black", markersize=11 if star else 4.5, linestyle="none", zorder=4)
            shift = (8, -4) if star else (-18, -11) if order == 0 else (6, 5)  # near points keep their names apart
            ax.annotate(label, w, xytext=shift, textcoords="offset points", fontsize=9, zorder=5)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xlabel="$w_1$", ylabel="$w_2$", title=title)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def curves(lines, *, dots=None, ax=None, title="", xlabel="$C$", ylabel="", log="x"):
    """Draw numbers over a parameter, a line each, every second one dashed.

    Parameters
    ----------
    lines : dict of (x, y)
        By label; labels that are methods get their colours.
    dots : dict of (x, y), optional
        By label; drawn as marks.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str
    log : str
        Axes that are logarithmic: ``""``, ``"x"``, ``"y"`` or ``"xy"``.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.2)) as ax:
        for order, (label, (x, y)) in enumerate(lines.items()):
            ax.plot(x, y, "-" if order % 2 == 0 else "--", color=METHODS.get(label), label=label)
        for order, (label, (x, y)) in enumerate((dots or {}).items()):
            ax.plot(x, y, "ox^"[order % 3], color="black", markersize=4, linestyle="none", label=label)
        for axis in "xy":
            getattr(ax, f"set_{axis}scale")("log" if axis in log else "linear")
        ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
        ax.legend(loc="best")
    return ax
