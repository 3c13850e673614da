"""Small documents of every kind, as the command sends them to the figures."""

import numpy as np

__all__ = ["learning_curve", "learning_curve_of_two_panels", "spectrum"]

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
