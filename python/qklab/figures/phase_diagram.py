"""A plane of two parameters: curves between regions, their names, and one quantity as a field of colour."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from qklab.figures.page import finish, panels
from qklab.figures.series import color_of_each_label, read_abscissa

__all__ = ["PhaseDiagram", "draw", "read"]

SIZE = (3.4, 2.9)  # inches: one journal column
WITH_BAR = (3.9, 2.9)
PALE = 0.7  # how much colour the field keeps, so that curves and words stand out on it
CURVE_HALO, WORD_HALO = 3.6, 2.2  # widths in points of the white strokes under curves and words


@dataclass(frozen=True)
class Axis:
    label: str
    log: bool


@dataclass(frozen=True)
class Curve:
    label: str
    x: np.ndarray
    y: np.ndarray
    dashed: bool


@dataclass(frozen=True)
class Region:
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Heat:
    x: np.ndarray
    y: np.ndarray
    value: np.ndarray  # shape (len(y), len(x)), NaN where there is none
    label: str
    log: bool


@dataclass(frozen=True)
class PhaseDiagram:
    title: str
    x: Axis
    y: Axis
    curves: list[Curve]
    regions: list[Region]
    field: Heat | None
    footer: str


def draw(diagram):
    figure, (axes,) = panels(1, WITH_BAR if diagram.field else SIZE)
    axes.set_xscale("log" if diagram.x.log else "linear")
    axes.set_yscale("log" if diagram.y.log else "linear")
    axes.margins(0)
    if diagram.field is not None:
        _draw_field(axes, diagram)
    colors = color_of_each_label(diagram.curves)
    for curve in diagram.curves:
        axes.plot(
            curve.x,
            curve.y,
            linestyle=_dash(curve),
            color=colors[curve.label],
            path_effects=[_halo(CURVE_HALO)] if diagram.field else None,
        )
    for region in diagram.regions:
        axes.text(
            region.x, region.y, region.label, ha="center", va="center", path_effects=[_halo(WORD_HALO)]
        ).set_in_layout(False)
    axes.set_xlabel(diagram.x.label)
    axes.set_ylabel(diagram.y.label)
    handles = [
        Line2D([], [], linestyle=_dash(curve), color=colors[curve.label], label=curve.label)
        for curve in {curve.label: curve for curve in diagram.curves if curve.label}.values()
    ]
    finish(figure, diagram.title, diagram.footer, handles)
    return figure


def _draw_field(axes, diagram):
    field = diagram.field
    known = field.value[np.isfinite(field.value)]
    ends = (known.min(), known.max()) if known.size else (0.1, 1)
    mesh = axes.pcolormesh(
        _borders(field.x, diagram.x.log),
        _borders(field.y, diagram.y.log),
        np.ma.masked_invalid(field.value),
        cmap=_pale("viridis"),
        norm=LogNorm(*ends) if field.log else Normalize(*ends),
        rasterized=True,
    )
    bar = axes.figure.colorbar(mesh, ax=axes, label=field.label, pad=0.03, aspect=25)
    bar.outline.set_linewidth(0.5)


def _borders(centres, log):
    """Borders of the cells around `centres`, halfway between neighbours on the scale of the axis."""
    at = np.log(centres) if log else centres
    if len(at) == 1:
        borders = at + np.array([-0.5, 0.5])
    else:
        middle = (at[1:] + at[:-1]) / 2
        borders = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(borders) if log else borders


def _pale(name):
    """A perceptually uniform map mixed with white, which keeps it so."""
    colors = colormaps[name](np.linspace(0, 1, 256))[:, :3]
    return ListedColormap(PALE * colors + 1 - PALE)


def _dash(curve):
    return "--" if curve.dashed else "-"


def _halo(width):
    return withStroke(linewidth=width, foreground="white", alpha=0.85)


def read(document):
    """The phase diagram in a document (docs/figures.md); DocumentError names what is wrong with it."""
    document.only("kind", "title", "footer", "x", "y", "curves", "regions", "field")
    x, y = _read_axis(document["x"]), _read_axis(document["y"])
    regions, field = document.get("regions"), document.get("field")
    return PhaseDiagram(
        title=document.words("title"),
        x=x,
        y=y,
        curves=[_read_curve(curve, x, y) for curve in document["curves"].items()],
        regions=[_read_region(region, x, y) for region in regions.items()] if regions else [],
        field=_read_field(field, x, y) if field else None,
        footer=document.words("footer"),
    )


def _read_axis(axis):
    axis.only("label", "log")
    return Axis(label=axis["label"].text(), log=axis.switch("log"))


def _read_curve(curve, x_axis, y_axis):
    curve.only("label", "x", "y", "dashed")
    x = read_abscissa(curve["x"], x_axis.log)
    y = curve["y"].numbers(like=x, gaps=True)
    _require_positive(curve["y"], y, y_axis.log)
    return Curve(label=curve.words("label"), x=x, y=y, dashed=curve.switch("dashed"))


def _read_region(region, x_axis, y_axis):
    region.only("label", "x", "y")
    x, y = region["x"].number(), region["y"].number()
    _require_positive(region["x"], x, x_axis.log)
    _require_positive(region["y"], y, y_axis.log)
    return Region(label=region["label"].text(), x=x, y=y)


def _read_field(field, x_axis, y_axis):
    field.only("x", "y", "value", "label", "log")
    x, y = _read_centres(field["x"], x_axis), _read_centres(field["y"], y_axis)
    rows = field["value"].items()
    if len(rows) != len(y):
        raise field["value"].error(f"has {len(rows)} rows; must have {len(y)}, one for each y")
    value = np.array([row.numbers(like=x, gaps=True) for row in rows])
    log = field.switch("log")
    _require_positive(field["value"], value, log)
    return Heat(x=x, y=y, value=value, label=field.words("label"), log=log)


def _read_centres(field, axis):
    field.some_items()
    centres = read_abscissa(field, axis.log)
    if (np.diff(centres) <= 0).any():
        raise field.error("must increase from entry to entry")
    return centres


def _require_positive(field, values, log):
    if log and np.any(values <= 0):
        raise field.error("must be positive on a logarithmic scale")
