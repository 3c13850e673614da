"""Predicted curves and measured points of one or more series: read, drawn, and named in a legend."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.lines import Line2D

from qklab.figures.trained import trained

__all__ = [
    "SERIES_KEYS",
    "Measured",
    "Series",
    "Theory",
    "color_of_each_label",
    "draw_measured",
    "draw_series",
    "draw_theory",
    "fit_ordinate",
    "legend",
    "marker_of_each_measurement",
    "parts",
    "read_abscissa",
    "read_curve",
    "read_errors",
    "read_measured",
    "read_series",
    "shown",
]

MARKERS = "osD^vP"
LITTLE = 0.7  # values vary little when their least is above this share of the greatest
SERIES_KEYS = ("label", "theory", "measured")


@dataclass(frozen=True)
class Theory:
    x: np.ndarray
    y: np.ndarray
    se: np.ndarray
    stable: np.ndarray


@dataclass(frozen=True)
class Measured:
    x: np.ndarray
    y: np.ndarray  # means over the seeds
    se: np.ndarray
    name: str  # "trained, d = 60, 8 seeds"


@dataclass(frozen=True)
class Series:
    label: str
    theory: Theory | None
    measured: Measured | None


def _colors(number):
    """As many colours: the palette while it lasts, else steps from dark to light."""
    palette = rcParams["axes.prop_cycle"].by_key()["color"]
    if number <= len(palette):
        return palette[:number]
    return [colormaps["viridis"](0.92 * i / (number - 1)) for i in range(number)]


def color_of_each_label(series):
    labels = dict.fromkeys(one.label for one in series)
    return dict(zip(labels, _colors(len(labels)), strict=True))


def parts(series):
    """Every curve of theory and every measurement."""
    return [part for one in series for part in (one.theory, one.measured) if part is not None]


def draw_series(axes, series, color, markers):
    """Both parts of `series`; `markers` from `marker_of_each_measurement`."""
    if series.theory is not None:
        draw_theory(axes, series.theory, color)
    if series.measured is not None:
        draw_measured(axes, series.measured, color, markers[series.measured.name])


def draw_theory(axes, theory, color):
    """A line through the predictions, dashed next to points that are not stable, in a band of one error."""
    y = shown(axes, theory.y)
    for i in np.flatnonzero(_alone(y)):
        axes.plot(theory.x[i], y[i], "_", color=color, markersize=14, markeredgewidth=1.4)
    pieces = range(len(theory.x) - 1)
    for stable, run in groupby(pieces, key=lambda i: bool(theory.stable[i] and theory.stable[i + 1])):
        indices = list(run)
        part = slice(indices[0], indices[-1] + 2)
        axes.plot(theory.x[part], y[part], "-" if stable else "--", color=color)
    axes.fill_between(
        theory.x, theory.y - theory.se, theory.y + theory.se, color=color, alpha=0.25, linewidth=0
    )


def shown(axes, y):
    """`y` with gaps where it has no place on a logarithmic ordinate, rather than a line that dives there."""
    return np.where(y > 0, y, np.nan) if axes.get_yscale() == "log" else y


def _alone(y):
    """Predictions without a neighbour, which no line would show."""
    known = np.concatenate([[False], np.isfinite(y), [False]])
    return known[1:-1] & ~known[:-2] & ~known[2:]


def draw_measured(axes, measured, color, marker):
    axes.errorbar(
        measured.x,
        measured.y,
        measured.se,
        fmt=marker,
        color=color,
        markerfacecolor="white",
        elinewidth=0.9,
        markeredgewidth=0.9,
        zorder=3,
    )


def fit_ordinate(axes, curves):
    """Ends the ordinate of `axes` by the values `y` of `curves` and their errors `se`.

    Errors stretch it at each end by at most a third of what the values span, or twice a usual error, so that
    one huge error hides nothing else. Positive values start it at zero, unless it is logarithmic or they vary
    little.
    """
    log = axes.get_yscale() == "log"
    y, se = (np.concatenate([getattr(curve, name) for curve in curves]) for name in ("y", "se"))
    known = np.isfinite(shown(axes, y))
    if not known.any():
        return
    y, se = y[known], np.nan_to_num(se[known])
    scale = axes.yaxis.get_transform()
    floor = np.finfo(float).tiny if log else -np.inf
    bottom, value, top = (scale.transform(v) for v in (np.maximum(y - se, floor), y, y + se))
    usual = np.median((top - value)[se > 0]) if (se > 0).any() else 0
    stretch = max(np.ptp(value) / 3, 2 * usual)
    low, high = max(bottom.min(), value.min() - stretch), min(top.max(), value.max() + stretch)
    margin = 0.06 * (high - low) or (0.3 if log else 0.1 * abs(high) or 1)
    starts_at_zero = not log and 0 <= y.min() <= LITTLE * y.max() and low > -margin
    ends = scale.inverted().transform(np.array([low - margin, high + margin]))
    axes.set_ylim(0 if starts_at_zero else ends[0], ends[1])


def marker_of_each_measurement(series):
    """A marker for each name of trained models that occurs."""
    names = dict.fromkeys(s.measured.name for s in series if s.measured is not None)
    return {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(names)}


def legend(series, colors_):
    """What a colour means, by `colors_` (label to colour), and what a line and a marker mean."""
    color = "0.3" if len(colors_) > 1 else "C0"
    handles = [Line2D([], [], color=c, linewidth=3, label=label) for label, c in colors_.items() if label]
    theories = [s.theory for s in series if s.theory is not None]
    if theories:
        handles.append(Line2D([], [], color=color, label="theory"))
    if any(not theory.stable.all() for theory in theories):
        handles.append(Line2D([], [], color=color, linestyle="--", label="theory, not stable"))
    for name, marker in marker_of_each_measurement(series).items():
        handles.append(
            Line2D([], [], color=color, marker=marker, markerfacecolor="white", linestyle="none", label=name)
        )
    return handles


def read_series(series, x_log, label=None):
    """Theory and measurement of `series`, of which there must be one; `label` instead of its own if given."""
    theory, measured = _read_theory(series, x_log), read_measured(series, x_log)
    if theory is None and measured is None:
        raise series.error("needs theory or measured")
    return Series(label=label or series.words("label"), theory=theory, measured=measured)


def _read_theory(series, x_log):
    """The entry `theory` of `series`, None when there is none."""
    theory = series.get("theory")
    return read_curve(theory.only("x", "y", "se", "stable"), x_log) if theory else None


def read_curve(field, x_log, names=("x", "y")):
    """A curve from the two entries `names` of `field` and, if given, its `se` and `stable`."""
    x = read_abscissa(field[names[0]], x_log)
    stable = field.get("stable")
    return Theory(
        x=x,
        y=field[names[1]].numbers(like=x, gaps=True),
        se=read_errors(field, x),
        stable=stable.flags(like=x) if stable else np.ones(len(x), dtype=bool),
    )


def read_measured(series, x_log, abscissa="x"):
    """The entry `measured` of `series`, its abscissa under the name given; None when there is none."""
    if (measured := series.get("measured")) is None:
        return None
    measured.only(abscissa, "mean", "se", "by", "dimension", "seeds")
    x = read_abscissa(measured[abscissa], x_log)
    return Measured(
        x=x,
        y=measured["mean"].numbers(like=x, gaps=True),
        se=read_errors(measured, x),
        name=trained(measured),
    )


def read_errors(field, x):
    se = field.get("se")
    return se.numbers(like=x, gaps=True) if se else np.zeros_like(x)


def read_abscissa(field, log):
    x = field.numbers()
    if log and (x <= 0).any():
        raise field.error("must be positive on a logarithmic axis")
    return x
