"""Our training against PyTorch's: seconds of a pass, and seconds until the objective is near its minimum."""

import contextlib
import math

from . import problems
from .timing import in_turns, spread
from .workers import ROOT, ours, pytorch

ACCURACIES = [1e-2, 1e-3, 1e-4, 1e-5]
HEADLINE = 1e-4
RATES = [0.003, 0.01, 0.03, 0.1]
PLAIN_FORMS = ["matmul", "pairs"]
FORMS = [*PLAIN_FORMS, "pairs+compile"]
AGREEMENT = {"f32": 1e-5, "f64": 1e-12}


class Sides:
    """Both sides, holding the same data on the same number of threads."""

    def __init__(self, stack, with_pytorch, threads):
        self.threads = threads
        self.ours = stack.enter_context(ours())
        self.pytorch = stack.enter_context(pytorch()) if with_pytorch else None

    def draw(self, problem, precision):
        drawn = self.ours.ask("draw", precision=precision, threads=self.threads, **problem)
        if self.pytorch:
            folder = str(ROOT / "build" / "side_by_side" / "data")
            self.ours.ask("export", folder=folder)
            self.pytorch.ask("load", folder=folder, draw=drawn, threads=self.threads)
            self._require_agreement(precision)
        return drawn

    def _require_agreement(self, precision):
        """The same objective and gradient at two matrices W, or nothing is timed."""
        for scale in (1.0, 0.7):
            here, there = (
                side.ask("value", scale=scale, threads=self.threads) for side in (self.ours, self.pytorch)
            )
            for name in ("value", "gradient_norm"):
                if not math.isclose(here[name], there[name], rel_tol=AGREEMENT[precision]):
                    raise SystemExit(f"{name} differs: {here[name]!r} here, {there[name]!r} in PyTorch")

    def seconds_of_pass(self, side):
        return side.ask("step", repeats=1, threads=self.threads)["seconds"]


def tune(toy, with_pytorch, threads):
    """What need not be timed: the minimum, AMP's iterations and Adam's best rate to reach each accuracy."""
    found = {}
    for problem in problems.TOY_TRAINING if toy else problems.TRAINING:
        with contextlib.ExitStack() as stack:
            sides = Sides(stack, with_pytorch, threads)
            sides.draw(problem, "f64")
            lowest = sides.ours.ask(
                "descend", optimizer="lbfgs", tolerance=1e-8, rounding=1e-13, threads=threads
            )
            sides.draw(problem, "f32")
            minimum = lowest["value"]
            target = minimum * (1 + HEADLINE)
            amp = []
            while not amp or (amp[-1] > minimum * (1 + ACCURACIES[-1]) and len(amp) < 60):
                amp.append(sides.ours.ask("amp", iterations=len(amp) + 1, threads=threads)["value"])
            passes = {}
            for rate in RATES if with_pytorch else []:
                trace = sides.pytorch.ask(
                    "descend", optimizer="adam", rate=rate, target=target, passes=300, threads=threads
                )["trace"]
                passes[rate] = first_pass(trace, target)
            reached = {rate: count for rate, count in passes.items() if count is not None}
            found[problems.training_name(problem)] = {
                "minimum": minimum,
                "outcome": lowest["outcome"],
                "amp_values": amp,
                "adam_passes": passes,
                "adam_rate": min(reached, key=reached.get) if reached else None,
            }
    return found


def measure(tuned, toy, with_pytorch, threads, rounds):
    found = {}
    for problem in problems.TOY_TRAINING if toy else problems.TRAINING:
        name = problems.training_name(problem)
        with contextlib.ExitStack() as stack:
            sides = Sides(stack, with_pytorch, threads)
            found[name] = {"problem": problem, "threads": threads, **tuned[name]}
            for precision in ("f64", "f32"):
                sides.draw(problem, precision)
                found[name][f"pass_{precision}"] = _passes(sides, rounds)
            found[name]["descent"] = _descents(sides, tuned[name])
    return found


def _passes(sides, rounds):
    """Seconds of the objective and its gradient, ours and PyTorch's in each way to write it."""
    seconds = {"qklab": lambda: sides.seconds_of_pass(sides.ours)}

    def of_form(form):
        sides.pytorch.ask("form", name=form, threads=sides.threads)
        return sides.seconds_of_pass(sides.pytorch)

    for form in FORMS if sides.pytorch else []:
        of_form(form)
        of_form(form)
        seconds[form] = lambda form=form: of_form(form)
    return in_turns(seconds, rounds)


def _descents(sides, tuned, repeats=3):
    """Seconds to each accuracy, of each method, in f32."""
    targets = [tuned["minimum"] * (1 + accuracy) for accuracy in ACCURACIES]
    runs = {"qklab lbfgs": [], "qklab amp": [], "PyTorch Adam": [], "PyTorch LBFGS": []}
    for repeat in range(repeats):
        runs["qklab lbfgs"].append(_trace(sides.ours, sides, optimizer="lbfgs", passes=80))
        runs["qklab amp"].append(_amp_trace(sides, tuned, targets))
        if sides.pytorch and repeat < 2:
            sides.pytorch.ask("form", name="matmul", threads=sides.threads)
            last = targets[ACCURACIES.index(HEADLINE)]
            rate = tuned["adam_rate"]
            options = {"target": last, "passes": 1000}
            runs["PyTorch Adam"].append(_trace(sides.pytorch, sides, optimizer="adam", rate=rate, **options))
            if repeat == 0:
                runs["PyTorch LBFGS"].append(_trace(sides.pytorch, sides, optimizer="lbfgs", **options))
    return {
        method: {
            key(accuracy): _reached(traces, target)
            for accuracy, target in zip(ACCURACIES, targets, strict=True)
        }
        for method, traces in runs.items()
        if traces
    }


def _trace(side, sides, **request):
    return side.ask("descend", threads=sides.threads, **request)["trace"]


def _amp_trace(sides, tuned, targets):
    """One run for each accuracy, of as many iterations as it takes: iterates show no objective on the way."""
    trace = []
    for target in targets:
        needed = next((t for t, value in enumerate(tuned["amp_values"], 1) if value <= target), None)
        if needed is not None:
            answer = sides.ours.ask("amp", iterations=needed, threads=sides.threads)
            trace += [(answer["seconds"], math.inf)] * (needed - len(trace) - 1)
            trace.append((answer["seconds"], answer["value"]))
    return trace


def key(accuracy):
    return f"{accuracy:g}"


def first_pass(trace, target):
    return next((i for i, (_, value) in enumerate(trace, 1) if value <= target), None)


def _reached(traces, target):
    passes = [first_pass(trace, target) for trace in traces]
    if None in passes:
        return None
    seconds = spread([trace[count - 1][0] for trace, count in zip(traces, passes, strict=True)])
    return {"passes": max(passes), "seconds": seconds}
