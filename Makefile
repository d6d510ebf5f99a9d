# make run     builds what is missing (the first time about 4 minutes for llama-cpp-python), then starts Runahead
# make test    everything that must hold: style, types, native tests, Python tests
# make help    all targets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MODEL ?= build/bench/qwen3-30b-a3b-12l-q4_0.gguf
DEMO := build/demo
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

.PHONY: help setup run test lint format test-native test-python sanitize bench bench-app bench-llama screenshots demo-model clean
.DEFAULT_GOAL := help

help:
	@echo "make setup        build everything into $(VENV) (checks the system's packages first)"
	@echo "make run          start Runahead (without a display: its demo in the terminal)"
	@echo "make test         lint, native tests, Python tests"
	@echo "make test-native  the native tests; make test-python: the others"
	@echo "make lint         ruff, mypy --strict, clang-format, without changing a file"
	@echo "make format       let ruff and clang-format rewrite the files"
	@echo "make sanitize     native tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make bench        measure the presets against each other; MODEL=file.gguf, else one is made (4.2 GB)"
	@echo "make bench-app    measure how quick the window is, while 16 chats stream"
	@echo "make bench-llama  measure against llama.cpp itself, all weights in memory"
	@echo "make screenshots  every page of the window, light and dark, into docs/screenshots"
	@echo "make demo-model   make the demo model again, from its data to its card (about two hours on two cores)"
	@echo "make clean        remove build/ (and $(VENV) with it: make clean VENV_TOO=1)"

setup: $(INSTALLED)
	@echo "Ready. make run starts Runahead."

run: $(INSTALLED)
	@$(BIN)/runahead

$(SYSTEM): installers/system_packages.sh
	@sh installers/system_packages.sh
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@touch $@

# The versions to build with are pyproject.toml's [build-system] requires, and nowhere else.
$(BUILD_DEPS): $(SYSTEM) pyproject.toml
	@$(BIN)/python -c "import llama_cpp" 2>/dev/null || \
		echo "Building llama-cpp-python, whose kernels Runahead uses: about 4 minutes on two cores, once."
	@$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		> $(VENV)/build-requires.txt
	@$(BIN)/python -m pip install --quiet --requirement $(VENV)/build-requires.txt
	@touch $@

# Folders are named too: a file that has gone changes its folder.
$(INSTALLED): $(BUILD_DEPS) CMakeLists.txt $(shell find native)
	@echo "Fetching what the window needs and building the engine: about 2 minutes on two cores."
	@$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

test: lint test-native test-python

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)

format: $(INSTALLED)
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

test-native: $(INSTALLED)
	cmake --preset tests -G "$(GENERATOR)"
	cmake --build build/tests
	ctest --test-dir build/tests --output-on-failure

# Real vocabularies and chat templates are fetched once; without them their tests are skipped.
test-python: $(INSTALLED)
	@$(BIN)/python -m tests.helpers.llama_sources
	$(BIN)/python -m pytest

# ggml and OpenMP are not instrumented: what they do among themselves is left out.
sanitize: $(INSTALLED)
	cmake --preset asan -G "$(GENERATOR)"
	cmake --build build/asan
	build/asan/native_tests
	cmake --preset tsan -G "$(GENERATOR)"
	cmake --build build/tsan
	TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1" build/tsan/native_tests

bench: $(INSTALLED) $(MODEL)
	$(BIN)/runahead bench "$(MODEL)"

bench-app: $(INSTALLED)
	$(BIN)/python tests/bench/app_heartbeat.py

bench-llama: $(INSTALLED) $(MODEL)
	$(BIN)/python tests/bench/compare_llama_cpp.py "$(MODEL)"

# With the real engine and the demo model, on a screen that exists in memory only.
screenshots: $(INSTALLED)
	xvfb-run -a -s "-screen 0 2560x1440x24" $(BIN)/python -m tests.helpers.screenshots docs/screenshots

# In an environment of its own; what lies between (data, checkpoints) is kept in build/demo, so that it
# can be stopped and goes on.
demo-model: $(INSTALLED) $(DEMO)/venv/.installed
	PYTHONPATH=resources/demo $(DEMO)/venv/bin/python -m unittest discover resources/demo/tests
	PYTHONPATH=resources/demo $(DEMO)/venv/bin/python -m recipe.build $(DEMO) resources/demo/demo.gguf
	PYTHONPATH=resources/demo $(BIN)/python -m recipe.evaluate resources/demo/demo.gguf $(DEMO) $(DEMO)/results.json
	PYTHONPATH=resources/demo $(BIN)/python -m recipe.card $(DEMO)/results.json $(DEMO)/settings.json resources/demo/README.md

$(DEMO)/venv/.installed: resources/demo/recipe/requirements.txt | $(SYSTEM)
	"$(PYTHON)" -m venv $(DEMO)/venv
	$(DEMO)/venv/bin/python -m pip install --quiet --requirement $<
	@touch $@

# Qwen3-30B-A3B's layer shape, 12 layers.
build/bench/%.gguf: | $(INSTALLED)
	mkdir -p $(@D)
	$(BIN)/runahead make-model $@ --layers 12 --no-calibration

clean:
	rm -rf build $(if $(VENV_TOO),$(VENV))
