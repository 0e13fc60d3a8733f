"""The expanded space ``(w, xi)`` of one-dimensional samples, where every condition is a curve."""

import numpy as np

from safescreen_book.figures.style import COLOURS, canvas, styles


def expanded_line(ball1, ball2, *, ax=None, title=""):
    """Draw two intervals of the line as chords of the parabola ``xi = w^2``. A ball is the part of
    the parabola below a straight line.

    Parameters
    ----------
    ball1, ball2 : (float, float)
        Center and radius.
    ax, title : matplotlib axes and str, optional
    """
    ends = np.array([[m - r, m + r] for m, r in (ball1, ball2)])
    low, high = ends[:, 0].max(), ends[:, 1].min()
    pad = 0.15 * np.ptp(ends)
    w = np.linspace(ends.min() - pad, ends.max() + pad, 400)
    first, second, both = styles(["BT1", "BT2", "IT"])
    with canvas(ax, (4.4, 3.4)) as ax:
        ax.plot(w, w**2, color=COLOURS["edge"], label=r"$\xi = w^2$")
        chords = []
        for name, (m, r), pair, style in (
            ("BT1", ball1, ends[0], first),
            ("BT2", ball2, ends[1], second),
        ):
            chords.append(2.0 * m * w + r**2 - m**2)
            ax.plot(w, chords[-1], label=name, **style)
            ax.plot(pair, pair**2, "o", color=style["color"], markersize=4)
        top = np.minimum(*chords)
        ax.fill_between(
            w,
            w**2,
            top,
            where=top >= w**2,
            color=both["color"],
            alpha=0.15,
            linewidth=0,
            label="IT, both",
        )
        ax.plot(
            [low, high],
            [0.0, 0.0],
            color=both["color"],
            linewidth=4,
            solid_capstyle="butt",
            clip_on=False,
        )
        ax.set(xlabel="$w$", ylabel=r"$\xi$", title=title, ylim=(0.0, 1.1 * w.max() ** 2))
        ax.legend(loc="upper center")
    return ax


def expanded_space(z, C, feasible, bounds, optimum, *, span, ax=None, title=""):
    """Draw the feasible set, a quadratic condition and linear ones.

    Parameters
    ----------
    z : array of shape (n,)
        Samples ``y_i x_i``.
    C : float
    feasible : (float, float)
        ``(w~, xi~)`` of the quadratic condition ``xi <= xi~ + w (w~ - w)/C``.
    bounds : dict of (float, float)
        By label: slope and height of conditions ``xi >= slope w + height``. The region of the first
        is shaded.
    optimum : (float, float)
    span : (float, float)
        Weights from and to which everything is drawn.
    ax, title : matplotlib axes and str, optional
    """
    w = np.linspace(*span, 801)
    total = np.maximum(1.0 - np.outer(w, z), 0.0).sum(axis=1)
    above = feasible[1] + w * (feasible[0] - w) / C
    quadratic, *linear = styles(["quadratic condition", *bounds])
    with canvas(ax, (4.6, 3.6)) as ax:
        top, floor = max(float(above.max()), feasible[1]), float(total.min())
        top, floor = top + 0.25 * (top - floor), floor - 0.6 * (top - floor)
        ax.fill_between(
            w, total, np.maximum(top, total), color=COLOURS["cone"], linewidth=0, zorder=0
        )
        ax.plot(w, total, color=COLOURS["edge"], linewidth=1.4, label="total loss", zorder=1)
        ax.plot(w, above, label="quadratic condition", zorder=2, **quadratic)
        for order, ((label, (slope, height)), style) in enumerate(
            zip(bounds.items(), linear, strict=True)
        ):
            below = slope * w + height
            ax.plot(w, below, label=label, zorder=2, **style)
            inside = above >= below
            if order == 0 and inside.any():
                ax.fill_between(
                    w,
                    below,
                    above,
                    where=inside,
                    color=style["color"],
                    alpha=0.18,
                    linewidth=0,
                    zorder=1,
                )
                ax.plot(
                    w[inside][[0, -1]],
                    [floor, floor],
                    color=style["color"],
                    linewidth=5,
                    solid_capstyle="butt",
                    zorder=3,
                )
        ax.plot(*feasible, "o", color="black", markersize=4.5, zorder=4)
        ax.annotate(r"$(\tilde w, \tilde\xi)$", feasible, xytext=(6, 5), textcoords="offset points")
        ax.plot(*optimum, "*", color="black", markersize=11, zorder=4)
        ax.annotate("optimum", optimum, xytext=(-8, -14), textcoords="offset points")
        ax.set(xlim=span, ylim=(floor, top), xlabel="$w$", ylabel=r"$\xi$", title=title)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
