"""Eigenvalues outside the bulk, predicted and measured, and how much of the teacher each of them holds."""

from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

__all__ = [
    "Outlier",
    "draw_measured_outliers",
    "draw_predicted_outliers",
    "legend_of_outliers",
    "read_outliers",
]

PREDICTED = {"marker": "v", "color": "C0"}
TEACHER = {"marker": "^", "color": "0.45", "markerfacecolor": "white", "markeredgewidth": 0.9}
MEASURED = {"marker": "o", "color": "0.2", "markerfacecolor": "white", "markeredgewidth": 0.9}
HEIGHTS = {"predicted": 0.06, "measured": 0.13}  # of the panel
MOST_NUMBERED = 6  # outliers of a panel that have room for their alignments beside them


@dataclass(frozen=True)
class Outlier:
    value: float
    se: float
    alignment: float | None
    alignment_se: float | None
    teacher: float | None  # the eigenvalue of the teacher that it comes from


def draw_predicted_outliers(axes, outliers):
    """Triangles, and hollow ones where the teacher has them; returns the labels with their places."""
    across = axes.get_xaxis_transform()
    for outlier in outliers:
        axes.plot(outlier.value, HEIGHTS["predicted"], transform=across, zorder=4, **PREDICTED)
        if outlier.teacher is not None:
            axes.plot(outlier.teacher, 0, transform=across, clip_on=False, zorder=4, **TEACHER)
    return _labels(axes, outliers, PREDICTED["color"])


def draw_measured_outliers(axes, outliers):
    """Hollow points with error bars along the axis; returns the labels with their places."""
    for outlier in outliers:
        axes.errorbar(
            outlier.value,
            HEIGHTS["measured"],
            xerr=outlier.se or None,
            transform=axes.get_xaxis_transform(),
            elinewidth=0.9,
            zorder=4,
            **MEASURED,
        )
    return _labels(axes, outliers, MEASURED["color"])


def _labels(axes, outliers, color):
    known = [outlier for outlier in outliers if outlier.alignment is not None]
    if len(known) > MOST_NUMBERED:
        return []
    return [(_label(axes, outlier, color), _places(axes, outlier.value)) for outlier in known]


def _label(axes, outlier, color):
    words = f"{outlier.alignment:.2f}"
    if outlier.alignment_se:
        words += f" ± {outlier.alignment_se:.1g}"
    label = axes.text(outlier.value, 0.5, words, fontsize="small", color=color, rotation=90, zorder=4)
    label.set_in_layout(False)
    return label


def _places(axes, value):
    """Above the marks, or beside them, higher and higher."""
    across = axes.get_xaxis_transform()
    sides = [("center", 0), ("right", -4), ("left", 4)]
    return [
        {
            "position": (value, height),
            "ha": ha,
            "va": "bottom",
            "transform": offset_copy(across, axes.figure, x=away, units="points"),
        }
        for height in (0.18, 0.3, 0.42, 0.54, 0.66)
        for ha, away in sides
    ]


def legend_of_outliers(predicted, measured):
    handles = []
    if predicted:
        numbered = any(outlier.alignment is not None for outlier in predicted)
        handles.append(_handle("predicted outlier" + numbered * ", alignment", PREDICTED))
    if any(outlier.teacher is not None for outlier in predicted):
        handles.append(_handle("eigenvalue of the teacher", TEACHER))
    if measured:
        handles.append(_handle("measured outlier", MEASURED))
    return handles


def _handle(label, style):
    return Line2D([], [], linestyle="none", label=label, **style)


def read_outliers(panel, key):
    """The list at `key` of plain values or objects; empty when there is none."""
    outliers = panel.get(key)
    return [_read_outlier(outlier) for outlier in outliers.items()] if outliers else []


def _read_outlier(field):
    if not isinstance(field.value, dict):
        return Outlier(field.number(), 0.0, None, None, None)
    field.only("value", "se", "alignment", "alignment_se", "teacher")
    se, alignment, alignment_se, teacher = (
        entry.number() if (entry := field.get(key)) else None
        for key in ("se", "alignment", "alignment_se", "teacher")
    )
    return Outlier(field["value"].number(), se or 0.0, alignment, alignment_se, teacher)
