"""Figures of the triplet notebooks: for which lam each term is decided."""

import numpy as np

from safescreen_book.figures.style import COLOURS, METHODS, NAMES, canvas

__all__ = ["range_chart"]


def range_chart(ranges, lam0, span, *, order=None, truth=(), ax=None, title=""):
    """Draw one bar a term: the lam over which it is decided, coloured by what decides it.

    Parameters
    ----------
    ranges : Ranges, or dict of Ranges by method
        One Ranges: bars have the colours of the linear and the zero part. Several: bars have the colours of the methods, and each lam
        that of the first method in the dict that decides the term there.
    lam0 : float
        Where the ranges come from, a vertical line.
    span : (float, float)
        The lam shown; the axis is logarithmic and runs from large to small, as a path does.
    order : int array of shape (T,), optional
        Terms from bottom to top. Left out: linear ones below, zero ones on top, those decided for longest outermost.
    truth : sequence of (float, Screened), optional
        The categories at some lam, a column of pale cells each.
    ax : matplotlib axes, optional
    title : str

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        `span` is not increasing and positive.
    """
    low, high = map(float, span)
    if not 0.0 < low < high:
        raise ValueError(f"span must be positive and increasing, got {(low, high)}")
    several = ranges if isinstance(ranges, dict) else {"": ranges}
    n_terms = len(next(iter(several.values())))
    order = _funnel(*several.values()) if order is None else np.asarray(order)
    rows, thickness = np.arange(n_terms), 1.0 if n_terms > 40 else 0.72
    with canvas(ax, (5.2, 4.0)) as ax:
        _cells(ax, truth, low, high, order)
        for name, found in reversed(several.items()):
            for side in "LR":
                left, right = (getattr(found, f"{side}_{end}")[order] for end in ("low", "high"))
                decided = (left < high) & (right > low)
                left, right = np.clip(left[decided], low, high), np.clip(right[decided], low, high)
                colour = METHODS.get(name, COLOURS[side])
                label = name if name and side == "L" else "" if name else NAMES[side]
                ax.barh(rows[decided], right - left, thickness, left, color=colour, linewidth=0, label=label, zorder=2)
        ax.axvline(lam0, color="black", linewidth=1.0, zorder=3)
        ax.annotate(r"$\lambda_0$", (lam0, n_terms), xytext=(4, 1), textcoords="offset points", fontsize=9)
        ax.set(xscale="log", xlim=(high, low), ylim=(-1.0, n_terms + 0.02 * n_terms + 1.0))
        ax.set(xlabel=r"$\lambda$, from large to small", ylabel="terms", title=title)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=max(2, len(several)))
    return ax


def _funnel(*several):
    """Order by the smallest lam down to which a term is decided."""
    ends = np.array([[found.L_low, found.R_low] for found in several])
    in_L, in_R = np.where(np.isnan(ends), np.inf, ends).min(axis=0)
    return np.lexsort((np.where(np.isfinite(in_L), in_L, -in_R), np.isfinite(in_R).astype(int) - np.isfinite(in_L)))


def _cells(ax, truth, low, high, order):
    """Pale cells of the true categories, each from half-way to its neighbours."""
    if not truth:
        return
    lams = np.array([lam for lam, _ in truth])
    sort = np.argsort(lams)
    between = np.sqrt(lams[sort][1:] * lams[sort][:-1])
    edges = np.concatenate(([low], between, [high]))
    for place, number in enumerate(sort):
        found = truth[number][1]
        for side, mask in (("L", found.in_L), ("R", found.in_R)):
            rows = np.flatnonzero(mask[order])
            left, right = edges[place], edges[place + 1]
            ax.barh(rows, right - left, 1.0, left, color=COLOURS[side], alpha=0.17, linewidth=0, zorder=1)
