# Two commands to know: `make demo` and `make test`. Both create .venv when needed.
PYTHON ?= python3
VENV := .venv
RUN := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python
WORKERS ?= 2

.PHONY: demo oracle test test-slow lint types bench wheel clean

demo: $(VENV)/.ready
	@$(RUN) examples/demo.py

test: $(VENV)/.test
	$(RUN) -m pytest -n $(WORKERS) -m "not slow"

# PyTorch, against which some gradients are tested; without it those tests are skipped.
oracle: $(VENV)/.test
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[torch]'

test-slow: $(VENV)/.test
	$(RUN) -m pytest -n $(WORKERS) -m slow
	$(RUN) -m pytest -n $(WORKERS) -m hypothesis --hypothesis-profile=explore

lint: $(VENV)/.lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.lint $(VENV)/.test
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python

bench: $(VENV)/.test
	@for file in benchmarks/*.py; do echo "== $$file"; $(RUN) $$file || exit 1; done

wheel: $(VENV)/.lint
	$(VENV)/bin/python -m build --outdir dist

clean:
	rm -rf $(VENV) dist out .pytest_cache .ruff_cache .hypothesis

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("loopscm needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.ready
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.ready
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[lint,build]'
	@touch $@
