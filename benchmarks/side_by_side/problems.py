"""The problems that are timed, in the names of the command's options."""

# Two tokens and the softmax, at two sizes whose data sets have 40,000 samples.
TRAINING = [
    {"dimension": 100, "alpha": 4.0, "noise_in": 0.5, "lambda": 0.01},
    {"dimension": 200, "alpha": 1.0, "noise_in": 0.5, "lambda": 0.01},
]
TOY_TRAINING = [{"dimension": 16, "alpha": 2.0, "noise_in": 0.5, "lambda": 0.01}]

# One token and the identity. The power law is a row of a published table: n = 160,000, full rank, in
# tests/data/quadratic-width/SE_rank_d400_n160000.0_gamma1.25_noise0.1_lregtilde0.1.csv.
ONE_TOKEN = {"tokens": 1, "activation": "identity"}
STATE_EVOLUTION = {
    "power law": {"dimension": 400, "gamma": 1.25, "alpha": 1.0, "noise_out": 0.1, "lambda": 0.1},
    "Wishart": {"dimension": 400, "kappa0": 0.5, "alpha": 1.0, "noise_out": 0.5, "lambda": 0.1},
}
PUBLISHED = {"power law": 0.0144176369867941}


def training_name(problem):
    return f"d = {problem['dimension']}, alpha = {problem['alpha']:g}"
