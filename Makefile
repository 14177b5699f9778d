# One virtual environment in .venv; the compiled package is installed into it and rebuilt when a source changes.

PYTHON ?= python3
export CXX  # for CMake, so that the sanitizer libraries are those of the same compiler
BENCH ?= boosting --rows 100000
VENV := .venv
BIN := $(VENV)/bin
PYTHON_FOLDERS := src tests benchmarks examples
KERNEL := $(shell find kernel -name '*.hpp' -o -name '*.cpp')
# Folders are listed too: their time changes when a file is added or removed.
SOURCES := CMakeLists.txt pyproject.toml $(wildcard README.md LICENSE) \
           $(shell find src kernel -name __pycache__ -prune -o -print)
INSTALL := $(BIN)/pip install --quiet --no-build-isolation
SANITIZED := build/sanitize/package

.PHONY: help demo test lint format sanitize bench clean
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed-demo  ## install and run the demo: a year of flights, a leader board, a report
	$(BIN)/arboretum demo

test: $(VENV)/installed-test  ## all tests and doctests against the installed package
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/installed-lint  ## style, types, C++ format; changes nothing
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(KERNEL)

format: $(VENV)/installed-lint  ## format Python and C++ in place
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/clang-format -i $(KERNEL)

# The interpreter itself is not sanitized: libasan has to be loaded first, and libstdc++ right after it, or the
# first C++ exception ends in "real___cxa_throw != 0". --capture=sys lets the reports through to the terminal.
sanitize: build/sanitize/stamp $(VENV)/installed-test  ## kernel tests under address and undefined-behaviour sanitizers
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=$(SANITIZED) \
	$(BIN)/python -m pytest -n 2 --capture=sys tests/kernel

bench: $(VENV)/installed-benchmark  ## speed and accuracy against the other libraries, at a tenth of the size
	$(BIN)/python -m benchmarks $(BENCH)

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/build-tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja setuptools
	touch $@

# installed-test is the package with the extra "test" of pyproject.toml, and so on.
$(VENV)/installed-%: $(VENV)/build-tools $(SOURCES)
	$(INSTALL) -C build-dir=build/release ".[$*]"
	touch $@

build/sanitize/stamp: $(VENV)/build-tools $(SOURCES)
	rm -rf $(SANITIZED)
	$(INSTALL) --no-deps --target $(SANITIZED) -C build-dir=build/sanitize/cmake -C cmake.build-type=Debug \
	    -C cmake.define.ARBORETUM_SANITIZE=ON -C install.strip=false .
	touch $@
