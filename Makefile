# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11 or later:
#
#   make up      set up .venv and start Runlore with its embedded store
#   make test    set up everything, a PostgreSQL server and a browser included, and run every test
#
# The others, for those who change it, are described in CONTRIBUTING.md.

.DEFAULT_GOAL := help
# Set-up and checks share .venv and its caches.
.NOTPARALLEL:
.PHONY: help up tour test check lint format bench soak docs requirements release setup-run setup-dev setup-test setup-soak clean

PYTHON ?=
export PYTHON

in_venv := .venv/bin/python -m
# Each worker starts a PostgreSQL server of its own, so more workers than this make nothing faster.
WORKERS_MAX ?= 4
pytest := $(in_venv) pytest --numprocesses auto --maxprocesses $(WORKERS_MAX) --dist worksteal

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

up: setup-run ## set everything up and start Runlore in the background
	@$(in_venv) scripts.start

tour: setup-run ## take a short tour on a scratch state root
	@$(in_venv) scripts.tour

# Tests wait now and then for a process or a lock; the other checks have that time, and are shown at the end.
test: setup-test ## set everything up and run every check and every test
	@told=$$(mktemp); make --no-print-directory lint >"$$told" 2>&1 & lint=$$!; \
	trap 'kill $$lint 2>/dev/null; rm -f "$$told"; exit 130' INT TERM; \
	$(pytest); tests=$$?; wait $$lint; linted=$$?; cat "$$told"; rm -f "$$told"; \
	exit $$((tests ? tests : linted))

check: setup-dev lint ## the quick checks, before every commit
	$(pytest) tests/architecture tests/domain

# Under load a worker of mypy may not start in time; then one process checks everything.
lint: setup-dev
	$(in_venv) ruff format --check .
	$(in_venv) ruff check .
	$(in_venv) mypy --num-workers auto || $(in_venv) mypy
	.venv/bin/lint-imports --no-logo

format: setup-dev ## format the code and mend what ruff can mend
	$(in_venv) ruff format .
	$(in_venv) ruff check --fix .

bench: setup-test ## measure; `make bench ONLY=name` for one of them
	$(in_venv) bench $(ONLY)

soak: setup-soak ## the long rings of tests, and every property with many more examples
	$(pytest) -m soak --hypothesis-profile soak

docs: setup-dev ## write the generated pages of docs/ again
	$(in_venv) scripts.requirements_page
	$(in_venv) scripts.reference_pages

requirements: ## pin what pyproject.toml asks for; UPGRADE=1 takes newer releases
	@test -x .venv/bin/uv || scripts/setup.sh dev
	scripts/pin_requirements.sh $(if $(UPGRADE),--upgrade)

release: setup-dev ## build wheel, sdist, what they need and the TypeScript client into dist/, and try them
	@scripts/setup.sh typescript
	$(in_venv) scripts.release
	DIST="$(CURDIR)/dist" $(in_venv) pytest -m "soak or not soak" tests/architecture/test_release.py \
	  tests/surfaces/test_installed.py tests/surfaces/client/test_typescript.py

setup-run:
	@scripts/setup.sh run

setup-dev:
	@scripts/setup.sh dev

setup-test:
	@scripts/setup.sh test

setup-soak:
	@scripts/setup.sh soak

clean: ## remove everything that make made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
