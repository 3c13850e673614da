"""The parts that make up the test error, along a parameter."""

from dataclasses import dataclass

from qklab.figures.page import finish, panels
from qklab.figures.series import (
    Series,
    color_of_each_label,
    draw_series,
    fit_ordinate,
    legend,
    marker_of_each_measurement,
    parts,
    read_series,
)

__all__ = ["Decomposition", "draw", "read"]

TOTAL = "0.1"  # colour of the sum of all parts


@dataclass(frozen=True)
class Decomposition:
    title: str
    x_label: str
    x_log: bool
    y_label: str
    parts: list[Series]
    total: Series | None
    symlog: float | None  # up to which size the ordinate is linear; None: throughout
    footer: str


def draw(content):
    figure, (axes,) = panels(1)
    colors = color_of_each_label(content.parts)
    series = list(content.parts)
    if content.total is not None:
        colors[content.total.label] = TOTAL
        series.append(content.total)
    if content.symlog is not None:
        axes.set_yscale("symlog", linthresh=content.symlog)
    markers = marker_of_each_measurement(series)
    axes.axhline(0, color="0.6", linewidth=0.7, zorder=0)
    for one in series:
        draw_series(axes, one, colors[one.label], markers)
    axes.set_xlabel(content.x_label)
    axes.set_ylabel(content.y_label)
    if content.x_log:
        axes.set_xscale("log")
    fit_ordinate(axes, parts(series))
    finish(figure, content.title, content.footer, legend(series, colors))
    return figure


def read(document):
    """The decomposition in a document (docs/figures.md); DocumentError names what is wrong with it."""
    document.only("kind", "title", "footer", "x", "label", "parts", "total", "symlog")
    x = document["x"].only("name", "label", "log")
    x_log = x.switch("log")
    total, symlog = document.get("total"), document.get("symlog")
    return Decomposition(
        title=document.words("title"),
        x_label=x.words("label") or x["name"].text(),
        x_log=x_log,
        y_label=document.words("label") or "part of the test error",
        parts=[_read_part(part, x_log) for part in document["parts"].some_items()],
        total=_read_part(total, x_log, name="total") if total else None,
        symlog=symlog.positive() if symlog else None,
        footer=document.words("footer"),
    )


def _read_part(part, x_log, name=""):
    part.only("name", "label", "theory", "measured")
    words = part.words("label") or part.words("name").replace("_", " ") or name
    if not words:
        raise part.error("needs label or name")
    return read_series(part, x_log, label=words)
