"""How times grow with d, and what a second thread brings."""

import contextlib

from . import problems
from .timing import exponent, in_turns
from .training import Sides
from .workers import ours, plain

TRAINING_SIZES = [50, 100, 150, 200, 300]
THEORY_SIZES = [100, 200, 400, 800, 1600, 3200]
PLAIN_SIZES = [100, 200, 400]


def measure(toy, with_pytorch, threads, rounds):
    return {
        "training": _training(toy, with_pytorch, threads, rounds),
        "theory": _theory(toy, rounds),
        "threads": _threads(toy, threads, rounds),
    }


def _training(toy, with_pytorch, threads, rounds):
    """Seconds of a pass at alpha = 1, f32; n = d^2 samples, 8 d^4 flops of products."""
    sizes = [8, 12, 16] if toy else TRAINING_SIZES
    rows = {}
    with contextlib.ExitStack() as stack:
        sides = Sides(stack, with_pytorch, threads)
        for d in sizes:
            problem = {**problems.TRAINING[-1], "dimension": d, "alpha": 1.0}
            drawn = sides.draw(problem, "f32")
            calls = {"qklab": lambda: sides.seconds_of_pass(sides.ours)}
            if sides.pytorch:
                calls["PyTorch"] = lambda: sides.seconds_of_pass(sides.pytorch)
            calls["qklab"]()
            rows[d] = in_turns(calls, rounds)
            rows[d]["draw"] = drawn["seconds"]
    return _with_exponents(rows)


def _theory(toy, rounds):
    """Seconds of a solve for a power law of d modes, one token."""
    power_law = {**problems.ONE_TOKEN, **problems.STATE_EVOLUTION["power law"]}
    rows = {}
    with ours() as here, plain(1) as there:
        for d in [50, 100, 200] if toy else THEORY_SIZES:
            problem = {**power_law, "dimension": d}
            calls = {"qklab": lambda problem=problem: here.ask("theory", repeats=1, **problem)["seconds"]}
            if d in ([50] if toy else PLAIN_SIZES):
                calls["plain"] = lambda problem=problem: there.ask(
                    "solve", problem=problem, matrices=3, seed=1
                )["seconds"]
            rows[d] = in_turns(calls, rounds)
    return _with_exponents(rows)


def _with_exponents(rows):
    found = {"rows": {str(d): row for d, row in rows.items()}, "exponents": {}}
    for side in ("qklab", "PyTorch", "plain"):
        sizes = [d for d, row in rows.items() if side in row]
        if len(sizes) > 2:
            found["exponents"][side] = exponent(sizes, [rows[d][side]["median"] for d in sizes])
    return found


def _threads(toy, threads, rounds):
    """The same work on one thread and on all, in turns."""
    counts = sorted({1, threads})
    training = problems.TOY_TRAINING[0] if toy else problems.TRAINING[-1]
    softmax = {"alpha": 1.0, "noise_in": 0.5, "lambda": 0.01, "log2_points": 8 if toy else 15}
    with ours() as here:
        here.ask("draw", precision="f32", threads=threads, **training)
        work = {
            "a pass over the data": lambda count: here.ask("step", threads=count)["seconds"],
            "drawing a data set": lambda count: here.ask("draw", precision="f32", threads=count, **training)[
                "seconds"
            ],
            "theory, T = 2": lambda count: here.ask("theory", threads=count, tokens=2, **softmax)["seconds"],
            "theory, T = 3": lambda count: here.ask("theory", threads=count, tokens=3, **softmax)["seconds"],
        }
        return {
            name: in_turns(
                {str(count): lambda count=count, call=call: call(count) for count in counts}, rounds
            )
            for name, call in work.items()
        }
