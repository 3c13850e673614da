"""Teachers given by a file of eigenvalues, as other programs write it."""

import numpy as np
import pytest
from command import objects, qklab

EIGENVALUES = np.array([3, 2, 1, 0.5])


def save(path, array, version=None):
    """What numpy.save writes, under a name without .npy and in any version of its format."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version=version)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: np.savetxt(path, EIGENVALUES),
        lambda path: np.savetxt(path, EIGENVALUES[None], delimiter=",", header="by numpy"),
        lambda path: np.savetxt(path, EIGENVALUES[:, None], newline="\r\n", encoding="utf-8"),
        lambda path: path.write_text("\ufeff3;2;1;0.5;;\r\n", encoding="utf-8"),
        *(lambda path, t=t: save(path, EIGENVALUES.astype(t)) for t in ("<f8", ">f8", "<f4", ">f4")),
        lambda path: save(path, EIGENVALUES[:, None]),
        lambda path: save(path, np.asfortranarray(EIGENVALUES[None])),
        lambda path: save(path, EIGENVALUES, version=(3, 0)),
    ],
)
def test_a_spectrum_is_read_as_numpy_and_spreadsheets_write_it(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("3\n2\n1\n0.5\n")
    write(tmp_path / "given")
    problem = ["theory", "--alpha", "1", "--tokens", "1", "--activation", "identity", "--noise-out", "0.5"]
    (plain,) = objects(*problem, "--teacher", "spectrum:plain")
    (given,) = objects(*problem, "--teacher", "spectrum:given")
    same = [key for key in plain if key not in ("teacher", "spectrum")]
    assert {key: given[key] for key in same} == {key: plain[key] for key in same}


@pytest.mark.parametrize("verb", ["theory", "thresholds", "dynamics"])
def test_eigenvalues_negative_by_rounding_are_noticed(verb, tmp_path, monkeypatch):
    """Those of a matrix of low rank, as numpy.linalg.eigvalsh gives them."""
    monkeypatch.chdir(tmp_path)
    factor = np.random.default_rng(1).normal(size=(12, 3))
    eigenvalues = np.linalg.eigvalsh(factor @ factor.T)
    assert eigenvalues[0] < 0
    np.save(tmp_path / "given.npy", eigenvalues)
    problem = {
        "theory": ["--alpha", "1", "--tokens", "1", "--activation", "identity"],
        "thresholds": ["--tokens", "1", "--activation", "identity"],
        "dynamics": ["--model", "h2", "--method", "theory", "--times", "0,0.1"],
    }[verb]
    result = qklab(verb, *problem, "--teacher", "spectrum:given.npy")
    assert result.returncode == 0, result.stderr
    count = np.count_nonzero(eigenvalues < 0)
    assert f"given.npy: {count} of 12 eigenvalues are negative by rounding and were set to 0" in result.stderr
    assert "rounding" not in qklab(verb, *problem, "--teacher", "spectrum:given.npy", "--quiet").stderr
