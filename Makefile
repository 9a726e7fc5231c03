# Two commands to know: `make demo` and `make test`. Both create .venv when needed.
PYTHON ?= python3
VENV := .venv
RUN := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python
WORKERS ?= 2

.PHONY: demo oracle test test-slow lint types bench bench-long wheel clean

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

# The commands of BENCHMARKS.md, one a line, quickest first. A new benchmark is a new line here.
bench: $(VENV)/.test
	$(RUN) benchmarks/dimension.py --sizes 100 200
	$(RUN) benchmarks/accuracy.py
	$(RUN) benchmarks/compatibility.py self
	$(RUN) benchmarks/compatibility.py turned --graphs 3 --draws 3
	$(RUN) benchmarks/compatibility.py speed --wrong --jobs 1
	$(RUN) benchmarks/startup.py
	$(RUN) benchmarks/protocol.py
	$(RUN) benchmarks/gene_accuracy.py --networks 1
	$(RUN) benchmarks/genes.py

# Some of these take hours; one of them compares with PyTorch.
bench-long: $(VENV)/.test oracle
	$(RUN) benchmarks/compatibility.py hard --pairs 100
	$(RUN) benchmarks/protocol_laws.py
	$(RUN) benchmarks/fit_speed.py
	$(RUN) benchmarks/compatibility.py speed --p 512 --jobs 1
	$(RUN) benchmarks/consistency.py
	$(RUN) benchmarks/fit_quality.py
	$(RUN) benchmarks/gates_variance.py
	$(RUN) benchmarks/gates_speed.py --sizes 32 64
	$(RUN) benchmarks/gates_speed.py --sizes 100 --repeats 3 --late 300
	$(RUN) benchmarks/search_and_paper.py --sizes 16 --ratios 0.2 0.3
	$(RUN) benchmarks/search_and_paper.py --sizes 32 --ratios 0.2
	$(RUN) benchmarks/search_quality.py --penalty structural --first-seed 100
	$(RUN) benchmarks/search_quality.py --penalty dimension --sizes 8 16 32
	$(RUN) benchmarks/search_ablation.py
	$(RUN) benchmarks/gates_published.py out/small.csv --sizes 8 16 --compatibility
	$(RUN) benchmarks/gates_published.py out/32.csv --sizes 32 --compatibility
	$(RUN) benchmarks/compatibility.py race --graphs 14 --draws 3
	$(RUN) benchmarks/compatibility.py race --graphs 10 --draws 3 --first 14

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
