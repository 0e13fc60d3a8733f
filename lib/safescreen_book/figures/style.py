"""The style of all figures: one colour and dash for each method, colours of L, C and R that no
method has, matplotlib settings, and axes to draw on.
"""

import re
from contextlib import contextmanager

import numpy as np

from safescreen_book.figures.legends import tidy

COLOURS = {
    "L": "#0072B2",
    "C": "#8A8A8A",
    "R": "#D55E00",
    "cone": "#F1EDE3",
    "edge": "#B9AF97",
    "grid": "#E6E6E6",
    "plain": "#A9B4C2",
}
"""Linear part, undecided, zero part (Okabe and Ito: they stay apart for the colour-blind); the
cone and its edge; rulings; other bars.
"""

NAMES = {"L": "linear part, L", "C": "undecided", "R": "zero part, R"}
SIGNS = {1: "#542788", -1: "#B35806"}
"""Positive and negative entries, the ends of the colour map ``PuOr``."""

OTHERS = ("#440154", "#3B528B", "#21918C", "#4FB35A", "#B8A100")
"""Colours of curves that are no method, such as the values of a parameter: from dark to bright, as
in the colour map ``viridis``.
"""

DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (10, 2.5)))

_TABLE = {  # a column a dash, in the order above
    "#E69F00": ("GB", "GB+halfspace", "GB+semidefinite", "away", "rp"),
    "#56B4E9": ("PGB", "PGB+halfspace", "PGB+semidefinite", "forward", "heuristic"),
    "#882255": ("DGB", "DGB+halfspace", "DGB+semidefinite", "drop", "naive"),
    "#009E73": ("MGB", "MGB+halfspace", "MGB+semidefinite", "ActiveSet+MGB", "BT1"),
    "#5D4A9C": ("RRPB", "swap", "ActiveSet+RRPB (no ranges)", "ActiveSet+RRPB"),
    "#CC79A7": ("RRPB+PGB", "safe", "RRPB+PGB (no active set)", "ActiveSet+RRPB+PGB", "pairwise"),
    "#8F8F2A": ("CDGB", "ranges", "LIBLINEAR", "shrink", "rp+oasis"),
    "#8B5A2B": ("BT2", "product", "product+RRPB", "product+MGB", "shrink+BT1"),
    "#000000": ("IT", "MGB&BT2", "shrink+IT", "hybrid+IT", "warm+IT"),
    "#44AA99": ("DT", "ours", "hybrid", "warm", "exact"),
    "#5B6770": ("none", "printed", "full", "plain", "ActiveSet"),
    "#E7298A": ("RPB",),
    "#117733": ("hdsl", "dot"),
    "#AA4499": ("corrected", "aimed again", "pca", "pca+oasis"),
}
METHODS = {
    name: {"color": hue, "linestyle": dash}
    for hue, names in _TABLE.items()
    for name, dash in zip(names, DASHES, strict=False)
}
"""Colour and dash of every method, the same in every figure: options of matplotlib's ``plot``."""

STYLE = {
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#333333",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.6,
    "axes.prop_cycle": f"cycler(color={OTHERS[::2]})",
    "figure.dpi": 100,
    "savefig.dpi": 110,
}
"""The quiet style all figures share (matplotlib rc parameters)."""


def styles(labels):
    """Return colour and dash for each label of a figure, a list of dicts.

    The label of a method gets the style of :data:`METHODS`, also in the form ``"PGB = RPB"`` or
    ``"away: 12"``. A label that begins with a method, such as ``"DGB, enlarged"``, gets the colour
    of this method, and another dash if the method itself is in the figure. All other labels get the
    colours of :data:`OTHERS`, in order.

    >>> [style["color"] for style in styles(["GB", "GB, enlarged", "m = 3"])]
    ['#E69F00', '#E69F00', '#440154']
    """
    heads = [label if label in METHODS else re.split(r",|:| =| and ", label)[0] for label in labels]
    unknown = [label for label, head in zip(labels, heads, strict=True) if head not in METHODS]
    hues = _spread(len(unknown))
    out = []
    seen = dict.fromkeys(heads, 0)
    for label, head in zip(labels, heads, strict=True):
        if head not in METHODS:
            place = len(unknown) - len(hues)
            dash = DASHES[place % 2] if len(unknown) > len(OTHERS) else DASHES[0]
            out.append({"color": hues.pop(0), "linestyle": dash})
        elif label == head or label[len(head) :].startswith((" =", ":")):
            out.append(METHODS[head])
        else:
            own = METHODS[head]["linestyle"]
            dashes = [dash for dash in (*DASHES[1:], DASHES[0]) if dash != own]
            if head not in labels:
                dashes.insert(0, own)
            dash = dashes[seen[head] % len(dashes)]
            out.append({"color": METHODS[head]["color"], "linestyle": dash})
            seen[head] += 1
    return out


def _spread(n):
    """Return n colours as far apart as `OTHERS` allow: some of them, or more than they are, mixed
    of neighbours.

    >>> _spread(2), _spread(9)[1]
    (['#440154', '#B8A100'], '#402A70')
    """
    last = len(OTHERS) - 1
    if n <= len(OTHERS):
        return [OTHERS[round(k * last / max(1, n - 1))] for k in range(n)]
    rgb = np.array([[int(hue[i : i + 2], 16) for i in (1, 3, 5)] for hue in OTHERS])
    at = np.linspace(0.0, last, n)
    mixed = [np.interp(at, np.arange(len(OTHERS)), channel) for channel in rgb.T]
    return [
        "#" + "".join(f"{round(value):02X}" for value in hue) for hue in zip(*mixed, strict=True)
    ]


def style_of(label):
    """Return colour and dash of one method, or of what begins with its name, a dict."""
    return styles([label])[0]


@contextmanager
def canvas(ax, figsize):
    """Yield `ax`, or the axes of a new figure of that size in inches, in the quiet style."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        yield plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def panels(ncols=2, width=9.0, height=3.2, *, nrows=1, **options):
    """Return ``(figure, axes)`` of panels side by side; sizes of the figure in inches, `options` as
    for ``plt.subplots``.
    """
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        return plt.subplots(nrows, ncols, figsize=(width, height), layout="constrained", **options)


def _draws(shell):
    """Return whether a shell makes pictures of figures: those of notebooks do, and no other."""
    from matplotlib.figure import Figure

    formatters = shell.display_formatter.formatters.values() if shell is not None else ()
    return any(Figure in formatter.type_printers for formatter in formatters)


def show(text):
    """Show the current figure, its legends off the data, with a sentence that says what it shows.

    The sentence becomes the alternative text of the picture on web pages. JupyterLab has no
    alternative texts, so it shows the sentence below the picture. End a cell with this in place of
    ``plt.show()``.

    Parameters
    ----------
    text : str
        Plain text for readers who do not see the picture. It says what is drawn and what one sees
        in it.
    """
    import matplotlib.pyplot as plt
    from IPython import get_ipython
    from IPython.display import display

    figure = plt.gcf()
    said = {"text/plain": repr(figure)}  # its size as the cell chose it
    shell = get_ipython()
    shown, about = {}, {}
    if _draws(shell):
        tidy(figure)
        shown, about = shell.display_formatter.format(figure)
    display(shown | said, metadata=about | {"image/png": {"alt": text}}, raw=True)
    plt.close(figure)
    display({"text/plain": text, "text/markdown": f"*{text}*"}, metadata=CAPTION, raw=True)


CAPTION = {"caption": True}
"""Metadata of an output that repeats the alternative text of the picture above it."""
