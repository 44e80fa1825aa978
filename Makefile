# Everything this project can do; `make` alone lists it. Nothing else needs to be installed or started.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON) 2>/dev/null),)
PYTHON := python3
endif

UV_VERSION := 0.13.8
UV := .build/uv/bin/uv
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
CODE := airflow_hudi dags_examples spark_jobs demo tests benchmarks

export SPARK_LOCAL_IP := 127.0.0.1
export UV_NO_PROGRESS := 1
export UV_COMPILE_BYTECODE := 1

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

$(UV):
	@echo "» installing uv $(UV_VERSION) into .build"
	@$(PYTHON) -m venv .build/uv
	@.build/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(READY): requirements.txt pyproject.toml | $(UV)
	@echo "» installing the environment into $(VENV) (about a minute the first time)"
	@test -x $(RUN) || $(UV) venv --quiet --python "$$(command -v $(PYTHON))" $(VENV)
	@$(UV) pip sync --quiet --python $(RUN) requirements.txt
	@$(UV) pip install --quiet --python $(RUN) --no-deps --editable .
	@touch $@

.PHONY: env
env: $(READY) ## install everything into .venv

.PHONY: test
test: check coverage test-older-airflow test-spark ## everything: checks, fast tests, tests on real Spark and Hudi

# Two files at a time; a file's own tests stay together, for some share what they set up.
SIDE_BY_SIDE := -n 2 --dist loadfile

.PHONY: test-fast
test-fast: $(READY) ## tests without Spark, under a minute
	$(RUN) -m pytest $(SIDE_BY_SIDE) -m "not spark" $(ARGS)

.PHONY: coverage
coverage: $(READY) ## the same, and every branch of the core counted
	$(RUN) -m pytest $(SIDE_BY_SIDE) -m "not spark" --cov=airflow_hudi/core --cov-report=term $(ARGS)

.PHONY: bundles
bundles: $(READY) ## download the Hudi bundles, once
	@$(RUN) -m airflow_hudi.spark.engine.bundles

.PHONY: test-spark
test-spark: bundles ## tests on real Spark with every Hudi release
	$(RUN) -m pytest -m spark $(ARGS)

OLDER_AIRFLOW := 3.1 3.2

.build/airflow-%/.ready: tests/compat/airflow-%.txt pyproject.toml | $(UV)
	@echo "» installing Airflow $* into .build/airflow-$*"
	@test -x .build/airflow-$*/bin/python || $(UV) venv --quiet --python "$$(command -v $(PYTHON))" .build/airflow-$*
	@$(UV) pip sync --quiet --python .build/airflow-$*/bin/python tests/compat/airflow-$*.txt
	@$(UV) pip install --quiet --python .build/airflow-$*/bin/python --no-deps --editable .
	@touch $@

.PHONY: test-older-airflow
test-older-airflow: $(OLDER_AIRFLOW:%=.build/airflow-%/.ready) ## the provider's tests on Airflow 3.1 and 3.2
	@for version in $(OLDER_AIRFLOW); do echo "» tests/provider on Airflow $$version"; \
	  .build/airflow-$$version/bin/python -m pytest -q -W default -m "not spark" tests/provider $(ARGS); done

.PHONY: check
check: $(READY) ## format, lint, types, directions of imports
	$(VENV)/bin/ruff format --check --quiet $(CODE)
	$(VENV)/bin/ruff check --quiet $(CODE)
	$(VENV)/bin/mypy
	$(RUN) -m pytest -q --no-header tests/test_layers.py

.PHONY: format
format: $(READY) ## format and mend what can be mended
	$(VENV)/bin/ruff format --quiet $(CODE)
	$(VENV)/bin/ruff check --fix $(CODE)

DEMO ?= quickstart

.PHONY: demo
demo: $(READY) ## run an example DAG through Airflow on local Spark and tell what happened; DEMO=name for another
	@$(RUN) -m demo.run $(DEMO)

.PHONY: ui
ui: $(READY) ## Airflow with the example DAGs, on this machine only, until Ctrl-C
	@$(RUN) -m demo.ui

.PHONY: fixtures
fixtures: bundles ## make the zipped tables of tests/tables anew, with every Hudi release
	$(RUN) -m tests.tables.make_fixtures

.PHONY: benchmark
benchmark: $(READY) ## our reader beside others, and what an operator costs beside a bare spark-submit
	$(RUN) -m benchmarks.timeline_readers
	@echo
	$(RUN) -m benchmarks.operator_overhead

.PHONY: requirements
requirements: | $(UV) ## compile requirements.txt from pyproject.toml and requirements.in
	$(UV) pip compile --quiet pyproject.toml requirements.in --extra local --extra s3 --extra zookeeper --group dev \
	  --python-version 3.11 --no-header --no-annotate --no-emit-index-url --output-file requirements.txt
	@for version in $(OLDER_AIRFLOW); do echo "apache-airflow==$$version.*" | \
	  $(UV) pip compile --quiet pyproject.toml tests/compat/packages.in - --extra local --extra s3 --extra zookeeper \
	  --python-version 3.11 --no-header --no-annotate --no-emit-index-url --output-file tests/compat/airflow-$$version.txt; done

.PHONY: clean
clean: ## remove what these commands made here (not the downloaded Hudi bundles)
	rm -rf .venv .build .airflow .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage dist
