"""The rate of a training pass over that of the machine's own matrix products."""

from . import problems
from .timing import in_turns
from .workers import ours

SIZE = 1024
SAMPLES = 40_000
AMP_ITERATIONS = 3


def measure(toy, threads, rounds):
    """Both in flops a second, best of interleaved repetitions; a pass counts 4 n T d p flops."""
    rows = []
    size = 64 if toy else SIZE
    with ours() as here:
        for d in [16] if toy else [200, 400]:
            problem = {**problems.TRAINING[-1], "dimension": d, "alpha": (500 if toy else SAMPLES) / d**2}
            for precision in ("f32", "f64"):
                drawn = here.ask("draw", precision=precision, threads=threads, **problem)
                flops = 4.0 * drawn["samples"] * drawn["tokens"] * d * drawn["width"]
                for count in sorted({1, threads}):
                    with_threads = {"precision": precision, "threads": count}
                    rows.append(
                        {"dimension": d, **with_threads, **_rates(here, flops, size, with_threads, rounds)}
                    )
    return {"rows": rows, "size": size}


def _rates(here, flops, size, with_threads, rounds):
    threads = with_threads["threads"]
    seconds = in_turns(
        {
            "pass": lambda: here.ask("step", threads=threads)["seconds"],
            "product": lambda: here.ask("gemm", size=size, repeats=3, **with_threads)["seconds"],
            "amp": lambda: (
                here.ask("amp", iterations=AMP_ITERATIONS, threads=threads)["seconds"] / AMP_ITERATIONS
            ),
        },
        rounds,
    )
    rate = {"pass": flops, "amp": flops, "product": 2.0 * size**3}
    best = {name: rate[name] / seconds[name]["min"] * 1e-9 for name in seconds}
    return {
        "gflops": best,
        "share": best["pass"] / best["product"],
        "amp_share": best["amp"] / best["product"],
        "seconds": seconds,
    }
