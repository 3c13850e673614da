"""Memory is predicted, held to, and kept within what the user allows."""

import json
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command import COMMAND, complaint, objects, qklab

SMALL = ["--dimension", "100", "--test-samples", "2000", "--max-epochs", "2", "--threads", "2", "--quiet"]


def peak_and_result(*arguments):
    """Peak resident bytes of `qklab train`, and what it prints. The mark in /proc only rises."""
    command = [COMMAND, "train", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        peak = 0
        while process.poll() is None:
            with suppress(OSError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = next((int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line), peak)
            time.sleep(0.005)
        return peak * 1024, json.loads(process.stdout.read())


@pytest.mark.parametrize(
    "options",
    [
        ["--alpha", "2", "--tokens", "8"],
        ["--alpha", "6", "--precision", "f32", "--tokens", "4"],
        ["--alpha", "2", "--tokens", "8", "--data", "regenerated"],
        ["--alpha", "1", "--parametrization", "untied", "--optimizer", "adam", "--tokens", "6"],
    ],
)
def test_the_prediction_is_held(options):
    peak, result = peak_and_result(*SMALL, *options)
    predicted = result["memory_gib"] * 2**30
    assert peak < 1.1 * predicted
    assert peak > 0.4 * predicted


def test_tokens_are_stored_where_they_fit_and_the_numbers_are_the_same():
    problem = ["train", *SMALL, "--alpha", "4"]
    (stored,) = objects(*problem, status=3)
    (regenerated,) = objects(*problem, "--memory", "0.08", status=3)
    assert (stored["data"], regenerated["data"]) == ("stored", "regenerated")
    assert regenerated["memory_gib"] < 0.08 < stored["memory_gib"]
    for key in ("test_error", "train_loss", "overlap", "self_overlap", "gradient_norm", "epochs"):
        assert regenerated[key] == stored[key]


def test_what_does_not_fit_is_refused_with_the_numbers():
    message = complaint("train", *SMALL, "--alpha", "4", "--data", "stored", "--memory", "0.08")
    assert "dimension = 100" in message
    assert "0.08 GiB are available" in message
    assert "memory" in complaint("train", *SMALL, "--alpha", "4", "--memory", "0")
    assert "data = kept" in complaint("train", *SMALL, "--alpha", "4", "--data", "kept")


def test_training_that_takes_much_memory_says_so_unless_quiet():
    large = ["train", "--dimension", "40", "--alpha", "283", "--max-epochs", "1"]
    words = "qklab: training holds 0."
    assert words in qklab(*large, "--test-samples", "50").stderr
    assert words not in qklab(*large, "--test-samples", "50", "--quiet").stderr
