"""Finding room on a figure: whatever is written onto it goes where the page is still blank."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

__all__ = ["settle"]

BLANK = 250  # of 255; anything darker in any colour counts as ink


def settle(artist, choices, within):
    """Gives `artist` the first of `choices` (properties to set) in which it covers nothing drawn so far.

    Where every choice covers something, the one that covers least is taken. Whatever would stand outside the
    box `within` counts as covered. Returns how many pixels are covered; the layout must be final but for the
    height of the figure.
    """
    inked = _inked(artist)
    covered = []
    for choice in choices:
        artist.set(**choice)
        covered.append(_covered(artist.get_window_extent(), inked, within))
        if covered[-1] == 0:
            return 0
    artist.set(**choices[int(np.argmin(covered))])
    return min(covered)


def _inked(artist):
    """Where the figure of `artist` has ink other than its own: shape (height, width), top row first."""
    canvas = FigureCanvasAgg(artist.get_figure(root=True))
    artist.set_visible(False)
    canvas.draw()
    artist.set_visible(True)
    return (np.asarray(canvas.buffer_rgba())[..., :3] < BLANK).any(axis=2)


def _covered(box, inked, within):
    height, width = inked.shape
    rows = slice(max(0, int(height - box.y1)), max(0, int(np.ceil(height - box.y0))))
    columns = slice(max(0, int(box.x0)), min(width, int(np.ceil(box.x1))))
    inside = box.intersection(box, within)
    outside = box.width * box.height - (inside.width * inside.height if inside is not None else 0)
    return int(inked[rows, columns].sum()) + round(outside)
