"""From a matplotlib figure to a file."""

import os
from pathlib import Path

import matplotlib as mpl
from matplotlib import style

from qklab.figures.document import DocumentError

__all__ = ["FORMATS", "save", "styled"]

# Dates would make every run of the same figure a different file.
FORMATS = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def styled():
    """Context in which figures look alike on every machine, whatever its own matplotlib settings."""
    return style.context(["default", Path(__file__).with_name("qklab.mplstyle")])


def save(figure, path):
    """Writes `figure` to `path` in the format of its ending; `path` changes only once that is complete."""
    path = Path(path)
    format_ = path.suffix.lower().removeprefix(".")
    if format_ not in FORMATS:
        raise DocumentError(f"{path}: the ending must be .svg, .pdf or .png")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with mpl.rc_context({"svg.hashsalt": "qklab"}):
            figure.savefig(partial, format=format_, metadata=FORMATS[format_])
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
