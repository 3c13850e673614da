"""The panel below a spectrum: how well each level of the teacher is learned, or what a learned level sees."""

from dataclasses import dataclass

import numpy as np

from qklab.figures.series import (
    Measured,
    Theory,
    draw_measured,
    draw_theory,
    fit_ordinate,
    read_curve,
    read_measured,
)

__all__ = ["Levels", "draw_levels", "read_levels"]

COLOR = "C0"


@dataclass(frozen=True)
class Levels:
    x_label: str
    y_label: str
    predicted: Theory
    measured: Measured | None
    is_share: bool  # between 0 and 1


def draw_levels(axes, levels):
    draw_theory(axes, levels.predicted, COLOR)
    if levels.measured is not None:
        draw_measured(axes, levels.measured, COLOR, "o")
    if levels.is_share:
        axes.set_ylim(-0.04, 1.06)
    else:
        fit_ordinate(axes, [levels.predicted, *filter(None, [levels.measured])])
    axes.set_xlabel(levels.x_label)
    axes.set_ylabel(levels.y_label)


def read_levels(panel, bulks):
    """What the entry `modes` or `profile` of `panel` holds, None when there is neither.

    A profile breaks between the predicted `bulks`, shape (bulks, 2), where there is nothing to see a level.
    """
    modes, profile = panel.get("modes"), panel.get("profile")
    if modes and profile:
        raise profile.error("cannot stand beside modes")
    if modes:
        return _read_modes(modes)
    return _read_profile(profile, bulks) if profile else None


def _read_modes(modes):
    modes.only("label", "teacher", "predicted", "measured")
    return Levels(
        x_label="eigenvalue of the teacher",
        y_label=modes.words("label") or "squared alignment",
        predicted=read_curve(modes, x_log=False, names=("teacher", "predicted")),
        measured=read_measured(modes, x_log=False, abscissa="teacher"),
        is_share=True,
    )


def _read_profile(profile, bulks):
    profile.only("x", "y", "measured", "x_label", "y_label")
    return Levels(
        x_label=profile.words("x_label") or "learned level",
        y_label=profile.words("y_label") or "mean level of the teacher",
        predicted=_broken(read_curve(profile, x_log=False), bulks),
        measured=read_measured(profile, x_log=False),
        is_share=False,
    )


def _broken(curve, bulks):
    """`curve` with a gap between each two bulks."""
    gaps = (bulks[:-1, 1] + bulks[1:, 0]) / 2
    at = np.searchsorted(curve.x, gaps)
    return Theory(
        x=np.insert(curve.x, at, gaps),
        y=np.insert(curve.y, at, np.nan),
        se=np.insert(curve.se, at, np.nan),
        stable=np.insert(curve.stable, at, True),
    )
