"""Predicted eigenvalue density, its atom and outliers, with measured eigenvalues as a histogram."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import offset_copy

from qklab.figures.histogram import Histogram, bars, read_histogram
from qklab.figures.levels import Levels, draw_levels, read_levels
from qklab.figures.outliers import (
    Outlier,
    draw_measured_outliers,
    draw_predicted_outliers,
    legend_of_outliers,
    read_outliers,
)
from qklab.figures.page import COLUMNS, finish

__all__ = ["Spectra", "draw", "read"]

WIDTH, HEIGHT, LEVELS_HEIGHT = 3.4, 2.6, 2.0  # inches: one journal column
PREDICTED, MEASURED, TICK = "C0", "0.8", "0.45"
LOWEST = 1e-4  # share of the peak where a logarithmic density axis begins, unless the lowest bar is above


@dataclass(frozen=True)
class Panel:
    title: str
    x_label: str
    log: bool
    x: np.ndarray
    density: np.ndarray
    atom_at_zero: float
    predicted_outliers: list[Outlier]
    measured_outliers: list[Outlier]
    edges: np.ndarray  # shape (intervals, 2)
    histogram: Histogram | None
    levels: Levels | None


@dataclass(frozen=True)
class Spectra:
    title: str
    panels: list[Panel]
    footer: str


def draw(spectra):
    figure, places = _places(spectra.panels)
    name = _common_name(spectra.panels)
    notes = []
    for panel, (above, below) in zip(spectra.panels, places, strict=True):
        axes = figure.add_subplot(above)
        notes += _draw_panel(axes, panel)
        axes.set_title(_title(panel, name))
        if panel.levels is not None:
            draw_levels(figure.add_subplot(below), panel.levels)
    finish(figure, spectra.title, spectra.footer, _legend(spectra.panels, name), notes)
    return figure


def _places(panels):
    """A figure, and the places of each panel and of its levels, which stand in a row below."""
    columns = min(COLUMNS, len(panels))
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights, first = [], []
    for row in rows:
        first.append(len(heights))
        heights += [HEIGHT] + [LEVELS_HEIGHT] * any(panel.levels is not None for panel in row)
    figure = Figure(figsize=(WIDTH * columns, sum(heights)))
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    below = [min(row + 1, len(heights) - 1) for row in first]
    return figure, [
        (grid[first[i // columns], i % columns], grid[below[i // columns], i % columns])
        for i in range(len(panels))
    ]


def _draw_panel(axes, panel):
    """Returns the words in the panel with the places where each may stand."""
    bottom, top = _heights(panel)
    if panel.log:
        axes.set_yscale("log")
    axes.set_ylim(bottom, top)
    axes.set_xlim(*_range(panel))
    if panel.histogram is not None:
        axes.stairs(*bars(panel.histogram, panel.edges), fill=True, color=MEASURED, baseline=bottom)
    for x, density in _bulks(panel):
        axes.plot(x, density, color=PREDICTED)
    axes.vlines(_above_bulk(panel), 0, 0.05, color=TICK, linewidth=0.8, transform=axes.get_xaxis_transform())
    notes = draw_predicted_outliers(axes, panel.predicted_outliers)
    notes += draw_measured_outliers(axes, panel.measured_outliers)
    if _has_atom(panel):
        notes.append(_draw_atom(axes, panel))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel("density")
    return notes


def _bulks(panel):
    """The predicted density piece by piece: one for each bulk, ending in zero at its soft edges."""
    if len(panel.edges) == 0:
        return [(panel.x, panel.density)]
    return [_bulk(panel, *edges) for edges in panel.edges]


def _bulk(panel, low, high):
    inside = (panel.x >= low) & (panel.x <= high)
    x, density = panel.x[inside], panel.density[inside]
    if len(x) < 2:
        return x, density
    if density[0] < density[1] and x[0] > low:
        x, density = np.concatenate([[low], x]), np.concatenate([[0.0], density])
    if density[-1] < density[-2] and x[-1] < high:
        x, density = np.concatenate([x, [high]]), np.concatenate([density, [0.0]])
    return x, density


def _above_bulk(panel):
    """Measured eigenvalues above the predicted bulk, drawn one by one since bars are too low to see there."""
    if panel.histogram is None or len(panel.edges) == 0:
        return np.empty(0)
    return panel.histogram.nonzero[panel.histogram.nonzero > panel.edges[-1, 1]]


def _draw_atom(axes, panel):
    """An arrow at zero, where the density is a point mass, with the mass in words beside it."""
    across = axes.get_xaxis_transform()
    axes.annotate(
        "",
        xy=(0, 0.97),
        xytext=(0, 0),
        xycoords=across,
        arrowprops={"arrowstyle": "-|>", "color": PREDICTED, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0},
    )
    words = [f"{panel.atom_at_zero:.1%} at 0, theory"]
    if panel.histogram is not None:
        words.append(f"{panel.histogram.zero_fraction:.1%} at 0, trained")
    text = axes.text(0, 0.97, "\n".join(words).replace("%", " %"), va="top", fontsize="small")
    text.set_in_layout(False)
    sides = [("left", away) for away in (7, 20, 50, 90)] + [("right", -7)]
    return text, [
        {"transform": offset_copy(across, axes.figure, x=away, units="points"), "ha": ha}
        for ha, away in sides
    ]


def _common_name(panels):
    """What the trained models of all panels are called, None when they differ."""
    names = {panel.histogram.name for panel in panels if panel.histogram is not None}
    return names.pop() if len(names) == 1 else None


def _title(panel, common_name):
    if panel.histogram is None or common_name is not None:
        return panel.title
    return "; ".join(filter(None, [panel.title, panel.histogram.name]))


def _legend(panels, common_name):
    handles = [Line2D([], [], color=PREDICTED, label="theory")]
    if any(panel.histogram is not None for panel in panels):
        handles.append(Patch(color=MEASURED, label=common_name or "trained"))
    names = {
        panel.levels.measured.name for panel in panels if panel.levels is not None and panel.levels.measured
    }
    if names:
        name = names.pop() if len(names) == 1 else "trained"
        label = f"{name}, lower panels" if name != common_name else "the same, lower panels"
        style = {"color": PREDICTED, "marker": "o", "markerfacecolor": "white", "linestyle": "none"}
        handles.append(Line2D([], [], label=label, **style))
    handles += legend_of_outliers(
        [outlier for panel in panels for outlier in panel.predicted_outliers],
        [outlier for panel in panels for outlier in panel.measured_outliers],
    )
    return handles


def _has_atom(panel):
    return panel.atom_at_zero > 0 or (panel.histogram is not None and panel.histogram.zero_fraction > 0)


def _heights(panel):
    """Ends of the density axis: all bars, a diverging density up to thrice their height, room for words."""
    heights = bars(panel.histogram, panel.edges)[0] if panel.histogram is not None else np.zeros(1)
    peak = np.nanmax(panel.density, initial=0)
    if heights.any():
        peak = max(heights.max(), min(peak, 3 * heights.max()))
    if not panel.log:
        return 0, (1.4 if _has_atom(panel) else 1.15) * peak or 1.0
    peak = peak or 1.0
    bottom = peak * LOWEST if not heights.any() else max(heights[heights > 0].min() / 3, peak * LOWEST)
    return bottom, peak * (peak / bottom) ** (0.4 if _has_atom(panel) else 0.15)


def _range(panel):
    """Ends of the x axis: everything there is to see, and zero."""
    outliers = [
        value
        for outlier in [*panel.predicted_outliers, *panel.measured_outliers]
        for value in (outlier.value, outlier.teacher)
        if value is not None
    ]
    measured = panel.histogram.nonzero if panel.histogram is not None else np.empty(0)
    values = np.concatenate([panel.x, outliers, measured])
    left, right = values.min(initial=0), values.max(initial=0)
    right = right if right > left else left + 1
    margin = 0.04 * (right - left)
    return left - margin, right + margin


def read(document):
    """The spectra in a document (docs/figures.md); DocumentError names what is wrong with it."""
    document.only("kind", "title", "panels", "footer")
    return Spectra(
        title=document.words("title"),
        panels=[_read_panel(panel) for panel in document["panels"].some_items()],
        footer=document.words("footer"),
    )


def _read_panel(panel):
    panel.only(
        "title",
        "x_label",
        "log_y",
        "density",
        "atom_at_zero",
        "predicted_outliers",
        "measured_outliers",
        "edges",
        "histogram",
        "modes",
        "profile",
    )
    density = panel["density"].only("x", "p")
    x = density["x"].numbers()
    atom, edges, histogram = (panel.get(key) for key in ("atom_at_zero", "edges", "histogram"))
    intervals = np.array([edge.interval() for edge in edges.items()] if edges else []).reshape(-1, 2)
    return Panel(
        title=panel.words("title"),
        x_label=panel.words("x_label") or "eigenvalue",
        log=panel.switch("log_y"),
        x=x,
        density=density["p"].numbers(like=x, gaps=True),
        atom_at_zero=atom.number() if atom else 0.0,
        predicted_outliers=read_outliers(panel, "predicted_outliers"),
        measured_outliers=read_outliers(panel, "measured_outliers"),
        edges=intervals,
        histogram=read_histogram(histogram) if histogram else None,
        levels=read_levels(panel, intervals),
    )
