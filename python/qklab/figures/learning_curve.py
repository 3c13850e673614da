"""Predicted curves and measured points of one or more quantities along a parameter."""

from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator

from qklab.figures.marks import (
    Reference,
    Vertical,
    draw_references,
    draw_verticals,
    legend_of_references,
    read_references,
    read_verticals,
)
from qklab.figures.page import finish, panels
from qklab.figures.series import (
    SERIES_KEYS,
    Series,
    color_of_each_label,
    draw_series,
    fit_ordinate,
    legend,
    marker_of_each_measurement,
    parts,
    read_series,
)

__all__ = ["LearningCurve", "draw", "read"]

PANEL_KEYS = ("quantity", "label", "log", "series", "references", "verticals")
X_KEYS = ("name", "label", "log", "whole")
QUANTITIES = {
    "test_error": "test error",
    "train_loss": "training loss",
    "train_error": "training error",
    "overlap": "overlap $m$",
    "self_overlap": "self-overlap $q$",
    "zero_fraction": "fraction of zero eigenvalues",
    "susceptibility": "susceptibility $V$",
    "rank": "rank of $S$ over $d$",
    "regularization": "penalty",
}


@dataclass(frozen=True)
class Panel:
    x_label: str
    x_log: bool
    x_whole: bool
    label: str
    log: bool
    series: list[Series]
    references: list[Reference]
    verticals: list[Vertical]


@dataclass(frozen=True)
class LearningCurve:
    title: str
    panels: list[Panel]
    footer: str


def draw(curve):
    figure, all_axes = panels(len(curve.panels))
    series = [one for panel in curve.panels for one in panel.series]
    references = [one for panel in curve.panels for one in panel.references]
    colors, markers = color_of_each_label(series), marker_of_each_measurement(series)
    notes = []
    for axes, panel in zip(all_axes, curve.panels, strict=True):
        axes.set_yscale("log" if panel.log else "linear")
        for one in panel.series:
            draw_series(axes, one, colors[one.label], markers)
        draw_references(axes, panel.references, references)
        notes += draw_verticals(axes, panel.verticals)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.label)
        if panel.x_log:
            axes.set_xscale("log")
        elif panel.x_whole:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        fit_ordinate(axes, [*parts(panel.series), *panel.references])
    handles = legend(series, colors) + legend_of_references(references)
    finish(figure, curve.title, curve.footer, handles, notes)
    return figure


def read(document):
    """The learning curve in a document (docs/figures.md); DocumentError names what is wrong with it."""
    several = document.get("panels")
    document.only("kind", "title", "x", "footer", *(["panels"] if several else PANEL_KEYS))
    x = document["x"].only(*X_KEYS)
    return LearningCurve(
        title=document.words("title"),
        panels=[
            _read_panel(panel.only("x", *PANEL_KEYS) if several else panel, x)
            for panel in (several.some_items() if several else [document])
        ],
        footer=document.words("footer"),
    )


def _read_panel(panel, common_x):
    x = panel["x"].only(*X_KEYS) if panel.get("x") else common_x
    x_log = x.switch("log")
    return Panel(
        x_label=x.words("label") or x["name"].text(),
        x_log=x_log,
        x_whole=x.switch("whole"),
        label=panel.words("label") or _name(panel["quantity"].text()),
        log=panel.switch("log"),
        series=[read_series(series.only(*SERIES_KEYS), x_log) for series in panel["series"].some_items()],
        references=read_references(panel, x_log),
        verticals=read_verticals(panel, x_log),
    )


def _name(quantity):
    return QUANTITIES.get(quantity, quantity.replace("_", " "))
