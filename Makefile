# Every target makes .venv by itself from a bare Python >= 3.11. Installed once, nothing here needs a network.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The folder of this file: targets run there, wherever make was called from (spaces in its path are allowed).
ROOT := $(shell cd "$$(dirname '$(subst ','\'',$(strip $(MAKEFILE_LIST)))')" && pwd)
IN := set -eu; cd "$(ROOT)";
PY := .venv/bin/python
PYTHON ?= python3 python3.13 python3.12 python3.11
PROFILE ?= laptop
JOBS ?=
LAB ?=
MUTANTS ?=
BENCH ?=
PEERS ?=
ELSEWHERE ?=

.PHONY: help install reproduce replay check test experiments elsewhere nightly nojit boundscheck mutants operators exhaustive peers lab notebooks site codecheck bench data lint clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' "$(ROOT)/Makefile"

# .venv/installed holds the checksum of what was installed and the folder: pip runs again only when one changes.
install: ## make .venv and install everything in it (the other targets do this by themselves)
	@$(IN) \
	stamp=.venv/installed; \
	wanted="$$(cat pyproject.toml constraints.txt | cksum) $$PWD"; \
	if [ "$$(cat $$stamp 2>/dev/null)" = "$$wanted" ] && $(PY) -c '' 2>/dev/null; then exit 0; fi; \
	found=; \
	for below in 3,14 9,0; do \
	    for name in $(PYTHON); do \
	        if [ -z "$$found" ] && "$$name" -c "import sys; sys.exit(not (3, 11) <= sys.version_info < ($$below))" 2>/dev/null; \
	        then found=$$name; fi; \
	    done; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "safescreen needs Python 3.11 or newer; none of these is: $(PYTHON). Name one: make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	fi; \
	echo "Installing into $$PWD/.venv with $$("$$found" --version), about two minutes ..."; \
	"$$found" -m venv --clear .venv || { echo "No venv module: on Debian or Ubuntu, apt install python3-venv" >&2; exit 1; }; \
	$(PY) -m pip install --quiet --disable-pip-version-check 'pip>=25.1'; \
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[book,cluster]' --group dev; \
	echo "$$wanted" > $$stamp

reproduce: install ## run every experiment on embedded data, make the pages of their results (PROFILE=laptop, or smoke, paper; JOBS=cores)
	@$(IN) $(PY) -m safescreen run --profile $(PROFILE) --report $(if $(JOBS),--jobs $(JOBS))

replay: install ## ask a small part of every record again, and compare it with what the library says now (JOBS=cores)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -m safescreen replay $(if $(JOBS),--jobs $(JOBS))

check: install ## what to run while working: ruff, quick tests of every part, two replays (a few minutes on two cores)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -m ruff check .; $(PY) -m ruff format --check -q lib tests benchmarks docs; \
	$(PY) -m pytest -q -n 2 --dist worksteal tests -m "not slow and not exhaustive"

test: install ## run all tests, and all notebooks but experiments (twelve minutes on two cores)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -m safescreen.warmup & $(PY) -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder

experiments: install ## run the notebooks of all experiments, each at its small size (a few minutes on two cores)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -m pytest -q -n 2 --dist loadscope --nbval-lax -m exhaustive tests/conftest.py notebooks/[567]*.ipynb

elsewhere: install ## run notebooks, tests and experiments in the rounding of other machines, and print a table (ELSEWHERE='--kinds "Haswell; Prescott" --parts notebooks,solvers'; hours)
	@$(IN) $(PY) tests/elsewhere.py $(ELSEWHERE)

nightly: exhaustive elsewhere nojit boundscheck mutants operators peers bench ## what takes hours: exhaustive, elsewhere, nojit, boundscheck, mutants, operators, peers and bench, one after the other

nojit: install ## the marked tests without the compiler
	@$(IN) export OPENBLAS_NUM_THREADS=1; NUMBA_DISABLE_JIT=1 $(PY) -m pytest -q -n 2 tests -m nojit

boundscheck: install ## the marked tests with checked indices
	@$(IN) export OPENBLAS_NUM_THREADS=1; NUMBA_BOUNDSCHECK=1 $(PY) -m pytest -q -n 2 tests -m boundscheck

mutants: install ## make one known error in the library after the other and see its guard fail (MUTANTS="-k ranges", JOBS=2)
	@$(IN) $(PY) tests/mutation/mutants.py $(if $(JOBS),--jobs $(JOBS)) $(MUTANTS)

operators: install ## make errors by operators of cosmic-ray where safety is decided, and see tests fail (MUTANTS="-k rules", JOBS=2; hours)
	@$(IN) $(PY) -c 'import cosmic_ray' 2>/dev/null || $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt --group nightly; \
	$(PY) tests/mutation/operators.py $(if $(JOBS),--jobs $(JOBS)) $(MUTANTS)

exhaustive: install ## millions of threshold cases of every rule in exact arithmetic, 100,000 broken files, 100,000 extreme data sets, 2,000 searches, 2,000 problems with pairs of classes, 6,000 machines with a free intercept (an hour on two cores)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -m pytest -q -n 2 --dist load tests/safety/test_exact.py tests/safety/test_masks.py tests/safety/test_features.py tests/terms/test_free_intercept.py tests/book/datasets/test_fuzz.py tests/estimators/test_any_data.py tests/estimators/test_certain.py tests/estimators/test_pairs_of_classes.py tests/notebooks/test_show.py tests/notebooks/test_smoke.py tests/test_benchmarks.py -m exhaustive

peers: install ## run the tests of scikit-learn, metric-learn and skglm on the classes of this project (PEERS="--suite skglm", or --update)
	@$(IN) export OPENBLAS_NUM_THREADS=1; $(PY) -c 'import metric_learn, skglm' 2>/dev/null \
	|| $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt --group peers; \
	$(PY) tests/peers/run.py $(PEERS)

# notebooks/jupytext.toml has a notebook saved as its .py too. The address that is printed leads to notebook 00.
lab: install ## open the book in JupyterLab (LAB="--no-browser --port 8889", or whatever else it understands)
	@$(IN) export JUPYTER_CONFIG_PATH="$$PWD/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}"; \
	root="$$([ "$$(id -u)" = 0 ] && echo --allow-root || true)"; \
	$(PY) -m jupyterlab $$root --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb $(LAB)

notebooks: install ## write the .ipynb files anew from their .py sources, and execute them
	@$(IN) $(PY) -m safescreen notebooks

site: install ## write outputs/site/: book, results, claims and reference as web pages
	@$(IN) $(PY) -m safescreen site

codecheck: install ## clone the last commit, replay its records there, and write outputs/codecheck.json: commit, machine, hours, what agrees
	@$(IN) clone="$$(mktemp -d)"; trap 'rm -rf "$$clone"' EXIT; git clone --quiet . "$$clone"; root="$$PWD"; mkdir -p outputs; cd "$$clone"; \
	export OPENBLAS_NUM_THREADS=1 PYTHONPATH="$$clone/lib"; \
	"$$root/$(PY)" -m safescreen_book replay $(if $(JOBS),--jobs $(JOBS)) || true; \
	"$$root/$(PY)" -m safescreen_book codecheck --certificate "$$root/outputs/codecheck.json"

bench: install ## time and memory against plain code and LIBLINEAR (BENCH="-k iris", or other options of pytest)
	@$(IN) $(PY) -m pytest benchmarks -q --dist=no --benchmark-enable --benchmark-quiet $(BENCH)

data: install ## list the data sets and whether they are here
	@$(IN) $(PY) -m safescreen data list

lint: install ## ruff on all code, numpydoc on the docstrings, basedpyright on the types of the library
	@$(IN) $(PY) -m ruff check .; $(PY) -m ruff format --check lib tests benchmarks docs; \
	find lib -name '*.py' -print0 | xargs -0 $(PY) -m numpydoc lint; \
	$(PY) -m basedpyright --project pyproject.toml --level warning

clean: ## remove .venv, caches and outputs, but not the records in outputs/paper
	@$(IN) rm -rf .venv .pytest_cache .ruff_cache .hypothesis .benchmarks outputs/paper/report; \
	if [ -d outputs ]; then find outputs -mindepth 1 -maxdepth 1 ! -name paper -exec rm -rf {} +; fi
