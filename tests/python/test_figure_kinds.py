import documents
import numpy as np
import pytest
from drawing import drawn, words_of_legend
from hypothesis import given, settings
from hypothesis import strategies as st
from qklab.figures import (
    decomposition,
    learning_curve,
    phase_diagram,
    render,
    scaling,
    spectrum,
    weight_decay,
)
from qklab.figures.document import Field
from qklab.figures.histogram import bars


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


def test_a_prediction_that_is_not_positive_leaves_a_gap_on_a_logarithmic_ordinate():
    document = documents.learning_curve()
    document["log"] = True
    document["series"] = [{"theory": {"x": [1, 2, 3, 4], "y": [0.2, 0.1, -0.1, 0.1]}}]
    (axes,) = drawn(learning_curve, document).axes
    values = np.concatenate([line.get_ydata() for line in axes.lines])
    assert not (values <= 0).any()
    assert 0.01 < axes.get_ylim()[0] < 0.1


def test_a_logarithmic_figure_may_be_empty():
    document = documents.learning_curve()
    document["log"] = True
    document["series"] = [{"theory": {"x": [], "y": []}}]
    (axes,) = drawn(learning_curve, document).axes
    assert axes.get_ylim()[0] > 0


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


def test_a_panel_may_have_an_abscissa_of_its_own():
    document = documents.learning_curve_of_two_panels()
    document["panels"][1]["x"] = {"name": "time", "label": "$\\tau$", "log": True}
    left, right = drawn(learning_curve, document).axes
    assert [left.get_xlabel(), right.get_xlabel()] == ["alpha", "$\\tau$"]
    assert [left.get_xscale(), right.get_xscale()] == ["linear", "log"]


def test_iterations_are_counted_in_whole_numbers():
    document = documents.learning_curve()
    document["x"] = {"name": "iteration", "whole": True}
    (axes,) = drawn(learning_curve, document).axes
    axes.set_xlim(0, 3)
    assert all(tick == round(tick) for tick in axes.get_xticks())


def test_measured_points_name_what_measured_them():
    document = documents.learning_curve()
    document["series"][0]["measured"]["by"] = "SGD"
    assert any(text.startswith("SGD, $d = ") for text in words_of_legend(drawn(learning_curve, document)))


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
    panel = spectrum.read(Field(document)).panels[0]
    heights, edges = bars(panel.histogram, panel.edges)
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


def test_nothing_is_drawn_between_two_bulks():
    axes = drawn(spectrum, documents.spectrum_with_levels()).axes[0]
    for line in axes.lines[:2]:
        x = line.get_xdata()
        assert ((x <= 1) | (x >= 2)).all()
    heights, edges, _ = axes.patches[0].get_data()
    middle = (edges[1:] + edges[:-1]) / 2
    assert not heights[(middle > 1.05) & (middle < 1.95)].any()


def test_bars_of_each_bulk_hold_its_share_of_the_values():
    content = spectrum.read(Field(documents.spectrum_with_levels())).panels[0]
    heights, edges = bars(content.histogram, content.edges)
    area = heights * np.diff(edges)
    assert area[edges[1:] < 1.5].sum() == pytest.approx(0.2, rel=1e-12)  # 20 of 100
    assert area[edges[:-1] > 1.5].sum() == pytest.approx(0.5, rel=1e-12)


def test_a_profile_breaks_between_two_bulks():
    figure = drawn(spectrum, documents.spectrum_with_levels())
    x, y = figure.axes[1].lines[0].get_data()
    assert np.isnan(y[(x > 1) & (x < 2)]).all()
    assert np.isfinite(y[(x <= 1) | (x >= 2)]).all()


def test_alignments_stand_beside_their_outliers():
    axes = drawn(spectrum, documents.spectrum_with_levels()).axes[2]
    assert {"0.93", "0.91 ± 0.02"} <= {text.get_text() for text in axes.texts}


def test_titles_name_the_trained_models_of_panels_that_differ():
    document = documents.spectrum_with_levels()
    assert drawn(spectrum, document).axes[0].get_title() == "two bulks"
    document["panels"][1]["histogram"] = {"values": [0.6, 0.9, 1.4], "dimension": 7, "seeds": 1}
    assert drawn(spectrum, document).axes[0].get_title() == "two bulks; trained, $d = 60$, 3 seeds"


def test_a_logarithmic_density_axis_shows_the_lowest_bar():
    document = documents.spectrum_with_levels()
    document["panels"][0]["log_y"] = True
    axes = drawn(spectrum, document).axes[0]
    heights = axes.patches[0].get_data().values
    assert axes.get_yscale() == "log"
    assert 0 < axes.get_ylim()[0] < heights[heights > 0].min()


def test_parts_may_be_negative_on_a_logarithmic_ordinate():
    (axes,) = drawn(decomposition, documents.decomposition()).axes
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[0] < -0.05


def test_a_weight_decay_that_is_not_determined_leaves_the_abscissa():
    document = documents.weight_decay()
    document["series"][0]["optimum"]["x_se"] = 1e9
    (axes,) = drawn(weight_decay, document).axes
    assert 0.001 < axes.get_xlim()[0] < 0.01
    assert 10 < axes.get_xlim()[1] < 100


def test_the_flat_range_follows_the_predicted_curve():
    (axes,) = drawn(weight_decay, documents.weight_decay()).axes
    (strip,) = [line for line in axes.lines if line.get_linewidth() == weight_decay.STRIP["linewidth"]]
    assert strip.get_xdata()[[0, -1]].tolist() == pytest.approx([0.05, 0.5])
    assert strip.get_ydata()[0] == pytest.approx(0.2 + 0.1 * np.log10(0.1 / 0.05))


@pytest.mark.parametrize(
    ("left_out", "panels"),
    [([], 5), (["recovered"], 4), (["recovered", "local", "predicted_exponent"], 3)],
)
def test_scaling_has_a_panel_for_what_is_given(left_out, panels):
    document = documents.scaling()
    for key in left_out:
        del document["series"][0][key]
    assert len(drawn(scaling, document).axes) == panels  # one of them a colour bar


def test_a_guide_has_its_slope_and_stays_above_the_curve():
    axes = drawn(scaling, documents.scaling()).axes[0]
    (guide,) = [line for line in axes.lines if line.get_color() == scaling.GUIDE["color"]]
    x, y = guide.get_data()
    assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(-0.5)
    theory = documents.scaling()["series"][0]["theory"]
    near = np.array(theory["x"]) >= x[0]
    assert (np.array(theory["y"])[near] < np.interp(theory["x"], x, y)[near]).all()
