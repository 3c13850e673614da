"""Figures from results: a JSON document in, an SVG, PDF or PNG file out.

The documents are described in docs/figures.md; `python -m qklab.figures OUTPUT` reads one on standard input.
"""

from qklab.figures import decomposition, learning_curve, phase_diagram, scaling, spectrum, weight_decay
from qklab.figures.document import DocumentError, Field
from qklab.figures.output import save, styled

__all__ = ["KINDS", "DocumentError", "render"]

KINDS = {
    "decomposition": decomposition,
    "learning_curve": learning_curve,
    "phase_diagram": phase_diagram,
    "scaling": scaling,
    "spectrum": spectrum,
    "weight_decay": weight_decay,
}


def render(document, path):
    """Draws `document` (parsed JSON) and writes the figure to `path`, whose ending chooses the format.

    Raises DocumentError, naming the entry, for a document that is not of a known kind or not of its form;
    OSError when `path` cannot be written. Nothing is left at `path` then, nor is what stood there touched.
    """
    field = Field(document)
    kind = KINDS[field["kind"].one_of(*KINDS)]
    content = kind.read(field)
    with styled():
        save(kind.draw(content), path)
