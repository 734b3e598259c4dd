"""Sessions of other toolchains, with what everybody does in between, and what is to come of them.

A call is its command; with `!` in front it failed, and behind ` # ` stands what it printed.
"""

from dataclasses import dataclass

Calls = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Sessions of one project, and the one suggestion that they are worth: its name, and its steps."""

    name: str
    sessions: tuple[Calls, ...]
    steps: Calls


def shown(name: str, *sessions: Calls, steps: Calls) -> Shown:
    """What sessions come to."""
    return Shown(name=name, sessions=sessions, steps=steps)


SHOWN = (
    shown(
        "procedure-pip",
        (
            "cat pyproject.toml",
            "python -m pip install -e '.[dev]'",
            "sed -n 1,80p src/app.py",
            "pytest -q",
            "python -m build",
            "twine check dist/*",
            "twine upload dist/*",
        ),
        steps=(
            "1. `python -m pip install -e '.[dev]'`",
            "2. `pytest -q`",
            "3. `python -m build`",
            "4. `twine check dist/*`",
            "5. `twine upload dist/*`",
        ),
    ),
    shown(
        "procedure-ruff-check-mypy-pytest",
        ("ruff check .", "mypy src", "pytest -q"),
        ("ruff check src", "mypy src", "pytest -q", "git push"),
        ("ruff check .", "mypy src", "pytest -q -k parser"),
        steps=(
            "1. `ruff check <path>`",
            "2. `mypy src`",
            "3. `pytest -q`",
            "4. Where the change is to go out: `git push`",
        ),
    ),
    shown(
        "procedure-python",
        (
            "python manage.py makemigrations shop",
            "python manage.py migrate",
            "python manage.py test shop",
            "git add shop/migrations/0007_auto.py",
            "git commit -m 'add prices'",
        ),
        steps=(
            "1. `python manage.py makemigrations shop`",
            "2. `python manage.py migrate`",
            "3. `python manage.py test shop`",
        ),
    ),
    shown(
        "procedure-alembic",
        (
            "alembic revision --autogenerate -m 'add users'",
            "alembic upgrade head",
            "pytest tests/db -q",
            "alembic downgrade -1",
            "alembic upgrade head",
        ),
        steps=(
            "1. `alembic revision --autogenerate -m <message>`",
            "2. `alembic upgrade head`",
            "3. `pytest tests/db -q`",
            "4. `alembic downgrade -1`",
            "5. `alembic upgrade head`",
        ),
    ),
    shown(
        "procedure-npm-ci-lint-test-build",
        ("npm ci", "npm run lint", "npm test", "npm run build"),
        ("npm ci", "npm run lint -- --fix", "npm test -- --watch=false", "npm run build"),
        ("npm run lint", "npm test", "npm run build", "npx playwright test"),
        steps=(
            "1. `npm ci`",
            "2. `npm run lint`",
            "3. `npm test`",
            "4. `npm run build`",
            "5. For more tests: `npx playwright test`",
        ),
    ),
    shown(
        "procedure-docker-build-curl-push",
        (
            "docker build -t acme/api:1.4.2 .",
            "docker run -d --name api -p 8080:8080 acme/api:1.4.2",
            "curl -fsS http://localhost:8080/health",
            "docker logs api",
            "docker push acme/api:1.4.2",
        ),
        (
            "docker build -t acme/api:1.5.0 .",
            "docker run -d --name api -p 8080:8080 acme/api:1.5.0",
            "curl -fsS http://localhost:8080/health",
            "docker push acme/api:1.5.0",
        ),
        steps=(
            "1. `docker build -t <image> .`",
            "2. `docker run -d --name api -p 8080:8080 <image>`",
            "3. `curl -fsS http://localhost:8080/health`",
            "4. `docker push <image>`",
        ),
    ),
    shown(
        "procedure-terraform-select-plan-apply",
        ("cd infra", "terraform workspace select dev", "terraform plan -out=p", "terraform apply p"),
        ("cd infra", "terraform workspace select prod", "terraform plan -out=p", "terraform apply p"),
        steps=(
            "1. `cd infra`",
            "2. `terraform workspace select <workspace>`",
            "3. `terraform plan -out=p`",
            "4. `terraform apply p`",
        ),
    ),
    shown(
        "procedure-cargo",
        (
            "cargo test parser::tests::empty",
            "cargo test parser::tests::nested",
            "cargo test",
            "cargo clippy -- -D warnings",
            "cargo fmt --check",
        ),
        steps=("1. `cargo test`", "2. `cargo clippy -- -D warnings`", "3. `cargo fmt --check`"),
    ),
    shown(
        "procedure-helm",
        (
            "helm lint charts/api",
            "helm upgrade --install api charts/api -n staging -f values/staging.yaml",
            "kubectl get pods -n staging",
            "kubectl rollout status deploy/api -n staging",
            "helm test api -n staging",
        ),
        steps=(
            "1. `helm lint charts/api`",
            "2. `helm upgrade --install api charts/api -n staging -f values/staging.yaml`",
            "3. `kubectl rollout status deploy/api -n staging`",
            "4. `helm test api -n staging`",
        ),
    ),
    shown(
        "procedure-make-fmt-lint-test",
        ("make fmt", "make lint", "make test"),
        ("make fmt", "make lint", "make test", "make test-integration"),
        ("make lint", "make test", "git push"),
        steps=(
            "1. `make fmt`",
            "2. `make lint`",
            "3. `make test`",
            "4. For integration tests: `make test-integration`",
        ),
    ),
    shown(
        "error-npm",
        (
            "!npm install # npm ERR! ERESOLVE unable to resolve dependency tree",
            "npm install --legacy-peer-deps",
        ),
        steps=("1. Run `npm install --legacy-peer-deps`",),
    ),
    shown(
        "error-terraform",
        (
            '!terraform plan # Error: Backend initialization required, please run "terraform init"',
            "terraform init",
            "terraform plan",
        ),
        steps=("1. Run `terraform init`", "2. Run `terraform plan`"),
    ),
    shown(
        "error-pytest",
        ("!pytest -q # bash: pytest: command not found", "uv run pytest -q"),
        steps=("1. Run `uv run pytest -q`",),
    ),
    shown(
        "error-docker",
        (
            "!docker compose up -d # Cannot connect to the Docker daemon at unix:///var/run/docker.sock",
            "colima start",
            "docker compose up -d",
        ),
        steps=("1. Run `colima start`", "2. Run `docker compose up -d`"),
    ),
)
NOISE: tuple[Calls, ...] = (
    ("sed -i 's/a/b/' src/x.py", "python - <<'E'\nprint(1)\nE", "git add src/x.py", "git commit -m 'x'"),
    ("mkdir -p /tmp/x1", "cp src/a.py /tmp/x1/a.py", "python /tmp/x1/a.py", "rm -rf /tmp/x1"),
    ("sleep 30", "curl -s https://api.example.com/runs/8812", "sleep 30", "sleep 20", "sleep 10"),
    ("!pytest tests/test_a.py # AssertionError: 1 != 2", "pytest tests/test_a.py"),
    ("!npx tsc --noEmit # src/a.ts(3,5): error TS2322: Type 'x' is not assignable.", "npx tsc --noEmit"),
    ("git stash", "git checkout main", "git pull", "git checkout feature", "git stash pop"),
    ("kubectl get pods", "kubectl describe pod api-7d9f", "kubectl logs api-7d9f", "kubectl get events"),
    ("docker ps", "docker images", "docker logs 3f2a", "docker inspect 3f2a", "docker stats --no-stream"),
    (
        "python reproduce.py",
        "pip install -e .",
        "python reproduce.py",
        "python -m pytest tests/test_x.py",
        "rm reproduce.py",
    ),
    ("node scratch.js", "npm install", "node scratch.js", "node scratch.js --again"),
    ("gh pr view 12", "gh pr diff 12", "gh pr checks 12", "gh run view 99 --log-failed"),
    ("!docker build -t a . # no space left on device", "docker system prune -af", "docker build -t a ."),
    ("!npm ci # npm ERR! EEXIST: file already exists", "rm -rf node_modules", "npm ci"),
    ("!psql shop -f a.sql # ERROR: relation exists", "dropdb shop", "createdb shop", "psql shop -f a.sql"),
)
