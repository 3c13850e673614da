"""Small documents of every kind, as the command sends them to the figures."""

import numpy as np

__all__ = [
    "decomposition",
    "learning_curve",
    "learning_curve_of_two_panels",
    "learning_curve_with_marks",
    "phase_diagram",
    "scaling",
    "spectrum",
    "spectrum_with_levels",
    "weight_decay",
]

ALPHAS = [0.05, 0.2, 0.8, 3.2]


def series(label="", dimension=60):
    return {
        "label": label,
        "theory": {
            "x": ALPHAS,
            "y": [0.32, 0.25, 0.15, 0.06],
            "se": [0.001] * 4,
            "stable": [False, True, True, True],
        },
        "measured": {
            "x": ALPHAS[1:],
            "mean": [0.26, 0.15, 0.06],
            "se": [0.01] * 3,
            "dimension": dimension,
            "seeds": 8,
        },
    }


def learning_curve():
    return {
        "kind": "learning_curve",
        "title": "softmax, $T = 2$",
        "x": {"name": "alpha", "label": "$\\alpha = n/d^2$", "log": True},
        "quantity": "test_error",
        "series": [series()],
        "footer": "one standard error",
    }


def learning_curve_of_two_panels():
    return {
        "kind": "learning_curve",
        "x": {"name": "alpha"},
        "panels": [
            {"quantity": "test_error", "log": True, "series": [series("$d = 60$"), series("$d = 120$", 120)]},
            {"quantity": "overlap", "label": "overlap", "series": [{"theory": series()["theory"]}]},
        ],
    }


def learning_curve_with_marks():
    reference = {"label": "Bayes-optimal", "x": ALPHAS, "y": [None, 0.2, 0.1, 0.02]}
    return {
        **learning_curve(),
        "references": [reference],
        "verticals": [{"label": "recovery", "x": 0.21}, {"x": 0.5}],
    }


def phase_diagram():
    return {
        "kind": "phase_diagram",
        "title": "softmax, $T = 2$",
        "x": {"label": "$\\alpha = n/d^2$", "log": True},
        "y": {"label": "rank ratio $\\kappa_0$"},
        "curves": [
            {"label": "recovery", "x": [0.1, 0.2, 0.4], "y": [0.1, 0.4, 0.9]},
            {"label": "instability", "x": [0.1, 1, 3.2], "y": [0.2, None, 0.3], "dashed": True},
        ],
        "regions": [{"label": "no recovery", "x": 0.12, "y": 0.6}],
        "field": {
            "x": [0.1, 1, 10],
            "y": [0.2, 0.8],
            "value": [[0.3, 0.1, 0.01], [0.4, None, 0.02]],
            "label": "test error",
            "log": True,
        },
    }


def spectrum():
    x = np.linspace(0, 3, 50)
    eigenvalues = np.concatenate([np.zeros(20), np.linspace(0.1, 3, 39), [5.2]])
    full = {
        "title": "$\\alpha = 0.5$",
        "x_label": "eigenvalue of $S = WW^T$",
        "density": {"x": x.tolist(), "p": (0.3 * (1 - x / 3)).tolist()},
        "atom_at_zero": 0.55,
        "predicted_outliers": [5.0],
        "edges": [[0, 3]],
        "histogram": {"eigenvalues": eigenvalues.tolist(), "dimension": 60, "seeds": 1},
    }
    bare = {"density": {"x": [0, 1, 2], "p": [1, 1, 0]}}
    return {"kind": "spectrum", "title": "spectra", "panels": [full, bare]}


def spectrum_with_levels():
    """Two bulks with the profile of their levels, and one with outliers and the alignment of each mode."""
    low, high = np.linspace(0.2, 1, 30), np.linspace(2, 3, 30)
    bulks = np.concatenate([low, high])
    eigenvalues = np.concatenate([np.zeros(30), np.linspace(0.25, 0.95, 20), np.linspace(2.05, 2.95, 50)])
    histogram = {"values": eigenvalues.tolist(), "dimension": 60, "seeds": 3}
    levels = {"x": bulks.tolist(), "y": (1.1 * bulks).tolist()}
    modes = {"teacher": [0.5, 1, 2, 4], "mean": [0, 0.2, 0.6, 0.9], "se": [0.02] * 4, "seeds": 3}
    return {
        "kind": "spectrum",
        "panels": [
            {
                "title": "two bulks",
                "density": {
                    "x": bulks.tolist(),
                    "p": [
                        *(0.2 * semicircle(0.6, 0.4, bulks[:30])),
                        *(0.5 * semicircle(2.5, 0.5, bulks[30:])),
                    ],
                },
                "edges": [[0.2, 1], [2, 3]],
                "histogram": histogram,
                "profile": {**levels, "measured": {"x": [0.5, 2.5], "mean": [0.6, 2.6], "se": [0.1, 0.1]}},
            },
            {
                "title": "outliers",
                "density": {"x": [0.5, 1, 1.5], "p": [0, 0.6, 0]},
                "edges": [[0.5, 1.5]],
                "predicted_outliers": [{"value": 2.9, "alignment": 0.93, "teacher": 2.1}, 5.0],
                "measured_outliers": [{"value": 2.95, "se": 0.1, "alignment": 0.91, "alignment_se": 0.02}],
                "modes": {
                    "label": "squared alignment",
                    "teacher": [0, 1, 2, 4],
                    "predicted": [0, 0.2, 0.6, 0.9],
                    "measured": modes,
                },
            },
        ],
    }


def semicircle(centre, radius, x):
    return 2 / (np.pi * radius**2) * np.sqrt(np.maximum(radius**2 - (x - centre) ** 2, 0))


def decomposition():
    n = [100, 1000, 10000]
    bias, cross = [0.3, 0.1, 0.001], [0, -0.05, -0.001]
    return {
        "kind": "decomposition",
        "title": "parts of the test error",
        "x": {"name": "n", "label": "$n$", "log": True},
        "parts": [
            {
                "name": "missed_modes",
                "theory": {"x": n, "y": bias},
                "measured": {"x": n, "mean": bias, "se": [0.01] * 3, "dimension": 60, "seeds": 8},
            },
            {"name": "cross", "label": "cross term", "theory": {"x": n, "y": cross, "se": [0.001] * 3}},
        ],
        "total": {"theory": {"x": n, "y": [b + c for b, c in zip(bias, cross, strict=True)]}},
        "symlog": 0.001,
        "footer": "one standard error",
    }


def weight_decay():
    decay = np.array([0.01, 0.1, 1, 10])
    error = 0.2 + 0.1 * np.abs(np.log10(decay / 0.1))
    return {
        "kind": "weight_decay",
        "x": {"label": "$\\lambda$"},
        "series": [
            {
                "label": "",
                "theory": {"x": decay.tolist(), "y": error.tolist()},
                "measured": {"x": [0.1, 1], "mean": [0.21, 0.31], "se": [0.01] * 2, "seeds": 8},
                "optimum": {"x": 0.1, "x_se": 0.02, "y": 0.2},
                "flat": [0.05, 0.5],
                "given": {"x": 1, "y": 0.3},
            }
        ],
    }


def scaling():
    n = [100, 1000, 10000, 100000]
    return {
        "kind": "scaling",
        "title": "power-law teacher",
        "x": {"label": "$n$"},
        "series": [
            {
                "label": "optimal weight decay",
                "theory": {"x": n, "y": [x**-0.5 for x in n]},
                "measured": {"x": n, "mean": [1.1 * x**-0.5 for x in n], "se": [0.001] * 4, "seeds": 4},
                "guide": {"exponent": -0.5, "label": "$n^{-1/2}$"},
                "local": {"x": [300, 3000, 30000], "y": [-0.5, -0.45, -0.52], "se": [0.02] * 3},
                "predicted_exponent": -0.5,
                "recovered": {"x": n, "y": [1, 3, 10, 30]},
            }
        ],
        "emergence": [
            {"mode": 1, "x": n, "y": [1, 0.5, 0.1, 0], "enters": 120},
            {"mode": 2, "x": n, "y": [1, 1, 0.4, 0.1], "enters": 1100},
        ],
        "footer": "one standard error",
    }
