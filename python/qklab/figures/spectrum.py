"""Predicted eigenvalue density, its atom and outliers, with measured eigenvalues as a histogram."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from qklab.figures.trained import trained

__all__ = ["Spectra", "bars", "draw", "read"]

PANEL_SIZE = (3.4, 2.6)  # inches: one journal column
PANELS_IN_A_ROW = 2
PREDICTED, MEASURED, TICK = "C0", "0.8", "0.45"
ZERO_BELOW = 1e-3  # trained eigenvalues below this share of the largest count as zero


@dataclass(frozen=True)
class Histogram:
    nonzero: np.ndarray
    zero_fraction: float
    name: str  # "trained, d = 60, 3 seeds"


@dataclass(frozen=True)
class Panel:
    title: str
    x_label: str
    x: np.ndarray
    density: np.ndarray
    atom_at_zero: float
    outliers: np.ndarray
    edges: np.ndarray  # shape (intervals, 2)
    histogram: Histogram | None


@dataclass(frozen=True)
class Spectra:
    title: str
    panels: list[Panel]
    footer: str


def draw(spectra):
    columns = min(PANELS_IN_A_ROW, len(spectra.panels))
    rows = ceil(len(spectra.panels) / columns)
    width, height = PANEL_SIZE
    figure = Figure(figsize=(width * columns, height * rows + 0.15 * bool(spectra.footer)))
    for place, panel in enumerate(spectra.panels, start=1):
        _draw_panel(figure.add_subplot(rows, columns, place), panel)
    figure.suptitle(spectra.title, fontsize="medium", wrap=True)
    if spectra.footer:
        figure.supxlabel(spectra.footer, fontsize="small", color="0.35")
    return figure


def _draw_panel(axis, panel):
    top = _height(panel)
    if panel.histogram is not None:
        axis.stairs(*bars(panel.histogram), fill=True, color=MEASURED)
    axis.plot(panel.x, panel.density, color=PREDICTED)
    axis.plot(panel.outliers, np.full_like(panel.outliers, 0.075 * top), "v", color=PREDICTED)
    axis.vlines(_above_bulk(panel), 0, 0.05 * top, color=TICK, linewidth=0.8)
    if _has_atom(panel):
        _draw_atom(axis, panel, top)
    left, right = _range(panel)
    margin = 0.04 * (right - left)
    axis.set_xlim(left - margin, right + margin)
    axis.set_ylim(0, top)
    axis.set_title(panel.title)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel("density")
    axis.legend(handles=_legend(panel), loc="upper right").set_in_layout(False)


def _above_bulk(panel):
    """Measured eigenvalues above the predicted bulk, drawn one by one since bars are too low to see there."""
    if panel.histogram is None or len(panel.edges) == 0:
        return np.empty(0)
    return panel.histogram.nonzero[panel.histogram.nonzero > panel.edges[-1, 1]]


def _draw_atom(axis, panel, top):
    """An arrow at zero, where the density is a point mass, with the mass in words beside it."""
    axis.annotate(
        "",
        xy=(0, 0.97 * top),
        xytext=(0, 0),
        arrowprops={"arrowstyle": "-|>", "color": PREDICTED, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0},
    )
    words = [f"{panel.atom_at_zero:.1%} at 0, theory"]
    if panel.histogram is not None:
        words.append(f"{panel.histogram.zero_fraction:.1%} at 0, trained")
    axis.annotate(
        "\n".join(words).replace("%", " %"),
        xy=(0, 0.97 * top),
        xytext=(7, 0),
        textcoords="offset points",
        verticalalignment="top",
        fontsize="small",
    ).set_in_layout(False)


def _legend(panel):
    handles = [Line2D([], [], color=PREDICTED, label="theory")]
    if len(panel.outliers):
        handles.append(
            Line2D([], [], color=PREDICTED, marker="v", linestyle="none", label="predicted outlier")
        )
    if panel.histogram is not None:
        handles.append(Patch(color=MEASURED, label=panel.histogram.name))
    return handles


def bars(histogram):
    """Heights and edges of the histogram's bars.

    Their area is the trained fraction of non-zero eigenvalues, as the density's is the predicted one.
    """
    values = histogram.nonzero
    if len(values) == 0:
        return np.zeros(1), np.array([0.0, 1.0])
    spread = np.subtract(*np.quantile(values, [0.75, 0.25]))
    width = spread / np.cbrt(len(values))  # half of Freedman and Diaconis': the line shows the shape
    low, high = values.min(initial=0), values.max(initial=0)
    number = int(np.clip(ceil((high - low) / width) if width > 0 else 1, 10, 80))
    edges = np.linspace(low, high, number + 1)
    counts, _ = np.histogram(values, edges)
    return (1 - histogram.zero_fraction) * counts / (len(values) * np.diff(edges)), edges


def _has_atom(panel):
    return panel.atom_at_zero > 0 or (panel.histogram is not None and panel.histogram.zero_fraction > 0)


def _height(panel):
    """Top of the y axis: the bars in full, a density that diverges up to thrice that, and room for words."""
    peak = panel.density.max(initial=0)
    if panel.histogram is not None and len(panel.histogram.nonzero):
        tallest = bars(panel.histogram)[0].max()
        peak = max(tallest, min(peak, 3 * tallest))
    return (1.4 if _has_atom(panel) else 1.15) * peak or 1.0


def _range(panel):
    """Ends of the x axis: everything there is to see, and zero."""
    measured = panel.histogram.nonzero if panel.histogram is not None else np.empty(0)
    values = np.concatenate([panel.x, panel.outliers, measured])
    left, right = values.min(initial=0), values.max(initial=0)
    return left, right if right > left else left + 1


def read(document):
    """The spectra in a document (docs/figures.md); DocumentError names what is wrong with it."""
    document.only("kind", "title", "panels", "footer")
    return Spectra(
        title=document.words("title"),
        panels=[_read_panel(panel) for panel in document["panels"].some_items()],
        footer=document.words("footer"),
    )


def _read_panel(panel):
    panel.only("title", "x_label", "density", "atom_at_zero", "predicted_outliers", "edges", "histogram")
    density = panel["density"].only("x", "p")
    x = density["x"].numbers()
    atom, outliers, edges, histogram = (
        panel.get(key) for key in ("atom_at_zero", "predicted_outliers", "edges", "histogram")
    )
    return Panel(
        title=panel.words("title"),
        x_label=panel.words("x_label") or "eigenvalue",
        x=x,
        density=density["p"].numbers(like=x),
        atom_at_zero=atom.number() if atom else 0.0,
        outliers=outliers.numbers() if outliers else np.empty(0),
        edges=np.array([edge.interval() for edge in edges.items()] if edges else []).reshape(-1, 2),
        histogram=_read_histogram(histogram) if histogram else None,
    )


def _read_histogram(histogram):
    histogram.only("eigenvalues", "zero_below", "dimension", "seeds")
    values = histogram["eigenvalues"].numbers()
    zero_below = histogram.get("zero_below")
    threshold = (zero_below.number() if zero_below else ZERO_BELOW) * np.abs(values).max(initial=0)
    nonzero = values[np.abs(values) > threshold]
    return Histogram(
        nonzero=nonzero,
        zero_fraction=1 - len(nonzero) / max(1, len(values)),
        name=trained(histogram),
    )
