# The two commands: `make demo` trains on Tang poetry and prints poems, `make test` runs all tests.
# Both set everything up by themselves, in .venv. PYTHON=… chooses the interpreter.

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
NEEDS  := pyproject.toml constraints.txt hatch_build.py
RUN    := runs/demo

.PHONY: help demo test lint types bench clean

help:
	@echo "make demo    train on Tang poetry for some minutes and print poems"
	@echo "make test    run all the tests"
	@echo "make lint    style and imports      make types   static types"
	@echo "make bench   measure the numbers in docs/      make clean   remove .venv and caches"

# A trained demo is kept, an interrupted one goes on; remove runs/demo to train again.
demo: $(VENV)/installed
	@if grep -qs '"status": "done"' $(RUN)/mingyue.json; then :; \
	elif [ -f $(RUN)/mingyue.json ]; then $(BIN)/mingyue train --out $(RUN) --resume; \
	else $(BIN)/mingyue train tang --out $(RUN) --minutes 4 --snapshots 6; fi
	@$(BIN)/mingyue write $(RUN) 床前明月光 --seed 1
	@$(BIN)/mingyue write $(RUN) --n 3 --seed 2

test: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

lint: $(VENV)/installed-dev
	$(BIN)/ruff check src tests benchmarks scripts hatch_build.py
	$(BIN)/ruff format --check src tests benchmarks scripts hatch_build.py
	$(BIN)/lint-imports

types: $(VENV)/installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/default_run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache

$(VENV)/installed: $(VENV)/bin/python $(NEEDS)
	$(PIP) install -q -c constraints.txt -e ".[plots]"
	@touch $@

$(VENV)/installed-dev: $(VENV)/bin/python $(NEEDS)
	$(PIP) install -q -c constraints.txt -e ".[dev]"
	@touch $@ $(VENV)/installed

# Python ≥ 3.11: the one named by PYTHON, else the first that is there.
$(VENV)/bin/python:
	@for p in $(PYTHON) python3.13 python3.12 python3.11 python3 python3.14; do \
	  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$p; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "Mingyue needs Python 3.11 or newer: install python3, or name one by PYTHON=…" >&2; exit 2; fi; \
	if ! $$found -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$found has no venv module: on Debian and Ubuntu, sudo apt install python3-venv" >&2; exit 2; fi; \
	echo "setting up $(VENV) with $$found"; $$found -m venv $(VENV)
	@$(PIP) install -q --upgrade pip
