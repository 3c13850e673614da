"""Writes reference.json: E at the fixed points of problems.STATE_EVOLUTION in high precision.

The spectral integrals are those of tests/data/generate_spectra_reference.py (mpmath, 25 digits and more,
another algorithm than the library's); (3.1) is solved by Newton steps.

    PYTHONPATH=benchmarks .venv/bin/python -m side_by_side.reference
"""

import importlib.util
import json
from pathlib import Path

from mpmath import exp, findroot, log, mp, mpf, nstr

from side_by_side import problems
from side_by_side.workers import ROOT, ours

spec = importlib.util.spec_from_file_location(
    "spectra_reference", ROOT / "tests" / "data" / "generate_spectra_reference.py"
)
spectra = importlib.util.module_from_spec(spec)
spec.loader.exec_module(spectra)


def integrals(problem, delta, cut):
    """E = Q0 - 2 m + q and R = D/delta."""
    if "gamma" in problem:
        law = spectra.PowerLaw(problem["gamma"], problem["dimension"], delta)
        values, q0 = law.integrate(cut), mpf(1)
    else:
        law = spectra.Wishart(problem["kappa0"], delta)
        values = {name: law.integrate(f, cut) for name, f in spectra.integrands(law.delta, cut).items()}
        q0 = 1 + mpf(problem["kappa0"])
    overlap = values["mixed"] - delta * values["response"]
    return q0 - 2 * overlap + values["square"], values["response"] / delta


def solve(problem, delta, cut):
    alpha, noise, lam = (mpf(problem[name]) for name in ("alpha", "noise_out", "lambda"))

    def equations(log_delta, log_cut):
        error, response = integrals(problem, exp(log_delta), exp(log_cut))
        return [
            (error + noise / 2) / (2 * alpha * exp(2 * log_delta)) - 1,
            2 * exp(log_cut) * (2 * alpha - response) / lam - 1,
        ]

    found = findroot(equations, (log(mpf(delta)), log(mpf(cut))), tol=mpf(10) ** -30, maxsteps=6)
    return integrals(problem, exp(found[0]), exp(found[1]))[0]


def main():
    mp.dps = 25
    values = {}
    with ours() as worker:
        for name, problem in problems.STATE_EVOLUTION.items():
            start = worker.ask("theory", **problems.ONE_TOKEN, **problem)
            values[name] = float(nstr(solve(problem, start["noise_level"], start["cut"]), 17))
            print(name, values[name], "library", start["error"], flush=True)
    Path(__file__).with_name("reference.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
