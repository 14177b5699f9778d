# One virtual environment in .venv; the compiled package is installed into it and rebuilt when a source changes.

PYTHON ?= python3
export CXX  # for CMake, so that the sanitizer libraries are those of the same compiler
BENCH ?= boosting --rows 100000
VENV := .venv
BIN := $(VENV)/bin
PYTHON_FOLDERS := src tests benchmarks examples .ci
STUB := src/arboretum/_kernel.pyi
KERNEL := $(shell find kernel -name '*.hpp' -o -name '*.cpp')
WORKFLOWS := $(wildcard .github/workflows/*.yml)
# Folders are listed too: their time changes when a file is added or removed.
SOURCES := CMakeLists.txt pyproject.toml $(wildcard README.md LICENSE) \
           $(shell find src kernel -name __pycache__ -prune -o -print)
# Any pip that can read pyproject.toml will do: wheels before newer sources, settings of the build by environment.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --prefer-binary
SANITIZED := build/sanitize/package
# Tests mirror the package: those of tests/losses alone are compared with src/arboretum/losses.
COVERED := $(if $(COVERAGE),--include='*/arboretum/$(firstword $(subst /, ,$(COVERAGE:tests/%=%)))/*')

.PHONY: help demo test coverage lint format stub sanitize package bench clean
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed-cli  ## install and run the demo: a year of flights, a leader board, a report
	$(BIN)/arboretum demo

test: $(VENV)/installed-test  ## all tests and doctests against the installed package
	$(BIN)/python -m pytest -n 2 --maxschedchunk=4

coverage: $(VENV)/installed-coverage  ## tests, then what none of them runs; COVERAGE=tests/losses tries some alone
	mkdir -p build/coverage
	$(BIN)/python -m pytest -n 2 --maxschedchunk=4 --cov --cov-report= $(COVERAGE)
	$(BIN)/coverage report --sort=-miss --skip-covered $(COVERED) | awk 'NR <= 40 || /^TOTAL/'
	$(BIN)/coverage html --quiet $(COVERED)

lint: $(VENV)/installed-lint  ## style, types, C++ format, GitHub workflows; changes nothing
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	PYTHONPATH=src $(BIN)/lint-imports --no-logo
	$(BIN)/clang-format --dry-run --Werror $(KERNEL)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/zizmor --quiet --offline $(WORKFLOWS)

format: $(VENV)/installed-lint  ## format Python and C++ in place
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/clang-format -i $(KERNEL)

stub: $(VENV)/installed-lint  ## write the types of the kernel, src/arboretum/_kernel.pyi
	$(BIN)/python -m nanobind.stubgen -q -m arboretum._kernel -o $(STUB)
	$(BIN)/ruff check --quiet --fix --ignore E501 $(STUB)
	$(BIN)/ruff format --quiet $(STUB)

# The interpreter itself is not sanitized: libasan has to be loaded first, and libstdc++ right after it, or the
# first C++ exception ends in "real___cxa_throw != 0". --capture=sys lets the reports through to the terminal.
sanitize: build/sanitize/stamp $(VENV)/installed-test  ## kernel tests under address and undefined-behaviour sanitizers
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=$(SANITIZED) \
	$(BIN)/python -m pytest -n 2 --capture=sys tests/kernel

# The wheel is built from what the sdist holds, in a folder that keeps its name: .ci/pythons goes on there.
package: $(VENV)/package-tools  ## sdist and wheel in dist/, checked, and tried alone and with each extra
	rm -rf dist build/package/source
	mkdir -p build/package/source
	$(BIN)/python -m build --no-isolation --sdist
	tar -xzf dist/*.tar.gz --strip-components=1 -C build/package/source
	SKBUILD_BUILD_DIR=$(CURDIR)/build/package/cmake \
	$(BIN)/python -m build --no-isolation --wheel --outdir dist build/package/source
	$(BIN)/twine check --strict dist/*
	.ci/extras $(BIN)/python dist/*.whl

bench: $(VENV)/installed-benchmark  ## speed and accuracy against the other libraries, at a tenth of the size
	$(BIN)/python -m benchmarks $(BENCH)

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/build-tools:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) "scikit-build-core>=0.11" "nanobind>=2.4" cmake ninja
	touch $@

$(VENV)/package-tools: $(VENV)/build-tools
	$(INSTALL) build twine
	touch $@

# installed-test is the package with the extra "test" of pyproject.toml, and so on.
$(VENV)/installed-%: $(VENV)/build-tools $(SOURCES)
	SKBUILD_BUILD_DIR=build/release $(INSTALL) --no-build-isolation ".[$*]"
	touch $@

build/sanitize/stamp: $(VENV)/build-tools $(SOURCES)
	rm -rf $(SANITIZED)
	SKBUILD_BUILD_DIR=build/sanitize/cmake SKBUILD_CMAKE_BUILD_TYPE=Debug \
	SKBUILD_CMAKE_DEFINE=ARBORETUM_SANITIZE=ON SKBUILD_INSTALL_STRIP=false \
	$(INSTALL) --no-build-isolation --no-deps --target $(SANITIZED) .
	touch $@
