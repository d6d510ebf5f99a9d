# make run     builds what is missing (the first time about 4 minutes for llama-cpp-python), then starts Runahead
# make test    everything that must hold: style, types, native tests, Python tests
# make help    all targets

PYTHON ?= python3
VENV := .venv
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

export PYTHON
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

GENERATOR := $(if $(shell command -v ninja),Ninja,Unix Makefiles)
CPP_FILES = $(shell find native tests/native -name '*.h' -o -name '*.cpp')

# Stamps: each is newer than what it was made from, so that a second `make run` starts at once.
SYSTEM := $(VENV)/.system
BUILD_DEPS := $(VENV)/.build-deps
INSTALLED := $(VENV)/.installed

.PHONY: help setup run test lint format test-native test-python sanitize bench clean
.DEFAULT_GOAL := help

help:
	@echo "make setup      build everything into $(VENV) (checks the system's packages first)"
	@echo "make run        start Runahead"
	@echo "make test       lint, native tests, Python tests"
	@echo "make lint       ruff, mypy --strict, clang-format, without changing a file"
	@echo "make format     let ruff and clang-format rewrite the files"
	@echo "make sanitize   native tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make bench      measure the presets against each other on a model made for it"
	@echo "make clean      remove build/ (and $(VENV) with it: make clean VENV_TOO=1)"

setup: $(INSTALLED)
	@echo "Ready. make run starts Runahead."

run: $(INSTALLED)
	@$(VENV)/bin/runahead demo

$(SYSTEM): installers/system_packages.sh
	@sh installers/system_packages.sh
	@test -x $(VENV)/bin/python || "$(PYTHON)" -m venv $(VENV)
	@touch $@

# The versions to build with are pyproject.toml's [build-system] requires, and nowhere else.
$(BUILD_DEPS): $(SYSTEM) pyproject.toml
	@$(VENV)/bin/python -c "import llama_cpp" 2>/dev/null || \
		echo "Building llama-cpp-python, whose kernels Runahead uses: about 4 minutes on two cores, once."
	@$(VENV)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		> $(VENV)/build-requires.txt
	@$(VENV)/bin/python -m pip install --quiet --requirement $(VENV)/build-requires.txt
	@touch $@

# Folders are named too: a file that has gone changes its folder.
$(INSTALLED): $(BUILD_DEPS) CMakeLists.txt $(shell find native)
	@echo "Building the engine."
	@$(VENV)/bin/python -m pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

test: lint test-native test-python

lint: $(INSTALLED)
	ruff check
	ruff format --check
	mypy
	clang-format --dry-run --Werror $(CPP_FILES)

format: $(INSTALLED)
	ruff check --fix-only --quiet
	ruff format
	clang-format -i $(CPP_FILES)

test-native: $(INSTALLED)
	cmake --preset tests -G "$(GENERATOR)"
	cmake --build build/tests
	ctest --test-dir build/tests --output-on-failure

test-python: $(INSTALLED)
	python -m pytest

sanitize: $(INSTALLED)
	cmake --preset asan -G "$(GENERATOR)"
	cmake --build build/asan
	build/asan/native_tests
	cmake --preset tsan -G "$(GENERATOR)"
	cmake --build build/tsan
	build/tsan/native_tests --test-suite=threads

bench: $(INSTALLED)
	$(VENV)/bin/runahead bench

clean:
	rm -rf build $(if $(VENV_TOO),$(VENV))
