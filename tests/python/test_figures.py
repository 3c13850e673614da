import copy
import io
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import documents
import matplotlib as mpl
import pytest
from drawing import drawn
from matplotlib.figure import Figure
from matplotlib.text import Text
from qklab.figures import KINDS, DocumentError, render
from qklab.figures.__main__ import main
from qklab.figures.page import wrapped

SIGNATURES = {"svg": b"<?xml", "pdf": b"%PDF-", "png": b"\x89PNG\r\n\x1a\n"}
PYTHON_FOLDER = Path(__file__).parents[2] / "python"


@pytest.mark.parametrize("ending", SIGNATURES)
def test_every_kind_renders_in_every_format(document, ending, tmp_path):
    path = tmp_path / f"figure.{ending}"
    render(document, path)
    first = path.read_bytes()
    assert first.startswith(SIGNATURES[ending])
    render(document, path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def words_on(figure):
    """Everything written on `figure` but the labels of ticks."""
    axes = figure.axes
    ticks = {
        label
        for one in axes
        for axis in (one.xaxis, one.yaxis)
        for label in axis.get_ticklabels(which="both")
    }
    words = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    return [text for text in words if text not in ticks]


def test_all_of_a_figure_is_on_the_page(document):
    figure = drawn(KINDS[document["kind"]], document)
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    assert (box.min >= 0).all()
    assert (box.max <= figure.get_size_inches()).all()


def test_no_two_texts_overlap(document):
    figure = drawn(KINDS[document["kind"]], document)
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in words_on(figure)]
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        assert not box.overlaps(another), f"{one!r} and {other!r}"


def test_long_words_break_into_lines_but_formulas_do_not():
    text = "a title that goes on with $x = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9$ and on"
    lines = wrapped(text, 1.5, 9).split("\n")
    assert len(lines) > 2
    assert " ".join(lines) == text
    assert all(line.count("$") % 2 == 0 for line in lines)


def examples_of_the_documentation():
    page = (PYTHON_FOLDER.parent / "docs" / "figures.md").read_text()
    return [json.loads(text) for text in re.findall(r"```json\n(\{.*?)```", page, re.DOTALL)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_documentation_has_an_example_that_can_be_drawn(kind, tmp_path):
    (example,) = [document for document in examples_of_the_documentation() if document["kind"] == kind]
    render(example, tmp_path / "example.png")


def test_the_look_does_not_depend_on_the_users_settings(tmp_path, monkeypatch):
    render(documents.learning_curve(), tmp_path / "plain.svg")
    monkeypatch.setitem(mpl.rcParams, "lines.linewidth", 17)
    render(documents.learning_curve(), tmp_path / "other.svg")
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def changed(document, place, value):
    """A copy with the entry at `place` (keys and indices) replaced, or removed when `value` is `...`."""
    document = copy.deepcopy(document)
    *path, last = place
    entry = document
    for key in path:
        entry = entry[key]
    if value is ...:
        del entry[last]
    else:
        entry[last] = value
    return document


CURVE, SPECTRUM = documents.learning_curve_with_marks(), documents.spectrum()
PHASES, LEVELS = documents.phase_diagram(), documents.spectrum_with_levels()
PARTS, SWEEP, SCALING = documents.decomposition(), documents.weight_decay(), documents.scaling()
MISTAKES = [
    (CURVE, ["kind"], "pie", "kind: is 'pie'; must be one of decomposition, learning_curve, "),
    (CURVE, ["kind"], ..., "kind: is missing"),
    (CURVE, ["titel"], "x", "titel: unknown key"),
    (CURVE, ["title"], 3, "title: must be text"),
    (CURVE, ["title"], "$\\nonsense$", "title: is not valid mathematical text"),
    (CURVE, ["x"], [], "x: must be an object"),
    (CURVE, ["x", "log"], 1, "x.log: must be true or false"),
    (CURVE, ["series"], [], "series: must not be empty"),
    (CURVE, ["series"], {}, "series: must be a list"),
    (CURVE, ["series", 0, "theory", "y"], ..., "series[0].theory.y: is missing"),
    (CURVE, ["series", 0, "theory", "y"], [1, 2], "series[0].theory.y: has 2 entries; must have 4"),
    (CURVE, ["series", 0, "theory", "y", 2], "no", "series[0].theory.y[2]: is 'no'; must be a finite number"),
    (CURVE, ["series", 0, "theory", "y", 2], float("nan"), "series[0].theory.y[2]: is nan"),
    (CURVE, ["series", 0, "theory", "x", 0], 0, "series[0].theory.x: must be positive"),
    (CURVE, ["series", 0, "theory", "stable", 0], 1, "series[0].theory.stable[0]: must be true or false"),
    (
        CURVE,
        ["series", 0, "measured", "seeds"],
        0,
        "series[0].measured.seeds: is 0; must be a positive whole",
    ),
    (CURVE, ["series", 0], {"label": ""}, "series[0]: needs theory or measured"),
    (CURVE, ["references", 0, "label"], ..., "references[0].label: is missing"),
    (CURVE, ["references", 0, "y"], [1], "references[0].y: has 1 entries; must have 4"),
    (CURVE, ["verticals", 0, "x"], -1, "verticals[0].x: must be positive"),
    (PHASES, ["curves"], ..., "curves: is missing"),
    (PHASES, ["curves", 0, "dash"], True, "curves[0].dash: unknown key"),
    (PHASES, ["x", "label"], ..., "x.label: is missing"),
    (PHASES, ["regions", 0, "x"], 0, "regions[0].x: must be positive"),
    (PHASES, ["field", "x"], [1, 0.1, 10], "field.x: must increase"),
    (PHASES, ["field", "value"], [[1, 2, 3]], "field.value: has 1 rows; must have 2, one for each y"),
    (PHASES, ["field", "value", 1], [1], "field.value[1]: has 1 entries; must have 3"),
    (PHASES, ["field", "value", 1, 0], 0, "field.value: must be positive"),
    (PARTS, ["parts"], [], "parts: must not be empty"),
    (PARTS, ["parts", 0, "name"], ..., "parts[0]: needs label or name"),
    (PARTS, ["total", "theory"], ..., "total: needs theory or measured"),
    (PARTS, ["symlog"], 0, "symlog: is 0; must be a positive number"),
    (SWEEP, ["series", 0, "optimum", "x"], 0, "series[0].optimum.x: is 0; must be a positive number"),
    (SWEEP, ["series", 0, "flat"], [0, 1], "series[0].flat: must be positive"),
    (SWEEP, ["series", 0, "given", "y"], ..., "series[0].given.y: is missing"),
    (SCALING, ["series", 0, "guide", "exponent"], ..., "series[0].guide.exponent: is missing"),
    (SCALING, ["series", 0, "local", "y"], [1], "series[0].local.y: has 1 entries; must have 3"),
    (SCALING, ["emergence", 0, "mode"], 0, "emergence[0].mode: is 0; must be a positive whole"),
    (SCALING, ["emergence", 0, "enters"], -1, "emergence[0].enters: is -1; must be a positive number"),
    (LEVELS, ["panels", 0, "modes"], LEVELS["panels"][1]["modes"], "panels[0].profile: cannot stand beside"),
    (LEVELS, ["panels", 1, "modes", "predicted"], [1], "panels[1].modes.predicted: has 1 entries"),
    (LEVELS, ["panels", 1, "modes", "measured", "x"], [1], "panels[1].modes.measured.x: unknown key"),
    (
        LEVELS,
        ["panels", 1, "predicted_outliers", 0, "align"],
        1,
        "panels[1].predicted_outliers[0].align: unknown key",
    ),
    (
        LEVELS,
        ["panels", 1, "measured_outliers", 0, "value"],
        ...,
        "panels[1].measured_outliers[0].value: is missing",
    ),
    (SPECTRUM, ["panels"], ..., "panels: is missing"),
    (SPECTRUM, ["panels", 1, "density", "p"], [0], "panels[1].density.p: has 1 entries; must have 3"),
    (SPECTRUM, ["panels", 0, "density", "x", 0], None, "panels[0].density.x[0]: is None"),
    (SPECTRUM, ["panels", 0, "edges"], [[1, 0]], "panels[0].edges[0]: is [1, 0]; must be [low, high]"),
    (SPECTRUM, ["panels", 0, "histogram", "eigenvalues"], ..., "panels[0].histogram.eigenvalues: is missing"),
    (SPECTRUM, ["panels", 0, "histogram", "dimension"], 1.5, "panels[0].histogram.dimension: is 1.5"),
]


@pytest.mark.parametrize(("document", "place", "value", "message"), MISTAKES, ids=[m[3] for m in MISTAKES])
def test_a_mistake_is_named_by_its_place(document, place, value, message, tmp_path):
    with pytest.raises(DocumentError) as error:
        render(changed(document, place, value), tmp_path / "figure.svg")
    assert str(error.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_figure_and_says_nothing(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "qklab.figures", tmp_path / "figure.pdf"],
        input=json.dumps(documents.spectrum()),
        env={**os.environ, "PYTHONPATH": str(PYTHON_FOLDER)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("", "figure.svg", "standard input: not JSON"),
        ("[]", "figure.svg", "document: must be an object"),
        (json.dumps(CURVE), "figure.gif", "the ending must be .svg, .pdf or .png"),
        (json.dumps(CURVE), "figure", "the ending must be .svg, .pdf or .png"),
        (json.dumps(CURVE), "absent/figure.svg", "absent/figure.svg: No such file or directory"),
    ],
)
def test_the_command_complains_in_one_line_and_leaves_nothing(
    text, output, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status = main([str(tmp_path / output)])
    said = capsys.readouterr()
    assert status == 2
    assert said.err.count("\n") == 1
    assert message in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    def fail(_figure, path, **_):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "figure.svg"
    path.write_text("old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="No space"):
        render(documents.learning_curve(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
