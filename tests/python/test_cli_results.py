"""What the verbs print: JSON with every key, tables that fit a page, statuses."""

import hashlib
import re
import subprocess

import pytest
from command import COMMAND, ROOT, TINY, TRAINED, objects, qklab

INPUTS = [
    *("alpha", "tokens", "activation", "beta", "task", "noise_in", "noise_out", "teacher", "kappa"),
    *("parametrization", "lambda", "dimension"),
]
SAMPLED = [
    *("overlap", "self_overlap", "susceptibility", "overlap_hat", "self_overlap_hat", "susceptibility_hat"),
    *("test_error", "train_loss", "train_error", "regularization", "zero_fraction", "stability"),
]
SOLUTION = [
    *INPUTS,
    *SAMPLED,
    *(f"{name}_se" for name in SAMPLED),
    *("edges", "stable", "converged", "outcome", "iterations", "residual", "estimator_gap"),
    *("competing_minima", "seed", "log2_points", "version"),
]
MEASURED = ["test_error", "train_loss", "regularization", "overlap", "self_overlap", "zero_fraction"]
RUN = [*MEASURED, "test_error_se", "epochs", "gradient_norm", "seconds", "converged", "outcome", "seed"]


SMALL = TRAINED[len(TINY) :]


def missing(json, keys):
    return [key for key in keys if key not in json]


def test_theory_states_problem_and_solution():
    (point,) = objects("theory", "--alpha", "1", *TINY)
    assert missing(point, [*SOLUTION, "kappa0"]) == []
    assert list(point)[: len(INPUTS) + 1] == [*INPUTS[:8], "kappa0", *INPUTS[8:]]
    assert point["converged"] is True
    assert point["outcome"] == "converged"
    assert point["alpha"] == 1
    assert all(low < high for low, high in point["edges"])
    # d = infinity, T = 1: the test error is 2 (Q0 - 2 m + q), and no sampling is needed
    q0 = 1 + point["kappa0"]
    assert point["test_error"] == pytest.approx(2 * (q0 - 2 * point["overlap"] + point["self_overlap"]))
    assert point["test_error_se"] == 0
    assert point["train_loss"] == pytest.approx(point["alpha"] * point["train_error"])


def test_softmax_is_sampled():
    (point,) = objects("theory", "--alpha", "1", "--lambda", "0.1", "--log2-points", "11")
    assert point["test_error_se"] > 0
    assert point["test_error"] == pytest.approx(0.01165, abs=4 * point["test_error_se"])


def test_a_grid_gives_a_line_a_point_alpha_fastest():
    points = objects("theory", "--alpha", "0.5:2:3:log", "--kappa0", "0.3,0.6", *TINY)
    assert [(p["alpha"], p["kappa0"]) for p in points] == [
        (pytest.approx(alpha), kappa0) for kappa0 in (0.3, 0.6) for alpha in (0.5, 1, 2)
    ]
    assert points[2]["alpha"] == 2


def test_a_warm_start_leads_to_the_same_solution():
    along = objects("theory", "--alpha", "0.5,1,2", *TINY)
    for point in along:
        (alone,) = objects("theory", "--alpha", point["alpha"], *TINY)
        assert point["test_error"] == pytest.approx(alone["test_error"], rel=1e-8)


LIST = b"# eigenvalues\n3\n2\n1\n"


@pytest.mark.parametrize(
    ("teacher", "stated"),
    [
        (["power-law", "--gamma", "1.5", "--dimension", "20"], {"gamma": 1.5, "modes": 20, "dimension": 20}),
        (["power-law", "--modes", "5", "--dimension", "20"], {"gamma": 1, "modes": 5}),
        (
            ["spectrum:list.txt"],
            {"spectrum": {"file": "list.txt", "sha1": hashlib.sha1(LIST).hexdigest()}, "dimension": 3},
        ),
    ],
)
def test_every_teacher_is_stated_completely(teacher, stated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_bytes(LIST)
    (point,) = objects("theory", "--alpha", "1", *TINY, "--teacher", *teacher)
    assert point["teacher"] == teacher[0]
    assert {key: point[key] for key in stated} == stated
    assert "kappa0" not in point


def test_a_file_holds_options_and_flags_win(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        'alpha = [0.5, 1]\ntokens = 1\nactivation = "identity"\nnoise_out = 0.5\nlambda = 0.3\njson = true\n'
    )
    assert [p["alpha"] for p in objects("theory", "--config", config)] == [0.5, 1]
    (point,) = objects("theory", "--config", config, "--alpha", "2", "--lambda", "0.4")
    assert (point["alpha"], point["lambda"], point["noise_out"]) == (2, 0.4, 0.5)


def test_a_flag_switches_off_what_the_file_switched_on(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text("alpha = 1\njson = true\n")
    result = qklab("theory", "--config", config, *TINY, "--json=false")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("identity")


def test_train_states_problem_and_measurements():
    (run,) = objects("train", "--alpha", "1", *TRAINED, "--seed", "5")
    assert missing(run, [*INPUTS, *RUN, "version"]) == []
    assert run["converged"] is True
    assert run["seed"] == 5
    assert "eigenvalues" not in run


def test_eigenvalues_come_on_request():
    (run,) = objects("train", "--alpha", "1", *TRAINED, "--spectrum")
    eigenvalues = run["eigenvalues"]
    assert len(eigenvalues) == 8
    assert eigenvalues == sorted(eigenvalues)
    assert sum(s * s for s in eigenvalues) / 8 == pytest.approx(run["self_overlap"])


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam", "gradient-descent", "amp", "auto"])
def test_every_optimizer_finds_the_same_minimum(optimizer):
    (run,) = objects("train", "--alpha", "1", *TRAINED, "--optimizer", optimizer, "--max-epochs", "20000")
    (reference,) = objects("train", "--alpha", "1", *TRAINED)
    objective = [r["train_loss"] + r["regularization"] for r in (run, reference)]
    assert objective[0] == pytest.approx(objective[1], rel=1e-6)


def test_the_seed_is_all_there_is_to_chance():
    def measured(*arguments):
        (run,) = objects("train", "--alpha", "1", *TRAINED[:-2], *arguments)
        return {key: value for key, value in run.items() if key not in ("seconds", "memory_gib")}

    assert measured("--threads", "1") == measured("--threads", "2")
    assert measured("--seed", "1")["overlap"] != measured("--seed", "2")["overlap"]


def test_training_that_did_not_converge_says_so():
    result = qklab("train", "--alpha", "1", *TRAINED, "--max-epochs", "2", "--json")
    assert result.returncode == 3
    assert '"converged":false' in result.stdout
    assert '"outcome":"iteration limit"' in result.stdout
    assert re.fullmatch(r"qklab: 1 of 1 points did not converge[^\n]+\n", result.stderr)


def test_compare_puts_theory_and_runs_side_by_side():
    points = objects("compare", "--alpha", "0.5,1", *TRAINED, "--seeds", "3", "--seed", "4")
    assert len(points) == 2
    for point in points:
        theory, train = point["theory"], point["train"]
        assert missing(theory, SOLUTION) == []
        assert (train["seeds"], train["dimension"]) == (3, 8)
        assert [run["seed"] for run in train["runs"]] == [4, 5, 6]
        assert missing(train["runs"][0], RUN) == []
        for name in MEASURED:
            values = [run[name] for run in train["runs"]]
            mean = sum(values) / 3
            se = (sum((v - mean) ** 2 for v in values) / 6) ** 0.5
            assert train[name] == {"mean": pytest.approx(mean), "se": pytest.approx(se)}
            assert train["mean"][name] == train[name]["mean"]
            assert train["se"][name] == train[name]["se"]
            if se > 0:
                error = (se**2 + theory[f"{name}_se"] ** 2) ** 0.5
                assert point["deviation"][name] == pytest.approx((mean - theory[name]) / error)
            else:
                assert point["deviation"][name] is None


def test_one_seed_has_no_error():
    (point,) = objects("compare", "--alpha", "1", *TRAINED, "--seeds", "1")
    assert point["train"]["test_error"]["se"] is None
    assert point["deviation"]["test_error"] is None


def test_the_bayes_optimal_reference_alone():
    below, above = objects("theory", "--alpha", "0.15,0.2", "--estimator", "bayes", "--log2-points", "10")
    assert (below["estimator"], below["converged"], below["outcome"]) == ("bayes", True, "converged")
    assert below["overlap"] == below["self_overlap"]
    assert below["squared_error"] == pytest.approx(1.5 - below["overlap"])
    assert below["test_error"] > 0
    assert below["residual"] <= 1e-9
    assert [above[key] for key in ("test_error", "squared_error", "overlap", "overlap_hat")] == [
        0,
        0,
        1.5,
        None,
    ]
    assert [key for key in ("lambda", "kappa", "train_loss", "susceptibility") if key in below] == []


def test_the_bayes_optimal_reference_beside_theory_and_runs():
    reference = ["--alpha", "1", *TRAINED]
    (alone,) = objects("theory", "--alpha", "1", *TINY[:-2], "--estimator", "bayes", "--dimension", "8")
    (theory,) = objects("theory", *reference[: 2 + len(TINY)], "--bayes", "--dimension", "8")
    assert theory["bayes"] == alone
    assert theory["bayes"]["test_error"] < theory["test_error"]
    (compared,) = objects("compare", *reference, "--bayes", "--seeds", "2")
    assert compared["bayes"] == alone
    (price,) = objects("compare", *reference, "--estimator", "bayes", "--seeds", "2")
    assert price["theory"] == alone
    assert price["erm"] == compared["theory"]
    assert price["train"]["mean"] == compared["train"]["mean"]
    assert "price" in price["deviation_is"]
    excess = price["train"]["mean"]["test_error"] - alone["test_error"]
    assert price["deviation"]["test_error"] == pytest.approx(excess / price["train"]["se"]["test_error"])


def test_the_bayes_optimal_reference_is_drawn(tmp_path):
    grid = ["--alpha", "0.5,1", "--lambda", "0.3,1", *TINY[:-2]]
    for number, options in enumerate((["--bayes"], ["--estimator", "bayes"])):
        figure = tmp_path / f"{number}.svg"
        result = qklab(
            "theory", *(grid if number == 0 else [*grid[:2], *TINY[:-2]]), *options, "--plot", figure
        )
        assert result.returncode == 0, result.stderr
        assert figure.stat().st_size > 0


def test_thresholds_of_recovery():
    (point,) = objects("thresholds", "--kappa0", "0.5")
    assert missing(point, [key for key in INPUTS if key not in ("alpha", "lambda")]) == []
    assert [key for key in ("alpha", "lambda") if key in point] == []
    assert point["recovery_alpha"] == pytest.approx(0.21109, abs=1e-5)
    assert point["bayes_recovery_alpha"] == pytest.approx(0.1875)
    assert point["counting_alpha"] == pytest.approx(0.25)
    assert point["interpolation_alpha"] is None
    assert "any alpha" in point["interpolation_reason"]
    assert [key for key in point if "continuation" in key] == []


def test_thresholds_of_interpolation_checked():
    options = ["--tokens", "1", "--activation", "identity", "--noise-out", "0.2,1", "--check"]
    for point in objects("thresholds", *options):
        assert 0.25 < point["interpolation_alpha"] < 0.5
        assert point["interpolation_alpha_continuation"] == pytest.approx(point["interpolation_alpha"])
        assert point["interpolation_agreement"] < 1e-6
        assert (point["recovery_alpha"], point["recovery_alpha_continuation"]) == (None, None)
        assert "noise" in point["recovery_reason"]


@pytest.mark.parametrize("options", [[], ["--noise-in", "0.2"]], ids=["recovery", "interpolation"])
def test_the_phase_diagram_is_drawn(options, tmp_path):
    figure = tmp_path / "phase.svg"
    result = qklab("thresholds", "--kappa0", "0.1:1:4", *options, "--plot", figure)
    assert result.returncode == 0, result.stderr
    assert figure.stat().st_size > 0


def area(curve):
    return sum(
        (b - a) * (p + q) / 2
        for a, b, p, q in zip(curve["x"], curve["x"][1:], curve["p"], curve["p"][1:], strict=False)
    )


def test_spectrum_gives_densities_that_hold_all_mass():
    (point,) = objects("spectrum", "--alpha", "1", *TINY)
    assert missing(point, [*SOLUTION, "density", "singular_density", "atoms", "outliers"]) == []
    ((atom),) = point["atoms"]
    assert atom == {"location": 0, "mass": point["zero_fraction"]}
    assert area(point["density"]) == pytest.approx(1 - atom["mass"], abs=1e-4)
    assert area(point["singular_density"]) == pytest.approx(1 - atom["mass"], abs=1e-4)
    assert point["density"]["x"][-1] == pytest.approx(point["edges"][-1][1])
    assert point["singular_density"]["x"][-1] ** 2 == pytest.approx(point["edges"][-1][1])


def test_spectrum_of_the_zero_solution_is_an_atom():
    (point,) = objects("spectrum", "--alpha", "0.5", *TINY[:-2], "--lambda", "100")
    assert point["atoms"] == [{"location": 0, "mass": 1}]
    assert point["density"] == {"x": [], "p": []}
    assert point["converged"] is True
    assert point["outcome"] == "zero solution"


def test_spectrum_trains_on_request():
    (point,) = objects("spectrum", "--alpha", "1", *TRAINED, "--train", "--seeds", "2", "--points", "50")
    runs = point["train"]["runs"]
    assert [len(run["eigenvalues"]) for run in runs] == [8, 8]
    edges = point["histogram"]["bin_edges"]
    bars = sum(p * (b - a) for a, b, p in zip(edges, edges[1:], point["histogram"]["p"], strict=False))
    largest = max(max(run["eigenvalues"]) for run in runs)
    kept = sum(s > 1e-3 * largest for run in runs for s in run["eigenvalues"])
    assert bars == pytest.approx(kept / 16)


@pytest.mark.parametrize(
    "options", [[], ["--check"], ["--kappa0", "0.1,0.5"], ["--kappa0", "1,2", "--check"]]
)
def test_threshold_tables_fit_a_page(options):
    for further in ([], ["--kappa", "0.6"], ["--noise-in", "0.1"], ["--parametrization", "untied"]):
        result = qklab("thresholds", *options, *further)
        assert result.returncode == 0, result.stderr
        assert [line for line in result.stdout.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["theory", "--alpha", "1"],
        ["theory", "--alpha", "0.1:4:4:log", "--lambda", "0.1,0.3", "--kappa", "0.3,1"],
        ["train", "--alpha", "1", *SMALL],
        ["train", "--alpha", "0.5,1", *SMALL],
        ["compare", "--alpha", "1", *SMALL, "--seeds", "2"],
        ["compare", "--alpha", "0.5,1", *SMALL, "--seeds", "2"],
        ["spectrum", "--alpha", "0.5,1"],
        ["theory", "--alpha", "0.5,1", "--bayes"],
        ["compare", "--alpha", "0.5,1", *SMALL, "--seeds", "2", "--bayes"],
        ["compare", "--alpha", "0.5,1", *SMALL, "--seeds", "2", "--estimator", "bayes"],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_tables_fit_a_page_and_are_plain_text(arguments):
    extra = TINY if "--lambda" not in arguments else TINY[:-2]
    result = qklab(*arguments, *extra)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []
    assert re.fullmatch(r"[ -~\n]+", result.stdout)


def test_a_closed_pipe_ends_the_work_quietly():
    command = [COMMAND, "theory", "--alpha", "0.1:4:3000", *TINY, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().endswith("}\n")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_help_and_version():
    version = re.search(r"project\(qklab VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert qklab("--version").stdout == f"qklab {version}\n"
    help_text = qklab("--help")
    assert help_text.returncode == 0
    assert all(verb in help_text.stdout for verb in ("theory", "train", "compare", "spectrum"))
    verb_help = qklab("compare", "--help")
    assert verb_help.returncode == 0
    options = ("--alpha", "--noise-in", "--parametrization", "--seeds", "--plot", "--config", "--json")
    assert missing(verb_help.stdout, options) == []
    (point,) = objects("theory", "--alpha", "1", *TINY)
    assert point["version"] == version


@pytest.mark.parametrize("verb", ["compare", "spectrum"])
def test_the_examples_are_valid(verb):
    example = {"compare": "first-figure.toml", "spectrum": "first-figure-spectra.toml"}[verb]
    train = ["--train"] if verb == "spectrum" else []
    small = ["--alpha", "0.5", "--dimension", "6", "--seeds", "1", "--log2-points", "10", "--lambda", "0.3"]
    config = ["--config", ROOT / "examples" / example]
    (point,) = objects(verb, *config, *train, *small, "--test-samples", "50")
    assert point["train"]["dimension"] == 6
