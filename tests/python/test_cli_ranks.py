"""Ranks that share the data of a run: the numbers of one process, said once, and one end for all."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from command import COMMAND, TRAINED, objects

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")

# More ranks than cores, also for root in a container.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_WAIT_POLICY": "passive",
}
SMALL = [
    "--dimension",
    "30",
    "--alpha",
    "2",
    "--noise-in",
    "0.2",
    "--test-samples",
    "500",
    "--max-epochs",
    "12",
    "--quiet",
]


def command(ranks, *arguments):
    return ["mpirun", "-n", str(ranks), COMMAND, *arguments]


def mpirun(ranks, *arguments):
    return subprocess.run(
        command(ranks, *arguments), env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=100
    )


def numbers(value):
    """Of a result, but for those that say how it was computed."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items() if k not in ("seconds", "memory_gib")}
    return [numbers(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", *SMALL, "--spectrum"],
        ["train", *SMALL, "--task", "seq2seq", "--precision", "f32", "--data", "regenerated"],
        ["compare", *SMALL, "--seeds", "2", "--log2-points", "8"],
    ],
)
def test_ranks_find_the_numbers_of_one_process(arguments):
    alone = numbers(objects(*arguments, status=3))
    for ranks in (1, 2, 3):
        result = mpirun(ranks, *arguments, "--json")
        assert result.returncode == 3, result.stderr
        assert numbers([json.loads(line) for line in result.stdout.splitlines()]) == alone


def test_a_figure_and_a_table_are_made_once(tmp_path):
    path = tmp_path / "curve.svg"
    result = mpirun(2, "compare", "--alpha", "1,2", *TRAINED, "--seeds", "2", "--quiet", "--plot", str(path))
    assert result.returncode == 0, result.stderr
    assert path.read_text().startswith("<?xml")
    assert len(re.findall("dev in standard errors", result.stdout)) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--alpha", "-1"], 2, "alpha = -1"),
        (["--alpha", "2", "--max-epochs", "1"], 3, "iteration limit"),
        (["--alpha", "2", "--memory", "0.001"], 2, "GiB are available"),
    ],
)
def test_what_goes_wrong_is_said_once_and_ends_all_ranks(arguments, status, words):
    result = mpirun(2, "train", *SMALL[:2], *arguments)
    assert result.returncode == status, result.stderr
    assert len(re.findall(f"qklab: .*{words}", result.stderr)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_ranks(number):
    arguments = ["train", "--dimension", "100", "--alpha", "2", "--gradient-tolerance", "1e-30", "--quiet"]
    with subprocess.Popen(
        command(2, *arguments), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(2)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode != 0
