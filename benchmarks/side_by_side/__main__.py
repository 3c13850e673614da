"""qklab against what one has otherwise, timed side by side in one run; writes docs/performance.md.

    PYTHONPATH=benchmarks .venv-bench/bin/python -m side_by_side [--only training,scaling]

`make side-by-side` does that. Each part leaves its numbers in build/side_by_side, so that parts can be run
one by one; the page is written from what is there.
"""

import argparse
import json
import os
from pathlib import Path

from . import machine, page, products, ranks, scaling, state_evolution, training
from .workers import ROOT

PARTS = ["tuning", "training", "state-evolution", "scaling", "ranks", "products"]


# Without the other parts the page says that they are missing.
NEEDED = ["machine", "training", "state-evolution"]


def main():
    options = parse()
    if options.only != ["page"]:
        store(options, "machine", machine.describe(options.pytorch))
    for part in options.only:
        if part != "page":
            print(f"side by side: {part}", flush=True)
            store(options, part, run(part, options))
    kept = {name: load(options, name) for name in ["machine", *PARTS]}
    if all(kept[name] for name in NEEDED) and not options.toy:
        options.page.write_text(page.text(kept, options.note))
        print(f"{options.page} written")


def parse():
    parser = argparse.ArgumentParser(prog="side_by_side", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--only",
        type=lambda names: names.split(","),
        default=PARTS,
        help=f"parts of {', '.join(PARTS)}, or page",
    )
    parser.add_argument("--toy", action="store_true", help="sizes at which everything takes seconds; no page")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="of both sides (default: all cores)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="repetitions of a short timing, in turns")
    parser.add_argument("--without-pytorch", dest="pytorch", action="store_false", help="time qklab alone")
    parser.add_argument("--note", default="", help="a remark on this run, for the page")
    parser.add_argument("--store", type=Path, default=ROOT / "build" / "side_by_side")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args()
    if unknown := set(options.only) - {*PARTS, "page"}:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    return options


def run(part, options):
    toy, with_pytorch, threads, rounds = options.toy, options.pytorch, options.threads, options.rounds
    if part == "tuning":
        return training.tune(toy, with_pytorch, threads)
    if part == "training":
        return training.measure(load(options, "tuning"), toy, with_pytorch, threads, rounds)
    if part == "state-evolution":
        return state_evolution.measure(toy, threads, seeds=2 if toy else rounds)
    if part == "scaling":
        return scaling.measure(toy, with_pytorch, threads, min(rounds, 5))
    if part == "ranks":
        return ranks.measure(toy, threads, min(rounds, 3))
    return products.measure(toy, threads, rounds)


def store(options, name, content):
    options.store.mkdir(parents=True, exist_ok=True)
    (options.store / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def load(options, name):
    path = options.store / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


main()
