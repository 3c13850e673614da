"""Logarithmic axes with few, short tick labels."""

from math import log10

from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter

__all__ = ["label_ticks"]

PLAIN = (1e-3, 1e4)  # numbers in here are written out, others as powers of ten
EMPTY = (0.1, 10)  # ends of an axis on which there is nothing to show
DECADES = {"few": 0.8, "some": 2.2}  # up to which ticks are at round numbers, and at 1, 2, 5


def label_ticks(axes):
    """Labels the ticks of logarithmic axes by how many decades they show; their ends must stand."""
    for axis, set_ends in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        if axis.get_scale() != "log":
            continue
        if not 0 < min(axis.get_view_interval()) < max(axis.get_view_interval()):
            set_ends(EMPTY)
        _label(axis, *sorted(axis.get_view_interval()))


def _label(axis, low, high):
    is_plain = low >= PLAIN[0] / 2 and high <= PLAIN[1] * 2
    decades = log10(high / low)
    axis.set_minor_formatter(NullFormatter())
    if decades <= DECADES["few"]:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(LogLocator(subs="auto"))
        axis.set_major_formatter(FuncFormatter(_plain))
    elif decades <= DECADES["some"] and is_plain:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(_plain))
    else:
        axis.set_major_formatter(FuncFormatter(_plain) if is_plain else LogFormatterSciNotation())


def _plain(value, _position):
    return f"{value:g}"
