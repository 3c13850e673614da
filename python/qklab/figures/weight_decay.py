"""The test error against the strength of weight decay, its optimum and how flat it is there."""

from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D

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

__all__ = ["WeightDecay", "draw", "read"]

OPTIMUM = {"marker": "*", "markersize": 9, "markeredgecolor": "white", "markeredgewidth": 0.6}
GIVEN = {"marker": "D", "markersize": 6.5, "markerfacecolor": "white", "markeredgewidth": 1.3}
STRIP = {"linewidth": 7, "alpha": 0.25, "solid_capstyle": "butt"}
STRIP_POINTS = 50


@dataclass(frozen=True)
class Optimum:
    x: float
    x_se: float
    y: float


@dataclass(frozen=True)
class Sweep:
    series: Series
    optimum: Optimum | None
    flat: np.ndarray | None  # [low, high], between which the error is at most 1 % above its least value
    given: tuple[float, float] | None  # the weight decay in use, and its test error


@dataclass(frozen=True)
class WeightDecay:
    title: str
    x_label: str
    y_label: str
    log: bool
    sweeps: list[Sweep]
    footer: str


def draw(content):
    figure, (axes,) = panels(1)
    series = [sweep.series for sweep in content.sweeps]
    colors, markers = color_of_each_label(series), marker_of_each_measurement(series)
    axes.set_xscale("log")
    axes.set_yscale("log" if content.log else "linear")
    for sweep in content.sweeps:
        color = colors[sweep.series.label]
        _draw_strip(axes, sweep, color)
        draw_series(axes, sweep.series, color, markers)
        _draw_points(axes, sweep, color)
    _end_abscissa(axes, content.sweeps)
    axes.set_xlabel(content.x_label)
    axes.set_ylabel(content.y_label)
    fit_ordinate(axes, parts(series))
    finish(figure, content.title, content.footer, legend(series, colors) + _legend(content.sweeps, colors))
    return figure


def _draw_strip(axes, sweep, color):
    """A broad pale line along the predicted curve where it is flat."""
    theory = sweep.series.theory
    if sweep.flat is None or theory is None:
        return
    known = np.isfinite(theory.y)
    x = np.geomspace(*np.clip(sweep.flat, *_ends(theory.x[known])), STRIP_POINTS)
    axes.plot(x, np.interp(np.log(x), np.log(theory.x[known]), theory.y[known]), color=color, **STRIP)


def _draw_points(axes, sweep, color):
    if sweep.optimum is not None:
        axes.errorbar(
            sweep.optimum.x,
            sweep.optimum.y,
            xerr=sweep.optimum.x_se or None,
            color=color,
            elinewidth=0.9,
            zorder=5,
            **OPTIMUM,
        )
    if sweep.given is not None:
        axes.plot(*sweep.given, color=color, zorder=4, **GIVEN)


def _end_abscissa(axes, sweeps):
    """Ends the abscissa by all values but the error of the optimum, which may be as large as it likes."""
    lists = [part.x for part in parts([sweep.series for sweep in sweeps])]
    lists += [[sweep.optimum.x] for sweep in sweeps if sweep.optimum is not None]
    lists += [[sweep.given[0]] for sweep in sweeps if sweep.given is not None]
    low, high = _ends(np.concatenate(lists))
    margin = (high / low) ** 0.05 if high > low else 3
    axes.set_xlim(low / margin, high * margin)


def _ends(values):
    return (values.min(), values.max()) if len(values) else (1, 1)


def _legend(sweeps, colors):
    color = "0.3" if len(colors) > 1 else "C0"
    handles = []
    if any(sweep.optimum is not None for sweep in sweeps):
        handles.append(Line2D([], [], color=color, linestyle="none", label="optimum", **OPTIMUM))
    if any(sweep.flat is not None for sweep in sweeps):
        handles.append(Line2D([], [], color=color, label="at most 1 % above it", **STRIP))
    if any(sweep.given is not None for sweep in sweeps):
        handles.append(Line2D([], [], color=color, linestyle="none", label="as given", **GIVEN))
    return handles


def read(document):
    """The sweeps of weight decay of a document (docs/figures.md); DocumentError names what is wrong."""
    document.only("kind", "title", "footer", "x", "label", "log", "series")
    x = document.get("x")
    return WeightDecay(
        title=document.words("title"),
        x_label=(x.only("name", "label").words("label") if x else "") or "weight decay $\\lambda$",
        y_label=document.words("label") or "test error",
        log=document.switch("log"),
        sweeps=[_read_sweep(series) for series in document["series"].some_items()],
        footer=document.words("footer"),
    )


def _read_sweep(field):
    field.only("label", "theory", "measured", "optimum", "flat", "given")
    optimum, flat, given = (field.get(key) for key in ("optimum", "flat", "given"))
    return Sweep(
        series=read_series(field, x_log=True),
        optimum=_read_optimum(optimum.only("x", "x_se", "y")) if optimum else None,
        flat=_read_flat(flat) if flat else None,
        given=_read_given(given.only("x", "y")) if given else None,
    )


def _read_optimum(optimum):
    x_se = optimum.get("x_se")
    return Optimum(x=optimum["x"].positive(), x_se=x_se.number() if x_se else 0.0, y=optimum["y"].number())


def _read_flat(flat):
    ends = flat.interval()
    if ends[0] <= 0:
        raise flat.error("must be positive on a logarithmic axis")
    return ends


def _read_given(given):
    return given["x"].positive(), given["y"].number()
