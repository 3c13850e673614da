"""The machine and the versions behind the numbers."""

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

from .workers import OPENBLAS_OVERRIDES, ours, pytorch


def describe(with_pytorch):
    with ours() as worker:
        here = worker.ask("about")
    there = None
    if with_pytorch:
        with pytorch() as worker:
            there = worker.ask("about")
    return {
        "processor": _first_after(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memory_gib": round(int(_first_after(Path("/proc/meminfo"), "MemTotal").split()[0]) / 2**20, 1),
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "openblas_overrides": {name: os.environ[name] for name in OPENBLAS_OVERRIDES if name in os.environ},
        "qklab": here,
        "pytorch": there,
        "plain": {name: _version(name) for name in ("numpy", "scipy")},
    }


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _first_after(path, key):
    lines = path.read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(key))
