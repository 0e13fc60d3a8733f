"""One-line figures of the notebooks: terms on the loss, balls in a plane, rates along a path, bars.

Every function draws on `ax`, or on a figure of its own, and returns the axes; matplotlib is imported when
one is called.
"""

import numpy as np

from safescreen_book.figures.style import COLOURS, METHODS, NAMES, canvas

__all__ = [
    "balls",
    "bars",
    "lines",
    "points_and_metric",
    "rates",
    "shares",
    "terms_on_loss",
]


def terms_on_loss(loss, margins, screened=None, *, ax=None, title="", span=None):
    """Draw terms as dots on the loss, coloured by what screening has proved of them.

    Parameters
    ----------
    loss : SmoothedHinge
    margins : array of shape (T,)
        ``<a_t, x>``.
    screened : Screened, optional
        Left out: every term is undecided.
    ax : matplotlib axes, optional
    title : str
    span : (float, float), optional
        Margins from and to which the loss is drawn.

    Returns
    -------
    matplotlib axes
    """
    margins = np.asarray(margins, dtype=float)
    nobody = np.zeros(margins.size, dtype=bool)
    in_L, in_R = (nobody, nobody) if screened is None else (screened.in_L, screened.in_R)
    with canvas(ax, (5.2, 3.2)) as ax:
        low, high = span or (min(margins.min(), 0.0) - 0.2, max(margins.max(), 1.5) + 0.2)
        grid = np.linspace(low, high, 600)
        ax.plot(grid, loss.value(grid), color="#BBBBBB", linewidth=1.2, zorder=1)
        for key, mask in (("C", ~(in_L | in_R)), ("L", in_L), ("R", in_R)):
            inside = mask & (margins >= low) & (margins <= high)
            label = f"{NAMES[key]}: {np.count_nonzero(mask)}"
            style = {
                "s": 26,
                "color": COLOURS[key],
                "alpha": 0.55,
                "linewidths": 0,
                "zorder": 2,
                "label": label,
            }
            ax.scatter(margins[inside], loss.value(margins[inside]), **style)
        for edge in {1.0 - loss.gamma, 1.0}:
            ax.axvline(edge, color="#CCCCCC", linewidth=0.8, zorder=0)
        ax.set(xlabel=r"margin $\langle H_t, M\rangle$", ylabel="loss", title=title, xlim=(low, high))
        ax.set_ylim(-0.13 * loss.value(low), 1.08 * loss.value(low))
        for text, x in (("linear", 1.0 - loss.gamma - 0.02), ("zero", 1.02)):
            side = "right" if text == "linear" else "left"
            ax.text(x, 0.02, text, ha=side, fontsize=8, color="#999999", transform=ax.get_xaxis_transform())
        ax.legend(loc="upper right", handletextpad=0.2)
    return ax


def points_and_metric(X, y, M=None, *, ax=None, title=""):
    """Draw labelled points of the plane and the unit circle of a metric around their mean.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Labels.
    M : array of shape (2, 2), optional
        Metric; its ellipse is scaled to half the spread of the points.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    X, y = np.asarray(X), np.asarray(y)
    with canvas(ax, (3.4, 3.2)) as ax:
        for label, marker, shade in zip(np.unique(y), "os^Dv", ("#222222", "#777777", "#B0B0B0", "#555555", "#999999"), strict=False):
            ax.scatter(*X[y == label].T, marker=marker, s=30, color=shade, linewidths=0)
        if M is not None:
            values, vectors = np.linalg.eigh(M)
            axes = vectors / np.sqrt(np.maximum(values, 1e-3 * values[-1]))
            turn = np.linspace(0.0, 2.0 * np.pi, 200)
            ring = axes @ np.array([np.cos(turn), np.sin(turn)])
            ring *= 0.5 * np.ptp(X, axis=0).max() / np.abs(ring).max() * 0.9
            ax.plot(*(X.mean(axis=0)[:, None] + ring), color=COLOURS["L"], linewidth=1.4)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    return ax


def balls(cone, spheres, points, *, plane=None, ax=None, title=""):
    """Draw balls, the cone and points in a plane; a ball appears as the disc in which the plane cuts it.

    Parameters
    ----------
    cone : Cone
        Its part of the plane is shaded.
    spheres : dict of Sphere
        By label.
    points : dict of elements
        By label; a point labelled ``optimum`` is a star.
    plane : sequence of three elements, optional
        Points the plane goes through. Left out: the plane of the coordinates, for elements of shape (2,).
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    origin, first, second = (np.zeros(2), *np.eye(2)) if plane is None else (np.asarray(p, dtype=float) for p in plane)
    u = (first - origin) / np.linalg.norm(first - origin)
    v = second - origin - np.vdot(second - origin, u) * u
    v = v / np.linalg.norm(v)

    def _seen(x):
        return np.array([np.vdot(x - origin, u), np.vdot(x - origin, v)])

    with canvas(ax, (4.4, 3.8)) as ax:
        turn = np.linspace(0.0, 2.0 * np.pi, 300)
        everything = [_seen(x) for x in points.values()]
        for (label, ball), colour in zip(spheres.items(), ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=False):
            center = _seen(ball.center)
            off = np.linalg.norm(ball.center - origin - center[0] * u - center[1] * v)
            radius = np.sqrt(max(ball.radius**2 - off**2, 0.0))
            ring = center[:, None] + radius * np.array([np.cos(turn), np.sin(turn)])
            ax.fill(*ring, color=colour, alpha=0.10, linewidth=0, zorder=1)
            ax.plot(*ring, color=colour, label=label, zorder=2)
            ax.plot(*center, "+", color=colour, markersize=8, zorder=3)
            everything.extend(ring.T)
        low, high = np.min(everything, axis=0), np.max(everything, axis=0)
        pad = 0.08 * np.max(high - low)
        low, high = low - pad, high + pad
        _shade_cone(ax, cone, lambda a, b: origin + a * u + b * v, low, high)
        for label, x in points.items():
            star = label == "optimum"
            ax.plot(
                *_seen(x),
                "*" if star else "o",
                color="black",
                markersize=11 if star else 4.5,
                zorder=4,
                linestyle="none",
            )
            ax.annotate(label, _seen(x), xytext=(6, 5), textcoords="offset points", fontsize=9, zorder=5)
        names = ("$x_1$", "$x_2$") if plane is None else ("", "")
        ax.set(xlabel=names[0], ylabel=names[1], aspect="equal", title=title)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.legend(loc="best")
    return ax


def _shade_cone(ax, cone, at, low, high):
    a, b = (np.linspace(low[k], high[k], 241) for k in range(2))
    inside = np.array([[cone.violation(at(s, t)) for s in a] for t in b])
    if inside.max() > 0.0:
        ax.contourf(a, b, inside, levels=[-1.0, 1e-9 * (1.0 + inside.max())], colors=[COLOURS["cone"]], zorder=0)
        ax.contour(a, b, inside, levels=[1e-3 * inside.max()], colors=["#B9AF97"], linewidths=1.0, zorder=0)
    else:
        ax.set_facecolor(COLOURS["cone"])


def rates(curves, *, ax=None, title="", ylabel="share of terms screened"):
    """Draw a number in [0, 1] along the path of lam, a line a method.

    Parameters
    ----------
    curves : dict of (lams, values)
        By method, see :data:`METHODS` for the colours.
    ax : matplotlib axes, optional
    title, ylabel : str

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.2)) as ax:
        widths = np.linspace(3.4, 1.2, max(len(curves), 2))  # curves that coincide stay visible
        for (name, (lams, values)), width in zip(curves.items(), widths, strict=False):
            ax.plot(lams, values, color=METHODS.get(name), linewidth=width, label=name)
        ax.set(
            xscale="log",
            xlabel=r"$\lambda$, from large to small",
            ylabel=ylabel,
            title=title,
            ylim=(-0.02, 1.02),
        )
        ax.invert_xaxis()
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        ax.legend(loc="best", ncols=2)
    return ax


def lines(curves, *, ax=None, title="", xlabel="", ylabel="", log=False):
    """Draw sequences of numbers against their position, a line each.

    Parameters
    ----------
    curves : dict of sequences
        By label; labels that are methods get their colours, every second line is dashed.
    ax : matplotlib axes, optional
    title, xlabel, ylabel : str
    log : bool
        Logarithmic vertical axis.

    Returns
    -------
    matplotlib axes
    """
    with canvas(ax, (5.2, 3.2)) as ax:
        for order, (name, values) in enumerate(curves.items()):
            ax.plot(values, "-o" if order % 2 == 0 else "--o", color=METHODS.get(name), markersize=3, label=name)
        ax.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
        ax.set_title(title)
        ax.legend(loc="best")
    return ax


def shares(path, *, ax=None, title=""):
    """Draw the share of terms that screening has placed in either part of the loss, along a path.

    Parameters
    ----------
    path : Path
        Or any sequence of Solution.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes
    """
    lams = np.array([s.lam for s in path])
    n_terms = len(path[0].problem)
    left, right = (np.array([getattr(s, name) for s in path]) / n_terms for name in ("n_L", "n_R"))
    with canvas(ax, (5.2, 3.2)) as ax:
        stack = ("L", left), ("C", 1.0 - left - right), ("R", right)
        colours = [COLOURS[key] if key != "C" else "#E4E4E4" for key, _ in stack]
        ax.stackplot(
            lams,
            *(values for _, values in stack),
            colors=colours,
            labels=[NAMES[key] for key, _ in stack],
            linewidth=0,
        )
        ax.set(
            xscale="log",
            xlabel=r"$\lambda$, from large to small",
            ylabel="share of terms",
            title=title,
            ylim=(0.0, 1.0),
        )
        ax.set_xlim(lams.max(), lams.min())
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def bars(values, *, ax=None, title="", xlabel="", number="{:.2f}"):
    """Draw horizontal bars, the first on top, each with its number.

    Parameters
    ----------
    values : dict of float
        By method, see :data:`METHODS` for the colours; NaN draws nothing.
    ax : matplotlib axes, optional
    title, xlabel : str
    number : str
        Format of the numbers.

    Returns
    -------
    matplotlib axes
    """
    names, lengths = list(values), np.array([float(v) for v in values.values()])
    with canvas(ax, (4.6, 0.5 + 0.32 * len(names))) as ax:
        drawn = ax.barh(
            names,
            np.nan_to_num(lengths),
            height=0.68,
            color=[METHODS.get(name, COLOURS["L"]) for name in names],
        )
        ax.bar_label(drawn, ["" if np.isnan(v) else number.format(v) for v in lengths], padding=3, fontsize=8.5)
        ax.invert_yaxis()
        ax.set(xlabel=xlabel, title=title, xlim=(0.0, 1.14 * np.nanmax(lengths)))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return ax
