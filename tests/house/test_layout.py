import shutil
import subprocess
import sys

import pytest
from tree import ROOT, cpp_files


def run(*command):
    return subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("clang-format") is None, reason="clang-format is not installed")
def test_cpp_is_laid_out_by_clang_format():
    result = run("clang-format", "--dry-run", "-Werror", *cpp_files())
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("check", [["check"], ["format", "--check"]], ids=["rules", "layout"])
def test_python_follows_ruff(check):
    result = run(sys.executable, "-m", "ruff", *check)
    assert result.returncode == 0, result.stdout + result.stderr
