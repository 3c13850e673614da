"""Holds trained models against every prediction and writes docs/validation.md.

Each problem is trained at two dimensions; a term of order 1/d is removed from the difference between
trained and predicted value by extrapolation, and what remains is given in its standard errors.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(os.environ.get("QKLAB_COMMAND", ROOT / "build" / "release" / "qklab"))
STORE = ROOT / "build" / "validation"
PAGE = ROOT / "docs" / "validation.md"

QUANTITIES = [
    *("test_error", "train_loss", "regularization", "overlap", "self_overlap", "zero_fraction"),
    *("overfitting", "underfitting", "approximation", "cross", "mismatch", "remainder"),
    "antisymmetric_self_overlap",
]
MODE_QUANTITIES = ["location", "alignment", "learned"]

# The softmax sees the law of the scores, which is not Gaussian for a teacher of few modes.
FEW_MODES = "six modes, softmax"
NOTES = {
    FEW_MODES: "2.8 effective modes: scores are [not Gaussian](theory/model.md) at any d, so that the test"
    " error of the softmax and its remainder are not those of the theory. Not counted above.",
}

PROBLEMS = {
    "Wishart teacher, softmax, noise on the labels": (
        "decompose --alpha 1 --noise-out 0.1 --lambda 0.05",
        (100, 200),
    ),
    "Wishart teacher, softmax, noise on the scores": (
        "decompose --alpha 1 --noise-in 0.3 --lambda 0.03",
        (100, 200),
    ),
    "six modes, two tokens, identity": (
        "decompose --teacher power-law --gamma 0.75 --modes 6 --activation identity --alpha 0.3"
        " --noise-out 0.5 --lambda 1",
        (100, 200),
    ),
    FEW_MODES: (
        "decompose --teacher power-law --gamma 0.75 --modes 6 --alpha 0.5 --noise-out 0.1 --lambda 0.1",
        (100, 200),
    ),
    "power law, one token, identity": (
        "decompose --teacher power-law --gamma 1 --tokens 1 --activation identity --alpha 0.5 --noise-out 0.5"
        " --lambda 1.5",
        (100, 200),
    ),
    "narrow student (kappa = 0.3), softmax": (
        "decompose --alpha 1 --noise-in 0.3 --kappa 0.3 --lambda 0.01",
        (100, 200),
    ),
    "direct student, softmax": (
        "decompose --parametrization direct --alpha 1 --noise-out 0.1 --lambda 0.02",
        (100, 200),
    ),
    "untied student, one token, identity": (
        "decompose --parametrization untied --tokens 1 --activation identity --alpha 0.5 --noise-out 0.5"
        " --lambda 0.3",
        (100, 200),
    ),
    "untied student, two tokens, softmax": (
        "compare --parametrization untied --alpha 1 --noise-out 0.1 --lambda 0.1",
        (60, 120),
    ),
}


def run(command, dimension, seeds):
    """The one JSON object that the command prints; kept, so that a stopped validation goes on."""
    arguments = [*command.split(), "--dimension", dimension, "--seeds", seeds, "--json", "--threads", 1]
    arguments += ["--precision", "f32"]
    if command.startswith("decompose"):
        arguments.append("--train")
    kept = STORE / (hashlib.sha256(" ".join(map(str, arguments)).encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        result = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"qklab {command}: {result.stderr.strip()}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(result.stdout)
    return json.loads(kept.read_text())


def pairs(point):
    """(quantity, predicted, its error, trained, its error) of all that was predicted and measured."""
    theory = point.get("theory", point)
    for name in QUANTITIES:
        measured = point["train"].get(name)
        if measured and theory.get(name) is not None and measured["se"]:
            yield name, theory[name], theory.get(f"{name}_se") or 0, measured["mean"], measured["se"]
    for rank, mode in enumerate(point.get("modes", []), 1):
        for name in MODE_QUANTITIES if "train" in mode and mode["recovered"] else ():
            measured = mode["train"][name]
            yield f"mode {rank}, {name}", mode[name], 0, measured["mean"], measured["se"]


def with_error(value, error):
    digits = max(0, 2 - math.floor(math.log10(abs(error)))) if error > 0 else 6
    return f"{value:.{min(digits, 7)}f} ± {error:.2g}" if error > 0 else f"{value:.6g}"


def rows(small, large, dimensions):
    """A row for each quantity, the deviation after removal of a term of order 1/d."""
    predicted_small = {name: values for name, *values in pairs(small)}
    d1, d2 = dimensions
    for name, theory, theory_se, mean, se in pairs(large):
        if name not in predicted_small:
            continue
        theory1, _, mean1, se1 = predicted_small[name]
        weight1, weight2 = -d1 / (d2 - d1), d2 / (d2 - d1)
        difference = weight2 * (mean - theory) + weight1 * (mean1 - theory1)
        error = math.hypot(weight2 * se, weight1 * se1, theory_se)
        # Quantities that are the same in every run carry no error.
        if error <= 1e-12 * max(1, abs(mean)):
            continue
        yield {
            "quantity": name.replace("_", " "),
            "theory": with_error(theory, theory_se),
            "small": with_error(mean1, se1),
            "large": with_error(mean, se),
            "raw": (mean - theory) / math.hypot(se, theory_se),
            "deviation": difference / error,
        }


def table(dimensions, found):
    d1, d2 = dimensions
    lines = [
        f"| quantity | theory | trained, d = {d1} | trained, d = {d2} | deviation at d = {d2} | after 1/d |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        cells = [row["quantity"], row["theory"], row["small"], row["large"]]
        cells += [f"{row['raw']:+.1f}", f"{row['deviation']:+.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(sections, seeds):
    found = [
        row for title, _, _, rows_of_problem in sections if title not in NOTES for row in rows_of_problem
    ]
    beyond = [row for row in found if abs(row["deviation"]) > 3]
    largest = max(found, key=lambda row: abs(row["deviation"]))
    text = f"""# Validation

Written by `make validation`; not edited by hand. Every predicted quantity against {seeds} trained models at
two dimensions. "Deviation" is (trained - theory) in standard errors at the larger dimension. "After 1/d" is
the same once a term of order 1/d is removed from the differences at both dimensions: what theory and training
would disagree on at d = infinity. Theory of teachers given mode by mode is that of the same dimension. Each
command is run with `--dimension`, `--train --seeds {seeds} --precision f32`.

{len(found)} quantities; {len(beyond)} beyond 3 standard errors after 1/d (0.3 % are expected by chance);
largest {largest["deviation"]:+.1f} ({largest["quantity"]}).
"""
    for title, command, dimensions, rows_of_problem in sections:
        text += f"\n## {title[0].upper()}{title[1:]}\n\n`qklab {command}`\n"
        if title in NOTES:
            text += f"\n{NOTES[title]}\n"
        text += f"\n{table(dimensions, rows_of_problem)}\n"
    return text


def validate(title, seeds, pool):
    command, dimensions = PROBLEMS[title]
    points = list(pool.map(lambda d: run(command, d, seeds), dimensions))
    return title, command, dimensions, list(rows(*points, dimensions))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument(
        "--only", help="problems whose title holds this text; prints instead of writing the page"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the runs of an earlier validation")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(STORE, ignore_errors=True)
    titles = [title for title in PROBLEMS if not options.only or options.only in title]
    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(2) as outer:
        sections = list(outer.map(lambda title: validate(title, options.seeds, pool), titles))
    text = page(sections, options.seeds)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text)
        print(f"{PAGE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
