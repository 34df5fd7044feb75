# Everything runs in .venv, which is made on first use and again when pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= logical

.PHONY: demo test test-all lint format types docs bench results clean
.DEFAULT_GOAL := demo

demo: $(READY)  ## the whole story on a generated transaction network
	@$(BIN)/calirare demo --out demo

test: $(READY)  ## default tests; those that need datasets or a browser run where these exist
	@$(BIN)/python -m pytest -q -n $(WORKERS)

test-all: $(READY)  ## the slow ones too, with coverage
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "" --cov --cov-report=term

lint: $(READY)
	@$(BIN)/ruff check src tests examples benchmarks docs
	@$(BIN)/ruff format --check src tests examples benchmarks docs
	@$(BIN)/lint-imports

format: $(READY)
	@$(BIN)/ruff check --fix src tests examples benchmarks docs
	@$(BIN)/ruff format src tests examples benchmarks docs

types: $(READY)
	@$(BIN)/mypy src

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # --quiet would hide what strict must count
	@echo "site/index.html"

bench: $(READY)
	@$(BIN)/python benchmarks/run_all.py

results: $(READY)  ## the paper's tables with five seeds, into docs/results.md; goes on where an earlier run stopped
	@$(BIN)/calirare benchmark --seeds 5 --out results --docs docs/results.md

clean:
	rm -rf .venv site demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# curvlinops comes without its dependencies: one of them asks for torchvision, for its examples alone, and torchvision's
# common build does not load beside a CPU build of torch, which takes torchmetrics down with it.
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once; a few minutes)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-deps \
		curvlinops-for-pytorch backpack-for-pytorch unfoldNd einconv einops
	@touch $@
