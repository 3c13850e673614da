"""docs/performance.md: page.template with the tables of what the parts measured."""

import re
import string

from .products import SIZE
from .training import ACCURACIES, FORMS, HEADLINE, PLAIN_FORMS, RATES, key
from .workers import HERE

MISSING = "Not measured in this run."
FORM_NAMES = {
    "matmul": "PyTorch, `z @ z.mT`",
    "pairs": "PyTorch, a sum a pair",
    "pairs+compile": "PyTorch, a sum a pair, `torch.compile`",
}


def text(kept, note=""):
    training, theory = kept["training"], kept["state-evolution"]
    power_law = theory["points"]["power law"]
    scaling, products = kept["scaling"], kept["products"]
    fields = {
        "processor": kept["machine"]["processor"],
        "cores": kept["machine"]["cores"],
        "note": f"\n{note}\n" if note else "",
        "objective": "L(W) = (1/d²) Σ ‖y − softmax(h)‖² + (λ/d) ‖W‖²",
        "summary": _summary(training, theory),
        "threads": next(iter(training.values()))["threads"],
        "passes": _passes(training),
        "headline": _power(HEADLINE),
        "rates": ", ".join(f"{rate:g}" for rate in RATES),
        "descents": _descents(training),
        "matrices": theory["matrices"],
        "state_evolution": _state_evolution(theory["points"]),
        "solves": power_law["plain"]["solves"],
        "evaluations": f"{power_law['plain']['evaluations']['median']:.0f}",
        "published": f"{power_law['published']:.6f}",
        "published_error": f"{power_law['published'] / power_law['reference'] - 1:+.1e}",
        "training_sizes": _training_sizes(scaling["training"]) if scaling else MISSING,
        "theory_sizes": _theory_sizes(scaling["theory"]) if scaling else MISSING,
        "exponents": _exponents(scaling) if scaling else MISSING,
        "thread_table": _threads(scaling["threads"]) if scaling else MISSING,
        "ranks": _ranks(kept["ranks"]),
        "size": products["size"] if products else SIZE,
        "products": _products(products["rows"]) if products else MISSING,
        "machine": _machine(kept["machine"]),
    }
    return string.Template((HERE / "page.template").read_text()).substitute(fields)


def table(titles, rows):
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _summary(training, theory):
    rows = []
    for name, found in training.items():
        for precision in ("f32", "f64"):
            seconds = found[f"pass_{precision}"]
            best = min(seconds[form]["median"] for form in PLAIN_FORMS)
            rows.append(
                (f"a pass, {precision}, {name}", "PyTorch, plain", f"{best / seconds['qklab']['median']:.3g}")
            )
        adam = found["descent"]["PyTorch Adam"][key(HEADLINE)]
        for ours in ("qklab amp", "qklab lbfgs"):
            reached = found["descent"][ours][key(HEADLINE)]
            ratio = adam["seconds"]["median"] / reached["seconds"]["median"]
            what = f"training until ε = {_power(HEADLINE)}, `{ours.split()[1]}`, {name}"
            rows.append((what, "PyTorch's Adam", f"{ratio:.3g}"))
    rows += [
        (f"state evolution of one token, {name}", "NumPy and SciPy", f"{_theory_ratio(point):.3g}")
        for name, point in theory["points"].items()
    ]
    return table(["what", "against", "times faster"], rows)


def _passes(training):
    rows = []
    for name, found in training.items():
        for precision in ("f32", "f64"):
            seconds = found[f"pass_{precision}"]
            for side in ["qklab", *FORMS]:
                ratio = seconds[side]["median"] / seconds["qklab"]["median"]
                rows.append((name, precision, FORM_NAMES.get(side, side), _ms(seconds[side]), f"{ratio:.2f}"))
    return table(["problem", "precision", "side", "ms", "ratio"], rows)


def _descents(training):
    sections = []
    for name, found in training.items():
        methods = list(found["descent"])
        rows = [
            [_power(accuracy), *(_reached(found["descent"][method].get(key(accuracy))) for method in methods)]
            for accuracy in ACCURACIES
        ]
        sections.append(
            f"{name[0].upper()}{name[1:]}; L* = {found['minimum']:.6f}, rate {found['adam_rate']:g}:\n\n"
            + table(["ε", *methods], rows)
        )
    return "\n\n".join(sections)


def _state_evolution(points):
    sides = _plain_sides(next(iter(points.values())))
    rows = []
    for name, point in points.items():
        seconds, plain = point["seconds"], point["plain"]
        rows.append(
            [
                *(name, _ms(seconds["qklab"]), *(_s(seconds[side]) for side in sides)),
                *(f"{_theory_ratio(point):.3g}", f"{abs(point['error']):.0e}", f"{plain['rms']:.1e}"),
                *(f"{plain['mean']:+.1e}", f"{plain['sd']:.1e}"),
            ]
        )
    titles = [*(f"{side}, s" for side in sides), "ratio", "error, qklab", "error, plain", "mean", "sd"]
    return table(["teacher", "qklab, ms", *titles], rows)


def _training_sizes(found):
    rows = []
    for d, row in found["rows"].items():
        theirs = row.get("PyTorch")
        ratio = f"{theirs['median'] / row['qklab']['median']:.2f}" if theirs else ""
        rows.append((d, _ms(row["qklab"]), _ms(theirs) if theirs else "", ratio, f"{row['draw']:.2g}"))
    return table(["d", "qklab, ms", "PyTorch, ms", "ratio", "drawing the data, s"], rows)


def _theory_sizes(found):
    return table(
        ["d", "qklab, ms", "plain, s"],
        [(d, _ms(row["qklab"]), _s(row.get("plain"))) for d, row in found["rows"].items()],
    )


def _exponents(found):
    rows = [
        (f"{what}, {side}", f"{fit['exponent']:.2f} ± {fit['se']:.2f}")
        for what, part in (("a pass", "training"), ("state evolution", "theory"))
        for side, fit in found[part]["exponents"].items()
    ]
    return table(["what", "exponent"], rows)


def _threads(found):
    counts = list(next(iter(found.values())))
    rows = []
    for work, seconds in found.items():
        speedup = seconds[counts[0]]["median"] / seconds[counts[-1]]["median"]
        rows.append((work, *(_ms(seconds[count]) for count in counts), f"{speedup:.2f}"))
    titles = [f"{count} thread{'s' * (count != '1')}, ms" for count in counts]
    return table(["work", *titles, "speed-up"], rows)


def _ranks(found):
    if not found:
        return "Not measured: no mpirun here."
    alone = found["1 x 1"]["median"]
    rows = [(name, _s(seconds), f"{alone / seconds['median']:.2f}") for name, seconds in found.items()]
    return table(["ranks x threads", "s", "speed-up"], rows)


def _products(found):
    titles = [
        "d",
        "precision",
        "threads",
        "products, Gflop/s",
        "pass, Gflop/s",
        "share",
        "amp, Gflop/s",
        "share",
    ]
    rows = []
    for row in found:
        rate = row["gflops"]
        cells = (row["dimension"], row["precision"], row["threads"], f"{rate['product']:.0f}")
        shares = (
            f"{rate['pass']:.0f}",
            f"{row['share']:.2f}",
            f"{rate['amp']:.0f}",
            f"{row['amp_share']:.2f}",
        )
        rows.append(cells + shares)
    return table(titles, rows)


def _machine(machine):
    configuration = machine["pytorch"]["configuration"]
    mkl = re.search(r"Math Kernel Library Version (\S+)", configuration)
    capability = re.search(r"CPU capability usage: (\S+)", configuration)
    ours, plain = machine["qklab"], machine["plain"]
    pytorch = [machine["pytorch"]["version"], f"MKL {mkl[1]}" if mkl else "no MKL"]
    pytorch += [capability[1]] if capability else []
    overrides = ", ".join(f"{name}={value}" for name, value in machine["openblas_overrides"].items())
    rows = [
        ("processor", f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB"),
        ("date", machine["date"]),
        ("qklab", f"{ours['compiler']}, {ours['flags']}; {ours['openblas']}"),
        ("settings of OpenBLAS in the environment", overrides or "none"),
        ("PyTorch", ", ".join(pytorch)),
        ("Python, NumPy, SciPy", f"{machine['python']}, {plain['numpy']}, {plain['scipy']}"),
    ]
    return table(["what", "which"], rows)


def _theory_ratio(point):
    fastest = min(point["seconds"][side]["median"] for side in _plain_sides(point))
    return fastest / point["seconds"]["qklab"]["median"]


def _plain_sides(point):
    return [side for side in point["seconds"] if side != "qklab"]


def _power(accuracy):
    return f"{accuracy:.0e}".replace("e-0", "e-")


def _reached(found):
    return f"{_s(found['seconds'])}, {found['passes']} passes" if found else ""


def _ms(seconds):
    return _spread(seconds, 1e3)


def _s(seconds):
    return _spread(seconds, 1)


def _spread(seconds, unit):
    if not seconds:
        return ""
    low, middle, high = (f"{seconds[name] * unit:#.3g}".rstrip(".") for name in ("min", "median", "max"))
    return f"{middle} [{low}, {high}]" if seconds["repeats"] > 1 else middle
