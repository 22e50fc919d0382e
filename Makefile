# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
PORT ?= 8501
QUESTIONS ?= 80
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-local check kills bench screenshots collect-demo collect-refusals collect-django clean

demo: .venv/installed
	$(BIN)/snapshot-audit demo --port $(PORT)

test: check
	$(BIN)/python -m pytest -n 2 -m "not browser and not local"
	$(BIN)/python -m pytest -m browser

check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The long runs of the kill tests: 200 kills of a collector by each transport, with the counts printed.
kills: .venv/tested
	KILLS=200 $(BIN)/python -m pytest -s tests/system/test_kills.py

bench: .venv/benched
	$(BIN)/python -m benchmarks

screenshots: .venv/tested
	$(BIN)/python scripts/screenshots.py

test-local: .venv/local .venv/tested
	$(BIN)/python -m pytest -m local

# Collects the bundled study help-centre anew with a language model on this machine: docs/help-centre.md says how long
# it takes. Stopped or killed at any moment, the same command goes on where it was.
collect-demo: .venv/local
	mkdir -p collected
	cp data/corpora/help-centre/*.jsonl collected/
	sed 's/^count = 80 /count = $(QUESTIONS) /' data/corpora/help-centre/protocol.toml > collected/protocol.toml
	test -d collected/help-centre || $(BIN)/snapshot-audit freeze collected/protocol.toml
	$(BIN)/snapshot-audit run collected/help-centre
	$(BIN)/snapshot-audit verify collected/help-centre

# Collects the bundled study borderline-refusal anew, in the same way: docs/borderline-refusal.md.
collect-refusals: .venv/local
	mkdir -p collected/refusals
	cp data/corpora/help-centre/shard-*.jsonl data/corpora/borderline-refusal/*.jsonl data/corpora/borderline-refusal/protocol.toml collected/refusals/
	test -d collected/refusals/borderline-refusal || $(BIN)/snapshot-audit freeze collected/refusals/protocol.toml
	$(BIN)/snapshot-audit run collected/refusals/borderline-refusal
	$(BIN)/snapshot-audit verify collected/refusals/borderline-refusal

# The same pipeline over real documentation, fetched once (63 MB): data/corpora/django-docs/README.md.
collect-django: .venv/local
	$(BIN)/python scripts/collect_django.py collected/django
	test -d collected/django/django-docs || $(BIN)/snapshot-audit freeze collected/django/protocol.toml
	$(BIN)/snapshot-audit run collected/django/django-docs
	$(BIN)/snapshot-audit verify collected/django/django-docs

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

.venv/local: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[local]'
	touch $@

.venv/benched: .venv/tested
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	touch $@
