"""Predicted curves and measured points of one or more quantities along a parameter."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qklab.figures.trained import trained

__all__ = ["LearningCurve", "draw", "read"]

PANEL_SIZE = (3.4, 2.7)  # inches: one journal column
MARKERS = "osD^vP"
PANEL_KEYS = ("quantity", "label", "log", "series")
QUANTITIES = {
    "test_error": "test error",
    "train_loss": "training loss",
    "train_error": "training error",
    "overlap": "overlap $m$",
    "self_overlap": "self-overlap $q$",
    "zero_fraction": "fraction of zero eigenvalues",
    "regularization": "penalty",
}


@dataclass(frozen=True)
class Theory:
    x: np.ndarray
    y: np.ndarray
    se: np.ndarray
    stable: np.ndarray


@dataclass(frozen=True)
class Measured:
    x: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    name: str  # "trained, d = 60, 8 seeds"


@dataclass(frozen=True)
class Series:
    label: str
    theory: Theory | None
    measured: Measured | None


@dataclass(frozen=True)
class Panel:
    label: str
    log: bool
    series: list[Series]


@dataclass(frozen=True)
class LearningCurve:
    title: str
    x_label: str
    x_log: bool
    panels: list[Panel]
    footer: str


def draw(curve):
    width, height = PANEL_SIZE
    figure = Figure(figsize=(width * len(curve.panels), height + 0.15 * bool(curve.footer)))
    axes = figure.subplots(1, len(curve.panels), squeeze=False)[0]
    for axis, panel in zip(axes, curve.panels, strict=True):
        _draw_panel(axis, panel)
        axis.set_xlabel(curve.x_label)
        if curve.x_log:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
    axes[0].legend(handles=_legend(curve.panels[0].series))
    figure.suptitle(curve.title, fontsize="medium", wrap=True)
    if curve.footer:
        figure.supxlabel(curve.footer, fontsize="small", color="0.35")
    return figure


def _draw_panel(axis, panel):
    markers = _marker_of_each_measurement(panel.series)
    for number, series in enumerate(panel.series):
        color = f"C{number}"
        if series.theory is not None:
            _draw_theory(axis, series.theory, color)
        if series.measured is not None:
            _draw_measured(axis, series.measured, color, markers[series.measured.name])
    axis.set_ylabel(panel.label)
    if panel.log:
        axis.set_yscale("log")
    elif axis.dataLim.y0 >= 0:
        axis.set_ylim(bottom=0)


def _draw_theory(axis, theory, color):
    """A line through the predictions, dashed next to points that are not stable, in a band of one error."""
    if len(theory.x) == 1:
        axis.plot(theory.x, theory.y, "_", color=color, markersize=14, markeredgewidth=1.4)
    pieces = range(len(theory.x) - 1)
    for stable, run in groupby(pieces, key=lambda i: bool(theory.stable[i] and theory.stable[i + 1])):
        indices = list(run)
        part = slice(indices[0], indices[-1] + 2)
        axis.plot(theory.x[part], theory.y[part], "-" if stable else "--", color=color)
    axis.fill_between(
        theory.x, theory.y - theory.se, theory.y + theory.se, color=color, alpha=0.25, linewidth=0
    )


def _draw_measured(axis, measured, color, marker):
    axis.errorbar(
        measured.x,
        measured.mean,
        measured.se,
        fmt=marker,
        color=color,
        markerfacecolor="white",
        elinewidth=0.9,
        markeredgewidth=0.9,
        zorder=3,
    )


def _legend(series):
    """What a line and a marker mean; with several series also what a colour means."""
    several = len(series) > 1
    color = "0.3" if several else "C0"
    handles = [
        Line2D([], [], color=f"C{i}", linewidth=3, label=s.label) for i, s in enumerate(series) if several
    ]
    theories = [s.theory for s in series if s.theory is not None]
    if theories:
        handles.append(Line2D([], [], color=color, label="theory"))
    if any(not theory.stable.all() for theory in theories):
        handles.append(Line2D([], [], color=color, linestyle="--", label="theory, not stable"))
    for name, marker in _marker_of_each_measurement(series).items():
        handles.append(
            Line2D([], [], color=color, marker=marker, markerfacecolor="white", linestyle="none", label=name)
        )
    return handles


def _marker_of_each_measurement(series):
    names = dict.fromkeys(s.measured.name for s in series if s.measured is not None)
    return {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(names)}


def read(document):
    """The learning curve in a document (docs/figures.md); DocumentError names what is wrong with it."""
    panels = document.get("panels")
    document.only("kind", "title", "x", "footer", *(["panels"] if panels else PANEL_KEYS))
    x = document["x"].only("name", "label", "log")
    x_log = x.switch("log")
    return LearningCurve(
        title=document.words("title"),
        x_label=x.words("label") or x["name"].text(),
        x_log=x_log,
        panels=[
            _read_panel(panel.only(*PANEL_KEYS) if panels else panel, x_log)
            for panel in (panels.some_items() if panels else [document])
        ],
        footer=document.words("footer"),
    )


def _read_panel(panel, x_log):
    quantity = panel["quantity"].text()
    return Panel(
        label=panel.words("label") or QUANTITIES.get(quantity, quantity.replace("_", " ")),
        log=panel.switch("log"),
        series=[_read_series(series, x_log) for series in panel["series"].some_items()],
    )


def _read_series(series, x_log):
    series.only("label", "theory", "measured")
    theory, measured = series.get("theory"), series.get("measured")
    if theory is None and measured is None:
        raise series.error("needs theory or measured")
    return Series(
        label=series.words("label"),
        theory=theory and _read_theory(theory.only("x", "y", "se", "stable"), x_log),
        measured=measured and _read_measured(measured.only("x", "mean", "se", "dimension", "seeds"), x_log),
    )


def _read_theory(theory, x_log):
    x = _read_x(theory["x"], x_log)
    se, stable = theory.get("se"), theory.get("stable")
    return Theory(
        x=x,
        y=theory["y"].numbers(like=x, gaps=True),
        se=se.numbers(like=x, gaps=True) if se else np.zeros_like(x),
        stable=stable.flags(like=x) if stable else np.ones(len(x), dtype=bool),
    )


def _read_measured(measured, x_log):
    x = _read_x(measured["x"], x_log)
    se = measured.get("se")
    return Measured(
        x=x,
        mean=measured["mean"].numbers(like=x, gaps=True),
        se=se.numbers(like=x, gaps=True) if se else np.zeros_like(x),
        name=trained(measured),
    )


def _read_x(field, log):
    x = field.numbers()
    if log and (x <= 0).any():
        raise field.error("must be positive on a logarithmic axis")
    return x
