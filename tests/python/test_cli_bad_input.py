"""Bad input: status 2, one line that names the parameter, its value and what is allowed, nothing done."""

import subprocess

import pytest
from command import COMMAND, TINY, TRAINED, complaint


@pytest.fixture(autouse=True)
def untouched(tmp_path, monkeypatch):
    """Works in an empty directory, and finds there afterwards only what the test itself put there."""
    monkeypatch.chdir(tmp_path)
    yield
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("given")] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--alpha", "0"], ["alpha = 0:", "> 0"]),
        (["--alpha", "-1"], ["alpha = -1:", "> 0"]),
        (["--alpha", "nan"], ["alpha = nan:", "finite"]),
        (["--alpha", "-inf"], ["alpha = -inf:", "finite"]),
        (["--alpha", "1e999"], ["alpha = 1e999:", "finite"]),
        (["--alpha", ""], ["alpha = :", "finite number"]),
        (["--alpha", "1,,2"], ["alpha = 1,,2:", "comma list"]),
        (["--alpha", "0.1:4"], ["alpha = 0.1:4:", "start:stop:count"]),
        (["--alpha", "0:4:20:log"], ["alpha = 0:4:20:log:", "> 0"]),
        (["--alpha", "1:2:1e9"], ["alpha = 1:2:1e9:", "count"]),
        (["--alpha", "1:2:9999", "--beta", "1:2:9999"], ["grid = ", "at most"]),
        (["--alpha", "1,2,-3"], ["alpha = -3:", "> 0"]),
        (["--alpha", "1", "--kappa0", "0"], ["kappa0 = 0:", "> 0"]),
        (["--alpha", "1", "--kappa0", "-0.1"], ["kappa0 = -0.1:", "> 0"]),
        (["--alpha", "1", "--lambda", "-0.01"], ["lambda = -0.01:", ">= 0"]),
        (["--alpha", "1", "--lambda", "nan"], ["lambda = nan:", "finite"]),
        (["--alpha", "1", "--tokens", "0"], ["tokens = 0:", "1.."]),
        (["--alpha", "1", "--tokens", "1"], ["tokens = 1:", ">= 2"]),
        (["--alpha", "1", "--tokens", "2.5"], ["tokens = 2.5:", "whole"]),
        (["--alpha", "1", "--beta", "0"], ["beta = 0:", "> 0"]),
        (["--alpha", "1", "--noise-in", "-1"], ["noise_in = -1:", ">= 0"]),
        (["--alpha", "1", "--noise-out", "inf"], ["noise_out = inf:", "finite"]),
        (["--alpha", "1", "--kappa", "0"], ["kappa = 0:", "> 0"]),
        (["--alpha", "1", "--teacher", "power-law", "--gamma", "0.5"], ["gamma = 0.5:", "> 1/2"]),
        (["--alpha", "1", "--teacher", "power-law", "--modes", "0"], ["modes = 0:", "1.."]),
        (["--alpha", "1", "--teacher", "power-law", "--modes", "201"], ["modes = 201:", "200"]),
        (["--alpha", "1", "--dimension", "0"], ["dimension = 0:", "1.."]),
        (["--alpha", "1", "--teacher", "goe"], ["teacher = goe:", "wishart, power-law, spectrum:FILE"]),
        (["--alpha", "1", "--activation", "relu"], ["activation = relu:", "softmax, identity"]),
        (["--alpha", "1", "--task", "seq"], ["task = seq:", "seq2lab, seq2seq"]),
        (["--alpha", "1", "--parametrization", "free"], ["parametrization = free:", "tied, direct"]),
        (["--alpha", "1", "--gamma", "2"], ["gamma = 2:", "no effect", "wishart"]),
        (["--alpha", "1", "--modes", "2"], ["modes = 2:", "no effect", "wishart"]),
        (
            ["--alpha", "1", "--teacher", "power-law", "--kappa0", "1"],
            ["kappa0 = 1:", "no effect", "power-law"],
        ),
        (["--alpha", "1", "--activation", "identity", "--beta", "2"], ["beta = 2:", "no effect"]),
        (["--alpha", "1", "--activation", "hermite2"], ["activation = hermite2:"]),
        (["--alpha", "1", "--activation", "hardmax"], ["activation = hardmax:", "Bayes-optimal"]),
        (["--alpha", "1", "--activation", "hardmax", "--tokens", "1"], ["tokens = 1:", "hardmax"]),
        (
            ["--alpha", "1", "--parametrization", "untied", "--kappa", "0.5"],
            ["kappa = 0.5:", "untied", ">= 1"],
        ),
        (["--alpha", "1", "--parametrization", "untied", "--lambda", "0"], ["lambda = 0:", "untied", "> 0"]),
        (["--alpha", "1", "--log2-points", "2"], ["log2_points = 2:", "6..24"]),
        (["--alpha", "1", "--scramblings", "3"], ["scramblings = 3:"]),
        (["--alpha", "1", "--tolerance", "0"], ["tolerance = 0:", "> 0"]),
        (["--alpha", "1", "--seed", "-1"], ["seed = -1:"]),
        (["--alpha", "1", "--threads", "-1"], ["threads = -1:"]),
        (["--alpha", "1", "--estimator", "map"], ["estimator = map:", "erm, bayes"]),
        (["--alpha", "1", "--estimator", "bayes", "--lambda", "1"], ["lambda = 1:", "no effect", "bayes"]),
        (["--alpha", "1", "--estimator", "bayes", "--bayes"], ["bayes = true:", "no effect"]),
        (["--alpha", "1", "--estimator", "bayes", "--noise-out", "1"], ["noise_out = 1:", "must be 0"]),
        (["--alpha", "1", "--bayes", "--teacher", "power-law"], ["teacher = power-law:", "wishart"]),
        ([], ["alpha", "required"]),
        (["--alpha"], ["--alpha"]),
        (["--alpha", "1", "--alpha", "2"], ["--alpha"]),
        (["--alpha", "1", "--alhpa", "2"], ["--alhpa", "--alpha"]),
        (["--alpha", "1", "2"], ["2:"]),
        (["--alpha", "1", "--config", "no.toml"], ["no.toml"]),
        (["--alpha", "1", "--teacher", "spectrum:no.txt"], ["no.txt"]),
        (["--alpha", "1", "--teacher", "spectrum:."], ["."]),
    ],
)
def test_theory_refuses(arguments, words):
    line = complaint("theory", *arguments)
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--optimizer", "newton"], ["optimizer = newton:", "lbfgs, adam"]),
        (["--learning-rate", "0.1"], ["learning_rate = 0.1:", "no effect", "lbfgs"]),
        (["--optimizer", "adam", "--learning-rate", "0"], ["learning_rate = 0:", "> 0"]),
        (["--precision", "f16"], ["precision = f16:", "f32, f64"]),
        (["--gradient-tolerance", "nan"], ["gradient_tolerance = nan:"]),
        (["--max-epochs", "0"], ["max_epochs = 0:", "1.."]),
        (["--test-samples", "1"], ["test_samples = 1:", "2.."]),
        (["--parametrization", "direct", "--kappa", "0.5"], ["kappa = 0.5:", "must be 1"]),
        (
            ["--task", "seq2seq", "--tokens", "2,9", "--dimension", "8"],
            ["tokens = 9:", "dimension = 8"],
        ),
        (["--dimension", "100000"], ["dimension = 100000", "GiB"]),
        (["--kappa", "1e7"], ["kappa = 1", "GiB"]),
        (["--alpha", "1,1e9"], ["alpha = 1", "GiB"]),
    ],
)
@pytest.mark.parametrize("verb", ["train", "compare"])
def test_training_refuses(verb, arguments, words):
    alpha = [] if "--alpha" in arguments else ["--alpha", "1"]
    line = complaint(verb, *alpha, *arguments)
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize("option", ["--seeds=2", "--optimizer=adam", "--max-epochs=10"])
def test_options_of_training_need_training(option):
    assert "without --train" in complaint("spectrum", "--alpha", "1", option)


def test_a_verb_is_needed():
    assert "theory, train, compare, spectrum" in complaint()
    assert "theory, train, compare, spectrum" in complaint("teach", "--alpha", "1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--alpha", "1"], ["alpha = 1:", "thresholds"]),
        (["--samples", "100"], ["samples = 100:", "alpha"]),
        (["--lambda", "1"], ["lambda = 1:", "vanishing"]),
        (["--plot", "phase.svg"], ["plot = phase.svg:", "kappa0"]),
        (["--plot", "phase.svg", "--kappa0", "0.1,0.2", "--tokens", "2,3"], ["plot = phase.svg:"]),
        (["--activation", "hermite2"], ["activation = hermite2:"]),
        (["--activation", "hardmax"], ["activation = hardmax:"]),
    ],
)
def test_thresholds_refuse(arguments, words):
    line = complaint("thresholds", *arguments)
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["no eigenvalue"]),
        ("# nothing\n\n", ["no eigenvalue"]),
        ("1\n-2\n", ["line 2", "'-2'", "negative"]),
        ("1\ntwo\n", ["line 2", "'two'", "not a number"]),
        ("1\nnan\n", ["line 2", "'nan'"]),
        ("0\n0\n", ["> 0"]),
    ],
)
def test_a_bad_spectrum_is_named(content, words, tmp_path):
    (tmp_path / "given.txt").write_text(content)
    line = complaint("theory", "--alpha", "1", "--teacher", "spectrum:given.txt")
    assert [word for word in ["given.txt", *words] if word not in line] == [], line


def test_a_spectrum_fixes_the_dimension(tmp_path):
    (tmp_path / "given.txt").write_text("1\n2\n3\n")
    line = complaint("theory", "--alpha", "1", "--teacher", "spectrum:given.txt", "--dimension", "4")
    assert "dimension = 4:" in line
    assert "3" in line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("alhpa = 1\n", ["given.toml:1:", "alhpa", "alpha"]),
        ("alpha = 1\nnoise-in = 1\n", ["given.toml:2:", "noise-in", "noise_in"]),
        ("alpha = 1\nseeds = 3\n", ["given.toml:2:", "seeds"]),
        ("alpha = nan\n", ["given.toml:1:", "alpha = nan", "finite"]),
        ("alpha = [1, -inf]\n", ["given.toml:1:", "finite"]),
        ("alpha = true\n", ["given.toml:1:", "alpha = true"]),
        ("alpha = 1\nalpha = 2\n", ["given.toml:2:"]),
        ("alpha = \n", ["given.toml:1:"]),
        ("alpha = -1\n", ["alpha = -1", "> 0"]),
        ("[grid]\nalpha = 1\n", ["given.toml:1:", "grid"]),
    ],
)
def test_a_bad_file_is_named_with_its_line(content, words, tmp_path):
    (tmp_path / "given.toml").write_text(content)
    line = complaint("theory", "--config", "given.toml")
    assert [word for word in words if word not in line] == [], line


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("figure.gif", [".svg, .pdf or .png"]),
        ("figure", [".svg, .pdf or .png"]),
        ("", [".svg, .pdf or .png"]),
        ("missing/figure.svg", ["No such file or directory"]),
        ("given.svg", ["directory"]),
        ("/proc/figure.svg", ["written"]),
    ],
)
@pytest.mark.parametrize("verb", ["theory", "compare", "spectrum"])
def test_a_figure_that_cannot_be_written_is_refused_before_any_work(verb, path, words, tmp_path):
    (tmp_path / "given.svg").mkdir()
    line = complaint(verb, "--alpha", "1", *TINY, "--plot", path)
    assert [word for word in [f"plot = {path}:", *words] if word not in line] == [], line


def test_a_missing_python_is_an_error_before_any_work(monkeypatch):
    monkeypatch.setenv("QKLAB_PYTHON", "/no/such/python")
    line = complaint("compare", "--alpha", "1", *TRAINED, "--plot", "figure.svg")
    assert "/no/such/python" in line
    assert "QKLAB_PYTHON" in line


def test_a_full_disk_is_no_bad_input():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(
            [COMMAND, "theory", "--alpha", "1", *TINY, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr == "qklab: standard output: No space left on device\n"
