"""Figures of the notebooks on support vector machines: samples, the weights they allow, the expanded space."""

import numpy as np

from safescreen.cones import FreeSpace
from safescreen_book.figures.basic import balls
from safescreen_book.figures.style import COLOURS, NAMES, canvas

__all__ = ["along_ratio", "expanded_space", "samples", "weight_space"]

PALE = 0.35
"""Opacity of what is not known to matter."""

TESTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Colours of the first, second, ... ball or test, as in :func:`safescreen_book.figures.balls`."""


def samples(X, y, w=None, screened=None, *, ax=None, title="", rest="undecided"):
    """Draw labelled points of the plane, the lines where the margin is 0 and 1, and what screening has proved.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Labels -1 and +1: squares and discs.
    w : array of shape (2,), optional
        Draws ``<w, x> = 0``, and dashed ``<w, x> = -1, +1``.
    screened : Screened, optional
        Left out: every point is undecided.
    ax : matplotlib axes, optional
    title : str
    rest : str
        What the legend calls samples in neither mask.

    Returns
    -------
    matplotlib axes
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    keys, names = _categories(screened, len(X)), NAMES | {"C": rest}
    with canvas(ax, (4.4, 3.8)) as ax:
        for key in "CLR":
            for label, marker in ((-1, "s"), (1, "o")):
                chosen = (keys == key) & (y == label)
                ax.scatter(*X[chosen].T, marker=marker, s=24, color=COLOURS[key], alpha=0.8, linewidths=0, zorder=2)
            if screened is not None:
                ax.plot([], [], "o", color=COLOURS[key], markersize=5, label=f"{names[key]}: {np.count_nonzero(keys == key)}")
        low, high = X.min(axis=0), X.max(axis=0)
        pad = 0.06 * np.max(high - low)
        ax.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), aspect="equal")
        if w is not None:
            for level, style in ((-1.0, "--"), (0.0, "-"), (1.0, "--")):
                _line(ax, w, level, color="#555555", linestyle=style, linewidth=1.0, zorder=1)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
        if screened is not None:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2)
    return ax


def weight_space(Z, spheres, points, screened=None, *, ax=None, title="", room=0.3):
    """Draw balls in the plane of weights and the line ``<z_i, w> = 1`` of every sample, coloured by what is known of it.

    Parameters
    ----------
    Z : array of shape (n, 2)
        Samples ``z_i = y_i x_i``.
    spheres : dict of Sphere
        By label.
    points : dict of arrays of shape (2,)
        By label; a point labelled ``optimum`` is a star.
    screened : Screened, optional
        A line that misses the balls belongs to a sample in L or R.
    ax : matplotlib axes, optional
    title : str
    room : float
        Space around balls and points, as a share of their extent.

    Returns
    -------
    matplotlib axes
    """
    Z = np.asarray(Z, dtype=float)
    keys = _categories(screened, len(Z))
    ax = balls(FreeSpace(2), spheres, points, ax=ax, title=title)
    ax.set_facecolor("white")
    for limits, put in ((ax.get_xlim(), ax.set_xlim), (ax.get_ylim(), ax.set_ylim)):
        put(limits[0] - room * np.ptp(limits), limits[1] + room * np.ptp(limits))
    for z, key in zip(Z, keys, strict=True):
        _line(ax, z, 1.0, color=COLOURS[key], alpha=PALE if key == "C" else 0.75, linewidth=0.8, zorder=0)
    ax.set(xlabel="$w_1$", ylabel="$w_2$")
    return ax


def expanded_space(z, C, feasible, bounds, optimum=None, *, span, ax=None, title=""):
    """Draw the expanded space ``(w, xi)`` of one-dimensional samples: the feasible set, a quadratic and linear conditions.

    Parameters
    ----------
    z : array of shape (n,)
        Samples ``y_i x_i``.
    C : float
    feasible : (float, float)
        ``(w~, xi~)`` of the quadratic condition ``xi <= xi~ + w (w~ - w)/C``.
    bounds : dict of (float, float)
        By label: slope and height of conditions ``xi >= slope w + height``. The region of the first is shaded.
    optimum : (float, float), optional
    span : (float, float)
        Weights from and to which everything is drawn.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    z = np.asarray(z, dtype=float)
    w = np.linspace(*span, 801)
    total = np.maximum(1.0 - np.outer(w, z), 0.0).sum(axis=1)
    above = feasible[1] + w * (feasible[0] - w) / C
    with canvas(ax, (4.6, 3.6)) as ax:
        top, floor = max(float(above.max()), feasible[1]), float(total.min())
        top, floor = top + 0.25 * (top - floor), floor - 0.6 * (top - floor)
        ax.fill_between(w, total, np.maximum(top, total), color=COLOURS["cone"], linewidth=0, zorder=0)
        ax.plot(w, total, color="#B9AF97", linewidth=1.4, label="total loss", zorder=1)
        ax.plot(w, above, color=COLOURS["R"], label="quadratic condition", zorder=2)
        for order, (label, (slope, height)) in enumerate(bounds.items()):
            below, colour = slope * w + height, (COLOURS["L"], "#009E73", "#CC79A7")[order % 3]
            ax.plot(w, below, color=colour, label=label, zorder=2)
            inside = above >= below
            if order == 0 and inside.any():
                ax.fill_between(w, below, above, where=inside, color=colour, alpha=0.18, linewidth=0, zorder=1)
                ax.plot(w[inside][[0, -1]], [floor, floor], color=colour, linewidth=5, solid_capstyle="butt", zorder=3)
        ax.plot(*feasible, "o", color="black", markersize=4.5, zorder=4)
        ax.annotate(r"$(\tilde w, \tilde\xi)$", feasible, xytext=(6, 5), textcoords="offset points", fontsize=9)
        if optimum is not None:
            ax.plot(*optimum, "*", color="black", markersize=11, zorder=4)
            ax.annotate("optimum", optimum, xytext=(-8, -14), textcoords="offset points", fontsize=9)
        ax.set(xlim=span, ylim=(floor, top), xlabel="$w$", ylabel=r"$\xi$", title=title)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def along_ratio(ratios, curves, *, ax=None, title="", ylabel="", log=False):
    """Draw numbers against ``C_ref/C``, the closeness of a reference, a line a test.

    Parameters
    ----------
    ratios : array
    curves : dict of sequences
        By label, as long as `ratios`.
    ax : matplotlib axes, optional
    title, ylabel : str
    log : bool
        Logarithmic vertical axis.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (4.6, 3.2)) as ax:
        for (label, values), colour in zip(curves.items(), TESTS, strict=False):
            ax.plot(ratios, values, color=colour, label=label)
        ax.set(xlabel=r"$C_{\rm ref}/C$", ylabel=ylabel, title=title, yscale="log" if log else "linear")
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        ax.legend(loc="best")
    return ax


def _categories(screened, n):
    """Letters L, R and C (undecided), shape (n,)."""
    keys = np.full(n, "C")
    if screened is not None:
        keys[screened.in_L], keys[screened.in_R] = "L", "R"
    return keys


def _line(ax, normal, level, **style):
    """The part of ``<normal, p> = level`` that crosses the axes, whose limits stay."""
    normal = np.asarray(normal, dtype=float)
    size = np.linalg.norm(normal)
    if size == 0.0:
        return
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    reach = np.hypot(right - left, high - low)
    middle = np.array([left + right, low + high]) / 2.0
    foot = middle + (level - normal @ middle) / size * normal / size
    along = reach * np.array([-normal[1], normal[0]]) / size
    ax.plot(*np.transpose([foot - along, foot + along]), **style)
    ax.set(xlim=(left, right), ylim=(low, high))
