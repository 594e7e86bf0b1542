# Everything that this repository can do, one target each; `make` lists them. Needs python3 (3.10 or newer, with venv),
# g++ (12 or newer), make and PyPI: the rest is installed into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
CUDA ?= AUTO
# In CI without a GPU no kernel runs, and one architecture shows that all compile.
ARCHITECTURES ?= $(if $(filter true,$(CI)),$(if $(shell command -v nvidia-smi),AUTO,75),AUTO)
MATRIX ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
GPU_PYTHON ?=
WHEEL_CUDA ?= ON
WHEEL_ARGS ?=
PYTEST_ARGS ?=

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install
export PATH := $(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

# Folders are listed with their files: one that is removed or renamed also makes the extension stale.
NATIVE := CMakeLists.txt pyproject.toml $(shell find cmake src -type d -o -type f -name '[!.]*')

.PHONY: help install demo test test-rules test-cpp test-asan test-tsan test-fuzz test-networkx test-peers \
        test-python bench plots gallery cluster-test gpu-test wheel \
        wheel-test docs format lint clean FORCE

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22
	@echo 'Options: MATRIX=file DEMO_ARGS=... (demo), PYTEST_ARGS=... (test), BENCH_ARGS=... (bench), CUDA=AUTO|ON|OFF,'
	@echo '         WHEEL_CUDA=ON|OFF, WHEEL_ARGS=... (wheel, wheel-test), PYTHON=python3.12,'
	@echo '         GPU_PYTHON=python3 (gpu-test without .venv, offline)'

# --- setting up ----------------------------------------------------------------------------------------------------
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo 'Penstock needs Python 3.10 or newer;' \
	  "$(PYTHON) is $$($(PYTHON) --version 2>&1). Set PYTHON=..."; exit 1; }
	@echo '== Creating .venv'
	@rm -rf $(VENV) build/dev/CMakeCache.txt
	@$(PYTHON) -m venv $(VENV) || { echo 'No venv module: apt-get install python3-venv'; exit 1; }
	@touch $@

$(VENV)/.tools: $(VENV)/.created pyproject.toml
	@echo '== Installing build tools and dependencies from PyPI'
	@$(BIN)/python -m pip -q uninstall -y penstock 2>/dev/null || true  # another project's package, with the same files
	@$(PIP) -q cmake ninja $$($(BIN)/python ci/requirements.py build run)
	@touch $@

build/options: FORCE
	@mkdir -p build; options='CUDA=$(CUDA) ARCHITECTURES=$(ARCHITECTURES)'; echo "$$options" | cmp -s - $@ || echo "$$options" > $@

# Editable: Python files are used where they lie; the extension is compiled in build/dev and installed into .venv.
$(VENV)/.installed: $(VENV)/.tools build/options $(NATIVE)
	@echo '== Compiling the package (log: build/install.log)'
	@touch $@.begun; begin=$$SECONDS; $(PIP) -v --no-build-isolation --no-deps -e . -C build-dir=build/dev \
	  -C cmake.define.PENSTOCK_TESTS=ON -C cmake.define.PENSTOCK_CUDA=$(CUDA) \
	  -C cmake.define.PENSTOCK_CUDA_ARCHITECTURES='$(ARCHITECTURES)' > build/install.log 2>&1 \
	  || { cat build/install.log; exit 1; }; \
	sed -nE 's/^ *-- (nvcc (not )?found.*|Penstock .*)/   \1/p; /warning:/p' build/install.log; \
	echo "   done in $$((SECONDS - begin)) s"
	@mv $@.begun $@  # the time of the beginning: a file saved meanwhile is newer

install: $(VENV)/.installed ## Set up .venv with the compiled package (every other target does so first)

$(VENV)/.extra-%: $(VENV)/.tools
	@echo '== Installing what `make $*` needs from PyPI'
	@$(PIP) -q $$($(BIN)/python ci/requirements.py $*)
	@touch $@

# --- using it ------------------------------------------------------------------------------------------------------
demo: install ## The main job: generate, store, multiply in core and streamed, verify
	@$(BIN)/penstock demo $(if $(MATRIX),'$(MATRIX)') $(DEMO_ARGS)

bench: install $(VENV)/.extra-bench ## Benchmarks against other libraries (minutes; idle machine)
	@for script in bench/spmv_cpu.py bench/spgemm_cpu.py bench/graph_cpu.py bench/solve_cpu.py bench/io.py; do \
	  echo "== $$script"; $(BIN)/python $$script $(BENCH_ARGS); done

plots: $(VENV)/.created ## Figures and tables of docs/performance/, from bench/results
	@$(PIP) -q $$($(BIN)/python ci/requirements.py plot)
	@$(BIN)/python bench/plot.py

gallery: install $(VENV)/.extra-test ## Pictures of docs/gallery/, by the programs of examples/
	@$(BIN)/python ci/docs_pictures.py

# --- testing: pytest last, its summary ends the output ---------------------------------------------------------------
test: install $(VENV)/.extra-test ## Every test that needs no GPU
	@begin=$$SECONDS; for part in rules cpp asan tsan fuzz networkx peers python; do \
	  start=$$SECONDS; echo "== $$part ($$((start - begin)) s so far)"; $(MAKE) -s --no-print-directory test-$$part; done

test-rules:
	@$(BIN)/python ci/rules.py
	@if [ -x $(BIN)/ruff ]; then $(MAKE) -s --no-print-directory lint; \
	else echo 'lint skipped: its tools are not installed (make lint)'; fi

test-cpp: install
	@ci/unit_tests.sh dev

test-asan test-tsan: test-%: $(VENV)/.tools
	@ci/unit_tests.sh $*

test-fuzz: install
	@if [ "$${CI:-}" != true ]; then echo 'skipped: runs for half a minute where CI=true'; exit 0; fi; \
	all=(tests/fuzz/fuzz_*.py); \
	printf '%s\n' "$${all[@]}" | xargs -P 2 -I{} $(BIN)/python {} --seconds $$((60 / $${#all[@]}))

# With the oldest NetworkX that pyproject.toml allows; test-python has the newest.
test-networkx: install $(VENV)/.extra-test
	@oldest=$$($(BIN)/python ci/requirements.py networkx | sed 's/>=/==/'); \
	[ -d "build/$$oldest" ] || $(PIP) -q --no-deps --target "build/$$oldest" "$$oldest"; \
	PYTHONPATH="$$PWD/build/$$oldest" $(BIN)/python -m pytest -q -p no:cacheprovider tests/attack/test_17_networkx.py \
	  tests/python/graph/test_networkx*.py

# The tests of SciPy and NetworkX with ours in their place; NetworkX's whole suite takes minutes.
test-peers: install $(VENV)/.extra-test ## The tests of SciPy and NetworkX, with ours in their place
	@PENSTOCK_TEST_PEERS=1 $(BIN)/python -m pytest -q -p no:cacheprovider tests/peers

test-python: install $(VENV)/.extra-test
	@$(BIN)/python -m pytest -q $(if $(wildcard README.md),tests/python tests/attack python/penstock README.md) $(PYTEST_ARGS)

cluster-test: install $(VENV)/.extra-test ## Ranks on four nodes in this machine, over TCP; says why where that is not allowed
	@$(BIN)/python -m pytest -q tests/cluster

gpu-test: ## Tests on a GPU; says why where there is none
	@reason=$$($(or $(GPU_PYTHON),$(PYTHON)) ci/find_gpu.py); \
	if [ -n "$$reason" ]; then echo "gpu-test cannot run here: $$reason"; exit 0; fi; \
	$(if $(GPU_PYTHON),,$(MAKE) -s --no-print-directory install $(VENV)/.extra-test;) \
	ci/gpu_test.sh $(or $(GPU_PYTHON),$(BIN)/python)

# --- giving it away --------------------------------------------------------------------------------------------------
wheel: ## One wheel for others in dist/, for PYTHON, with CUDA for all GPUs (an hour; WHEEL_CUDA=OFF: minutes)
	@$(PYTHON) ci/wheel.py --cuda $(WHEEL_CUDA) $(WHEEL_ARGS)

wheel-test: ## The wheels of dist/ in empty environments of every Python found: installed, README.md run, timed
	@$(PYTHON) ci/wheel_test.py $(WHEEL_ARGS)

# --- caring for it ---------------------------------------------------------------------------------------------------
$(VENV)/.extra-docs: $(VENV)/.created pyproject.toml
	@echo '== Installing what `make docs` needs from PyPI'
	@$(PIP) -q $$($(BIN)/python ci/requirements.py docs)
	@touch $@

docs: $(VENV)/.extra-docs ## Build the documentation into build/docs; reads the sources, and compiles nothing
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/docs && echo 'built build/docs/index.html'

CPP = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh')
format: $(VENV)/.extra-lint ## Format C++ and Python in place
	@$(BIN)/clang-format -i $(CPP)
	@$(BIN)/ruff check -q --fix . || true
	@$(BIN)/ruff format -q .

lint: $(VENV)/.extra-lint ## Rules, formatting, ruff and codespell, changing nothing
	@$(BIN)/python ci/rules.py
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/codespell
	@$(BIN)/clang-format --dry-run -Werror $(CPP)

clean: ## Remove .venv and everything built
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis python/penstock/_core*.so
	find . -name __pycache__ -prune -exec rm -rf {} +
