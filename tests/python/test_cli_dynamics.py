"""Learning in time: theories and descent on one clock."""

from itertools import pairwise

import pytest
from command import complaint, objects, qklab

SMALL = ["--dimension", "30", "--step", "0.1", "--batch", "60"]


def test_truncations_approach_the_exact_flow():
    (exact,) = objects("dynamics", "--times", "0:4:9")
    errors = []
    for run in objects("dynamics", "--method", "truncated", "--order", "2,4,6", "--times", "0:4:9"):
        assert run["method"] == "truncated"
        assert run["time"] == exact["time"]
        errors.append(max(abs(a - b) for a, b in zip(run["overlap"], exact["overlap"], strict=True)))
    assert errors[1] < errors[0] / 4
    assert errors[2] < errors[1] / 4


def test_truncation_errors_fall_by_more_than_half_an_order():
    errors = objects(
        *("dynamics", "--truncation-error", "--method", "truncated", "--order", "2,3,4,5,6,7,8"),
        *("--times", "0:4:41"),
    )
    for quantity in ("overlap_error", "self_overlap_error"):
        values = [error[quantity] for error in errors]
        assert all(after < before / 2 for before, after in pairwise(values))


def test_starts_where_it_was_told_and_learns():
    (run,) = objects("dynamics", "--start", "0.2", "--time", "3", "--kappa0", "0.5")
    assert run["trace"][0] == pytest.approx(0.2)
    assert run["self_overlap"][0] == pytest.approx(2 * 0.2**2)  # width d: c^2 (1 + 1/kappa)
    assert run["loss"] == sorted(run["loss"], reverse=True)
    assert run["alignment"][-1] > 0.99
    assert run["escape"]["0.3"]["time"] < run["escape"]["0.5"]["time"]


def test_descent_stays_by_its_theory():
    runs = objects(
        *("dynamics", "--method", "theory,sgd", "--times", "0,0.3,1", "--seeds", "4"),
        *("--dimension", "40", "--step", "0.02", "--batch", "40"),
    )
    theory, sgd = runs
    assert [theory["method"], sgd["method"]] == ["exact", "sgd"]
    assert sgd["seeds"] == 4
    for quantity in ("overlap", "self_overlap"):
        for place in range(3):
            finite_size = 6 / 40 * theory[quantity][place]
            error = sgd[f"{quantity}_se"][place]
            assert abs(sgd[quantity][place] - theory[quantity][place]) < 4 * error + finite_size


def test_the_activation_names_the_model():
    (named,) = objects("dynamics", "--activation", "identity", "--time", "1")
    (model,) = objects("dynamics", "--model", "linear", "--time", "1")
    assert named["overlap"] == model["overlap"]


def test_mu_finds_the_critical_manifold_before_the_overlaps_move():
    model = ["--model", "h2", "--series", "0,1,0", "--teacher-series", "1,1,0", "--token-correlation", "0.6"]
    fast, slow = objects(
        *("dynamics", *model, "--parametrization", "untied", "--traceless", "--method", "fast,untied"),
        *("--dimension", "60", "--kappa", "0.5", "--start", "0.15", "--times", "0,0.01,2"),
    )
    assert fast["overlap"] == pytest.approx([fast["overlap"][0]] * 3)
    assert fast["score_mean"][-1] == pytest.approx(slow["score_mean"][0], abs=1e-3)
    assert abs(fast["score_mean"][0]) < abs(fast["score_mean"][-1]) / 3
    assert abs(slow["overlap"][-1]) > 0.2


def test_weak_recovery_says_when_each_dimension_escapes():
    (study,) = objects(
        *("dynamics", "--weak-recovery", "--dimension", "20,40", "--seeds", "3", "--thresholds", "0.3"),
    )
    assert [one["dimension"] for one in study["escapes"]] == [20, 40]
    assert all(one["escaped"] == 3 for one in study["escapes"])
    assert {fit["law"] for fit in study["fits"]} == {"A d^2 log d", "A d^2", "A d^x"}


def test_tables_and_figures(tmp_path):
    figure = tmp_path / "learning.svg"
    result = qklab("dynamics", "--method", "exact,sgd", "--time", "0.5", *SMALL, "--plot", figure)
    assert "self-overlap" in result.stdout
    assert "escape" in result.stdout
    assert "SGD" in figure.read_text()
    escapes = tmp_path / "escapes.svg"
    result = qklab(
        *("dynamics", "--weak-recovery", "--dimension", "20,40", "--seeds", "3", "--thresholds", "0.3"),
        *("--plot", escapes),
    )
    assert "A d^2 log d" in result.stdout
    assert "dimension" in escapes.read_text()


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["--method", "nothing"], "method = nothing"),
        (["--method", "exact", "--parametrization", "direct"], "method = exact"),
        (["--order", "3"], "order = 3"),
        (["--time", "0"], "time = 0"),
        (["--times", "1,2", "--time", "2"], "time = 2"),
        (["--quantity", "nothing"], "quantity = nothing"),
        (["--model", "nothing"], "model = nothing"),
        (["--gamma", "2"], "gamma = 2"),
        (["--thresholds", "2"], "thresholds = 2"),
        (["--series", "1,0,0"], "series = 1,0,0"),
        (["--model", "h2", "--series", "1,0"], "series = 1,0"),
        (["--method", "fast"], "method = fast"),
        (["--weak-recovery", "--order", "2"], "order = 2"),
        (["--truncation-error"], "method = exact"),
        (["--truncation-error", "--method", "truncated", "--dimension", "20,30"], "truncation_error"),
    ],
)
def test_refuses_what_makes_no_sense(arguments, culprit):
    assert culprit in complaint("dynamics", *arguments)
