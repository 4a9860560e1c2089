# Two commands: `make demo` installs and runs the main job on the embedded stores, `make test` runs the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := normalize ingest relink retrieve backends migrations commands printing cli.py settings.py tests benchmarks examples

.PHONY: demo test nightly floors lint lock clean install

install: $(VENV)/.installed

# The lock is whole, so nothing is resolved: a release of tomorrow cannot change what is installed, or break it.
$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

demo: install
	@$(BIN)/python examples/demo.py

test: install
	$(BIN)/python -m pytest -n 2 -m "not floor"

# What `make test` does by samples, in full: more than 200 kills, all federal law.
nightly: install
	FUNDSTELLE_NIGHTLY=1 $(BIN)/python -m pytest -n 2

floors: install
	$(BIN)/python -m pytest -m floor

lint: install
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

lock:
	pip-compile --quiet --extra dev --generate-hashes --no-strip-extras --allow-unsafe --no-header \
		--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .fundstelle build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
