"""The harness of `make side-by-side` at toy size, and the plain state evolution it times against ours."""

import json
import math
import os
import statistics
import subprocess
import sys

import pytest
from side_by_side import page, plain_state_evolution, problems, timing, workers

needs_worker = pytest.mark.skipif(
    not workers.COMMAND.exists(), reason="build/release/side_by_side is not built"
)


def run(store, *arguments):
    command = [sys.executable, "-m", "side_by_side", "--toy", "--rounds", "2", "--threads", "1"]
    return subprocess.run(
        [*command, "--store", str(store), *arguments],
        env={**os.environ, "PYTHONPATH": str(workers.ROOT / "benchmarks")},
        capture_output=True,
        text=True,
        check=False,
    )


def load(store, part):
    return json.loads((store / f"{part}.json").read_text())


@needs_worker
def test_training_is_timed_without_pytorch(tmp_path):
    result = run(tmp_path, "--without-pytorch", "--only", "tuning,training,products")
    assert result.returncode == 0, result.stderr
    (found,) = load(tmp_path, "training").values()
    assert found["pass_f32"]["qklab"]["repeats"] == 2
    for method in ("qklab lbfgs", "qklab amp"):
        passes = [found["descent"][method][f"{accuracy:g}"]["passes"] for accuracy in (1e-2, 1e-3)]
        assert 0 < passes[0] <= passes[1]
    assert all(row["share"] > 0 for row in load(tmp_path, "products")["rows"])


@needs_worker
def test_message_passing_nears_the_minimum_of_descent(tmp_path):
    assert run(tmp_path, "--without-pytorch", "--only", "tuning").returncode == 0
    (found,) = load(tmp_path, "tuning").values()
    assert found["outcome"] == "converged"
    assert found["minimum"] * (1 - 1e-6) <= min(found["amp_values"]) <= found["minimum"] * (1 + 1e-3)


@needs_worker
def test_state_evolution_and_scaling_are_timed(tmp_path):
    pytest.importorskip("scipy")
    result = run(tmp_path, "--without-pytorch", "--only", "state-evolution,scaling")
    assert result.returncode == 0, result.stderr
    assert load(tmp_path, "scaling")["theory"]["exponents"]["qklab"]["se"] > 0


@needs_worker
def test_pytorch_computes_the_same_objective(tmp_path):
    pytest.importorskip("torch")
    assert run(tmp_path, "--only", "tuning,training").returncode == 0


@needs_worker
@pytest.mark.parametrize("name", problems.STATE_EVOLUTION)
def test_the_plain_state_evolution_agrees_within_its_error(name):
    """Sampled at d = 60, with a term of order 1/d."""
    problem = {**problems.STATE_EVOLUTION[name], "dimension": 60}
    with workers.ours() as worker:
        solved = worker.ask("theory", **problems.ONE_TOKEN, **problem)
    assert solved["outcome"] == "converged"
    plain = [plain_state_evolution.solve(problem, 1, seed, iterations=40)["error"] for seed in range(24)]
    deviation = statistics.fmean(plain) / solved["error"] - 1
    error = statistics.stdev(plain) / solved["error"] / math.sqrt(len(plain))
    assert error < 0.15
    assert abs(deviation) < 3 * error + 2 / 60


@needs_worker
@pytest.mark.parametrize("name", problems.STATE_EVOLUTION)
def test_the_timed_solution_is_that_of_25_digits(name):
    reference = json.loads((workers.HERE / "reference.json").read_text())[name]
    with workers.ours() as worker:
        solved = worker.ask("theory", **problems.ONE_TOKEN, **problems.STATE_EVOLUTION[name])
    assert solved["error"] == pytest.approx(reference, rel=1e-10)


def test_a_power_of_the_size_is_found():
    fit = timing.exponent([10, 20, 40, 80], [3 * d**2.5 for d in (10, 20, 40, 80)])
    assert fit["exponent"] == pytest.approx(2.5)
    assert fit["se"] < 1e-12


def test_sides_take_turns():
    order = []
    seconds = timing.in_turns(
        {"a": lambda: order.append("a") or 1.0, "b": lambda: order.append("b") or [2.0, 4.0]}, 2
    )
    assert order == ["a", "b", "a", "b"]
    assert seconds["b"] == {"median": 3.0, "min": 2.0, "max": 4.0, "repeats": 4}


def test_the_page_is_written_by_the_harness():
    """Its tables are those that the harness writes."""
    text = (workers.ROOT / "docs" / "performance.md").read_text()
    assert text.startswith("# Performance\n\nWritten by `make side-by-side`")
    assert [form for form in page.FORM_NAMES.values() if form not in text] == []
