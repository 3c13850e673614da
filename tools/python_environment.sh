#!/usr/bin/env bash
# Makes the project's own Python environment, .venv, from requirements.txt; does nothing when it is up to date.
# QKLAB_PYTHON names the interpreter to make it from (default: the system's python3).
set -euo pipefail
cd "$(dirname "$0")/.."

python=${QKLAB_PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null || python=python3
stamp=.venv/requirements.installed

if cmp -s requirements.txt "$stamp" && .venv/bin/python -c '' 2>/dev/null; then
  echo "qklab: Python environment .venv: up to date"
  exit 0
fi

echo "qklab: making the Python environment .venv with $("$python" --version) from requirements.txt"
"$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement requirements.txt
cp requirements.txt "$stamp"
