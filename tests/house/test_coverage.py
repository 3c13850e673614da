"""The summary of coverage by room, on a house of a few lines."""

import json
import subprocess
import sys

import pytest
from tree import ROOT

SCRIPT = ROOT / "tools" / "coverage.py"


@pytest.fixture
def cover(tmp_path):
    """Runs the script on files given as name: (covered, all)."""

    def run(files):
        summary = tmp_path / "summary.json"
        entries = [{"filename": f, "line_covered": c, "line_total": n} for f, (c, n) in files.items()]
        summary.write_text(json.dumps({"files": entries}))
        return subprocess.run([sys.executable, SCRIPT, summary], capture_output=True, text=True, check=False)

    return run


def rows(result):
    return [line.split() for line in result.stdout.splitlines()]


def test_lines_are_added_up_by_room(cover):
    result = cover(
        {
            "src/core/random.cpp": (8, 10),
            "include/qklab/core/random.hpp": (10, 10),
            "src/lab/data/dataset.cpp": (90, 100),
            "include/qklab/lab/data/dataset.hpp": (1, 1),
            "src/lab/matrix/row_kernels.cpp": (399, 400),
            "src/main.cpp": (3, 3),
        }
    )
    assert rows(result) == [
        ["room", "covered", "lines", "%"],
        ["core", "18", "20", "90.0"],
        ["lab/data", "91", "101", "90.1"],
        ["lab/matrix", "399", "400", "99.8"],
        ["main", "3", "3", "100.0"],
        ["total", "511", "524", "97.5"],
    ]
    assert result.returncode == 0
    assert result.stderr == ""


def test_a_room_with_too_little_fails_though_the_total_is_fine(cover):
    result = cover({"src/core/random.cpp": (1000, 1000), "src/lab/data/dataset.cpp": (79, 100)})
    assert result.returncode == 1
    assert result.stderr == "coverage: lab/data: 79.0 % is below 80 %\n"


def test_a_total_too_low_fails_though_every_room_is_fine(cover):
    result = cover({"src/core/random.cpp": (85, 100), "src/lab/data/dataset.cpp": (89, 100)})
    assert result.returncode == 1
    assert result.stderr == "coverage: in total: 87.0 % is below 90 %\n"


def test_the_least_asked_for_is_enough(cover):
    assert cover({"src/core/random.cpp": (80, 100), "src/lab/data/dataset.cpp": (100, 100)}).returncode == 0


def test_nothing_counted_is_no_success(cover):
    assert cover({}).returncode == 1
