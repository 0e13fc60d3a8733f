"""Legends that hide nothing: one that covers data goes below its axes, and panels share one that
has all their entries.
"""

ROW = 0.22
"""Height of a row of entries, in inches."""


def tidy(figure):
    """Move the legends of a figure off its data, and make the figure as much higher as they need.

    If a legend has all entries of all panels, it becomes one below all of them. A legend that
    covers a line, a mark, an area, a picture or a label goes below its axes. All others stay.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    axes = [ax for ax in figure.axes if ax.get_legend() is not None]
    if not axes:
        return
    entries = [_entries(ax.get_legend()) for ax in axes]
    constrained = isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
    fullest = max(range(len(axes)), key=lambda place: len(entries[place]))
    shared = all(set(each) <= set(entries[fullest]) for each in entries)
    if constrained and len(axes) > 1 and shared:
        _share(figure, axes, axes[fullest].get_legend())
        return
    figure.draw_without_rendering()  # places are known from here on
    for ax in axes:
        if _covers(ax, ax.get_legend().get_window_extent()):
            _below(figure, ax)


def _labels(legend):
    return [text.get_text() for text in legend.get_texts()]


def _entries(legend):
    """Return label, colours and dash of each entry, as text."""
    from matplotlib.artist import getp

    names = ("color", "facecolor", "linestyle", "marker")
    return [
        (label, *(str(getp(handle, name)) for name in names if hasattr(handle, f"get_{name}")))
        for label, handle in zip(_labels(legend), legend.legend_handles, strict=True)
    ]


def _options(legend):
    size = legend.get_texts()[0].get_fontsize()
    return {"frameon": False, "fontsize": size, "handlelength": legend.handlelength}


def _columns(figure, legend, width):
    """Return how many entries stand side by side in a width in pixels, in rows of equal length."""
    each = legend.get_window_extent().width / legend._ncols
    count = len(legend.get_texts())
    rows = -(-count // max(1, int(width // each)))
    return -(-count // rows)


def _grow(figure, count, columns):
    figure.set_figheight(figure.get_figheight() + ROW * -(-count // columns))


def _share(figure, axes, old):
    handles, labels, options = old.legend_handles, _labels(old), _options(old)
    columns = _columns(figure, old, figure.bbox.width)
    for ax in axes:
        ax.get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, **options)
    _grow(figure, len(labels), columns)


def _below(figure, ax):
    from matplotlib.transforms import ScaledTranslation

    old = ax.get_legend()
    columns = _columns(figure, old, ax.bbox.width)
    handles, labels, options = old.legend_handles, _labels(old), _options(old)
    old.remove()
    lowest = ax.get_tightbbox(figure.canvas.get_renderer()).y0  # with ticks and their label
    offset = (lowest - ax.bbox.y0) / figure.dpi
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, offset, figure.dpi_scale_trans),
        borderaxespad=0.4,
        ncols=columns,
        **options,
    )
    _grow(figure, len(labels), columns)


def _covers(ax, box):
    """Return whether a box in pixels covers data of the axes, a text, or a label of the axis."""
    from matplotlib.transforms import Bbox

    texts = [*ax.texts, ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    shown = [text for text in texts if text.get_text() and text.get_visible()]
    if any(text.get_window_extent().overlaps(box) for text in shown):
        return True
    box = Bbox.intersection(box, ax.bbox)
    if box is None or box.width <= 0.0 or box.height <= 0.0:
        return False
    return (
        bool(ax.images)
        or any(_line_meets(line, box) for line in ax.lines)
        or any(_meets(patch.get_path(), patch, box, patch.get_fill()) for patch in ax.patches)
        or any(_collection_meets(collection, box) for collection in ax.collections)
    )


def _meets(path, artist, box, filled):
    return path.transformed(artist.get_transform()).intersects_bbox(box, filled=filled)


def _line_meets(line, box):
    drawn = line.get_linestyle() not in ("None", "none", " ", "")
    at = line.get_transform().transform(line.get_xydata())
    marked = line.get_marker() not in ("None", "none", " ", "", None)
    return (drawn and len(at) > 1 and _meets(line.get_path(), line, box, False)) or (
        marked and _holds(box, at)
    )


def _collection_meets(collection, box):
    from matplotlib.collections import LineCollection, PathCollection, QuadMesh

    if isinstance(collection, QuadMesh):
        return True
    if isinstance(collection, PathCollection):
        return _holds(box, collection.get_offset_transform().transform(collection.get_offsets()))
    filled = not isinstance(collection, LineCollection)
    return any(_meets(path, collection, box, filled) for path in collection.get_paths())


def _holds(box, points):
    return any(box.contains(x, y) for x, y in points)
