# Everything runs in .venv, which is made on first use and again when pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= logical
SBOM ?= sbom.json
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(if $(COVER),--cov --cov-append --cov-report=)
# What Python compiled is kept, whatever the shell says: else every worker compiles every test anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test refits browser coverage covered slow attacks lint format types docs screenshots bench results audit sbom mutants container clean
.DEFAULT_GOAL := demo

demo: $(READY)  ## the whole story on a generated transaction network
	@$(BIN)/calirare demo --out demo

test: $(READY)  ## default tests; those that need datasets run where these exist
	@$(PYTEST)

refits: $(READY)  ## the tests whose judge is real retraining: folds, labels that mean nothing, a second fit, another library's
	@$(PYTEST) -m "refits and not slow"

browser: $(READY)  ## the report and the review desk in Chromium; what fails beside others runs once more, alone
	@$(PYTEST) -m browser || $(PYTEST) -m browser -n 0 --last-failed --last-failed-no-failures none

coverage: $(READY)  ## the default tests, the refits and the browser's; fails where they miss more than a twentieth of lines and branches
	@$(BIN)/coverage erase
	@$(MAKE) --no-print-directory test refits browser COVER=1
	@$(MAKE) --no-print-directory covered

covered: $(READY)  ## what `make test refits browser COVER=1` missed
	@$(BIN)/coverage report --skip-covered --show-missing --fail-under=95

slow: $(READY)  ## crashes, thousands of malformed inputs, a Ray cluster, every guide followed: half an hour
	@$(PYTEST) -m slow

attacks: $(READY)  ## kills, races, slow clients, memory under a cap; prints its counts; part of `make slow`
	@$(BIN)/python -m pytest -q -m slow tests/attacks

lint: $(READY)
	@$(BIN)/ruff check src tests examples benchmarks docs
	@$(BIN)/ruff format --check src tests examples benchmarks docs
	@$(BIN)/lint-imports

format: $(READY)
	@$(BIN)/ruff check --fix src tests examples benchmarks docs
	@$(BIN)/ruff format src tests examples benchmarks docs

types: $(READY)
	@$(BIN)/mypy

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # --quiet would hide what strict must count
	@echo "site/index.html"

screenshots: $(READY)  ## the pictures of the report and the desk in README and docs; needs Chromium
	@$(BIN)/python docs/screenshots.py

bench: $(READY)
	@$(BIN)/python benchmarks/run_all.py

results: $(READY)  ## the paper's tables with five seeds, into docs/results.md; goes on where an earlier run stopped
	@$(BIN)/calirare benchmark --seeds 5 --out results --docs docs/results.md

audit: $(READY)  ## known weaknesses in the pinned packages, secrets in tracked files
	@$(BIN)/python tests/tools/audit.py

sbom: $(READY)  ## what is installed, as CycloneDX
	@$(BIN)/python -m cyclonedx_py environment $(BIN)/python --pyproject pyproject.toml --mc-type library \
		--output-reproducible -o $(SBOM)
	@echo "$(SBOM)"

mutants: $(READY)  ## how many small breaks of the code the tests notice; an hour or so
	@$(BIN)/python tests/tools/mutants.py

clean:
	rm -rf .venv site demo sbom.json mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# curvlinops comes without its dependencies: one of them asks for torchvision, for its examples alone, and torchvision's
# common build does not load beside a CPU build of torch, which takes torchmetrics down with it.
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once; a few minutes)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-deps \
		curvlinops-for-pytorch backpack-for-pytorch unfoldNd einconv einops
	@touch $@

container: $(READY) ## the image, where podman or docker is there, else hadolint; its rules are tested by tests/tools/test_container.py
	@builder=$$(command -v podman || command -v docker || true); \
	if [ -n "$$builder" ]; then "$$builder" build -f Containerfile -t calirare .; \
	else echo "No podman or docker here: the image is not built, its recipe is linted."; $(BIN)/hadolint Containerfile; fi
