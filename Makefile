# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test check bench screenshots studies clean

demo: .venv/installed
	$(BIN)/snapshot-audit demo --port $(PORT)

test: check
	$(BIN)/python -m pytest -n 2 -m "not browser"
	$(BIN)/python -m pytest -m browser

check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/benched
	$(BIN)/python -m benchmarks

screenshots: .venv/tested
	$(BIN)/python scripts/screenshots.py

clean:
	rm -rf .venv demo

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; choose it with PYTHON=…")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

.venv/tested: .venv/installed scripts/get_chromium.sh
	$(PIP) install --constraint constraints.txt --editable '.[test]'
	PATH="$(abspath $(BIN)):$$PATH" sh scripts/get_chromium.sh
	touch $@

.venv/benched: .venv/tested
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	touch $@
