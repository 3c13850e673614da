"""The state evolution of one token (docs/theory section 2) as a script would solve it: matrices S0 + delta Z
are sampled at the dimension at hand, integrals are means over their eigenvalues, and scipy finds the root.

Run as a program it answers one JSON request a line, like worker.cpp.
"""

import json
import math
import sys
import time

import numpy as np


class Sampled:
    """E and R of (3.1) from `matrices` sampled pairs of a teacher S0 and a GOE matrix Z."""

    def __init__(self, problem, matrices, seed):
        rng = np.random.default_rng(seed)
        d = problem["dimension"]
        self.pairs = [(teacher(problem, rng), goe(d, rng)) for _ in range(matrices)]
        self.alpha, self.lam = problem["alpha"], problem["lambda"]
        self.noise = problem.get("noise_out", 0) / 2

    def integrals(self, delta, cut):
        """E = Q0 - 2 m + q and R = D/delta, averaged over the samples."""
        return np.mean([self.of_pair(s0, z, delta, cut) for s0, z in self.pairs], axis=0)

    def of_pair(self, s0, z, delta, cut):
        d = len(s0)
        x = np.linalg.eigvalsh(s0 + delta * z)
        f = np.maximum(x - cut, 0)
        difference = np.subtract.outer(x, x)
        np.fill_diagonal(difference, 1)
        slopes = np.subtract.outer(f, f) / difference
        response = (slopes.sum() + 2 * np.count_nonzero(f)) / d**2
        overlap = (f * x).mean() - delta**2 * response
        return (s0**2).sum() / d - 2 * overlap + (f**2).mean(), response

    def iterate(self, delta, cut):
        """(3.1) solved for delta and b where they stand alone."""
        error, response = self.integrals(delta, cut)
        room = max(2 * self.alpha - response, 0.1 * self.alpha)
        return math.sqrt((error + self.noise) / (2 * self.alpha)), self.lam / (2 * room)

    def equations(self, unknowns):
        """Both equations of (3.1) in (log delta, log b)."""
        delta, cut = np.exp(unknowns)
        error, response = self.integrals(delta, cut)
        return [
            (error + self.noise) / (2 * self.alpha * delta**2) - 1,
            2 * cut * (2 * self.alpha - response) / self.lam - 1,
        ]


def teacher(problem, rng):
    d = problem["dimension"]
    if "gamma" in problem:
        s = np.arange(1, d + 1) ** -problem["gamma"]
        return np.diag(s * math.sqrt(d / (s**2).sum()))
    w = rng.normal(size=(d, round(problem["kappa0"] * d)))
    return w @ w.T / math.sqrt(w.shape[1] * d)


def goe(d, rng):
    """Entries of variance (1 + delta_ij)/d."""
    z = rng.normal(size=(d, d))
    return (z + z.T) / math.sqrt(2 * d)


def solve(problem, matrices, seed, iterations=6, root=None):
    """E at the fixed point: iterations from a blank student, then scipy.optimize.root if given."""
    sampled = Sampled(problem, matrices, seed)
    delta, cut = math.sqrt((1 + sampled.noise) / (2 * sampled.alpha)), sampled.lam / (4 * sampled.alpha)
    for _ in range(iterations):
        delta, cut = sampled.iterate(delta, cut)
    evaluations, found = iterations + 1, True
    if root:
        polished = root(sampled.equations, np.log([delta, cut]))
        delta, cut = np.exp(polished.x)
        evaluations, found = evaluations + polished.nfev, bool(polished.success)
    error, _ = sampled.integrals(delta, cut)
    return {
        "error": float(error),
        "delta": float(delta),
        "cut": float(cut),
        "evaluations": evaluations,
        "found": found,
    }


def main():
    from scipy.optimize import root  # noqa: PLC0415, what else is here needs no scipy

    for line in sys.stdin:
        request = json.loads(line)
        begin = time.perf_counter()
        problem, matrices, seed = request["problem"], request["matrices"], request["seed"]
        answer = solve(problem, matrices, seed, root=root)
        answer["seconds"] = time.perf_counter() - begin
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
