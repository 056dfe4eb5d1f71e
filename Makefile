# Each target makes .venv and installs by itself: on a fresh machine Python 3.11 (or later) and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ORACLE ?=

INSTALLED := $(VENV)/.installed
# ORACLE=1 adds PyTorch, for the tests and benchmarks that compare with it.
ifneq ($(ORACLE),)
READY := $(VENV)/.installed-oracle
else
READY := $(INSTALLED)
endif

.PHONY: generate check test bench demo clean

generate: $(INSTALLED)
	$(BIN)/opwright generate

check: $(INSTALLED)
	$(BIN)/opwright generate --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_structure.py

test: $(READY)
	$(BIN)/pytest -n auto

bench: $(VENV)/.installed-oracle
	$(BIN)/python -m benchmarks

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/train_classifier.py
	$(BIN)/python examples/train_transformer.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Opwright needs Python 3.11 or later; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

$(VENV)/.installed-oracle: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group oracle
	@touch $@
