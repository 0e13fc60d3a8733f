"""Figures of tests with two balls: what each ball says of a direction, and rates against the distance of the reference."""

import numpy as np

from safescreen_book.figures.style import canvas

__all__ = ["TESTS", "expanded_line", "rates_against", "screened_points"]

TESTS = {"BT1": "#0072B2", "BT2": "#D55E00", "IT": "#009E73"}
"""Colours of the tests: those of first and second ball in :func:`safescreen_book.figures.balls`, and a third."""

OTHERS = ("#CC79A7", "#E69F00", "#56B4E9", "#B5A642", "#3B3B3B", "#5D4A9C")


def rates_against(x, curves, *, ax=None, title="", xlabel="", ylabel="share of samples screened"):
    """Draw sequences of numbers against common positions, a line each.

    Parameters
    ----------
    x : sequence of float
    curves : dict of sequences
        By label; labels that are tests get their colours.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str

    Returns
    -------
    matplotlib axes
    """
    others = iter(OTHERS)
    with canvas(ax, (5.2, 3.2)) as ax:
        for name, values in curves.items():
            known = name in TESTS
            ax.plot(x, values, "-" if known else "--", color=TESTS[name] if known else next(others, "#8A8A8A"), label=name)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_title(title)
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        ax.legend(**({"loc": "best"} if len(curves) <= 4 else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}))
    return ax


def expanded_line(ball1, ball2, *, ax=None, title=""):
    """Draw two intervals of the line as chords of the parabola ``xi = w^2``: a ball is what lies below a line there.

    Parameters
    ----------
    ball1, ball2 : (float, float)
        Center and radius.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    ends = np.array([[m - r, m + r] for m, r in (ball1, ball2)])
    low, high = ends[:, 0].max(), ends[:, 1].min()
    pad = 0.15 * np.ptp(ends)
    w = np.linspace(ends.min() - pad, ends.max() + pad, 400)
    with canvas(ax, (4.4, 3.4)) as ax:
        ax.plot(w, w**2, color="black", label=r"$\xi = w^2$")
        lines = []
        for (name, (m, r)), pair in zip((("BT1", ball1), ("BT2", ball2)), ends, strict=True):
            lines.append(2.0 * m * w + r**2 - m**2)
            ax.plot(w, lines[-1], color=TESTS[name], label=name)
            ax.plot(pair, pair**2, "o", color=TESTS[name], markersize=4)
        top = np.minimum(*lines)
        ax.fill_between(w, w**2, top, where=top >= w**2, color=TESTS["IT"], alpha=0.15, linewidth=0, label="both")
        ax.plot([low, high], [0.0, 0.0], color=TESTS["IT"], linewidth=4, solid_capstyle="butt", clip_on=False)
        ax.set(xlabel="$w$", ylabel=r"$\xi$", title=title, ylim=(0.0, 1.1 * w.max() ** 2))
        ax.legend(loc="upper center")
    return ax


def screened_points(X, y, screened, decision, *, ax=None, title=""):
    """Draw points of the plane by class, with the line of margin 0 and the lines of margin 1; pale where they were screened.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Labels -1 and +1.
    screened : Screened
    decision : callable
        ``decision(points)`` of shape (m,), the values of f at points of shape (m, 2).
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    X, y = np.asarray(X), np.asarray(y)
    known = screened.in_L | screened.in_R
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    a, b = (np.linspace(low[k], high[k], 121) for k in range(2))
    grid = np.stack(np.meshgrid(a, b), axis=-1)
    values = decision(grid.reshape(-1, 2)).reshape(121, 121)
    with canvas(ax, (4.4, 3.8)) as ax:
        ax.contour(a, b, values, levels=[-1.0, 0.0, 1.0], colors=["#BBBBBB", "#000000", "#BBBBBB"], linewidths=[0.9, 1.4, 0.9])
        for sign, colour, marker in ((-1, "#0072B2", "o"), (1, "#D55E00", "s")):
            for out, alpha in ((known, 0.18), (~known, 1.0)):
                here = (y == sign) & out
                ax.scatter(*X[here].T, marker=marker, s=16, color=colour, alpha=alpha, linewidths=0)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    return ax
