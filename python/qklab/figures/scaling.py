"""How the test error falls with the number of samples, and how the teacher's modes are learned one by one."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import offset_copy

from qklab.figures.page import finish, panels
from qklab.figures.series import (
    Series,
    Theory,
    color_of_each_label,
    draw_series,
    draw_theory,
    fit_ordinate,
    legend,
    marker_of_each_measurement,
    parts,
    read_curve,
    read_series,
)

__all__ = ["Scaling", "draw", "read"]

GUIDE = {"color": "0.45", "linewidth": 0.9}
PREDICTED = {"linestyle": ":", "linewidth": 1.1}
GUIDE_SHARE = 0.45  # of the decades of a curve that its guide runs along, up to the end
GUIDE_AWAY = 1.5  # factor between a curve and its guide
LIGHTEST = 0.9  # of the map of colours, which would vanish on white
MANY_MODES = 30  # ratio of mode numbers from which their colours follow the logarithm


@dataclass(frozen=True)
class Guide:
    exponent: float
    label: str


@dataclass(frozen=True)
class Law:
    series: Series
    guide: Guide | None
    local: Theory | None  # exponent between neighbouring points
    predicted_exponent: float | None
    recovered: Theory | None  # how many modes of the teacher are recovered


@dataclass(frozen=True)
class Mode:
    number: int
    curve: Theory
    enters: float | None


@dataclass(frozen=True)
class Scaling:
    title: str
    x_label: str
    y_label: str
    laws: list[Law]
    modes: list[Mode]
    footer: str


def draw(scaling):
    """Up to four panels: the law, its local exponent, the recovered modes, and what remains of each mode."""
    has_local = any(law.local or law.predicted_exponent is not None for law in scaling.laws)
    has_recovered = any(law.recovered for law in scaling.laws)
    figure, all_axes = panels(1 + has_local + has_recovered + bool(scaling.modes))
    remaining = iter(all_axes)
    series = [law.series for law in scaling.laws]
    colors = color_of_each_label(series)

    notes = _draw_laws(next(remaining), scaling, colors)
    if has_local:
        _draw_exponents(next(remaining), scaling.laws, colors)
    if has_recovered:
        _draw_recovered(next(remaining), scaling.laws, colors)
    if scaling.modes:
        _draw_modes(next(remaining), scaling.modes)
    for axes in all_axes:
        axes.set_xscale("log")
        axes.set_xlabel(scaling.x_label)
    handles = legend(series, colors) + _legend(scaling, "0.3" if len(colors) > 1 else "C0")
    finish(figure, scaling.title, scaling.footer, handles, notes)
    return figure


def _draw_laws(axes, scaling, colors):
    """Returns the labels of the guides with the places where each may stand."""
    markers = marker_of_each_measurement([law.series for law in scaling.laws])
    notes, guides = [], []
    axes.set_yscale("log")
    for law in scaling.laws:
        draw_series(axes, law.series, colors[law.series.label], markers)
        if law.guide and (guide := _guide_line(law)) is not None:
            guides.append(guide)
            axes.plot(guide.x, guide.y, **GUIDE)
            notes += _guide_label(axes, law.guide.label, guide)
    axes.set_ylabel(scaling.y_label)
    fit_ordinate(axes, [*parts([law.series for law in scaling.laws]), *guides])
    return notes


def _guide_line(law):
    """A straight line of the guide's slope that stays above the end of its curve; None without a curve."""
    curve = law.series.theory or law.series.measured
    shown = np.isfinite(curve.y) & (curve.y > 0)
    if not shown.any():
        return None
    x, y = curve.x[shown], curve.y[shown]
    start = x.max() * (x.min() / x.max()) ** GUIDE_SHARE
    ends = np.array([start, x.max()]) if x.max() > x.min() else x.max() * np.array([0.5, 2])
    near = (x >= ends[0]) & (x <= ends[1])
    factor = GUIDE_AWAY * (y[near] / x[near] ** law.guide.exponent).max()
    return Theory(x=ends, y=factor * ends**law.guide.exponent, se=np.zeros(2), stable=np.ones(2, dtype=bool))


def _guide_label(axes, words, guide):
    if not words:
        return []
    text = axes.text(guide.x[0], guide.y[0], words, fontsize="small", color="0.3")
    text.set_in_layout(False)
    above, below = (offset_copy(axes.transData, axes.figure, x=d, y=d, units="points") for d in (2, -2))
    places = []
    for share in (0.5, 0.7, 0.3, 0.85, 0.15):
        at = tuple(ends[0] ** (1 - share) * ends[1] ** share for ends in (guide.x, guide.y))
        places.append({"position": at, "transform": above, "ha": "left", "va": "bottom"})
        places.append({"position": at, "transform": below, "ha": "right", "va": "top"})
    return [(text, places)]


def _draw_exponents(axes, laws, colors):
    curves = []
    for law in laws:
        color = colors[law.series.label]
        if law.predicted_exponent is not None:
            axes.axhline(law.predicted_exponent, color=color, zorder=1, **PREDICTED)
            level = np.array([law.predicted_exponent])
            curves.append(Theory(x=level, y=level, se=np.zeros(1), stable=np.ones(1, dtype=bool)))
        if law.local is not None:
            draw_theory(axes, law.local, color)
            curves.append(law.local)
    axes.set_ylabel("local exponent")
    fit_ordinate(axes, curves)


def _draw_recovered(axes, laws, colors):
    axes.set_yscale("log")
    curves = [law.recovered for law in laws if law.recovered is not None]
    for law in laws:
        if law.recovered is not None:
            draw_theory(axes, law.recovered, colors[law.series.label])
    axes.set_ylabel("number of recovered modes")
    fit_ordinate(axes, curves)


def _draw_modes(axes, modes):
    """What remains of each mode, coloured by its number; a dot where it enters."""
    numbers = [mode.number for mode in modes]
    low, high = min(numbers), max(numbers)
    log = high >= MANY_MODES * low
    norm = (LogNorm if log else Normalize)(low, max(high, low + 1))
    palette = ScalarMappable(norm, ListedColormap(colormaps["viridis"](np.linspace(0, LIGHTEST, 256))))
    for mode in modes:
        color = palette.to_rgba(mode.number)
        axes.plot(mode.curve.x, mode.curve.y, color=color, linewidth=1)
        if mode.enters is not None:
            axes.plot(mode.enters, 1, "o", color=color, markersize=3, zorder=3)
    # A mode that has just entered points almost anywhere, which costs more than leaving it out.
    highest = max(np.nanmax(mode.curve.y, initial=1) for mode in modes)
    axes.set_ylim(0, 1.06 * highest)
    axes.set_ylabel("remaining part of each mode")
    bar = axes.figure.colorbar(palette, ax=axes, label="mode", pad=0.03, aspect=25)
    bar.outline.set_linewidth(0.5)
    if not log:
        bar.ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _legend(scaling, color):
    handles = []
    if any(law.predicted_exponent is not None for law in scaling.laws):
        handles.append(Line2D([], [], color=color, label="predicted exponent", **PREDICTED))
    if any(mode.enters is not None for mode in scaling.modes):
        handles.append(
            Line2D([], [], color="0.3", marker="o", markersize=3, linestyle="none", label="a mode enters")
        )
    return handles


def read(document):
    """The scaling law in a document (docs/figures.md); DocumentError names what is wrong with it."""
    document.only("kind", "title", "footer", "x", "label", "series", "emergence")
    x, modes = document.get("x"), document.get("emergence")
    return Scaling(
        title=document.words("title"),
        x_label=(x.only("name", "label").words("label") if x else "") or "number of samples $n$",
        y_label=document.words("label") or "excess test error",
        laws=[_read_law(law) for law in document["series"].some_items()],
        modes=[_read_mode(mode) for mode in modes.items()] if modes else [],
        footer=document.words("footer"),
    )


def _read_law(law):
    law.only("label", "theory", "measured", "guide", "local", "predicted_exponent", "recovered")
    guide, exponent = law.get("guide"), law.get("predicted_exponent")
    local, recovered = law.get("local"), law.get("recovered")
    return Law(
        series=read_series(law, x_log=True),
        guide=_read_guide(guide) if guide else None,
        local=read_curve(local.only("x", "y", "se"), x_log=True) if local else None,
        predicted_exponent=exponent.number() if exponent else None,
        recovered=read_curve(recovered.only("x", "y"), x_log=True) if recovered else None,
    )


def _read_guide(guide):
    guide.only("exponent", "label")
    return Guide(exponent=guide["exponent"].number(), label=guide.words("label"))


def _read_mode(mode):
    mode.only("mode", "x", "y", "enters")
    enters = mode.get("enters")
    return Mode(
        number=mode["mode"].count(),
        curve=read_curve(mode, x_log=True),
        enters=enters.positive() if enters else None,
    )
