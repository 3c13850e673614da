# The front door. `make` alone lists what can be asked for; CMakePresets.json holds the builds themselves.
RELEASE := build/release
PYTHON := .venv/bin/python
JOBS ?= $(shell nproc)
CPP := $(shell find include src tests benchmarks tools -name '*.hpp' -o -name '*.cpp')

.DEFAULT_GOAL := help
.PHONY: help demo test check build bench side-by-side gallery validation lint format clean
.PHONY: packages packages-to-check python configure sanitize sanitize-threads coverage

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build python ## the first figure, theory against trained models (some minutes), into build/demo
	@tools/demo.sh

test: configure python ## every test, C++ and Python
	@cmake --build --preset release
	@tools/run_tests.sh

check: configure python ## the inner loop: layout, house tests and the quick C++ tests
	@cmake --build --preset release --target qklab all_tests
	@$(PYTHON) -m pytest -q tests/house
	@ctest --preset release --parallel $(JOBS) --label-exclude 'slow$$' --no-tests=error

build: configure ## the command, build/release/qklab, without running anything
	@cmake --build --preset release --target qklab

bench: configure ## every benchmark, one after another
	@cmake --build --preset release --target all_benchmarks
	@set -e; for benchmark in $(RELEASE)/bench_*; do echo "== $$benchmark"; $$benchmark; done

side-by-side: configure ## docs/performance.md: timed against PyTorch and SciPy (20 minutes, 6 GB; ONLY=part for some)
	@cmake --build --preset release --target side_by_side
	@tools/python_environment.sh .venv-bench benchmarks/side_by_side/requirements.txt
	@PYTHONPATH=benchmarks .venv-bench/bin/python -m side_by_side $(if $(ONLY),--only "$(ONLY)")

gallery: build python ## every figure of docs/gallery.md (about an hour; ONLY=name for some)
	@$(PYTHON) tools/gallery.py --only "$(ONLY)"

validation: build python ## docs/validation*.md: runs against every prediction (about an hour)
	@$(PYTHON) tools/validation.py --fresh
	@$(PYTHON) tools/dynamics_validation.py --fresh

lint: packages-to-check python ## layout and static analysis; changes nothing, and what was clean is not run again
	clang-format --dry-run -Werror $(CPP)
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	@cmake --preset lint
	@$(PYTHON) tools/lint/tidy.py --jobs $(JOBS)

format: python ## lay out all sources as `lint` and the tests want them
	clang-format -i $(CPP)
	$(PYTHON) -m ruff format

sanitize: packages ## the C++ tests under the address and undefined-behaviour sanitizers
	@cmake --preset sanitize
	@cmake --build --preset sanitize --target all_tests
	@ctest --preset sanitize --parallel $(JOBS) --no-tests=error

sanitize-threads: packages-to-check ## the C++ tests of all that runs in parallel under the thread sanitizer
	@cmake --preset sanitize-threads
	@cmake --build --preset sanitize-threads
	@ctest --preset sanitize-threads --no-tests=error

coverage: packages-to-check python ## the lines that the tests run, by room; fails below 90 % in all or 80 % in a room
	@cmake --preset coverage
	@cmake --build --preset coverage
	@tools/run_coverage.sh

packages: ## the system packages of tools/packages.txt (apt, through sudo when not root)
	@tools/install_packages.sh

packages-to-check: ## those, and what only lint, sanitize-threads and coverage need
	@tools/install_packages.sh packages_to_check.txt

python: packages ## the Python environment .venv of requirements.txt
	@tools/python_environment.sh

configure: packages
	@cmake --preset release

clean: ## remove builds and the Python environments
	rm -rf build .venv .venv-bench
