"""What stands beside the series of a panel: curves to compare with, and places on the abscissa."""

from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

from qklab.figures.series import read_abscissa, shown

__all__ = [
    "Reference",
    "Vertical",
    "draw_references",
    "draw_verticals",
    "legend_of_references",
    "read_references",
    "read_verticals",
]

DARK, GREY = "0.15", "0.6"
DASHES = (":", "-.", (0, (5, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 3)))
AWAY = 2.5  # points between a vertical and its label


@dataclass(frozen=True)
class Reference:
    label: str
    x: np.ndarray
    y: np.ndarray
    se: np.ndarray  # zeros


@dataclass(frozen=True)
class Vertical:
    label: str
    x: float


def draw_references(axes, references, all_references):
    """Thin dotted lines, one pattern for each label among `all_references` of the figure."""
    dashes = _dashes(all_references)
    for one in references:
        axes.plot(
            one.x, shown(axes, one.y), linestyle=dashes[one.label], color=DARK, linewidth=1.1, zorder=2.5
        )


def legend_of_references(references):
    return [
        Line2D([], [], linestyle=dash, color=DARK, linewidth=1.1, label=label)
        for label, dash in _dashes(references).items()
    ]


def _dashes(references):
    labels = dict.fromkeys(reference.label for reference in references)
    return {label: DASHES[i % len(DASHES)] for i, label in enumerate(labels)}


def draw_verticals(axes, verticals):
    """Thin grey lines across `axes`; returns their labels with the places where each may stand."""
    notes = []
    for vertical in verticals:
        axes.axvline(vertical.x, color=GREY, linewidth=0.8, zorder=1)
        if vertical.label:
            label = axes.text(
                vertical.x, 1, vertical.label, rotation=90, fontsize="small", color="0.35", zorder=4
            )
            label.set_in_layout(False)
            notes.append((label, _beside(axes, vertical.x)))
    return notes


def _beside(axes, x):
    """At the top, the bottom and halfway, right and left of x."""
    along = axes.get_xaxis_transform()
    right, left = (offset_copy(along, axes.figure, x=away, units="points") for away in (AWAY, -AWAY))
    return [
        {"position": (x, y), "va": va, "ha": ha, "transform": transform}
        for y, va in ((0.98, "top"), (0.03, "bottom"), (0.5, "center"), (0.75, "center"), (0.25, "center"))
        for ha, transform in (("left", right), ("right", left))
    ]


def read_references(panel, x_log):
    references = panel.get("references")
    return [_read_reference(one, x_log) for one in references.items()] if references else []


def _read_reference(reference, x_log):
    reference.only("label", "x", "y")
    x = read_abscissa(reference["x"], x_log)
    y = reference["y"].numbers(like=x, gaps=True)
    return Reference(label=reference["label"].text(), x=x, y=y, se=np.zeros_like(x))


def read_verticals(panel, x_log):
    verticals = panel.get("verticals")
    return [_read_vertical(one, x_log) for one in verticals.items()] if verticals else []


def _read_vertical(vertical, x_log):
    vertical.only("label", "x")
    x = vertical["x"].number()
    if x_log and x <= 0:
        raise vertical["x"].error("must be positive on a logarithmic axis")
    return Vertical(label=vertical.words("label"), x=x)
