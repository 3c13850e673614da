"""Figures drawn but not written, for tests that look at what is on them."""

from qklab.figures.document import Field
from qklab.figures.output import styled

__all__ = ["drawn", "words_of_legend"]


def drawn(kind, document):
    with styled():
        return kind.draw(kind.read(Field(document)))


def words_of_legend(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    return [text.get_text() for legend in legends for text in legend.get_texts()]
