"""Figures in space: the cone of 2 x 2 metrics with balls in it; and sliders for figures in a
notebook.

A symmetric matrix ``M`` is the point ``((M11 - M22)/sqrt 2, sqrt 2 M12, (M11 + M22)/sqrt 2)``:
distances are those of the Frobenius norm, and the positive semidefinite matrices are the upright
circular cone ``z >= sqrt(x^2 + y^2)``."""

import os

import numpy as np

from safescreen_book.figures.style import COLOURS, STYLE, styles


def coordinates(M):
    """Return the point of a symmetric 2 x 2 matrix, shape (3,).

    >>> coordinates(np.array([[2.0, 0.0], [0.0, 0.0]])).round(3).tolist()
    [1.414, 0.0, 1.414]
    """
    return np.array([M[0, 0] - M[1, 1], M[0, 1] + M[1, 0], M[0, 0] + M[1, 1]]) / np.sqrt(2.0)


def scenes(n_rows, n_cols, width, height):
    """Return ``(figure, axes)`` of a grid of spaces, sizes in inches; the axes as a flat list."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            n_rows,
            n_cols,
            figsize=(width, height),
            dpi=80,
            subplot_kw={"projection": "3d"},
            squeeze=False,
        )
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.0, top=0.95, wspace=0.0, hspace=0.08)
    return figure, list(axes.flat)


def cone_scene(spheres, points, *, ax, normal=None, title=""):
    """Draw balls, points and the edge of a half-space around the cone of positive semidefinite 2 x
    2 matrices.

    Parameters
    ----------
    spheres : dict of Sphere
        By label, see :func:`safescreen_book.figures.styles`.
    points : dict of arrays of shape (2, 2)
        By label; one labelled ``optimum`` is a star.
    ax : matplotlib 3-d axes
    normal : array of shape (2, 2), optional
        The plane ``<normal, M> = 0`` is drawn.
    title : str
    """
    height, low, high = _box(spheres, points)
    middle = 0.5 * (low + high)
    half = 0.5 * float(np.max(high - low))
    _cone(ax, height)
    if normal is not None:
        _plane(ax, coordinates(normal), middle, half)
    for (label, ball), style in zip(spheres.items(), styles(spheres), strict=True):
        _ball(ax, coordinates(ball.center), ball.radius, style, label)
    for label, M in points.items():
        place = coordinates(M)
        star = label == "optimum"
        ax.plot(
            *place[:, None],
            "*" if star else "o",
            color="black",
            markersize=10 if star else 4,
            zorder=10,
        )
        # near points keep their names apart
        shift, side = (0.06 * half, "left") if star else (-0.04 * half, "right")
        ax.text(*(place + shift), label, fontsize=10, ha=side, zorder=11)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect(high - low, zoom=1.15)
    ax.set_title(title, fontsize=11, loc="left")
    ax.set_axis_off()
    ax.view_init(10.0, -40.0)
    ax.legend(loc="upper right", fontsize=9.5, frameon=False)
    return ax


def sliders(draw, **ranges):
    """Show a figure. In a notebook that is open in a browser, add sliders that draw it again. A
    saved notebook has the figure only.

    Sliders need Jupyter's server, which sets ``JPY_SESSION_NAME``, and ipywidgets.
    ``draw(**values)`` makes the figure. Each of `ranges` is ``(low, high, default)`` of one slider.
    The defaults are returned.
    """
    values = {name: default for name, (_, _, default) in ranges.items()}
    try:
        if "JPY_SESSION_NAME" not in os.environ:
            raise ImportError
        import ipywidgets
    except ImportError:
        draw(**values)
        return values
    import matplotlib.pyplot as plt
    from IPython.display import display
    from IPython.utils.capture import capture_output

    def picture():
        """The figure at where the sliders are."""
        with capture_output() as shown:
            draw(**{name: control.value for name, control in controls.items()})
            plt.show()
        return [output.data for output in shown.outputs if "image/png" in output.data][-1]

    options = {"continuous_update": False, "readout_format": ".3g"}
    controls = {
        name: ipywidgets.FloatSlider(
            default, min=low, max=high, step=(high - low) / 50.0, description=name, **options
        )
        for name, (low, high, default) in ranges.items()
    }
    display(*controls.values())
    handle = display(picture(), raw=True, display_id=True)
    for control in controls.values():
        control.observe(lambda _: handle.update(picture(), raw=True), "value")
    return values


def _box(spheres, points):
    """Height of the cone that is drawn, and the corners of a box around it and all balls."""
    places = [
        coordinates(M) for M in (*points.values(), *(ball.center for ball in spheres.values()))
    ]
    height = 1.3 * max(float(place[2]) for place in places)
    low, high = np.array([-height, -height, 0.0]), np.full(3, height)
    for ball in spheres.values():
        low = np.minimum(low, coordinates(ball.center) - ball.radius)
        high = np.maximum(high, coordinates(ball.center) + ball.radius)
    return height, low, high


def _cone(ax, height):
    """The surface z = sqrt(x^2 + y^2)."""
    z, turn = np.meshgrid(np.linspace(0.0, height, 13), np.linspace(0.0, 2.0 * np.pi, 49))
    x = z * np.cos(turn)
    y = z * np.sin(turn)
    ax.plot_surface(x, y, z, color=COLOURS["edge"], alpha=0.22, linewidth=0, shade=False)
    ax.plot_wireframe(x, y, z, color=COLOURS["edge"], linewidth=0.4, rcount=17, ccount=4)


def _ball(ax, center, radius, style, label):
    theta, phi = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 37), np.linspace(0.0, np.pi, 19))
    surface = center[:, None, None] + radius * np.stack(
        [np.cos(theta) * np.sin(phi), np.sin(theta) * np.sin(phi), np.cos(phi)]
    )
    ax.plot_surface(*surface, color=style["color"], alpha=0.13, linewidth=0, shade=False)
    ax.plot_wireframe(
        *surface, color=style["color"], linewidth=0.5, alpha=0.75, rcount=7, ccount=12
    )
    ax.plot([], [], [], label=label, **style)
    ax.plot(*center[:, None], "+", color=style["color"], markersize=8)


def _plane(ax, normal, middle, half):
    """The part of <normal, z> = 0 in the box, a square around the point nearest the middle."""
    n = normal / np.linalg.norm(normal)
    u = np.cross(n, [0.0, 0.0, 1.0] if abs(n[2]) < 0.9 else [1.0, 0.0, 0.0])
    u /= np.linalg.norm(u)
    v = np.cross(n, u)
    foot = middle - (middle @ n) * n
    a, b = np.meshgrid(*([-0.8 * half, 0.8 * half] for _ in range(2)))
    square = foot[:, None, None] + a * u[:, None, None] + b * v[:, None, None]
    ax.plot_surface(*square, color="#333333", alpha=0.12, linewidth=0, shade=False)
    ax.plot_wireframe(*square, color="#333333", linewidth=0.8)
