#!/usr/bin/env bash
# Makes one of the project's Python environments from its requirements; does nothing when it is up to date.
#   python_environment.sh [ENVIRONMENT REQUIREMENTS]      (default: .venv requirements.txt)
# QKLAB_PYTHON names the interpreter to make it from (default: the system's python3).
set -euo pipefail
cd "$(dirname "$0")/.."

environment=${1:-.venv}
requirements=${2:-requirements.txt}
python=${QKLAB_PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null || python=python3
stamp=$environment/requirements.installed

if cmp -s "$requirements" "$stamp" && "$environment"/bin/python -c '' 2>/dev/null; then
  echo "qklab: Python environment $environment: up to date"
  exit 0
fi

echo "qklab: making the Python environment $environment with $("$python" --version) from $requirements"
"$python" -m venv --clear "$environment"
"$environment"/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement "$requirements"
cp "$requirements" "$stamp"
