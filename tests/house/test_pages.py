"""What the pages promise of the command, held against the command as built."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tree import ROOT

COMMAND = Path(os.environ.get("QKLAB_COMMAND", ROOT / "build" / "release" / "qklab"))
VERBS = (
    "theory",
    "train",
    "compare",
    "amp",
    "dynamics",
    "spectrum",
    "decompose",
    "thresholds",
    "tune",
    "scaling",
)
OPTION = re.compile(r"--[a-z][a-z0-9-]*")

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


def run(*arguments):
    result = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return result.stdout


def options_of(verb):
    lines = run(verb, "--help").splitlines()
    return {OPTION.search(line)[0] for line in lines if re.match(r"\s+(-h,)?--", line)}


def test_every_option_is_in_the_reference_and_every_one_there_exists():
    page = (ROOT / "docs" / "cli.md").read_text()
    assert set().union(*map(options_of, VERBS)) == set(OPTION.findall(page))


def readme_commands():
    page = (ROOT / "README.md").read_text()
    return re.findall(r"^\$ qklab (.*)$", page, re.MULTILINE)


def test_the_readme_shows_eight_commands():
    verbs = [shlex.split(command)[0] for command in readme_commands()]
    assert verbs == ["theory", "compare", "spectrum", "tune", "decompose", "thresholds", "amp", "dynamics"]


@pytest.mark.parametrize("command", readme_commands())
def test_commands_of_the_readme_run(command, tmp_path):
    """As printed, but for a dimension at which training takes no time and a figure out of the way."""
    command = command.replace("--dimension 60", "--dimension 12").replace("--plot ", f"--plot {tmp_path}/")
    assert run(*shlex.split(command), "--quiet", "--threads", "1")
    assert len(list(tmp_path.iterdir())) == command.count("--plot")


@pytest.mark.parametrize(
    ("verb", "example"), [("compare", "first-figure.toml"), ("spectrum", "first-figure-spectra.toml")]
)
def test_examples_run(verb, example):
    training = ["--train"] if verb == "spectrum" else []
    small = ["--alpha", "1", "--dimension", "12", "--seeds", "2", "--quiet", "--threads", "1"]
    assert run(verb, "--config", f"examples/{example}", *training, *small)


def test_the_examples_state_one_problem():
    """Spectra are those of points on the learning curve."""
    texts = [(ROOT / "examples" / f"first-figure{end}.toml").read_text() for end in ("", "-spectra")]
    curve, spectra = (dict(re.findall(r'^(\w+) = ("[^"]*"|\S+)', text, re.MULTILINE)) for text in texts)
    assert {k: v for k, v in spectra.items() if k not in ("alpha", "seeds")}.items() <= curve.items()
