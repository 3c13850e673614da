"""Small documents of every kind, as the command sends them to the figures."""

import numpy as np

__all__ = [
    "learning_curve",
    "learning_curve_of_two_panels",
    "learning_curve_with_marks",
    "phase_diagram",
    "spectrum",
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
