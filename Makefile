# Each target sets up its own virtual environment in .venv on a fresh machine, and reuses it afterwards.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-slow lint format bench docs compare figures clean

demo: $(READY)  ## two built-in tasks, diagnosed and trained: a table, and a page that shows what helped
	$(BIN)/foretune demo

test: $(READY)  ## every quick test
	$(BIN)/python -m pytest -n auto

test-slow: $(READY)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

lint: $(READY)  ## format, lint and type check, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## every speed and memory ratio that the documentation states
	$(BIN)/python -m bench

compare: .venv-compare/.ready  ## SSMClassifier beside MiniRocket on the data in FORETUNE_DATA, and aeon's checks
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-compare/bin/python -m bench.compare
	.venv-compare/bin/python -m pytest -W default bench/aeon_checks.py

docs: $(READY)  ## the API reference from the docstrings, and what the commands in docs/ print
	$(BIN)/python -m bench.reference
	$(BIN)/python -m bench.pages

figures: $(READY)  ## the paper's figures of the theory, from the data in FORETUNE_DATA
	$(BIN)/foretune figures --all --out out/figures

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# aeon wants an older numpy than ours, hence an environment of its own.
.venv-compare/.ready: pyproject.toml constraints-compare.txt
	$(PYTHON) -m venv .venv-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-compare.txt -e '.[compare]'
	@touch $@

clean:
	rm -rf .venv .venv-compare out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
