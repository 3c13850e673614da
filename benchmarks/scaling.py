"""How long a pass over the data takes as d, threads and ranks grow; one JSON object.

    python benchmarks/scaling.py [COMMAND] > scaling.json

A pass at alpha = 1 is 8 d^4 flops of matrix products (n = d^2 samples, T = 2, full width). Its time is the
difference of runs with more and with fewer passes, so that drawing, measuring and starting do not count; the
shortest of some repetitions that take turns. Ranks get one thread each.
"""

import json
import math
import os
import shutil
import subprocess
import sys

COMMAND = sys.argv[1] if len(sys.argv) > 1 else "build/release/qklab"
SIZES = [100, 141, 200, 283, 400]
SIZE = 200
REPETITIONS = 3
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def seconds_of_run(passes, ranks=1, **case):
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    options = {
        "alpha": 1,
        "noise-in": 0.5,
        "precision": "f32",
        "data": "stored",
        "threads": 1,
        **case,
        "max-epochs": passes,
        "gradient-tolerance": 1e-30,
        "test-samples": 2,
    }
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    result = subprocess.run(
        [*launcher, COMMAND, "train", *flags, "--json", "--quiet"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 3, result.stderr  # out of passes
    return json.loads(result.stdout)["seconds"]


def seconds_of_pass(cases):
    """Of each case, named; the cases take turns."""
    few, more = 2, 8
    best = {name: {few: math.inf, more: math.inf} for name in cases}
    for _ in range(REPETITIONS):
        for name, case in cases.items():
            for passes in (few, more):
                best[name][passes] = min(best[name][passes], seconds_of_run(passes=passes, **case))
    return {name: (times[more] - times[few]) / (more - few) for name, times in best.items()}


def slope(x, y):
    """Least squares in the logarithms, with the standard error of the scatter."""
    x, y = [math.log(v) for v in x], [math.log(v) for v in y]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((v - mean_x) ** 2 for v in x)
    value = sum((v - mean_x) * (w - mean_y) for v, w in zip(x, y, strict=True)) / spread
    rest = sum((w - mean_y - value * (v - mean_x)) ** 2 for v, w in zip(x, y, strict=True))
    return {"value": value, "se": math.sqrt(rest / (len(x) - 2) / spread)}


def main():
    sizes = seconds_of_pass({d: {"dimension": d, "threads": 2} for d in SIZES})
    found = {
        "seconds_of_pass": sizes,
        "exponent": slope(list(sizes), list(sizes.values())),
        "exponent_from_200": slope(*zip(*[(d, t) for d, t in sizes.items() if d >= 200], strict=True)),
    }
    shared = {f"{threads} threads": {"dimension": SIZE, "threads": threads} for threads in (1, 2)}
    shared["regenerated, 2 threads"] = {"dimension": SIZE, "threads": 2, "data": "regenerated"}
    if shutil.which("mpirun"):
        shared["2 ranks"] = {"dimension": SIZE, "ranks": 2}
    found["strong_scaling"] = seconds_of_pass(shared)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
