#!/usr/bin/env bash
# Build and test times of git revisions, side by side: clones each, then builds and tests them in turns.
#   tools/build_time.sh BEFORE AFTER [ROUNDS]        (default: 1 round; half an hour a round on two cores)
# Needs what `make packages` installs. The compiler cache is off, and every build starts from nothing. CPU seconds are user
# and system time of all processes: they bear a machine that others use better than wall seconds do.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$#" -lt 2 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0"
  exit 2
fi
revisions=("$(git rev-parse --short "$1")" "$(git rev-parse --short "$2")")
rounds=${3:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
TIMEFORMAT='%R %U %S'

# step NAME LOG COMMAND...: runs the command in the clone and prints a row. Tests that fail are said, not hidden.
step() {
  local name=$1 log=$2 note=
  shift 2
  { time "$@" >"$log" 2>&1 || note="  FAILED, the end of its output: $(tail -n 1 "$log")"; } 2>"$work/time"
  awk -v r="$revision" -v n="$name" -v x="$note" '{ printf "%-12s %-22s %8.1f %8.1f%s\n", r, n, $1, $2 + $3, x }' "$work/time"
}

for revision in "${revisions[@]}"; do
  git clone --quiet --no-local . "$work/$revision"
  git -C "$work/$revision" checkout --quiet --detach "$revision"
  (cd "$work/$revision" && tools/python_environment.sh >/dev/null)
done

printf '%-12s %-22s %8s %8s\n' revision step "wall s" "CPU s"
for _ in $(seq "$rounds"); do
  for revision in "${revisions[@]}"; do
    cd "$work/$revision"
    rm -rf build
    cmake --preset release >/dev/null
    step "make build" "$work/log" cmake --build --preset release --target qklab
    step "tests, benchmarks" "$work/log" cmake --build --preset release
    step "run all tests" "$work/log" tools/run_tests.sh
  done
done
