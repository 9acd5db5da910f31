# make test      everything a user can do on the CPU          make lint    style, types, spelling
# make test-full adds the peers and the sanitizer builds      make format  rewrite files in our style
# make soak      the long counts                              make bench   speed, against what is installed
# make demo      see it work                                  make docs    the manual, in build/docs
# make release   source distribution, repaired wheel, parts   (in build/release)
#
# Needs python3 (3.10 or newer, with its headers) and a C++20 compiler; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS   ?= $(shell nproc)

# pip, CMake and the C++ test runner all read this.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)

# Files alone: folders change when Python leaves bytecode there, and one beside a file of its name (written, written.cpp)
# would be a program to make, by make's own rules. The list stands in a file, so that one that is gone is noticed, too.
SOURCES := pyproject.toml CMakeLists.txt $(sort $(shell find cmake csrc include src -type f -not -path '*/__pycache__*'))
LIST    := build/sources.list
$(shell mkdir -p build; echo '$(SOURCES)' | cmp --silent - $(LIST) || echo '$(SOURCES)' > $(LIST))
TREE    := build/package
# The C++ tests take the objects of the package.
export INFINIRT_CPP_RELEASE_TREE := $(CURDIR)/$(TREE)
PYTEST  := $(BIN)/python -m pytest -q --timeout=300
SUITE   := $(BIN)/python tools/test.py -q --timeout=300

.DEFAULT_GOAL := test
.PHONY: demo test test-full soak bench lint format docs release clean

$(VENV)/tools: tools/build-requirements.txt
	@echo "== creating $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("InfiniRT needs Python 3.10 or newer, not " + sys.version) if sys.version_info < (3, 10) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -r tools/build-requirements.txt
	@touch $@

# Without build isolation, so that a second build only compiles what changed. Installed by force, because pip keeps a
# package of the same version, whatever changed in it.
$(VENV)/package: $(VENV)/tools $(SOURCES) $(LIST)
	@echo "== building and installing infinirt"
	@rm -rf build/dist
	@$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/dist \
	    --config-settings=build-dir=$(TREE) --config-settings=cmake.define.INFINIRT_WERROR=ON \
	    --config-settings=cmake.define.INFINIRT_BUILD_TESTS=ON .
	@$(PIP) install "$$(echo build/dist/infinirt-*.whl)[test]"
	@$(PIP) install --force-reinstall --no-deps build/dist/infinirt-*.whl
	@touch $@

$(VENV)/peers: $(VENV)/package tools/peer-requirements.txt tools/fetch_hip.sh
	@echo "== installing the peers"
	@$(PIP) install -r tools/peer-requirements.txt
	@tools/fetch_hip.sh "$(CURDIR)/build/peers/hip"
	@touch $@

$(VENV)/lint: $(VENV)/tools tools/lint-requirements.txt
	@$(PIP) install -r tools/lint-requirements.txt
	@touch $@

$(VENV)/docs: $(VENV)/package
	@$(PIP) install "$$(echo build/dist/infinirt-*.whl)[docs]"
	@touch $@

demo: $(VENV)/package
	@$(BIN)/python -m infinirt demo

test: $(VENV)/package
	@$(SUITE)

test-full: $(VENV)/peers
	@$(SUITE) -m "not soak" --require-peers --cpp-variants=release,thread,address --timeout=900

soak: $(VENV)/package
	@$(PYTEST) -m soak --timeout=3600 tests

bench: $(VENV)/package
	@PATH="$(CURDIR)/$(BIN):$$PATH" tools/bench.sh

CXX_FILES = $(shell find csrc include tests benchmarks examples \
              \( -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.inc' \) -type f)
PY_DIRS   = src tests tools $(wildcard benchmarks examples)

# Every check runs, so that one round shows everything.
lint: $(VENV)/lint
	@failed=; \
	check() { "$$@" || failed="$$failed $$1"; }; \
	PATH="$(CURDIR)/$(BIN):$$PATH"; \
	check ruff check --quiet $(PY_DIRS); \
	check ruff format --check --quiet --diff $(PY_DIRS); \
	check mypy --no-error-summary; \
	check clang-format --dry-run --Werror $(CXX_FILES); \
	check codespell; \
	check shellcheck .ci/run tools/*.sh; \
	if [ -n "$$failed" ]; then echo "lint:$$failed failed (make format repairs style)"; exit 1; fi; \
	echo "lint: clean"

format: $(VENV)/lint
	@$(BIN)/ruff check --quiet --fix --exit-zero $(PY_DIRS)
	@$(BIN)/ruff format --quiet $(PY_DIRS)
	@$(BIN)/clang-format -i $(CXX_FILES)

docs: $(VENV)/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file tools/mkdocs.yml --site-dir ../build/docs
	@echo "docs: build/docs/index.html"

# Needs the package, too: the new wheel is tried with the packages that it depends on.
$(VENV)/release: $(VENV)/package tools/release-requirements.txt
	@$(PIP) install -r tools/release-requirements.txt
	@touch $@

release: $(VENV)/release
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHON="$(CURDIR)/$(BIN)/python" tools/release.sh

clean:
	rm -rf build stage $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
