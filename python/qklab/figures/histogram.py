"""Trained eigenvalues (or singular values) as bars."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from qklab.figures.trained import trained

__all__ = ["Histogram", "bars", "read_histogram"]

ZERO_BELOW = 1e-3  # trained eigenvalues below this share of the largest count as zero
NUMBER_OF_BARS = (10, 150)  # in a bulk


@dataclass(frozen=True)
class Histogram:
    nonzero: np.ndarray
    zero_fraction: float
    name: str  # "trained, d = 60, 3 seeds"


def bars(histogram, bulks):
    """Heights and edges of the histogram's bars, those of each predicted bulk (row of `bulks`) by themselves.

    Their area is the trained fraction of non-zero eigenvalues, as the density's is the predicted one.
    """
    values = histogram.nonzero
    if len(values) == 0:
        return np.zeros(1), np.array([0.0, 1.0])
    heights, edges = [], []
    for group, bulk in _groups(values, bulks):
        if edges:
            heights.append([0.0])
        edges.append(_bar_edges(group, bulk))
        counts, _ = np.histogram(group, edges[-1])
        heights.append((1 - histogram.zero_fraction) * counts / (len(values) * np.diff(edges[-1])))
    return np.concatenate(heights), np.concatenate(edges)


def _groups(values, bulks):
    """Values that belong to each bulk, as far as half the gaps around it; without bulks, all values."""
    if len(bulks) == 0:
        return [(values, (0.0, 0.0))]
    number = np.searchsorted((bulks[:-1, 1] + bulks[1:, 0]) / 2, values)
    groups = [(values[number == i], bulk) for i, bulk in enumerate(bulks)]
    return [(group, bulk) for group, bulk in groups if len(group)]


def _bar_edges(values, bulk):
    spread = np.subtract(*np.quantile(values, [0.75, 0.25]))
    width = spread / np.cbrt(len(values))  # half of Freedman and Diaconis': the line shows the shape
    low, high = min(values.min(), bulk[0]), max(values.max(), bulk[1])
    number = int(np.clip(ceil((high - low) / width) if width > 0 else 1, *NUMBER_OF_BARS))
    return np.linspace(low, high if high > low else low + 1, number + 1)


def read_histogram(histogram):
    histogram.only("eigenvalues", "values", "zero_below", "dimension", "seeds")
    given = histogram.get("values")
    if given and histogram.get("eigenvalues"):
        raise given.error("cannot stand beside eigenvalues")
    values = (given or histogram["eigenvalues"]).numbers()
    zero_below = histogram.get("zero_below")
    threshold = (zero_below.number() if zero_below else ZERO_BELOW) * np.abs(values).max(initial=0)
    nonzero = values[np.abs(values) > threshold]
    return Histogram(
        nonzero=nonzero,
        zero_fraction=1 - len(nonzero) / max(1, len(values)),
        name=trained(histogram),
    )
