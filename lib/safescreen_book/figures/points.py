"""Points of the plane: those of triplets with a metric, and those of a support vector machine with
its boundary.
"""

import numpy as np

from safescreen_book.figures.style import COLOURS, NAMES, canvas


def points_and_metric(X, y, M=None, *, ax=None, title=""):
    """Draw labelled points of the plane and the unit circle of a metric around their mean.

    Parameters
    ----------
    X, y : arrays of shape (n, 2) and (n,)
    M : array of shape (2, 2), optional
        Metric; its ellipse is scaled to the points.
    ax, title : matplotlib axes and str, optional
    """
    with canvas(ax, (3.4, 3.2)) as ax:
        for label, marker, shade in zip(
            np.unique(y), "os^", ("#222222", "#777777", "#B0B0B0"), strict=False
        ):
            ax.scatter(*X[y == label].T, marker=marker, s=30, color=shade, linewidths=0)
        if M is not None:
            values, vectors = np.linalg.eigh(M)
            turn = np.linspace(0.0, 2.0 * np.pi, 200)
            ring = (
                vectors
                / np.sqrt(np.maximum(values, 1e-3 * values[-1]))
                @ np.array([np.cos(turn), np.sin(turn)])
            )
            ring *= 0.45 * np.ptp(X, axis=0).max() / np.abs(ring).max()
            ax.plot(*(X.mean(axis=0)[:, None] + ring), color="black", linewidth=1.4)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    return ax


def samples(X, y, boundary=None, screened=None, *, ax=None, title="", rest="undecided"):
    """Draw labelled points of the plane, coloured by what screening has proved, the line where the
    decision function is 0, and dashed the lines where it is 1 and -1.

    Parameters
    ----------
    X, y : arrays of shape (n, 2) and (n,)
        Labels -1 and +1: squares and discs.
    boundary : array of shape (2,), or callable, optional
        Weights, or ``boundary(points)`` of shape (m,).
    screened : Screened, optional
        Left out: every point is undecided.
    ax, title : matplotlib axes and str, optional
    rest : str
        Name of the samples in neither mask in the legend.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    keys = categories(screened, len(X))
    names = NAMES | {"C": rest}
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.06 * np.max(high - low)
    with canvas(ax, (4.4, 3.8)) as ax:
        for key in "CLR":
            for label, marker in ((-1, "s"), (1, "o")):
                chosen = (keys == key) & (y == label)
                ax.scatter(
                    *X[chosen].T,
                    marker=marker,
                    s=24,
                    color=COLOURS[key],
                    alpha=0.8,
                    linewidths=0,
                    zorder=2,
                )
            if screened is not None:
                ax.plot(
                    [],
                    [],
                    "o",
                    color=COLOURS[key],
                    markersize=5,
                    label=f"{names[key]}: {np.count_nonzero(keys == key)}",
                )
        ax.set(
            xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), aspect="equal"
        )
        style = {
            "colors": "#555555",
            "linestyles": ["--", "-", "--"],
            "linewidths": 1.0,
            "zorder": 1,
        }
        if callable(boundary):
            a, b = (np.linspace(*limits, 161) for limits in (ax.get_xlim(), ax.get_ylim()))
            grid = np.stack(np.meshgrid(a, b), axis=-1)
            ax.contour(
                a,
                b,
                boundary(grid.reshape(-1, 2)).reshape(161, 161),
                levels=[-1.0, 0.0, 1.0],
                **style,
            )
        elif boundary is not None:
            for level, dash in ((-1.0, "--"), (0.0, "-"), (1.0, "--")):
                half_plane(
                    ax, boundary, level, color="#555555", linestyle=dash, linewidth=1.0, zorder=1
                )
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
        if screened is not None:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2)
    return ax


def categories(screened, n):
    """Return letters L, R and C (undecided), shape (n,)."""
    keys = np.full(n, "C")
    if screened is not None:
        keys[screened.in_L] = "L"
        keys[screened.in_R] = "R"
    return keys


def half_plane(ax, normal, level, **style):
    """Draw the part of ``<normal, p> = level`` that crosses the axes, whose limits stay."""
    normal = np.asarray(normal, dtype=float)
    size = np.linalg.norm(normal)
    if size == 0.0:
        return
    left, right = ax.get_xlim()
    low, high = ax.get_ylim()
    reach = np.hypot(right - left, high - low)
    middle = np.array([left + right, low + high]) / 2.0
    foot = middle + (level - normal @ middle) / size * normal / size
    along = reach * np.array([-normal[1], normal[0]]) / size
    ax.plot(*np.transpose([foot - along, foot + along]), **style)
    ax.set(xlim=(left, right), ylim=(low, high))
