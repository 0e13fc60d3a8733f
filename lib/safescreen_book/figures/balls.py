"""Balls, domes and other regions that hold the optimum, drawn in a plane."""

import numpy as np

from safescreen.cones import FreeSpace
from safescreen_book.figures.points import categories, half_plane
from safescreen_book.figures.style import COLOURS, canvas, styles

CIRCLE = np.array(
    [np.cos(np.linspace(0.0, 2.0 * np.pi, 301)), np.sin(np.linspace(0.0, 2.0 * np.pi, 301))]
)


def balls(cone, spheres, points, *, plane=None, ax=None, title=""):
    """Draw balls, the cone and points in a plane. A ball is drawn as the disc in which the plane
    cuts it.

    Parameters
    ----------
    cone : Cone
        Its part of the plane is shaded.
    spheres : dict of Sphere
        By label, see :func:`safescreen_book.figures.styles`.
    points : dict of elements
        By label; one labelled ``optimum`` is a star.
    plane : sequence of three elements, optional
        Points the plane goes through. Left out: the plane of the coordinates, for elements of shape
        (2,).
    ax, title : matplotlib axes and str, optional
    """
    origin, first, second = (
        (np.zeros(2), *np.eye(2)) if plane is None else (np.asarray(p, dtype=float) for p in plane)
    )
    u = (first - origin) / np.linalg.norm(first - origin)
    v = second - origin - np.vdot(second - origin, u) * u
    v /= np.linalg.norm(v)

    def seen(x):
        """The coordinates of x in the plane."""
        return np.array([np.vdot(x - origin, u), np.vdot(x - origin, v)])

    with canvas(ax, (4.4, 3.8)) as ax:
        marked = {label: seen(x) for label, x in points.items()}
        everything = list(marked.values())
        for (label, ball), style in zip(spheres.items(), styles(spheres), strict=True):
            center = seen(ball.center)
            off = np.linalg.norm(ball.center - origin - center[0] * u - center[1] * v)
            ring = center[:, None] + np.sqrt(max(ball.radius**2 - off**2, 0.0)) * CIRCLE
            ax.fill(*ring, color=style["color"], alpha=0.10, linewidth=0, zorder=1)
            ax.plot(*ring, label=label, zorder=2, **style)
            ax.plot(*center, "+", color=style["color"], markersize=8, zorder=3)
            everything.extend(ring.T)
        low, high = np.min(everything, axis=0), np.max(everything, axis=0)
        pad = 0.08 * np.max(high - low)
        low, high = low - pad, high + pad
        _shade_cone(ax, cone, (origin, u, v), low, high)
        _mark(ax, marked)
        names = ("$x_1$", "$x_2$") if plane is None else ("", "")
        ax.set(
            xlabel=names[0],
            ylabel=names[1],
            aspect="equal",
            title=title,
            xlim=(low[0], high[0]),
            ylim=(low[1], high[1]),
        )
        ax.locator_params(nbins=6)
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), borderaxespad=3.0, ncols=3)
    return ax


def weight_space(Z, spheres, points, screened=None, *, ax=None, title="", room=0.3):
    """Draw balls in the plane of weights and the line ``<z_i, w> = 1`` of every sample, coloured by
    what is known of it.

    Parameters
    ----------
    Z : array of shape (n, 2)
        Samples ``z_i = y_i x_i``.
    spheres, points : dicts
        As in :func:`balls`.
    screened : Screened, optional
        A line that misses the balls belongs to a sample in L or R.
    ax, title : matplotlib axes and str, optional
    room : float
        Space around balls and points, as a share of their extent.
    """
    ax = balls(FreeSpace(2), spheres, points, ax=ax, title=title)
    ax.set_facecolor("white")
    for limits, put in ((ax.get_xlim(), ax.set_xlim), (ax.get_ylim(), ax.set_ylim)):
        put(limits[0] - room * np.ptp(limits), limits[1] + room * np.ptp(limits))
    for z, key in zip(Z, categories(screened, len(Z)), strict=True):
        half_plane(
            ax,
            z,
            1.0,
            color=COLOURS[key],
            alpha=0.35 if key == "C" else 0.75,
            linewidth=0.8,
            zorder=0,
        )
    ax.set(xlabel="$w_1$", ylabel="$w_2$")
    return ax


def domes(normal, radius, spheres, points, *, ax=None, title=""):
    """Draw the dome ``||w|| <= radius, <normal, w> >= ||normal||^2`` of the plane, balls and
    points.

    Parameters
    ----------
    normal : array of shape (2,)
        The solution for the smallest C; the edge of the half-space goes through it.
    radius : float
        At least the norm of `normal`.
    spheres, points : dicts
        As in :func:`balls`. The intersection of the balls is shaded, and parts far from the dome
        are cut off.
    ax, title : matplotlib axes and str, optional
    """
    half = np.arccos(np.linalg.norm(normal) / radius)
    angles = np.arctan2(normal[1], normal[0]) + np.linspace(-half, half, 201)
    arc = radius * np.array([np.cos(angles), np.sin(angles)])
    low, high = arc.min(axis=1), arc.max(axis=1)
    pad = 0.2 * np.max(high - low)
    low, high = low - pad, high + pad
    with canvas(ax, (4.4, 3.8)) as ax:
        dome, *others = styles(["DT", *spheres])
        ax.fill(*arc, color=dome["color"], alpha=0.18, linewidth=0, zorder=0)
        ax.plot(*np.hstack([arc, arc[:, :1]]), label="dome", zorder=1, **dome)
        for (label, ball), style in zip(spheres.items(), others, strict=True):
            ax.plot(
                *(np.asarray(ball.center)[:, None] + ball.radius * CIRCLE),
                label=label,
                zorder=2,
                **style,
            )
        if spheres:
            grid = np.meshgrid(*(np.linspace(low[k], high[k], 401) for k in range(2)))
            outside = [
                np.hypot(grid[0] - b.center[0], grid[1] - b.center[1]) - b.radius
                for b in spheres.values()
            ]
            shade = {"levels": [-np.inf, 0.0], "colors": ["#555555"], "alpha": 0.25, "zorder": 1}
            ax.contourf(*grid, np.max(outside, axis=0), **shade)
        _mark(ax, points)
        ax.set(
            xlim=(low[0], high[0]),
            ylim=(low[1], high[1]),
            aspect="equal",
            xlabel="$w_1$",
            ylabel="$w_2$",
            title=title,
        )
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _mark(ax, points):
    """Mark and name points: the optimum to the right, those above it above, those below it
    below, so that near ones stay apart.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white", alpha=0.8)]
    level = points["optimum"][1] if "optimum" in points else -np.inf
    for label, place in points.items():
        star = label == "optimum"
        ax.plot(
            *place,
            "*" if star else "o",
            color="black",
            markersize=11 if star else 4.5,
            linestyle="none",
            zorder=4,
        )
        shift, side = (0, 7 if place[1] > level else -15), "center"
        if star:
            shift, side = (8, 3), "left"
        text = ax.annotate(
            label, place, xytext=shift, textcoords="offset points", ha=side, zorder=5
        )
        text.set_path_effects(halo)


def _shade_cone(ax, cone, plane, low, high):
    """Shade the points ``origin + a u + b v`` of the plane that lie in the cone."""
    origin, u, v = plane
    a, b = (np.linspace(low[k], high[k], 241) for k in range(2))
    numbers = origin + np.multiply.outer(a, u) + np.multiply.outer(b, v)[:, None]
    if cone.nonnegative == "eigenvalues":
        numbers = np.linalg.eigvalsh(numbers)
    inside = np.linalg.norm(np.minimum(numbers, 0.0), axis=-1)
    if not cone.is_whole_space and inside.max() > 0.0:
        ax.contourf(
            a,
            b,
            inside,
            levels=[-1.0, 1e-9 * (1.0 + inside.max())],
            colors=[COLOURS["cone"]],
            zorder=0,
        )
        ax.contour(
            a,
            b,
            inside,
            levels=[1e-3 * inside.max()],
            colors=[COLOURS["edge"]],
            linewidths=1.0,
            zorder=0,
        )
    else:
        ax.set_facecolor(COLOURS["cone"])
