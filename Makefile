# Two commands on a fresh machine: `make demo` and `make test`. Both create .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# BLAS threads inside parallel test workers fight for the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg

.PHONY: demo test test-all lint format docs fuzz build bench papers clean

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

# The package with every extra, and a group of development dependencies (`pip --group` came with pip 25.1).
$(VENV)/.stamp-%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" $(if $(filter-out all,$*),--group $*)
	@touch $@

demo: $(VENV)/.stamp-all
	$(BIN)/softmargin fit pima --target type --report demo-report.html

test: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-all: $(VENV)/.stamp-test docs
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "slow or not slow"

lint: $(VENV)/.stamp-test $(VENV)/.stamp-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/rumdl check --quiet .

format: $(VENV)/.stamp-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.stamp-docs
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Continues where it was interrupted; the state is in build/.
fuzz: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --cases 100000 --record

build: $(VENV)/.stamp-dev
	$(BIN)/nox -s build

bench: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks

papers: $(VENV)/.stamp-all
	$(ONE_THREAD) $(BIN)/python -m papers

clean:
	rm -rf $(VENV) .nox build dist docs/_build docs/gallery docs/api/generated papers/out
