"""The page of a figure: panels of journal-column width, with a title above, legend and small print below."""

import re
from math import ceil

import numpy as np
from matplotlib import rcParams
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from matplotlib.transforms import ScaledTranslation

from qklab.figures.ink import Ink
from qklab.figures.scales import label_ticks

__all__ = ["COLUMNS", "PANEL_SIZE", "finish", "panels"]

PANEL_SIZE = (3.4, 2.7)  # inches: one journal column
COLUMNS = 2
BESIDE_LABELS = (0.5, 0.4)  # inches of a panel that its title and labels leave free, across and up
SIDE, GAP = 0.05, 0.04  # inches: free at each side of a line of text, and above and below it
HANDLE = 0.5  # inches: what an entry of a legend takes beside its words
MOST_INSIDE = 5  # entries of a legend that may stand among the data
PLACES = ("upper right", "upper left", "lower left", "lower right", "center right", "center left")
# Words or formulas between spaces; a formula is never broken.
WORD = re.compile(r"(?:\$[^$]*\$|[^\s$])+")


def panels(count, size=PANEL_SIZE):
    """A figure of `count` panels, two in a row, and its axes."""
    columns = min(COLUMNS, count)
    rows = ceil(count / columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows))
    return figure, [figure.add_subplot(rows, columns, place) for place in range(1, count + 1)]


def finish(figure, title="", footer="", handles=(), notes=()):
    """Puts text and legend around what is drawn on `figure`, which grows by the room that they take.

    `notes` are pairs (text, choices): each takes the first choice that covers nothing. A short legend
    stands in a panel if there is room, else below the panels.
    """
    for axes in figure.axes:
        _wrap_labels(axes)
        label_ticks(axes)
    _add_text(figure, wrapped(title, _room(figure), rcParams["font.size"]), above=True)
    _add_text(figure, wrapped(footer, _room(figure), "small"), above=False, fontsize="small", color="0.35")
    if notes or handles:
        ink = Ink(figure, without=[text for text, _ in notes])
        for text, choices in notes:
            ink.settle(text, choices)
    if handles and not (len(handles) <= MOST_INSIDE and _legend_inside(figure, handles, ink)):
        _legend_below(figure, handles)


def wrapped(text, width, size):
    """`text` broken into lines of at most `width` inches at font size `size` (a name or points)."""
    lines = []
    for word in WORD.findall(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def _text_width(text, size):
    properties = FontProperties(size=size)
    return TextToPath().get_text_width_height_descent(text, properties, is_math_text(text))[0] / 72


def _wrap_labels(axes):
    width, height = _cell(axes) - BESIDE_LABELS
    for text, room in ((axes.title, width), (axes.xaxis.label, width), (axes.yaxis.label, height)):
        text.set_text(wrapped(text.get_text(), room, text.get_size()))


def _cell(axes):
    """Width and height in inches of the part of the figure that `axes` have for themselves."""
    size = axes.figure.get_size_inches()
    if (spec := axes.get_subplotspec()) is None:
        box = axes.get_position()
        return size * (box.width, box.height) + BESIDE_LABELS
    grid = spec.get_gridspec()
    columns, rows = np.array(grid.get_width_ratios()), np.array(grid.get_height_ratios())
    return size * (columns[spec.colspan.start] / columns.sum(), rows[spec.rowspan.start] / rows.sum())


def _room(figure):
    return figure.get_size_inches()[0] - 2 * SIDE


def _add_text(figure, words, above, **style):
    if not words:
        return
    text = figure.text(0, 0, words, ha="center", va="top" if above else "bottom", **style)
    text.set_in_layout(False)
    middle = figure.get_size_inches()[0] / 2
    edge = _make_room(figure, text, above)
    if above:
        text.set_position((0.5, 1))
        text.set_transform(figure.transFigure + ScaledTranslation(0, -edge, figure.dpi_scale_trans))
    else:
        text.set_position((middle, edge))
        text.set_transform(figure.dpi_scale_trans)


def _legend_inside(figure, handles, ink):
    """Whether the legend found room in a panel."""
    for axes in figure.axes:
        legend = axes.legend(handles=handles)
        legend.set_in_layout(False)
        if ink.settle(legend, [{"loc": place} for place in PLACES]) == 0:
            return True
        legend.remove()
    return False


def _legend_below(figure, handles):
    room, size = _room(figure), rcParams["legend.fontsize"]
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), room - HANDLE, size))
    widest = max(_text_width(line, size) for handle in handles for line in handle.get_label().split("\n"))
    columns = max(1, min(len(handles), int(room / (widest + HANDLE))))
    legend = figure.legend(
        handles=handles, loc="lower center", ncols=columns, borderpad=0, borderaxespad=0, columnspacing=1.2
    )
    legend.set_in_layout(False)
    edge = _make_room(figure, legend, above=False)
    legend.set_bbox_to_anchor((figure.get_size_inches()[0] / 2, edge), figure.dpi_scale_trans)


def _make_room(figure, artist, above):
    """Grows `figure` by the height of `artist`, the panels keeping their size.

    Returns how far the artist is to stand from the upper or lower edge of the page (inches).
    """
    height = artist.get_window_extent().height / figure.dpi + 2 * GAP
    width, old = figure.get_size_inches()
    left, bottom, across, up = figure.get_layout_engine().get()["rect"]
    free_below, used = bottom * old, up * old
    free_above = old - free_below - used
    new, edge = old + height, (free_above if above else free_below) + GAP
    figure.set_size_inches(width, new)
    if not above:
        free_below += height
    figure.get_layout_engine().set(rect=(left, free_below / new, across, used / new))
    return edge
