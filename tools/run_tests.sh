#!/usr/bin/env bash
# Runs the C++ tests, then the Python tests, both even when the first fail; fails if either failed.
cd "$(dirname "$0")/.." || exit 1

jobs=${JOBS:-$(nproc)}
ctest --preset release --parallel "$jobs" --no-tests=error
cpp=$?
OMP_WAIT_POLICY=passive .venv/bin/python -m pytest --numprocesses "$jobs"
python=$?

[ "$cpp" -eq 0 ] && [ "$python" -eq 0 ]
