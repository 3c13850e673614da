#!/usr/bin/env bash
# Runs the C++ tests, and the Python tests of the command, in the build that counts lines; then says what was counted.
# A failed test is told and fails the whole, but not before the table: the lines it ran are counted too.
cd "$(dirname "$0")/.." || exit 1
build=$PWD/build/coverage
jobs=$(nproc)

find "$build" -name '*.gcda' -delete # what earlier runs counted
ctest --preset coverage --parallel "$jobs" --no-tests=error
cpp=$?
QKLAB_COMMAND=$build/qklab .venv/bin/python -m pytest tests/python/test_cli_*.py tests/house/test_pages.py
python=$?
gcovr --root . --filter src/ --filter include/ -j "$jobs" --json-summary "$build/lines.json" "$build" &&
  .venv/bin/python tools/coverage.py "$build/lines.json"
lines=$?

[ "$cpp" -eq 0 ] && [ "$python" -eq 0 ] && [ "$lines" -eq 0 ]
