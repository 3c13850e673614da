"""Writes spectra-reference.json: spectral integrals of law(S0) boxplus semicircle(delta) in high precision.

Laws with an algebraic Stieltjes transform: g = G(x + i0) is the root with Im g < 0 of a polynomial at
every x, the edges are polynomial roots as well, and tanh-sinh quadrature in x runs between them. Power laws
of 400 modes: a rectangle in the subordination plane, cut into dyadic pieces. Neither algorithm is the one of
the library.

    python3 generate_spectra_reference.py spectra-reference.json
"""

import itertools
import json
import sys
from pathlib import Path

from mpmath import im, mp, mpc, mpf, pi, polyroots, polyval, quad, re, sqrt, workdps

mp.dps = 32


def integrands(delta, cut):
    """Name -> f(x, g) with int f dmu wanted; cut terms vanish below the cut."""

    def above(x):
        return x - cut if re(x) > cut else mpf(0)

    return {
        "mass": lambda x, g: mpf(1) if re(x) > cut else mpf(0),
        "linear": lambda x, g: above(x),
        "square": lambda x, g: above(x) ** 2,
        "mixed": lambda x, g: x * above(x),
        "response": lambda x, g: 2 * delta * above(x) * re(g),
        "mean": lambda x, g: x,
        "second": lambda x, g: x**2,
    }


class Algebraic:
    """A law whose g solves polynomial(x) (highest coefficient first); its edges are x(t), t a real root."""

    def __init__(self):
        self.known = {}

    def stieltjes(self, x):
        if x not in self.known:
            self.known[x] = lowest_root(self.polynomial(x))
        return self.known[x]

    def support(self):
        points = sorted(self.edges())
        return list(zip(points[0::2], points[1::2], strict=False))

    def integrate(self, f, cut):
        total = mpf(0)
        for lo, hi in self.support():
            breaks = [lo, cut, hi] if lo < cut < hi else [lo, hi]
            total += quad(lambda x: f(x, self.stieltjes(x)) * (-im(self.stieltjes(x)) / pi), breaks)
        return total


class Wishart(Algebraic):
    def __init__(self, kappa0, delta):
        super().__init__()
        self.kappa0, self.delta, self.jump = mpf(kappa0), mpf(delta), 1 / sqrt(mpf(kappa0))

    def polynomial(self, x):
        # x = 1/g + kappa0 a/(1 - a g) + delta^2 g, times g (1 - a g).
        a, k, v = self.jump, self.kappa0, self.delta**2
        return [-a * v, v + a * x, a * (k - 1) - x, 1]

    def edges(self):
        # dx/dg = 0, times g^2 (1 - a g)^2.
        a, k, v = self.jump, self.kappa0, self.delta**2
        roots = polyroots([v * a**2, -2 * v * a, v - a**2 + k * a**2, 2 * a, -1], maxsteps=400, extraprec=200)
        real = [re(g) for g in roots if abs(im(g)) < mpf(10) ** -25 * abs(g)]
        return [1 / g + k * a / (1 - a * g) + v * g for g in real]


class Atoms(Algebraic):
    def __init__(self, locations, masses, delta):
        super().__init__()
        self.delta = mpf(delta)
        self.locations = [mpf(s) for s in locations]
        self.masses = [mpf(w) for w in masses]

    def polynomial(self, x):
        # g prod (x - s - v g) - sum w prod_{others} (x - s - v g) = 0.
        v = self.delta**2
        factors = [[-v, x - s] for s in self.locations]
        left = multiply([[mpf(1), mpf(0)], *factors])
        for i, w in enumerate(self.masses):
            left = add(left, [-w * c for c in multiply(factors[:i] + factors[i + 1 :])])
        return left

    def edges(self):
        # sum w/(omega - s)^2 = 1/delta^2, then x = omega + delta^2 sum w/(omega - s).
        v = self.delta**2
        squares = [multiply([[mpf(1), -s]] * 2) for s in self.locations]
        total = multiply(squares)
        for i, w in enumerate(self.masses):
            total = add(total, [-v * w * c for c in multiply(squares[:i] + squares[i + 1 :])])
        roots = polyroots(total, maxsteps=1000, extraprec=400)
        real = [re(u) for u in roots if abs(im(u)) < mpf(10) ** -25 * (1 + abs(u))]
        return [
            u + v * sum(w / (u - s) for w, s in zip(self.masses, self.locations, strict=False)) for u in real
        ]


def lowest_root(coefficients):
    """The one root below the real axis: all roots in low precision, then Newton; next to an edge, where
    two roots almost meet, all roots in high precision."""
    try:
        with workdps(16):
            root = min(polyroots(coefficients, maxsteps=60, extraprec=60), key=im)
        for _ in range(6):
            value, slope = polyval(coefficients, root, derivative=True)
            root -= value / slope
            if im(root) < 0 and abs(value / slope) < mpf(10) ** (4 - mp.dps) * abs(root):
                return root
    except (mp.NoConvergence, ZeroDivisionError):
        pass
    return min(polyroots(coefficients, maxsteps=1000, extraprec=300), key=im)


def multiply(polynomials):
    product = [mpf(1)]
    for p in polynomials:
        longer = [mpf(0)] * (len(product) + len(p) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(p):
                longer[i + j] += a * b
        product = longer
    return product


def add(p, q):
    length = max(len(p), len(q))
    p = [mpf(0)] * (length - len(p)) + p
    q = [mpf(0)] * (length - len(q)) + q
    return [a + b for a, b in zip(p, q, strict=False)]


class PowerLaw:
    """Contour integrals: f is analytic above the cut, so the integral over x > cut is one over a path that
    rises from omega(cut), runs to the right of every atom at constant height and comes down."""

    def __init__(self, gamma, modes, delta):
        self.delta = mpf(delta)
        raw = [mpf(i) ** -mpf(gamma) for i in range(1, modes + 1)]
        scale = sqrt(modes / sum(s**2 for s in raw))
        self.locations = [scale * s for s in raw]
        self.known = {}

    def resolvent(self, omega):
        if omega not in self.known:
            inverses = [1 / (omega - s) for s in self.locations]
            count = len(inverses)
            self.known[omega] = (sum(inverses) / count, -sum(r**2 for r in inverses) / count)
        return self.known[omega]

    def subordination(self, x):
        """Fixed point of omega -> x - delta^2 G0(omega), a map of the upper half plane into itself, averaged
        with the identity because it almost rotates around a lone atom; Newton at the end."""
        v = self.delta**2
        omega = mpc(x, self.delta)
        for _ in range(400):
            step = (omega + v * self.resolvent(omega)[0] - x) / (1 + v * self.resolvent(omega)[1])
            newton = omega - step
            if im(newton) > 0 and abs(step) < im(omega) / 4:
                omega = newton
                if abs(step) < mpf(10) ** -(mp.dps - 8) * im(omega):
                    return omega
            else:
                omega = (omega + x - v * self.resolvent(omega)[0]) / 2
        raise ArithmeticError(f"no subordination at {x}: choose a cut inside the support")

    def integrate(self, cut):
        v = self.delta**2
        start = self.subordination(cut)
        height, right = self.locations[0] / 4, self.locations[0] * mpf(5) / 4
        corners = [start]
        rise = im(start)
        while rise < height:
            corners.append(mpc(re(start), im(start) + rise))
            rise *= 4
        steps = 8
        corners += [mpc(re(start) + (right - re(start)) * k / steps, height) for k in range(1, steps + 1)]
        corners += [mpc(right, 0)]

        def along(weight):
            def f(omega):
                g, slope = self.resolvent(omega)
                z = omega + v * g
                return weight(z - cut, z, g) * (1 + v * slope)

            return quad(f, corners, method="gauss-legendre")

        def plain(f):
            return -im(along(lambda y, z, g: f(y, z) * g)) / pi

        return {
            "mass": plain(lambda y, z: 1),
            "linear": plain(lambda y, z: y),
            "square": plain(lambda y, z: y**2),
            "mixed": plain(lambda y, z: z * y),
            "response": -self.delta / pi * im(along(lambda y, z, g: y * g**2)),
        }


def algebraic_record(description, law, cut):
    values = {name: law.integrate(f, mpf(cut)) for name, f in integrands(law.delta, mpf(cut)).items()}
    edges = [x for interval in law.support() for x in interval]
    return {**description, "cut": cut, "edges": [float(x) for x in edges], **floats(values)}


def floats(values):
    return {name: float(value) for name, value in values.items()}


def cuts_inside(law):
    """A few short decimals on and between the intervals of the support."""
    support = law.support()
    lo, hi = support[0][0], support[-1][1]
    inside = [lo + (hi - lo) * share for share in (mpf("0.06"), mpf("0.35"), mpf("0.85"))]
    gaps = [(a[1] + b[0]) / 2 for a, b in itertools.pairwise(support)]
    return [float(mp.nstr(x, 4)) for x in inside + gaps[:1]]


def main(path):
    records = []
    for kappa0 in (0.05, 0.3, 0.5, 1.0, 2.0):
        for delta in (0.001, 0.03, 0.3, 0.7, 2.0):
            law = Wishart(kappa0, delta)
            for cut in cuts_inside(law):
                description = {"law": "wishart", "kappa0": kappa0, "delta": delta}
                records.append(algebraic_record(description, law, cut))
                print(records[-1], flush=True)
    locations, masses = [0.0, 0.25, 1.0, 1.125, 4.0], [0.5, 0.125, 0.25, 0.0625, 0.0625]
    for delta in (0.0001, 0.01, 0.1, 0.4, 3.0):
        law = Atoms(locations, masses, delta)
        for cut in [*cuts_inside(law), locations[2] + delta / 8]:
            description = {"law": "atoms", "locations": locations, "masses": masses, "delta": delta}
            records.append(algebraic_record(description, law, cut))
            print(records[-1], flush=True)
    mp.dps = 25
    for gamma in (0.75, 1.25):
        for delta, mode_cuts in ((0.0001, (3, 60)), (0.01, (3, 70)), (0.3, (2, 20))):
            law = PowerLaw(gamma, 400, delta)
            for mode in mode_cuts:
                cut = float(law.locations[mode]) + delta / 128
                description = {"law": "power", "gamma": gamma, "modes": 400, "delta": delta, "cut": cut}
                records.append({**description, **floats(law.integrate(mpf(cut)))})
                print(records[-1], flush=True)
    with Path(path).open("w") as out:
        json.dump({"records": records}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
