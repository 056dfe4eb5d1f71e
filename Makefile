# Each target makes the environment it needs: on a fresh machine Python 3.11 (or later) and make are all it takes.
PYTHON ?= python3
VENV ?= .venv
# The environment with the oracle may need another Python: PyTorch's wheel is not there for each.
ORACLE_PYTHON ?= $(PYTHON)
# The versions that an environment gets.
CONSTRAINTS ?= constraints.txt
# BARE=1: an environment without JAX, Dask and the other libraries that operators are given to.
BARE ?=
TESTS ?=
ORACLE ?=
PURE ?=
SLOW ?=
NEWEST ?=
RUNS ?= 1
VERSION ?=
TORCH ?=
STANDARD ?= 2025.12
PYTEST := -n auto --dist worksteal $(if $(SLOW),--slow)

# Two environments: the first has all libraries but PyTorch, the one with the oracle has PyTorch, and CuPy for its names.
# A version of PyTorch other than that of constraints.txt gets an environment of its own, with no other framework.
WITH_ORACLE := $(VENV)-oracle$(TORCH:%=-%)
RECORDS := build/tests
RECORD = $(RECORDS)/$(patsubst .%,%,$(notdir $(1)))$(if $(PURE),-pure).json
INSTALLED := $(VENV)/.installed
INSTALLED_ORACLE := $(WITH_ORACLE)/.installed
INSTALLED_SITE := $(VENV)-site/.installed
LOG := pip.log
# What is generated: ATen's operators, the stub of the library, the names of operators, the tables of grammars.
ATEN := generated/opwright_aten/manifest.json
STUB := runtime/opwright/__init__.pyi
NAMES := codegen/opwright_codegen/kernels/aten_names.json
TABLES := $(patsubst %.lark,%.json,$(wildcard codegen/opwright_codegen/*/*.lark))
# What says that the compiled core is built for an environment's Python, or that it cannot be: an installation builds it.
CORE := $(VENV)/.core
CORE_ORACLE := $(WITH_ORACLE)/.core
CORE_SOURCES := setup.py runtime/setup.py runtime/opwright_build.py $(wildcard runtime/opwright_core/fast/*.[ch] runtime/opwright_core/fast/*/*.[ch] runtime/opwright_core/include/opwright/*.h runtime/opwright_kernels/native/*.[ch]) $(wildcard runtime/opwright_kernels/special_functions/*.py) $(addprefix runtime/,opwright_core/core.py opwright_core/dispatch/compiled/signature_keys.py opwright_core/gradient_codes.py opwright_core/locks/interrupts.py)
# Folders on the path come before a folder that happens to be called opwright where Python is started; editors see them, too.
SOURCES := "$(CURDIR)/runtime" "$(CURDIR)/generated" "$(CURDIR)/codegen"

# Bytecode is kept: hundreds of tests start a Python that imports Opwright.
unexport PYTHONDONTWRITEBYTECODE

# Every core has a worker of pytest: threads of BLAS beside it would wait for each other.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1

.PHONY: help generate check test newest newest-python oldest tested bench site wheels array-api demo clean FORCE

help:   ## what there is to make
	@echo "make TARGET; PYTHON=... names the interpreter, VENV=... the environment's folder"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

generate: $(CORE) $(STUB) $(NAMES) $(TABLES)  ## generate ATen's operators (generated/opwright_aten), if schemas or templates changed; build the compiled core

# The generator itself finds whether it has anything to do. It changes files only if their text changes.
$(ATEN): FORCE | $(if $(ORACLE),$(INSTALLED_ORACLE),$(INSTALLED))
	@$(if $(ORACLE),$(WITH_ORACLE),$(VENV))/bin/opwright generate
FORCE:

$(STUB): $(ATEN) runtime/opwright/__init__.py runtime/opwright/facade_stub.py
	@$(VENV)/bin/python -m opwright.facade_stub
	@touch $@

$(NAMES): $(ATEN) codegen/opwright_codegen/kernels/aten_names.py
	@$(VENV)/bin/python -m opwright_codegen.kernels.aten_names
	@touch $@

$(TABLES): %.json: %.lark codegen/opwright_codegen/parsing/tables.py | $(INSTALLED)
	@$(VENV)/bin/python -m opwright_codegen.parsing.tables
	@touch $(TABLES)

check: $(ATEN)  ## the same output of two runs, schemas in canonical form and without findings, ruff, mypy, the order of imports
	@rm -rf build/seed-*
	@for seed in 1 2; do \
	    PYTHONHASHSEED=$$seed $(VENV)/bin/opwright generate --output build/seed-$$seed/opwright_aten && \
	    diff -r --exclude=__pycache__ generated/opwright_aten build/seed-$$seed/opwright_aten || exit 1; done
	$(VENV)/bin/opwright fmt --check
	$(VENV)/bin/opwright lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check --no-respect-gitignore generated
	$(VENV)/bin/ruff format --check --no-respect-gitignore generated
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest tests/test_structure.py tests/test_rooms.py tests/test_generator_structure.py

test bench: export OPWRIGHT_PURE = $(PURE)
ifeq ($(ORACLE),)
test: $(if $(PURE),$(INSTALLED),$(CORE)) $(ATEN)  ## the tests; ORACLE=1: those that compare with PyTorch, in their own environment (TORCH=2.14.1: with that version); PURE=1: in Python alone; SLOW=1: all cases
	$(VENV)/bin/pytest $(PYTEST) --record=$(call RECORD,$(VENV)) $(TESTS)
else
test: $(CORE_ORACLE) $(ATEN)
	$(WITH_ORACLE)/bin/pytest $(PYTEST) $(if $(TORCH),-m oracle,--leave-out=$(call RECORD,$(VENV)) --record=$(call RECORD,$(WITH_ORACLE)))
endif

bench: $(CORE_ORACLE)  ## the budgets, measured against PyTorch; RUNS=3: three times, the middle figure of each
	@$(WITH_ORACLE)/bin/opwright generate
	$(WITH_ORACLE)/bin/python -m benchmarks --runs $(RUNS)

site: $(CORE) $(ATEN) $(INSTALLED_SITE)  ## the documentation as a site, into build/site: to read it, python3 -m http.server -d build/site; VERSION=0.1: as that version, into the branch gh-pages
	rm -rf build/reference
	$(VENV)/bin/opwright docs aten --output build/reference/operators --math mathml --source source: --differences docs/differences.yaml
	$(VENV)/bin/python docs/site/names.py build/reference/python
	$(VENV)/bin/opwright explain --markdown >build/reference/errors.md
	{ printf '# Keys of schema files\n\n'; $(VENV)/bin/opwright schema keys; } >build/reference/keys.md
	$(VENV)/bin/opwright rules --markdown >build/reference/rules.md
	$(VENV)/bin/opwright test aten --sharded --table-only --markdown >build/reference/dimension-rules.md
	PATH="$(abspath $(VENV)-site/bin):$$PATH" NO_MKDOCS_2_WARNING=1 \
	    $(if $(VERSION),mike deploy --update-aliases $(VERSION) latest,mkdocs build) --config-file docs/site/mkdocs.yml

# What a former run installed was the newest then.
newest: ## the checks and tests with the newest of everything, in an environment of its own: constraints.txt is left aside; lists each library's version and result; ORACLE=1 as above
	@rm -f $(VENV)-newest/.installed $(VENV)-newest-oracle/.installed $(RECORDS)/$(patsubst .%,%,$(VENV))-newest*.json
	@status=0; $(MAKE) check test NEWEST=1 VENV=$(VENV)-newest || status=$$?; \
	    ls $(RECORDS)/$(patsubst .%,%,$(VENV))-newest*.json >/dev/null 2>&1 && \
	    $(VENV)-newest/bin/python tests/tested_with.py --libraries $(RECORDS)/$(patsubst .%,%,$(VENV))-newest*.json; exit $$status

# The core, packages that earlier generators made, frameworks: what depends on versions of libraries.
OF_BINDINGS := $(foreach each,jax/tests/test_jax_example jax/tests/test_jax_native jax/tests/test_jax_gradients \
    dask/tests/test_dask_example dask/tests/test_dask_windows,runtime/opwright_bindings/$(each).py)
oldest: ## the shorter run with the oldest supported versions (constraints-oldest.txt), which Python 3.11 has
	$(MAKE) test VENV=$(VENV)-oldest CONSTRAINTS=constraints-oldest.txt \
	    TESTS="tests/compat tests/runtime/core tests/runtime/arrays $(OF_BINDINGS)"

newest-python: $(ATEN)  ## the core's, autograd's and fakes' tests on the Pythons of Debian's development suite: as root, in a root of its own (ROOT=folder keeps it)
	$(VENV)/bin/python tests/newest_python.py $(RECORDS) $(if $(ROOT),--root $(ROOT))

tested: $(INSTALLED)  ## write the table "Tested with" of README.md anew, from the records of the runs
	$(VENV)/bin/python tests/tested_with.py --write $(RECORDS)/*.json

wheels: $(INSTALLED)  ## source distributions, and wheels for every Python that is here, into dist/: without containers, which [tool.cibuildwheel] is for
	@$(VENV)/bin/python -m pip install --quiet --group wheels
	$(VENV)/bin/python tests/build_wheels.py dist

array-api: $(CORE_ORACLE)  ## the Array API standard's own tests: SUITE=... names a copy of them, which is not ours; STANDARD=2024.12: those of that version
	@test -f "$(SUITE)/conftest.py" || { echo "SUITE must name a copy of data-apis/array-api-tests, with its stubs" >&2; exit 1; }
	@$(WITH_ORACLE)/bin/opwright generate
	cd "$(SUITE)" && ARRAY_API_TESTS_MODULE=opwright.array_api ARRAY_API_TESTS_VERSION=$(STANDARD) \
	    "$(abspath $(WITH_ORACLE))/bin/python" -m pytest array_api_tests -q --max-examples=20 --disable-deadline --derandomize \
	    --xfails-file="$(abspath tests/array_api_failures.txt)" -o xfail_strict=true

demo: $(ATEN)  ## a schema, its code, a call, two errors; two small networks are trained
	$(VENV)/bin/python examples/demo.py
	$(VENV)/bin/python examples/train_classifier.py
	$(VENV)/bin/python examples/train_transformer.py

clean:  ## remove environments and whatever was built
	rm -rf generated/opwright_aten $(VENV) $(VENV)-oracle* $(VENV)-site $(VENV)-newest $(VENV)-newest-oracle $(VENV)-oldest .mypy_cache .ruff_cache .pytest_cache .hypothesis .opwright_cache build runtime/build dist

$(INSTALLED): GROUPS := --group dev $(if $(BARE),,--group bindings --group array-api --group elsewhere)
$(INSTALLED_SITE): GROUPS := --group site
ifeq ($(TORCH),)
$(INSTALLED_ORACLE): GROUPS := --group dev --group bindings --group array-api --group elsewhere --group oracle --group cuda-tests
else
$(INSTALLED_ORACLE): GROUPS := --group dev --group beside-oracle torch==$(TORCH)
endif
# PyTorch of another version comes with CUDA libraries of its own.
$(INSTALLED_ORACLE): FREE := $(if $(TORCH),/^torch==/d;/^nvidia-/d)
$(INSTALLED_ORACLE): override PYTHON := $(ORACLE_PYTHON)
# The three distributions, editable. The library is installed without its dependencies: in a clone, these are the other two.
$(INSTALLED) $(INSTALLED_ORACLE): OURS := --editable runtime --editable codegen[cli,math]
$(INSTALLED) $(INSTALLED_ORACLE): LIBRARY := --editable .
$(INSTALLED) $(INSTALLED_ORACLE) $(INSTALLED_SITE): pyproject.toml runtime/pyproject.toml codegen/pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "Opwright needs Python 3.11 or later, and $(PYTHON) is not: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(@D) || { echo "no environment could be made in $(@D): $(PYTHON) needs its venv module" >&2; exit 1; }
	@echo "installing into $(@D)"
	@sed '$(FREE)' $(CONSTRAINTS) >$(@D)/constraints.txt
	@{ $(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	   PYTHONWARNINGS='ignore:Editable installation' $(@D)/bin/python -m pip install --quiet $(OURS) $(GROUPS) $(if $(NEWEST),--upgrade --upgrade-strategy eager,--constraint $(@D)/constraints.txt) && \
	   $(if $(LIBRARY),PYTHONWARNINGS='ignore:Editable installation' $(@D)/bin/python -m pip install --quiet --no-deps $(LIBRARY),true); \
	 } >$(@D)/$(LOG) 2>&1 || \
	    { echo "pip could not install into $(@D): is a package index reachable? What pip said is in $(@D)/$(LOG)" >&2; exit 1; }
	@printf '%s\n' $(SOURCES) >"$$($(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/opwright_sources.pth"
	@touch $@ $(@D)/.core

$(CORE): $(INSTALLED)
$(CORE_ORACLE): $(INSTALLED_ORACLE)
$(CORE) $(CORE_ORACLE): $(CORE_SOURCES)
	@cd runtime && "$(abspath $(@D))/bin/python" setup.py --quiet build_ext --inplace
	@$(@D)/bin/python setup.py --quiet build_ext --inplace
	@touch $@
