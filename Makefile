# Each target sets up what it needs in .venv and says so; the second time it is quick.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
STAMP  := $(VENV)/.stamp

.PHONY: help try eval quick test check bench page models peers first-hour pictures docs attack race torture swarm-sim swarm-ray soak fuzz fixtures generate clean
help:           ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP)-venv:
	@echo "==> making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "zot needs Python 3.11 or newer; set PYTHON=python3.x")'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet -r requirements/pip.txt
	@touch $@

$(STAMP)-core: $(STAMP)-venv requirements/core.txt requirements/build.txt pyproject.toml
	@echo "==> installing zot and its dependencies"
	@$(PIP) install --progress-bar on -r requirements/core.txt | grep -v '^Requirement already' || true
	@$(PIP) install --quiet -r requirements/build.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/zot
	@touch $@

$(STAMP)-dev: $(STAMP)-core requirements/dev.txt
	@echo "==> installing what the checks and tests need"
	@$(PIP) install --progress-bar on -r requirements/dev.txt | grep -v '^Requirement already' || true
	@touch $@

$(STAMP)-system: tests/setup/system-packages.sh $(STAMP)-venv
	@bash tests/setup/system-packages.sh
	@touch $@

$(STAMP)-sdks: $(STAMP)-system sdks/setup.sh sdks/typescript/package-lock.json
	@sh sdks/setup.sh
	@touch $@

$(STAMP)-page: $(STAMP)-system page/setup.sh page/package-lock.json
	@sh page/setup.sh
	@touch $@

$(STAMP)-fixtures: $(STAMP)-dev tests/fixtures.toml tests/fetch_fixtures.py
	@echo "==> fetching recordings and the small text model"
	@$(BIN)/python tests/fetch_fixtures.py
	@touch $@

$(STAMP)-wheels: $(STAMP)-dev tests/pythons.py
	@echo "==> fetching the dependencies for every Python at hand"
	@$(BIN)/python -m tests.pythons
	@touch $@

$(STAMP)-mcp: $(STAMP)-system tests/setup/mcp.sh
	@PYTHON=$(BIN)/python bash tests/setup/mcp.sh
	@touch $@

$(STAMP)-acp: $(STAMP)-system tests/setup/acp.sh tests/setup/toad.sh
	@bash tests/setup/acp.sh
	@bash tests/setup/toad.sh
	@touch $@

$(STAMP)-claude: $(STAMP)-system tests/setup/claude-files.sh
	@bash tests/setup/claude-files.sh
	@touch $@

$(STAMP)-ray: $(STAMP)-dev requirements/ray.txt
	@echo "==> installing Ray"
	@$(PIP) install --progress-bar on -r requirements/ray.txt | grep -v '^Requirement already' || true
	@touch $@

$(STAMP)-docs: $(STAMP)-core requirements/docs.txt
	@echo "==> installing the site generator"
	@$(PIP) install --progress-bar on -r requirements/docs.txt | grep -v '^Requirement already' || true
	@touch $@

fixtures: $(STAMP)-fixtures ## download recordings and the test model

try: $(STAMP)-core ## zot fixes a failing test with a small model on this machine; no key needed (or PROVIDER=… MODEL=…)
	@$(BIN)/python examples/try/run.py $(if $(PROVIDER),--provider $(PROVIDER)) $(if $(MODEL),--model $(MODEL))

check: $(STAMP)-dev ## lint, types, layers, generated files
	@echo "==> ruff";         $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "==> basedpyright"; $(BIN)/basedpyright --warnings
	@echo "==> layers";       $(BIN)/lint-imports > $(VENV)/layers.txt || { cat $(VENV)/layers.txt; exit 1; }; tail -n 2 $(VENV)/layers.txt
	@echo "==> generated";    $(BIN)/python -m generate --check

# One end-to-end test per front end: -p, --json, --stream, rpc, terminal, SDK.
QUICK_E2E := \
  tests/e2e/test_headless.py::test_print_writes_only_the_final_text_and_one_newline \
  tests/e2e/test_headless.py::test_every_json_line_is_an_object_with_its_type_first \
  tests/e2e/test_headless.py::test_stream_mode_puts_text_on_stdout_and_tools_on_stderr \
  tests/protocol/test_rpc_process.py::test_line_is_one_compact_object_with_type_and_id_first \
  tests/terminal/test_first_words.py::test_a_prompt_is_answered_and_exit_leaves \
  tests/unit/sdk/test_runtime.py::test_prompt_streams_typed_events_and_ends_after_done
# Unit tests that take too long for 90 s:
#   swarm, local_model, devkit, sdk, simulation, system, benchmarks start many processes, git repositories or servers;
#   fakes imports the vendors' SDKs; generate needs the TypeScript and Go toolchains (`make test` sets them up).
QUICK_SKIP := swarm local_model devkit sdk simulation system benchmarks generate fakes

# basedpyright needs one core for most of the time, so the tests run beside it.
quick: $(STAMP)-dev ## lint, types, most unit tests and one end-to-end test per front end, in 90 s
	@echo "==> ruff"; $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "==> basedpyright, beside: unit tests without $(QUICK_SKIP)"
	@$(BIN)/basedpyright --warnings > $(VENV)/quick-types.txt 2>&1 & types=$$!; \
	  $(BIN)/python -m pytest -n 4 --dist loadfile tests/unit $(addprefix --ignore=tests/unit/,$(QUICK_SKIP)); unit=$$?; \
	  echo "==> one test per front end: -p, --json, --stream, rpc, terminal, SDK"; \
	  $(BIN)/python -m pytest -n 2 $(QUICK_E2E); ends=$$?; \
	  wait $$types; found=$$?; echo "==> basedpyright: $$(tail -n 1 $(VENV)/quick-types.txt)"; \
	  [ $$found -eq 0 ] || cat $(VENV)/quick-types.txt; [ $$found -eq 0 ] && [ $$unit -eq 0 ] && [ $$ends -eq 0 ]

generate: $(STAMP)-dev ## write the generated reference pages
	@$(BIN)/python -m generate

page: $(STAMP)-page ## build the page of `zot serve` from page/ (TypeScript)
	@cd page && npx --no-install tsc -p tsconfig.json && node build.mjs

# Only this target downloads model facts; `make check` compares the page with the data that is here.
models: $(STAMP)-dev ## write the model catalogue from public packages (npm, PyPI) and generate/models/overlay.json
	@$(BIN)/python -m generate.models
	@$(BIN)/python -m generate

# The tests start real processes by the hundred, and wait for many: four at once keep two cores busy.
# One that failed beside the others is named and has one more go alone.
test: $(STAMP)-sdks $(STAMP)-page $(STAMP)-fixtures $(STAMP)-wheels $(STAMP)-mcp $(STAMP)-acp $(STAMP)-claude check ## everything CI runs
	@echo "==> tests"; $(BIN)/python -m pytest -n 4 --dist loadfile || { [ $$? -eq 1 ] && \
	  echo "==> once more, alone: what failed" && $(BIN)/python -m pytest -v --last-failed --last-failed-no-failures none --maxfail 3; }

bench: $(STAMP)-sdks $(STAMP)-page $(STAMP)-dev ## budgets as ratios measured in one run (ONLY="rpc terminal" for some; AGAINST=CHECKOUT compares)
	@$(BIN)/python $(if $(AGAINST),benchmarks/compare.py $(AGAINST),benchmarks/run.py) $(ONLY)

eval: $(STAMP)-core ## what models make of 48 small tasks: the local ones, or PROVIDER=… MODEL=… (ONLY=REGEX for some)
	@$(BIN)/python -m evaluation $(if $(PROVIDER),--provider $(PROVIDER)) $(if $(MODEL),--model $(MODEL)) $(if $(ONLY),--only $(ONLY))

peers: $(STAMP)-venv ## install codex, pi, llm and claude-code into .cache/peers, for `bench` and `first-hour` (1.5 GB)
	@$(BIN)/python benchmarks/install_peers.py

first-hour: $(STAMP)-dev ## the first hour of zot, Claude Code and Codex side by side, at 80x24 and 120x40 (ONLY="zot codex" for some)
	@$(BIN)/python -m benchmarks.first_hour $(ONLY)

pictures: $(STAMP)-dev ## draw the documentation's pictures and its film from this build
	@$(BIN)/python docs/make_pictures.py
	@$(BIN)/python docs/make_cast.py
	@$(BIN)/python docs/make_film.py
	@$(BIN)/python -m docs.make_login_picture
	@$(BIN)/python -m docs.make_page_pictures

docs: $(STAMP)-docs ## build the documentation site into site/VERSION; broken links fail
	@$(BIN)/python docs/make_site.py

attack: $(STAMP)-dev ## try everything that must not work, and write docs/concepts/attacks.md
	@$(BIN)/python -m attack --write

race: $(STAMP)-dev ## 100,000 files swapped for links while the tools of a jailed run open them
	@$(BIN)/python -m attack.race

torture: $(STAMP)-system $(STAMP)-dev ## 1,000 kills and 500 injected faults
	@ZOT_TORTURE=1000 $(BIN)/python -m pytest -m torture --timeout 1800 -s

swarm-sim: $(STAMP)-core ## 1,000 scripted workers on a clock that jumps (WORKERS=N for others, CURVE=1 for 1 to 10,000 and the page)
	@$(BIN)/python -m simulation $(if $(WORKERS),--workers $(WORKERS)) $(if $(CURVE),--curve --write)

swarm-ray: $(STAMP)-ray ## 64 workers on a Ray cluster of three nodes made on this machine, some of which are killed
	@ZOT_SWARM_WORKERS=$(or $(WORKERS),64) $(BIN)/python -m pytest -m ray --timeout 1800 -s tests/cluster

soak: $(STAMP)-dev ## ten minutes of prompts, tools and extensions, watching what leaks
	@$(BIN)/python -m tests.soak

fuzz: $(STAMP)-dev ## a million cases over all readers, in about ten minutes; findings are kept in fuzz/corpus
	@$(BIN)/python -m fuzz $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED))

properties: $(STAMP)-dev ## the property tests of the suite, at length
	@ZOT_FUZZ=20000 $(BIN)/python -m pytest tests -k "fuzz or property"

clean: ## remove .venv and caches
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis
