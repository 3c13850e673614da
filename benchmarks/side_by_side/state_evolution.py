"""Our state evolution against matrices sampled at d = 400 and scipy's root finder."""

import contextlib
import json
import statistics

from . import problems
from .timing import in_turns, spread
from .workers import HERE, ours, plain

MATRICES = 3


def measure(toy, threads, seeds):
    """Seconds of a solve in turns, and the errors of both against reference.json."""
    reference = json.loads((HERE / "reference.json").read_text())
    found = {}
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(ours())
        plain_sides = {count: stack.enter_context(plain(count)) for count in sorted({1, threads})}
        for name, problem in problems.STATE_EVOLUTION.items():
            sampled = {**problem, "dimension": 60} if toy else problem
            errors, evaluations, seed = [], [], iter(range(1, 1000))
            answer = {}

            def solve(sampled=sampled, answer=answer):
                answer.update(here.ask("theory", repeats=5, **problems.ONE_TOKEN, **sampled))
                return answer["seconds"]

            def solve_plain(side, sampled=sampled, errors=errors, evaluations=evaluations, seed=seed):
                got = side.ask("solve", problem=sampled, matrices=MATRICES, seed=next(seed))
                if not got["found"]:
                    raise SystemExit(f"the plain state evolution found no root: {got}")
                errors.append(got["error"])
                evaluations.append(got["evaluations"])
                return got["seconds"]

            calls = {"qklab": solve}
            for count, side in plain_sides.items():
                calls[f"plain, threads = {count}"] = lambda side=side, call=solve_plain: call(side)
            seconds = in_turns(calls, seeds)
            truth = answer["error"] if toy else reference[name]
            relative = [error / truth - 1 for error in errors]
            found[name] = {
                "problem": sampled,
                "reference": truth,
                "published": problems.PUBLISHED.get(name),
                "seconds": seconds,
                "error": answer["error"] / truth - 1,
                "outcome": answer["outcome"],
                "plain": {
                    "mean": statistics.fmean(relative),
                    "sd": statistics.stdev(relative),
                    "rms": statistics.fmean(x * x for x in relative) ** 0.5,
                    "solves": len(errors),
                    "evaluations": spread(evaluations),
                },
            }
    return {"points": found, "matrices": MATRICES}
