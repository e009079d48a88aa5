# Every target sets up .venv by itself; python3 and make are all it needs. A C++ compiler is used when there
# is one, otherwise the build fetches zig (see tools/build_backend.py).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# -qq hides pip's warnings about the local configuration; errors still show.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

CXX_FILES := $(shell find core -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh')
PY_DIRS := $(wildcard src tests benchmarks tools examples)
BUILD_INPUTS := pyproject.toml constraints.txt CMakeLists.txt tools/build_backend.py $(shell find core -type f)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint format typecheck unit sanitise wheel wheels docs bench-speed clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-plot ## discover a formula from data, end to end
	@$(BIN)/ceql demo

test: lint typecheck unit ## everything that has to pass before a merge

lint: $(VENV)/.installed-dev ## style of Python and C++
	@$(BIN)/ruff check -q $(PY_DIRS)
	@$(BIN)/ruff format -q --check $(PY_DIRS)
	@$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

format: $(VENV)/.installed-dev ## rewrite the files in that style
	@$(BIN)/ruff check -q --fix $(PY_DIRS)
	@$(BIN)/ruff format -q $(PY_DIRS)
	@$(BIN)/clang-format -i $(CXX_FILES)

typecheck: $(VENV)/.installed-dev ## static types
	@$(BIN)/pyright

unit: $(VENV)/.installed-dev ## the tests alone
	@$(BIN)/pytest -q -n 2 --dist worksteal

sanitise: $(VENV)/.installed-dev ## random calls into a core built with sanitisers
	@$(BIN)/python tools/sanitised_fuzz.py

wheel: $(VENV)/.pip ## a wheel for this machine, into dist
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --build-constraint constraints.txt -w dist .

wheels: ## wheels for Linux, macOS and Windows, into dist; needs python3.11 and python3.12
	@$(PYTHON) tools/cross_wheels.py

docs: $(VENV)/.installed-dev ## the site, into build/site; warnings are errors
	@# not -q: mkdocs would then overlook its own warnings
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench-speed: $(VENV)/.installed-dev ## fits per second of the core
	@$(BIN)/python benchmarks/step_speed.py

clean: ## remove the environment and every cache
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The pip that comes with Python may be too old to pin the requirements of a build.
$(VENV)/.pip: constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@touch $@

$(VENV)/.installed-plot: $(VENV)/.pip $(BUILD_INPUTS)
	@echo "installing ceql into $(VENV), compiling the core"
	@$(PIP) --build-constraint constraints.txt -e '.[plot]'
	@touch $@

# dev contains plot, so this serves the demo too.
$(VENV)/.installed-dev: $(VENV)/.pip $(BUILD_INPUTS)
	@echo "installing ceql and its tools into $(VENV), compiling the core"
	@$(PIP) --build-constraint constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed-plot
