"""Holds online descent against the theories of learning in time and writes docs/validation-dynamics.md.

Each problem is run at several dimensions. The differences between runs and theory, which takes the noise of
finite steps along, are fitted by D + c/d; D, what would remain at d = infinity, is given in its standard
errors.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(os.environ.get("QKLAB_COMMAND", ROOT / "build" / "release" / "qklab"))
STORE = ROOT / "build" / "validation-dynamics"
PAGE = ROOT / "docs" / "validation-dynamics.md"

QUANTITIES = ["overlap", "self_overlap", "loss"]


class Problem(NamedTuple):
    model: str
    parametrization: str
    theory: str
    noise: float  # nu = step d/batch
    end: float  # last tau
    powers: int = 1  # of 1/d in the fit


PROBLEMS = [
    Problem("softmax", "tied", "exact", 0.4, 0.6),
    Problem("linear", "tied", "exact", 0.05, 0.06),
    Problem("h2", "tied", "exact", 0.02, 0.1, 2),
    Problem("softmax", "direct", "direct", 0.4, 0.8),
    Problem("linear", "direct", "direct", 0.05, 0.1),
    Problem("h2", "direct", "direct", 0.02, 0.15, 2),
]


def run(problem, method, dimension, options):
    """The JSON object that the command prints; kept, so that a stopped validation goes on."""
    batch = dimension // 2
    times = ",".join(f"{problem.end * k / 4:g}" for k in (1, 2, 4))
    arguments = ["dynamics", "--model", problem.model, "--parametrization", problem.parametrization]
    arguments += ["--method", method, "--times", times, "--dimension", dimension]
    arguments += ["--batch", batch, "--step", f"{problem.noise * batch / dimension:g}"]
    arguments += ["--seeds", options.seeds] if method == "sgd" else ["--step-noise"]
    arguments += ["--json", "--quiet"]
    arguments = [str(argument) for argument in arguments]
    kept = STORE / (hashlib.sha256(" ".join(arguments).encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        command = [COMMAND, *arguments, "--threads", str(options.threads)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode not in (0, 3):
            raise SystemExit(f"qklab {' '.join(arguments)}: {result.stderr.strip()}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(result.stdout)
    return json.loads(kept.read_text())


def extrapolated(dimensions, differences, errors, powers):
    """(D, its error, c) of D + c/d + ... + d^-powers by weighted least squares."""
    design = np.array([[d ** -float(k) for k in range(powers + 1)] for d in dimensions])
    weighted = design / np.array(errors)[:, None]
    covariance = np.linalg.inv(weighted.T @ weighted)
    found = covariance @ weighted.T @ (np.array(differences) / errors)
    return found[0], math.sqrt(covariance[0, 0]), found[1]


def rows(problem, options):
    descents = [run(problem, "sgd", dimension, options) for dimension in options.dimensions]
    # The limit d -> infinity is the same at every dimension.
    theory = run(problem, problem.theory, options.dimensions[-1], options)
    for k, time in enumerate(theory["time"]):
        for name in QUANTITIES:
            measured = [at[name][k] for at in descents]
            errors = [at[f"{name}_se"][k] for at in descents]
            differences = [value - theory[name][k] for value in measured]
            remainder, error, slope = extrapolated(options.dimensions, differences, errors, problem.powers)
            yield {
                "time": time,
                "quantity": name.replace("_", " "),
                "theory": theory[name][k],
                "measured": list(zip(measured, errors, strict=True)),
                "slope": slope,
                "raw": differences[-1] / errors[-1],
                "deviation": remainder / error,
                "diverged": sum(at["diverged"] for at in descents),
            }


def table(dimensions, found):
    names = [f"descent, d = {d}" for d in dimensions]
    heads = ["τ", "quantity", "theory", *names, f"deviation at d = {dimensions[-1]}", "c of c/d", "after 1/d"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in found:
        cells = [f"{row['time']:g}", row["quantity"], f"{row['theory']:.5f}"]
        cells += [f"{value:.5f} ± {error:.2g}" for value, error in row["measured"]]
        cells += [f"{row['raw']:+.1f}", f"{row['slope']:+.2f}", f"{row['deviation']:+.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(sections, dimensions, seeds):
    found = [row for _, of_problem in sections for row in of_problem]
    beyond = [row for row in found if abs(row["deviation"]) > 3]
    largest = max(found, key=lambda row: abs(row["deviation"]))
    text = f"""# Validation of learning in time

Written by `make validation`; not edited by hand. Online descent, {seeds} seeds at each dimension, against the
theories of [learning in time](theory/dynamics.md), which take the noise of finite steps along at the same
ν = η d/B. "Deviation" is (descent - theory) in standard errors at the largest dimension. Differences are
fitted by D + c/d; "after 1/d" is D in its standard errors. For `h2` the fit has a term in 1/d² too: at
d = 100 its noise strength is 30 % above the limit. Wishart teacher κ₀ = 0.5, start 0.3. Runs of a seed share
teacher and start among models and times, so that deviations are not independent of each other.

{len(found)} quantities; {len(beyond)} beyond 3 standard errors after 1/d (0.3 % are expected by chance);
largest {largest["deviation"]:+.1f} ({largest["quantity"]}).
"""
    for problem, of_problem in sections:
        title = f"{problem.model}, {problem.parametrization}, ν = {problem.noise:g}"
        text += f"\n## {title}\n\n{table(dimensions, of_problem)}\n"
        if diverged := of_problem[0]["diverged"]:
            text += f"\n{diverged} runs diverged and are left out.\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--only", default="", help="problems that hold this text; prints instead of writing")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="forget the runs of an earlier validation")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(STORE, ignore_errors=True)
    problems = [one for one in PROBLEMS if options.only in f"{one.model} {one.parametrization}"]
    sections = [(problem, list(rows(problem, options))) for problem in problems]
    text = page(sections, options.dimensions, options.seeds)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text)
        print(f"{PAGE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
