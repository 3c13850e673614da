"""Repeated timings taken in turns, so that whatever else the machine does hits both sides."""

import math
import statistics
import time

PAUSE_SECONDS = 0.02  # OpenMP threads of the side that has just finished spin for some milliseconds


def in_turns(calls, rounds):
    """Calls each of `calls` (name -> function that gives seconds, one or a list) `rounds` times, in turns."""
    found = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE_SECONDS)
            seconds = call()
            found[name] += seconds if isinstance(seconds, list) else [seconds]
    return {name: spread(seconds) for name, seconds in found.items()}


def spread(values):
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "repeats": len(values),
    }


def exponent(sizes, seconds):
    """Slope of log(seconds) in log(size) and its standard error."""
    x, y = [math.log(v) for v in sizes], [math.log(v) for v in seconds]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    square = sum((v - mean_x) ** 2 for v in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / square
    rest = sum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    return {"exponent": slope, "se": math.sqrt(rest / max(len(x) - 2, 1) / square)}
