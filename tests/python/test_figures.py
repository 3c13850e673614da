import copy
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import documents
import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from qklab.figures import DocumentError, learning_curve, phase_diagram, render, spectrum
from qklab.figures.__main__ import main
from qklab.figures.document import Field
from qklab.figures.output import styled

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


def test_the_look_does_not_depend_on_the_users_settings(tmp_path, monkeypatch):
    render(documents.learning_curve(), tmp_path / "plain.svg")
    monkeypatch.setitem(mpl.rcParams, "lines.linewidth", 17)
    render(documents.learning_curve(), tmp_path / "other.svg")
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def drawn(kind, document):
    with styled():
        return kind.draw(kind.read(Field(document)))


def words_of_legend(figure):
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_theory_is_dashed_next_to_points_that_are_not_stable():
    (axis,) = drawn(learning_curve, documents.learning_curve()).axes
    lines = {line.get_linestyle(): line.get_xdata().tolist() for line in axis.lines[:2]}
    assert lines == {"--": [0.05, 0.2], "-": [0.2, 0.8, 3.2]}


def test_a_point_without_a_prediction_leaves_a_gap():
    document = documents.learning_curve()
    document["series"][0]["theory"]["y"][1] = None
    document["series"][0]["theory"]["se"][1] = None
    (axis,) = drawn(learning_curve, document).axes
    assert np.isnan(np.concatenate([line.get_ydata() for line in axis.lines[:2]])).any()


def test_a_curve_of_one_point_is_visible():
    document = documents.learning_curve()
    document["series"][0]["theory"] = {"x": [1.0], "y": [0.2]}
    (axis,) = drawn(learning_curve, document).axes
    assert axis.lines[0].get_marker() == "_"


def test_a_reference_is_dotted_and_named_once():
    panel = {key: documents.learning_curve_with_marks()[key] for key in ("quantity", "series", "references")}
    figure = drawn(learning_curve, {"kind": "learning_curve", "x": {"label": "n"}, "panels": [panel, panel]})
    assert [line.get_linestyle() for line in figure.axes[1].lines].count(":") == 1
    assert words_of_legend(figure).count("Bayes-optimal") == 1


@pytest.mark.parametrize("log", [False, True])
def test_a_huge_error_bar_hides_nothing_else(log):
    document = documents.learning_curve()
    document["log"] = log
    document["series"][0]["measured"]["se"][1] = 1e6
    (axes,) = drawn(learning_curve, document).axes
    assert axes.get_ylim()[1] < 1


@pytest.mark.parametrize("number", [1, 2, 6])
def test_a_legend_hides_no_point(number):
    document = documents.learning_curve_with_marks()
    document["series"] = [documents.series(f"series {i}") for i in range(number)]
    figure = drawn(learning_curve, document)
    figure.draw_without_rendering()
    (legend,) = [*figure.legends, *filter(None, [figure.axes[0].get_legend()])]
    box = legend.get_window_extent()
    for line in figure.axes[0].lines:
        assert not box.count_contains(line.get_transform().transform(line.get_xydata()))


def test_what_is_written_beside_verticals_stays_in_the_panel():
    figure = drawn(learning_curve, documents.learning_curve_with_marks())
    figure.draw_without_rendering()
    box = figure.axes[0].bbox.padded(1)
    (label,) = figure.axes[0].texts
    assert all(box.contains(*corner) for corner in label.get_window_extent().corners())


def test_unknown_places_of_a_field_are_blank():
    axes, _bar = drawn(phase_diagram, documents.phase_diagram()).axes
    (mesh,) = axes.collections
    assert mesh.get_array().mask.tolist() == [[False, False, False], [False, True, False]]


def test_cells_of_a_field_meet_halfway_on_a_logarithmic_axis():
    axes, _bar = drawn(phase_diagram, documents.phase_diagram()).axes
    x = axes.collections[0].get_coordinates()[0, :, 0]
    assert np.log10(x.data).tolist() == pytest.approx([-1.5, -0.5, 0.5, 1.5])


def test_series_differ_in_colour_and_dimensions_in_marker():
    figure = drawn(learning_curve, documents.learning_curve_of_two_panels())
    texts = words_of_legend(figure)
    assert texts[:3] == ["$d = 60$", "$d = 120$", "theory"]
    assert texts[-2:] == ["trained, $d = 60$, 8 seeds", "trained, $d = 120$, 8 seeds"]
    markers = {line.get_marker() for line in figure.axes[0].lines} - {"None", "_", "|"}
    assert len(markers) == 2


def test_predicted_and_trained_zero_fractions_are_written_at_the_atom():
    axis = drawn(spectrum, documents.spectrum()).axes[0]
    words = " ".join(text.get_text() for text in axis.texts)
    assert "55.0 % at 0, theory" in words
    assert "33.3 % at 0, trained" in words  # 20 zeros of 60


@given(
    zeros=st.integers(0, 50),
    values=st.lists(st.floats(1.0, 900.0), min_size=1, max_size=300),
)
@settings(deadline=None)
def test_area_of_the_histogram_is_the_trained_nonzero_fraction(zeros, values):
    document = documents.spectrum()
    document["panels"][0]["histogram"]["eigenvalues"] = [0.0] * zeros + values
    heights, edges = spectrum.bars(spectrum.read(Field(document)).panels[0].histogram)
    assert np.sum(heights * np.diff(edges)) == pytest.approx(len(values) / (zeros + len(values)), rel=1e-12)


def test_eigenvalues_below_a_thousandth_of_the_largest_count_as_zero():
    document = documents.spectrum()
    document["panels"][0]["histogram"]["eigenvalues"] = [0.0, 0.00199, 0.00201, 2.0]
    content = spectrum.read(Field(document))
    assert content.panels[0].histogram.nonzero.tolist() == [0.00201, 2.0]


def test_negative_eigenvalues_stay_in_sight():
    document = documents.spectrum()
    document["panels"][0]["histogram"]["eigenvalues"] = [-1.0, 0.0, 1.0, 2.0]
    axis = drawn(spectrum, document).axes[0]
    assert axis.get_xlim()[0] < -1
    assert axis.patches[0].get_data().edges[0] == -1


def test_a_student_that_is_zero_still_has_a_spectrum(tmp_path):
    panel = {"density": {"x": [], "p": []}, "atom_at_zero": 1, "edges": []}
    panel["histogram"] = {"eigenvalues": [0.0] * 10}
    render({"kind": "spectrum", "panels": [panel]}, tmp_path / "zero.png")
    assert (tmp_path / "zero.png").exists()


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
PHASES = documents.phase_diagram()
MISTAKES = [
    (CURVE, ["kind"], "pie", "kind: is 'pie'; must be one of learning_curve, phase_diagram, "),
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
