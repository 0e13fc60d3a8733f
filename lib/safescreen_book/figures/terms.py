"""Figures of what screening has proved of the terms: on the loss, along a path, over lam."""

import numpy as np

from safescreen_book.figures.lines import logarithmic
from safescreen_book.figures.style import COLOURS, METHODS, NAMES, canvas


def terms_on_loss(loss, margins, screened=None, *, ax=None, title="", span=None, rest="undecided"):
    """Draw terms as dots on the loss, coloured by what screening has proved of them.

    Parameters
    ----------
    loss : SmoothedHinge
    margins : array of shape (T,)
    screened : Screened, optional
    ax, title : matplotlib axes and str, optional
    span : (float, float), optional
        Margins from and to which the loss is drawn.
    rest : str
        Name of the terms in neither mask in the legend.
    """
    names = NAMES | {"C": rest}
    margins = np.asarray(margins, dtype=float)
    nobody = np.zeros(margins.size, dtype=bool)
    in_L, in_R = (nobody, nobody) if screened is None else (screened.in_L, screened.in_R)
    with canvas(ax, (5.2, 3.2)) as ax:
        low, high = span or (min(margins.min(), 0.0) - 0.2, max(margins.max(), 1.5) + 0.2)
        grid = np.linspace(low, high, 600)
        ax.plot(grid, loss.value(grid), color="#BBBBBB", linewidth=1.2, zorder=1)
        for key, mask in (("C", ~(in_L | in_R)), ("L", in_L), ("R", in_R)):
            inside = mask & (margins >= low) & (margins <= high)
            order = 3 if key == "C" else 2  # few, and between the others
            style = {"s": 26, "color": COLOURS[key], "alpha": 0.55, "linewidths": 0}
            ax.scatter(
                margins[inside],
                loss.value(margins[inside]),
                label=f"{names[key]}: {np.count_nonzero(mask)}",
                zorder=order,
                **style,
            )
        for edge in {1.0 - loss.gamma, 1.0}:
            ax.axvline(edge, color="#CCCCCC", linewidth=0.8, zorder=0)
        ax.set(
            xlabel=r"margin $\langle H_t, M\rangle$", ylabel="loss", title=title, xlim=(low, high)
        )
        ax.set_ylim(-0.13 * loss.value(low), 1.08 * loss.value(low))
        for text, x, side in (("linear", 0.98 - loss.gamma, "right"), ("zero", 1.02, "left")):
            ax.text(
                x,
                0.02,
                text,
                ha=side,
                fontsize=9,
                color="#777777",
                transform=ax.get_xaxis_transform(),
            )
        ax.legend(loc="upper right", handletextpad=0.2)
    return ax


def shares(path, *, ax=None, title=""):
    """Draw the share of terms that screening has put into L and into R along a path.

    Parameters
    ----------
    path : Path
    ax, title : matplotlib axes and str, optional
    """
    lams = np.array([s.lam for s in path])
    n_terms = len(path[0].problem)
    left, right = (np.array([getattr(s, name) for s in path]) / n_terms for name in ("n_L", "n_R"))
    with canvas(ax, (5.2, 3.2)) as ax:
        colours = COLOURS["L"], "#E4E4E4", COLOURS["R"]
        ax.stackplot(
            lams,
            left,
            1.0 - left - right,
            right,
            colors=colours,
            labels=NAMES.values(),
            linewidth=0,
        )
        ax.set(xlabel=r"$\lambda$, from large to small", ylabel="share of terms", title=title)
        ax.set(xlim=(lams.max(), lams.min()), ylim=(0.0, 1.0))
        logarithmic(ax, "x")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def range_chart(ranges, lam0, span, *, truth=(), ax=None, title=""):
    """Draw one bar for each term, over the range of lam on which it is decided.

    Parameters
    ----------
    ranges : Ranges, or dict of Ranges by method
        With one Ranges the bars have the colours of L and R. With several they have the colours of
        the methods: at each lam that of the first method in the dict that decides the term. The
        terms with the longest ranges are outermost, and those in L are below.
    lam0 : float
        The lam of the reference, drawn as a vertical line.
    span : (float, float)
        The lam shown, low and high.
    truth : sequence of (float, Screened), optional
        The true categories at some lam; each is drawn as a column of pale cells.
    ax, title : matplotlib axes and str, optional
    """
    low, high = span
    several = ranges if isinstance(ranges, dict) else {"": ranges}
    n_terms = len(next(iter(several.values())))
    order = _funnel(several.values())
    rows = np.arange(n_terms)
    thickness = 1.0 if n_terms > 40 else 0.72
    with canvas(ax, (5.2, 4.0)) as ax:
        _cells(ax, truth, low, high, order)
        for name, found in reversed(several.items()):
            for side in "LR":
                left, right = (getattr(found, f"{side}_{end}")[order] for end in ("low", "high"))
                decided = (left < high) & (right > low)
                left, right = np.clip(left[decided], low, high), np.clip(right[decided], low, high)
                colour = METHODS[name]["color"] if name else COLOURS[side]
                label = NAMES[side]
                if name:
                    label = name if side == "L" else ""
                ax.barh(
                    rows[decided],
                    right - left,
                    thickness,
                    left,
                    color=colour,
                    linewidth=0,
                    label=label,
                    zorder=2,
                )
        ax.axvline(lam0, color="black", linewidth=1.0, zorder=3)
        ax.annotate(r"$\lambda_0$", (lam0, n_terms), xytext=(4, 1), textcoords="offset points")
        ax.set(
            xlim=(high, low),
            ylim=(-1.0, 1.02 * n_terms + 1.0),
            xlabel=r"$\lambda$, from large to small",
            ylabel="terms",
            title=title,
        )
        logarithmic(ax, "x")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=max(2, len(several)))
    return ax


def _funnel(several):
    """Order by the smallest lam down to which a term is decided."""
    ends = np.array([[found.L_low, found.R_low] for found in several])
    in_L, in_R = np.where(np.isnan(ends), np.inf, ends).min(axis=0)
    return np.lexsort(
        (
            np.where(np.isfinite(in_L), in_L, -in_R),
            np.isfinite(in_R).astype(int) - np.isfinite(in_L),
        )
    )


def _cells(ax, truth, low, high, order):
    """Pale cells of the true categories, each from half-way to its neighbours."""
    truth = sorted(truth, key=lambda pair: pair[0])
    lams = np.array([lam for lam, _ in truth])
    edges = [low, *np.sqrt(lams[1:] * lams[:-1]), high]
    for (_, found), left, right in zip(truth, edges, edges[1:], strict=False):
        for side, mask in (("L", found.in_L), ("R", found.in_R)):
            ax.barh(
                np.flatnonzero(mask[order]),
                right - left,
                1.0,
                left,
                color=COLOURS[side],
                alpha=0.17,
                linewidth=0,
                zorder=1,
            )
