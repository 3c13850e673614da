"""What follows from a solution: decompose, tune, scaling, outliers, plain numbers."""

import math

import pytest
from command import objects, qklab

POWER_LAW = [
    *("--teacher", "power-law", "--tokens", "1", "--activation", "identity"),
    *("--noise-out", "0.5", "--dimension", "60"),
]
PARTS = ["overfitting", "underfitting", "approximation", "cross"]


def distance(point):
    """q - 2 c m + c^2 Q0 of a teacher of mean square 1."""
    c = point["scale"]
    return point["self_overlap"] - 2 * c * point["overlap"] + c * c


def test_decompose_adds_up():
    for point in objects("decompose", "--alpha", "0.2,1,5", "--lambda", "1", *POWER_LAW):
        total = sum(point[part] for part in PARTS)
        assert total == pytest.approx(distance(point), abs=1e-10)
        rebuilt = (
            point["saturation_error"]
            + point["gradient_self_overlap"] * total
            + point["mismatch"]
            + point["remainder"]
        )
        assert rebuilt == pytest.approx(point["test_error"], abs=1e-10)
        assert point["scale"] == 1
        assert sum(mode["recovered"] for mode in point["modes"]) == point["recovered"]


def test_decompose_of_noisy_scores_settles_below_scale_one():
    (point,) = objects("decompose", "--alpha", "8", "--noise-in", "0.5", "--log2-points", "12")
    assert point["scale"] < 1
    assert point["saturation_error"] > 0
    assert point["mismatch"] != 0


def test_decompose_splits_trained_models():
    (point,) = objects(
        *("decompose", "--alpha", "1", "--lambda", "2", *POWER_LAW, "--train", "--seeds", "2"),
        *("--test-samples", "500"),
    )
    for part in PARTS:
        assert point["train"][part]["mean"] == pytest.approx(point[part], abs=0.1)
    assert point["train"]["seeds"] == 2
    assert point["deviation"]["overfitting"] is not None


def test_tune_finds_a_minimum_and_says_what_it_gains():
    (best,) = objects("tune", "--alpha", "1", *POWER_LAW)
    near = objects(
        "theory", "--alpha", "1", *POWER_LAW, "--lambda", f"{best['lambda'] * 0.8},{best['lambda'] * 1.25}"
    )
    assert all(point["test_error"] > best["test_error"] for point in near)
    assert best["flat_low"] < best["lambda"] < best["flat_high"]
    assert best["lambda_given"] == 0.01
    assert best["test_error_given"] > best["test_error"]
    assert best["gain"] == pytest.approx(1 - best["test_error"] / best["test_error_given"])
    lambdas = [point["lambda"] for point in best["curve"]]
    assert lambdas == sorted(lambdas)
    assert best["lambda"] in lambdas


def test_tune_speaks_in_plain_numbers():
    (best,) = objects("tune", "--dimension", "60", "--samples", "7200", "--width", "30", *POWER_LAW[:-2])
    assert best["alpha"] == 2
    assert best["samples"] == 7200
    assert best["kappa"] == 0.5
    assert best["width"] == 30
    text = qklab("tune", "--dimension", "60", "--samples", "7200", *POWER_LAW[:-2]).stdout
    assert "n = 7200 samples, width p = 60" in text


def test_the_best_weight_decay_is_the_one_tune_finds():
    (best,) = objects("tune", "--alpha", "1", *POWER_LAW)
    (point,) = objects("theory", "--alpha", "1", *POWER_LAW, "--lambda", "best")
    assert point["lambda"] == pytest.approx(best["lambda"], rel=1e-2)


def test_scaling_follows_the_samples():
    (law,) = objects("scaling", "--alpha", "0.05:50:13:log", *POWER_LAW)
    points = law["points"]
    assert [p["alpha"] for p in points] == sorted(p["alpha"] for p in points)
    assert all(p["samples"] == pytest.approx(p["alpha"] * 3600) for p in points)
    assert law["predicted_exponent"] == -0.5
    assert -1 < law["exponent"] < -0.4
    assert law["exponent_se"] > 0
    recovered = [p["recovered"] for p in points]
    assert recovered == sorted(recovered)
    errors = [p["test_error"] for p in points]
    assert errors == sorted(errors, reverse=True)
    assert [mode["mode"] for mode in law["modes"]] == list(range(1, 11))
    slope = math.log(points[7]["excess"] / points[5]["excess"]) / math.log(
        points[7]["samples"] / points[5]["samples"]
    )
    assert points[6]["local_exponent"] == pytest.approx(slope)


def test_scaling_at_a_given_weight_decay():
    (law,) = objects("scaling", "--alpha", "0.5,1,2", "--lambda", "0.7", *POWER_LAW)
    assert all(point["lambda"] == 0.7 for point in law["points"])


def test_spectrum_lists_outliers_with_what_was_trained():
    (point,) = objects(
        *("spectrum", "--alpha", "2", "--lambda", "1", "--modes", "4", *POWER_LAW),
        *("--train", "--seeds", "2", "--test-samples", "200"),
    )
    outliers = point["outliers"]
    assert [mode["rank"] for mode in outliers] == list(range(1, len(outliers) + 1))
    for mode in outliers:
        assert 0 < mode["alignment"] <= 1
        assert mode["train"]["learned"]["mean"] == pytest.approx(mode["learned"], abs=0.6)
        assert mode["train"]["alignment"]["mean"] == pytest.approx(mode["alignment"], abs=0.25)


def test_spectrum_of_a_bulk_teacher_has_a_profile():
    (point,) = objects("spectrum", "--alpha", "1", "--tokens", "1", "--activation", "identity")
    profile = point["profile"]
    assert point["outliers"] == []
    assert len(profile["student"]) == len(profile["teacher"]) > 20
    assert profile["teacher"] == sorted(profile["teacher"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scaling", "--alpha", "1", *POWER_LAW], "alpha = 1: a scaling law needs several"),
        (["scaling", "--alpha", "1,2", "--tokens", "1", "--activation", "identity"], "teacher = wishart"),
        (["scaling", "--alpha", "1,2", "--fit", "3", *POWER_LAW], "fit = 3: must be LOW,HIGH"),
        (
            ["train", "--alpha", "1", "--lambda", "best", *POWER_LAW],
            "lambda = best: training knows no theory",
        ),
        (["tune", "--alpha", "1", "--samples", "5", *POWER_LAW], "samples = 5: states the same as alpha"),
        (
            ["decompose", "--alpha", "1", "--seeds", "3", *POWER_LAW],
            "seeds = 3: has no effect without --train",
        ),
        (["spectrum", "--alpha", "1", "--show", "all", *POWER_LAW], "show = all: must be one of"),
    ],
)
def test_a_mistake_is_named(arguments, message):
    result = qklab(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "verb",
    [
        ["decompose", "--alpha", "0.2,1", "--lambda", "1"],
        ["tune", "--alpha", "1"],
        ["scaling", "--alpha", "0.1:10:5:log"],
    ],
)
def test_tables_fit_a_page_and_figures_are_drawn(verb, tmp_path):
    path = tmp_path / "figure.svg"
    result = qklab(*verb, *POWER_LAW, "--plot", path)
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 96
    assert path.read_text().rstrip().endswith("</svg>")
