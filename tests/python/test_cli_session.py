"""The command and the one who waits for it: progress, Ctrl-C, figures."""

import json
import signal
from xml.etree import ElementTree

import pytest
from command import TINY, TRAINED, Terminal, qklab

# Trains until it is stopped.
ENDLESS = [
    *("train", "--alpha", "2", "--dimension", "30", "--test-samples", "50", "--json"),
    *("--optimizer", "gradient-descent", "--learning-rate", "1e-9"),
    *("--gradient-tolerance", "1e-30", "--max-epochs", "1000000000"),
]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_training_that_is_stopped_reports_how_far_it_came(number, status):
    terminal = Terminal(80, *ENDLESS)
    terminal.wait_for("training")
    terminal.process.send_signal(number)
    output, returncode = terminal.finish()
    assert returncode == status
    (line,) = output.splitlines()
    run = json.loads(line)
    assert run["converged"] is False
    assert run["outcome"] == "interrupted"
    assert run["epochs"] > 0
    assert run["train_loss"] > 0


def test_a_grid_that_is_stopped_reports_what_was_finished():
    terminal = Terminal(80, "compare", "--alpha", "0.1:4:100000", *TRAINED, "--seeds", "2", "--json")
    terminal.wait_for(r" ([4-9]|\d\d+)/200000 ")
    terminal.process.send_signal(signal.SIGINT)
    output, returncode = terminal.finish()
    assert returncode == 130
    points = [json.loads(line) for line in output.splitlines()]
    assert len(points) >= 2
    assert all(point["train"]["seeds"] == 2 for point in points[:-1])
    assert all(point["converged"] for point in points[:-1])


def test_a_pipe_sees_no_progress():
    result = qklab("compare", "--alpha", "0.5,1", *TRAINED, "--seeds", "2")
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_quiet_is_quiet_on_a_terminal():
    terminal = Terminal(80, "compare", "--alpha", "0.5,1", *TRAINED, "--seeds", "2", "--quiet", "--json")
    output, returncode = terminal.finish()
    assert returncode == 0
    assert terminal.shown == ""
    assert len(output.splitlines()) == 2


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_progress_fits_the_terminal(columns):
    terminal = Terminal(columns, "compare", "--alpha", "0.5:1:4", *TRAINED, "--seeds", "2", "--json")
    output, returncode = terminal.finish()
    assert returncode == 0
    assert len(output.splitlines()) == 4
    lines = terminal.lines()
    assert lines
    assert max(map(len, lines)) < columns
    assert any("/8" in line for line in lines)
    assert any("ETA" in line for line in lines)
    assert terminal.shown.endswith("\x1b[J")


def test_progress_follows_a_terminal_that_shrinks():
    terminal = Terminal(120, *ENDLESS)
    terminal.wait_for("training")
    terminal.resize(24)
    terminal.shown = ""
    terminal.wait_for(r"(\x1b\[J[^\x1b]+\r){2}")
    terminal.process.send_signal(signal.SIGINT)
    terminal.finish()
    progress = [line for line in terminal.lines() if line.startswith("runs")]
    assert len(progress[-1]) < 24


SIGNATURES = {"svg": b"<?xml", "pdf": b"%PDF-", "png": b"\x89PNG\r\n\x1a\n"}


@pytest.mark.parametrize(
    ("verb", "ending"), [("theory", "svg"), ("compare", "pdf"), ("compare", "svg"), ("spectrum", "png")]
)
def test_every_verb_draws(verb, ending, tmp_path):
    path = tmp_path / f"figure.{ending}"
    training = {"theory": [], "compare": ["--seeds", "2"], "spectrum": ["--train", "--seeds", "2"]}[verb]
    problem = TINY if verb == "theory" else TRAINED
    result = qklab(
        verb, "--alpha", "0.5,1", "--kappa0", "0.3,0.5", *problem, *training, "--json", "--plot", path
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 4
    assert path.read_bytes().startswith(SIGNATURES[ending])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    if ending == "svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_figure_that_fails_at_the_end_leaves_the_results(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\necho "no ink" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setenv("QKLAB_PYTHON", str(python))
    result = qklab("theory", "--alpha", "0.5,1", *TINY, "--json", "--plot", tmp_path / "figure.svg")
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr.endswith("figure.svg: the figure could not be drawn: no ink\n")
    assert len(result.stderr.splitlines()) == 1


def test_a_figure_may_be_called_like_an_option_and_lie_beside_any_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('not the module that was meant')")
    result = qklab("theory", "--alpha", "1", *TINY, "--plot=-figure.svg")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "-figure.svg").exists()


def test_a_single_point_is_drawn(tmp_path):
    path = tmp_path / "figure.svg"
    result = qklab("theory", "--alpha", "1", *TINY, "--plot", path)
    assert result.returncode == 0, result.stderr
    assert path.exists()
