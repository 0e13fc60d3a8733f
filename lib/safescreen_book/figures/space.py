"""Figures in space: the cone of 2 x 2 metrics with balls in it, and sliders for figures where a notebook can show them.

A symmetric matrix ``M`` is the point ``((M11 - M22)/sqrt 2, sqrt 2 M12, (M11 + M22)/sqrt 2)``: distances are
those of the Frobenius norm, and the positive semidefinite matrices are the upright circular cone ``z >= sqrt(x^2 + y^2)``.
"""

import os

import numpy as np

from safescreen_book.figures.style import METHODS, STYLE

__all__ = ["coordinates", "cone_scene", "matrix_at", "scenes", "sliders"]

_ROOT = np.sqrt(2.0)


def coordinates(M):
    """Return the point of a symmetric 2 x 2 matrix, shape (3,).

    Parameters
    ----------
    M : array of shape (2, 2)

    Returns
    -------
    array of shape (3,)

    Raises
    ------
    ValueError
        `M` is not a symmetric matrix of shape (2, 2).

    Examples
    --------
    >>> coordinates([[2.0, 0.0], [0.0, 0.0]]).round(3).tolist()
    [1.414, 0.0, 1.414]
    """
    M = np.asarray(M, dtype=float)
    if M.shape != (2, 2) or abs(M[0, 1] - M[1, 0]) > 1e-9 * np.abs(M).max():
        raise ValueError(f"M must be a symmetric matrix of shape (2, 2), found shape {M.shape}: {M.tolist()}")
    return np.array([(M[0, 0] - M[1, 1]) / _ROOT, _ROOT * M[0, 1], (M[0, 0] + M[1, 1]) / _ROOT])


def matrix_at(point):
    """Return the symmetric matrix of a point, the inverse of :func:`coordinates`.

    Parameters
    ----------
    point : array of shape (3,)

    Returns
    -------
    array of shape (2, 2)
    """
    x, y, z = np.asarray(point, dtype=float)
    return np.array([[z + x, y], [y, z - x]]) / _ROOT


def scenes(n_rows=1, n_cols=1, width=9.4, height=4.2, dpi=80):
    """Return ``(figure, axes)`` of a grid of spaces, sizes in inches; the axes as a flat list."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(n_rows, n_cols, figsize=(width, height), dpi=dpi, subplot_kw={"projection": "3d"}, squeeze=False)
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.0, top=0.95, wspace=0.0, hspace=0.08)
    return figure, list(axes.flat)


def cone_scene(spheres, points, *, normal=None, ax=None, title="", view=(10.0, -40.0)):
    """Draw balls, points and the edge of a half-space around the cone of positive semidefinite 2 x 2 matrices.

    Parameters
    ----------
    spheres : dict of Sphere
        By label; labels that begin with a method get its colour.
    points : dict of arrays of shape (2, 2)
        By label; one labelled ``optimum`` is a star.
    normal : array of shape (2, 2), optional
        The plane ``<normal, M> = 0`` is drawn.
    ax : matplotlib 3-d axes, optional
    title : str
    view : (float, float)
        Elevation and azimuth in degrees.

    Returns
    -------
    matplotlib 3-d axes
    """
    if ax is None:
        ax = scenes(width=4.6)[1][0]
    height, low, high = _box(spheres, points)
    middle, half = 0.5 * (low + high), 0.5 * float(np.max(high - low))
    _cone(ax, height)
    if normal is not None:
        _plane(ax, coordinates(normal), middle, half)
    for label, ball in spheres.items():
        _ball(ax, coordinates(ball.center), ball.radius, METHODS.get(label.split()[0], "#0072B2"), label)
    for label, M in points.items():
        place, star = coordinates(M), label == "optimum"
        ax.plot(*place[:, None], "*" if star else "o", color="black", markersize=10 if star else 4, zorder=10)
        shift, side = (0.06 * half, "left") if star else (-0.04 * half, "right")  # near points keep their names apart
        ax.text(*(place + shift), label, fontsize=9, ha=side, zorder=11)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect(high - low, zoom=1.15)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_axis_off()
    ax.view_init(*view)
    if spheres:
        ax.legend(loc="upper right", fontsize=8, frameon=False)
    return ax


def sliders(draw, *, live=None, **ranges):
    """Show a figure with sliders where a notebook is open in a browser, the same figure at its defaults elsewhere.

    Parameters
    ----------
    draw : callable
        ``draw(**values)`` makes the figure.
    live : bool, optional
        Left out: sliders if this kernel was started by Jupyter's server and ipywidgets is installed.
    **ranges : (low, high, default)
        A slider each.

    Returns
    -------
    dict
        The defaults.

    Examples
    --------
    >>> sliders(lambda lam: print("lam is", lam), live=False, lam=(0.1, 1.0, 0.5))
    lam is 0.5
    {'lam': 0.5}
    """
    values = {}
    for name, (low, high, default) in ranges.items():
        if not low <= default <= high:
            raise ValueError(f"{name} must hold low <= default <= high, got {(low, high, default)}")
        values[name] = default
    if live is None:
        live = "JPY_SESSION_NAME" in os.environ
    try:
        if not live:
            raise ImportError
        import ipywidgets
    except ImportError:
        draw(**values)
        return values
    options = {"continuous_update": False, "readout_format": ".3g"}
    controls = {
        name: ipywidgets.FloatSlider(default, min=low, max=high, step=(high - low) / 50.0, description=name, **options)
        for name, (low, high, default) in ranges.items()
    }
    ipywidgets.interact(draw, **controls)
    return values


def _box(spheres, points):
    """Height of the cone that is drawn, and the corners of a box around it and all balls."""
    places = [coordinates(M) for M in (*points.values(), *(ball.center for ball in spheres.values()))]
    height = 1.3 * max((float(place[2]) for place in places), default=1.0) or 1.0
    low, high = np.array([-height, -height, 0.0]), np.full(3, height)
    for ball in spheres.values():
        low = np.minimum(low, coordinates(ball.center) - ball.radius)
        high = np.maximum(high, coordinates(ball.center) + ball.radius)
    return height, low, high


def _cone(ax, height):
    """The surface z = sqrt(x^2 + y^2)."""
    z, turn = np.meshgrid(np.linspace(0.0, height, 13), np.linspace(0.0, 2.0 * np.pi, 49))
    x, y = z * np.cos(turn), z * np.sin(turn)
    ax.plot_surface(x, y, z, color="#D9CFB4", alpha=0.30, linewidth=0, shade=False)
    ax.plot_wireframe(x, y, z, color="#B9AF97", linewidth=0.4, rcount=17, ccount=4)


def _ball(ax, center, radius, colour, label):
    theta, phi = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 37), np.linspace(0.0, np.pi, 19))
    away = np.stack([np.cos(theta) * np.sin(phi), np.sin(theta) * np.sin(phi), np.cos(phi)])
    surface = center[:, None, None] + radius * away
    ax.plot_surface(*surface, color=colour, alpha=0.13, linewidth=0, shade=False)
    ax.plot_wireframe(*surface, color=colour, linewidth=0.5, alpha=0.75, rcount=7, ccount=12)
    ax.plot([], [], [], color=colour, label=label)
    ax.plot(*center[:, None], "+", color=colour, markersize=8)


def _plane(ax, normal, middle, half):
    """The part of <normal, z> = 0 in the box, a square around the point nearest the middle."""
    n = normal / np.linalg.norm(normal)
    u = np.cross(n, [0.0, 0.0, 1.0] if abs(n[2]) < 0.9 else [1.0, 0.0, 0.0])
    u /= np.linalg.norm(u)
    v, foot = np.cross(n, u), middle - (middle @ n) * n
    a, b = np.meshgrid(*2 * [np.linspace(-0.8 * half, 0.8 * half, 2)])
    square = foot[:, None, None] + a * u[:, None, None] + b * v[:, None, None]
    ax.plot_surface(*square, color="#009E73", alpha=0.12, linewidth=0, shade=False)
    ax.plot_wireframe(*square, color="#009E73", linewidth=0.8)
