"""Message passing on finite instances, and the state evolution beside it."""

import pytest
from command import complaint, objects, qklab

INSTANCE = [
    *("--alpha", "1", "--lambda", "0.1", "--noise-in", "0.2", "--dimension", "40"),
    *("--log2-points", "12", "--test-samples", "2000"),
]


def test_iterates_follow_their_state_evolution():
    *iterates, last = objects("amp", *INSTANCE, "--seeds", "3")
    assert [one["iteration"] for one in iterates] == list(range(len(iterates)))
    assert iterates[0]["overlap"] == iterates[0]["predicted_overlap"] == 0
    for one in iterates:
        assert one["damping"] == 0
        for quantity in ("overlap", "self_overlap", "test_error"):
            finite_size = 2 / 40 * one[f"predicted_{quantity}"] + 1e-9
            error = one[f"{quantity}_se"]
            assert abs(one[quantity] - one[f"predicted_{quantity}"]) < 4 * error + finite_size
    assert iterates[-1]["residual"] < 1e-9
    assert last["final"]
    assert last["converged"]
    assert last["iterations"] == iterates[-1]["iteration"]


def test_the_end_is_the_minimiser_that_training_finds():
    (trained,) = objects("train", *INSTANCE[:8], "--gradient-tolerance", "1e-7")
    *_, last = objects("amp", *INSTANCE)
    (run,) = last["runs"]
    assert run["overlap"] == pytest.approx(trained["overlap"], rel=1e-5)
    assert run["self_overlap"] == pytest.approx(trained["self_overlap"], rel=1e-5)
    assert run["train_loss"] == pytest.approx(trained["train_loss"], rel=1e-4)
    assert last["overlap_se"] is None


def test_the_fixed_point_of_the_last_object_is_that_of_theory():
    (solution,) = objects("theory", *INSTANCE[:10])
    *iterates, last = objects("amp", *INSTANCE)
    assert last["predicted_overlap"] == solution["overlap"]
    assert last["predicted_test_error"] == solution["test_error"]
    assert iterates[-1]["predicted_overlap"] == pytest.approx(solution["overlap"], rel=1e-5)


def test_the_posterior_mean_reaches_its_own_state_evolution():
    (solution,) = objects("theory", "--estimator", "bayes", "--alpha", "0.12", "--dimension", "60")
    *iterates, last = objects(
        *("amp", "--estimator", "bayes", "--alpha", "0.12", "--dimension", "60", "--seeds", "3"),
        *("--test-samples", "2000", "--iterate-tolerance", "0.1"),
    )
    assert last["estimator"] == "bayes"
    assert "lambda" not in last
    assert last["predicted_overlap"] == pytest.approx(solution["overlap"])
    assert abs(last["overlap"] - solution["overlap"]) < 4 * last["overlap_se"] + 6 / 60
    assert iterates[0]["predicted_overlap"] == 0


def test_points_of_a_grid_are_told_apart():
    lines = objects("amp", "--alpha", "1,2", *INSTANCE[2:], "--max-iterations", "4", status=3)
    assert [line["alpha"] for line in lines if line.get("final")] == [1, 2]
    assert {line["alpha"] for line in lines} == {1, 2}
    assert not any(line["converged"] for line in lines if line.get("final"))


def test_table_and_figure(tmp_path):
    figure = tmp_path / "amp.svg"
    result = qklab("amp", *INSTANCE, "--seeds", "2", "--plot", str(figure))
    assert "overlap" in result.stdout
    assert "deviation" in result.stdout
    assert "AMP" in figure.read_text()
    table = qklab("amp", "--alpha", "1,2", *INSTANCE[2:])
    assert len(table.stdout.splitlines()) == 8


@pytest.mark.parametrize(
    ("option", "value"),
    [("--max-iterations", "0"), ("--iterate-tolerance", "-1"), ("--seeds", "0"), ("--iterate-samples", "1")],
)
def test_refuses_what_is_out_of_range(option, value):
    assert option.removeprefix("--").replace("-", "_") in complaint("amp", *INSTANCE, option, value)
