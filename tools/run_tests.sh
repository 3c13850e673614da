#!/usr/bin/env bash
# Runs the C++ tests, then the Python tests, both even when the first fail; fails if either failed.
cd "$(dirname "$0")/.." || exit 1

ctest --preset release --parallel 2 --no-tests=error
cpp=$?
.venv/bin/python -m pytest
python=$?

[ "$cpp" -eq 0 ] && [ "$python" -eq 0 ]
