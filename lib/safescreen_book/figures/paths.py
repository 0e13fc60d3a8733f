"""Figures of path experiments: rates and time ratios of many methods, heat maps of dynamic screening and of ranges."""

import numpy as np

from safescreen_book.figures.style import METHODS, canvas

__all__ = ["dynamic_map", "path_lines", "range_map", "style_of"]

DASHES = {"": "-", "halfspace": (0, (5, 1.5)), "semidefinite": (0, (1.2, 1.2))}
"""One kind of line a rule."""

BALLS = {**METHODS, "BT2": "#8B5A2B", "MGB&BT2": "#5D4A9C", "CDGB": "#A0A000"}
"""One colour a ball."""

RATES = "cividis"
"""Colour map of screening rates, from dark (nothing) to bright (everything)."""


def style_of(method):
    """Return the line style of a method such as ``"GB+halfspace"``: the colour of its ball, the dashes of its rule.

    Parameters
    ----------
    method : str

    Returns
    -------
    dict
        Options of matplotlib's ``plot``; without a colour for a method that is not known.

    Examples
    --------
    >>> style_of("PGB")
    {'linestyle': '-', 'color': '#56B4E9'}
    """
    ball, _, rule = method.rpartition("+")
    if rule not in DASHES or not ball:
        ball, rule = method, ""
    style = {"linestyle": DASHES[rule]}
    return style | {"color": BALLS[ball]} if ball in BALLS else style


def path_lines(curves, *, ax=None, title="", ylabel="screening rate", span=None, limits=None, one=False, smooth=1):
    """Draw a number along the path of lam, a line a method, from large lam to small.

    Parameters
    ----------
    curves : dict of (lams, values)
        By method, see :func:`style_of`.
    ax : matplotlib axes, optional
    title, ylabel : str
    span : (float, float), optional
        The lam shown: an enlargement.
    limits : (float, float), optional
        Of the vertical axis.
    one : bool
        Draw a line at 1 and make the vertical axis logarithmic, for ratios.
    smooth : odd int
        Running median over so many lam, for timings.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.2)) as ax:
        widths = np.linspace(3.0, 1.2, max(len(curves), 2))  # curves that coincide stay visible
        for (name, (lams, values)), width in zip(curves.items(), widths, strict=False):
            ax.plot(lams, _running_median(values, smooth), linewidth=width, label=name, **style_of(name))
        ax.set(xscale="log", xlabel=r"$\lambda$, from large to small", ylabel=ylabel, title=title)
        if one:
            ax.axhline(1.0, color="#555555", linewidth=0.8, zorder=0)
            ax.set_yscale("log")
            _plain_ticks(ax.yaxis)
        ax.set_ylim(limits)
        if span:
            ax.set_xlim(min(span), max(span))
            _plain_ticks(ax.xaxis)
        ax.invert_xaxis()
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        ax.legend(loc="best", ncols=1 + (len(curves) > 5))
    return ax


def dynamic_map(rates, lams, *, ax=None, title="", rounds=None, colorbar=False):
    """Draw the screening rate during the solves: lam from left to right, rounds of screening upwards.

    Parameters
    ----------
    rates : array of shape (rounds, m)
        NaN, drawn white, where a solve had ended.
    lams : array of shape (m,)
        Decreasing.
    ax : matplotlib axes, optional
    title : str
    rounds : int, optional
        Height of the axis, to compare several maps.
    colorbar : bool

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (4.2, 3.0)) as ax:
        image = ax.pcolormesh(_edges(lams), np.arange(len(rates) + 1) - 0.5, rates, cmap=RATES, vmin=0.0, vmax=1.0, rasterized=True)
        ax.set(xscale="log", xlabel=r"$\lambda$", ylabel="round of screening", title=title, ylim=(-0.5, (rounds or len(rates)) - 0.5))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.invert_xaxis()
        if colorbar:
            ax.figure.colorbar(image, ax=ax, label="screening rate")
    return ax


def range_map(rates, lams0, lams, *, ax=None, title="", colorbar=False):
    """Draw the share of terms whose range, computed at one lam, covers another.

    Parameters
    ----------
    rates : array of shape (m, m0)
        One column a reference.
    lams0 : array of shape (m0,)
        Where the references were solved, decreasing.
    lams : array of shape (m,)
        Decreasing.
    ax : matplotlib axes, optional
    title : str
    colorbar : bool

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (4.2, 3.6)) as ax:
        image = ax.pcolormesh(_edges(lams0), _edges(lams), rates, cmap=RATES, vmin=0.0, vmax=1.0, rasterized=True)
        ax.set(xscale="log", yscale="log", xlabel=r"$\lambda_0$ of the reference", ylabel=r"$\lambda$", title=title, aspect="equal")
        ax.invert_xaxis()
        ax.invert_yaxis()
        if colorbar:
            ax.figure.colorbar(image, ax=ax, label="screening rate")
    return ax


def _edges(lams):
    """Boundaries of cells around each lam, half-way on the logarithmic axis."""
    logs = np.log(np.asarray(lams, dtype=float))
    half = 0.5 * np.diff(logs) if logs.size > 1 else np.array([0.1])
    return np.exp(np.concatenate(([logs[0] - half[0]], logs[:-1] + half if logs.size > 1 else [], [logs[-1] + half[-1]])))


def _plain_ticks(axis):
    """Write 1, 2 and 5 of each decade as plain numbers, for short logarithmic axes."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _running_median(values, width):
    values = np.asarray(values, dtype=float)
    if width <= 1 or values.size < width:
        return values
    padded = np.pad(values, width // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)
