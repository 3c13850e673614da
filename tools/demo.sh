#!/usr/bin/env bash
# The first figure: predicted and measured test error along alpha, and spectra at two of its points.
set -euo pipefail
cd "$(dirname "$0")/.."

qklab=build/release/qklab
figures=build/demo
mkdir -p "$figures"

say() { printf '\n$ %s\n' "$*"; "$@"; }
say "$qklab" compare --config examples/first-figure.toml --plot "$figures/first-figure.svg"
say "$qklab" spectrum --config examples/first-figure-spectra.toml --train --plot "$figures/spectra.svg"

printf '\nFigures: %s\n' "$figures"/*.svg
