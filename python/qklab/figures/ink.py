"""Finding room on a figure: whatever is written onto it goes where the page is still blank."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

__all__ = ["Ink"]

BLANK = 250  # of 255; anything darker in any colour counts as ink


class Ink:
    """Where `figure` has ink, but for that of the artists in `without`; its layout must be final."""

    def __init__(self, figure, without=()):
        for artist in without:
            artist.set_visible(False)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        for artist in without:
            artist.set_visible(True)
        # Shape (height, width), top row first.
        self.inked = (np.asarray(canvas.buffer_rgba())[..., :3] < BLANK).any(axis=2)

    def settle(self, artist, choices):
        """Gives `artist` the one of `choices` (properties to set) in which it covers nothing yet there.

        Where it covers something in each, the one in which it covers least is taken; whatever would stand
        outside its axes counts as covered. Returns how many pixels it covers.
        """
        covered = []
        for choice in choices:
            artist.set(**choice)
            covered.append(self._covered(artist))
            if covered[-1] == 0:
                break
        best = int(np.argmin(covered))
        artist.set(**choices[best])
        self.inked[self._pixels(artist.get_window_extent())] = True
        return covered[best]

    def _covered(self, artist):
        box = artist.get_window_extent()
        inside = box.intersection(box, artist.axes.bbox)
        outside = box.width * box.height - (inside.width * inside.height if inside is not None else 0)
        return int(self.inked[self._pixels(box)].sum()) + round(outside)

    def _pixels(self, box):
        """The rows and columns of pixels that `box` touches."""
        height, _ = self.inked.shape
        rows = (int(height - box.y1), int(np.ceil(height - box.y0)))
        columns = (int(box.x0), int(np.ceil(box.x1)))
        return tuple(slice(max(0, first), max(0, last)) for first, last in (rows, columns))
