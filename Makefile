# Everything a contributor or a newcomer runs. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help setup demo test soak check lock clean

help:            ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup:           ## system packages that are missing, and the locked environment in $(VENV)
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)"

demo: setup      ## a real repair, offline, with a model replayed from a journal
	@$(BIN)/experepair demo --prepare
	$(BIN)/experepair demo

test:            ## the whole test suite, on all processors
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)" tests
	@$(BIN)/experepair demo --prepare
	$(BIN)/python -m pytest -n auto

soak:            ## the tests that need Ray (240 MB): a cluster of two nodes, killed and stopped
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)" tests
	$(BIN)/python -m pip install -q -e '.[ray]'
	$(BIN)/python -m pytest tests/bench/test_cluster.py

check: setup     ## format, spelling, lint, types, layering: what CI runs before the tests
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests docs benchmarks README.md CONTRIBUTING.md CHANGELOG.md
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

lock: setup      ## renew requirements/*.txt (hashes, no host names)
	sh scripts/lock.sh "$(BIN)"

clean:           ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
