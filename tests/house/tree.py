"""The files of this project."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {
    *(".git", ".venv", ".venv-bench", "build"),
    *("__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache"),
}


def files(*endings):
    """Every file under version control (outside a clone: every file but what builds leave), by its ending."""
    return [path for path in _files() if not endings or path.suffix in endings]


def cpp_files(*folders):
    """The C++ sources, all or those in the named top-level folders."""
    return [p for p in files(".hpp", ".cpp") if not folders or p.relative_to(ROOT).parts[0] in folders]


def _files():
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if listing.returncode == 0 and listing.stdout:
        paths = (ROOT / name for name in listing.stdout.split("\0") if name)
        return sorted(path for path in paths if path.is_file())
    return sorted(p for p in ROOT.rglob("*") if p.is_file() and not NOT_OURS & set(p.relative_to(ROOT).parts))
