# Each target sets up its own virtual environment in .venv on a fresh machine, and reuses it afterwards.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-slow lint format bench figures clean

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

figures: $(READY)  ## the paper's figures of the theory, from the data in FORETUNE_DATA
	$(BIN)/foretune figures --all --out out/figures

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
