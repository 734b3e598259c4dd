"""Sessions of everyday work, as somebody would tell them: each shows one thing that is worth a skill.

A call is its command; with `!` in front it failed, and behind ` # ` stands what it printed.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Everyday:
    """A session of one input, and what is to come of it: the name and the commands that are told."""

    calls: tuple[str, ...]
    name: str
    commands: tuple[str, ...]


def row(name: str, *calls: str) -> Everyday:
    """A procedure, all of whose calls are told."""
    return Everyday(name=name, calls=calls, commands=calls)


PROCEDURES = (
    row(
        "procedure-systemctl",
        "sudo systemctl stop app",
        "cp app.conf /etc/app.conf",
        "sudo systemctl start app",
        "curl -s localhost:8080/health",
    ),
    row(
        "procedure-docker",
        "docker compose build",
        "docker compose up -d",
        "docker compose exec api alembic upgrade head",
        "curl -fsS http://localhost:8000/healthz",
    ),
    row(
        "procedure-kubectl",
        "kubectl config use-context staging",
        "kubectl apply -f k8s/",
        "kubectl rollout restart deployment/api",
        "kubectl wait --for=condition=available deployment/api --timeout=120s",
    ),
    row(
        "procedure-terraform",
        "terraform init",
        "terraform workspace select staging",
        "terraform plan -out plan.bin",
        "terraform apply plan.bin",
    ),
    row(
        "procedure-ansible-galaxy",
        "ansible-galaxy install -r requirements.yml",
        "ansible-lint site.yml",
        "ansible-playbook site.yml --check",
        "ansible-playbook site.yml",
    ),
    row("procedure-pnpm", "pnpm install", "pnpm lint", "pnpm build", "pnpm test:e2e"),
    row("procedure-yarn", "yarn install", "yarn db:generate", "yarn db:migrate", "yarn dev"),
    row(
        "procedure-venv",
        "python -m venv .venv",
        ".venv/bin/pip install -r requirements.txt",
        ".venv/bin/python manage.py migrate",
        ".venv/bin/python manage.py runserver",
    ),
    row(
        "procedure-uv",
        "uv version --bump minor",
        "uv build",
        "uv publish",
        "git push --tags",
    ),
    row(
        "procedure-poetry",
        "poetry install",
        "poetry run alembic upgrade head",
        "poetry run pytest",
        "poetry build",
    ),
    row(
        "procedure-cargo",
        "cargo fmt --check",
        "cargo clippy -- -D warnings",
        "cargo test --workspace",
        "cargo publish --dry-run",
    ),
    row(
        "procedure-gradlew",
        "./gradlew clean",
        "./gradlew assembleRelease",
        "./gradlew connectedAndroidTest",
        "./gradlew publish",
    ),
    row(
        "procedure-mvn",
        "mvn -q clean verify",
        "mvn versions:set -DnewVersion=1.2.0",
        "mvn deploy",
        "git push --tags",
    ),
    row(
        "procedure-dotnet",
        "dotnet restore",
        "dotnet build -c Release",
        "dotnet ef database update",
        "dotnet test",
    ),
    row(
        "procedure-bundle",
        "bundle install",
        "bin/rails db:create",
        "bin/rails db:migrate",
        "bundle exec rspec",
    ),
    row(
        "procedure-createdb",
        "createdb shop_test",
        "psql shop_test -f schema.sql",
        "flyway migrate",
        "psql shop_test -f seed.sql",
    ),
    row(
        "procedure-helm",
        "helm repo update",
        "helm dependency build charts/api",
        "helm lint charts/api",
        "helm upgrade --install api charts/api",
    ),
    row(
        "procedure-aws",
        "aws ecr get-login-password",
        "docker build -t api .",
        "docker push 123.dkr.ecr.eu-west-1.amazonaws.com/api",
        "aws ecs update-service --cluster prod --service api --force-new-deployment",
    ),
    row(
        "procedure-gcloud",
        "gcloud builds submit --tag gcr.io/shop/api",
        "gcloud run deploy api --image gcr.io/shop/api",
        "gcloud run services update-traffic api --to-latest",
        "curl -s https://api.example.com/health",
    ),
    row(
        "procedure-cmake",
        "cmake -B build -DCMAKE_BUILD_TYPE=Release",
        "cmake --build build",
        "ctest --test-dir build",
        "sudo cmake --install build",
    ),
    row(
        "procedure-npm",
        "npm run build",
        "rsync -avz dist/ deploy@web1:/srv/app/",
        "ssh deploy@web1 sudo systemctl restart app",
        "curl -fsS https://app.example.com/healthz",
    ),
    row(
        "procedure-mix",
        "mix deps.get",
        "mix ecto.create",
        "mix ecto.migrate",
        "mix test",
    ),
    row(
        "procedure-composer",
        "composer install",
        "php artisan key:generate",
        "php artisan migrate --seed",
        "php artisan serve",
    ),
    row(
        "procedure-artisan",
        "php artisan down",
        "php artisan migrate",
        "php artisan db:seed",
        "php artisan up",
    ),
    row(
        "procedure-gh",
        "gh release create v1.2.0 --generate-notes",
        "gh workflow run deploy.yml",
        "brew bump-formula-pr shop",
        "npm publish",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Mended:
    """A failure that was put right: what failed, what it printed, and what worked; `by` is what was done
    between, where the same command then worked as it was."""

    name: str
    failed: str
    error: str
    worked: str
    by: str = ""


def mended(name: str, failed: str, error: str, worked: str, *, by: str = "") -> Mended:
    """A failure that was put right."""
    return Mended(name=name, failed=failed, error=error, worked=worked, by=by)


def mended_by(name: str, failed: str, error: str, by: str) -> Mended:
    """A failure that another command put right."""
    return Mended(name=name, failed=failed, error=error, worked=failed, by=by)


RECOVERIES = (
    mended("error-pip", "pip install request", "ERROR: No matching distribution", "pip install requests"),
    mended(
        "error-terraform",
        "terraform plan -out p",
        "Error: No value for required variable",
        "terraform plan -out p -var region=eu",
    ),
    mended(
        "error-docker",
        "docker build -t app .",
        "ERROR: failed to solve: no match for platform in manifest",
        "docker build --platform linux/amd64 -t app .",
    ),
    mended(
        "error-kubectl",
        "kubectl apply -f deploy.yaml",
        'Error from server (NotFound): namespaces "shop" not found',
        "kubectl apply -f deploy.yaml -n default",
    ),
    mended(
        "error-npm",
        "npm install",
        "npm ERR! ERESOLVE unable to resolve dependency tree",
        "npm install --legacy-peer-deps",
    ),
    mended(
        "error-pip",
        "pip install black",
        "error: externally-managed-environment",
        "pip install --user --break-system-packages black",
    ),
    mended("error-python", "python app.py", "bash: python: command not found", "python3 app.py"),
    mended(
        "error-helm",
        "helm install api charts/api",
        "Error: INSTALLATION FAILED: cannot re-use a name that is still in use",
        "helm upgrade --install api charts/api",
    ),
    mended(
        "error-aws",
        "aws s3 sync dist s3://site",
        'Unable to locate credentials. You can configure credentials by running "aws configure".',
        "aws s3 sync dist s3://site --profile deploy",
    ),
    mended(
        "error-git",
        "git push",
        "fatal: The current branch fix has no upstream branch.",
        "git push -u origin fix",
    ),
    mended(
        "error-dotnet",
        "dotnet run",
        "Couldn't find a project to run. Ensure a project exists",
        "dotnet run --project src/Api",
    ),
    mended(
        "error-alembic",
        "alembic upgrade head",
        "FAILED: No config file 'alembic.ini' found",
        "alembic -c db/alembic.ini upgrade head",
    ),
    mended(
        "error-psql",
        "psql -d shop -f seed.sql",
        'psql: error: FATAL: role "root" does not exist',
        "psql -U postgres -d shop -f seed.sql",
    ),
    mended(
        "error-gradlew",
        "./gradlew build",
        "bash: ./gradlew: Permission denied",
        "sh ./gradlew build",
    ),
    mended(
        "error-ssh",
        "ssh web1 uptime",
        "deploy@web1: Permission denied (publickey).",
        "ssh -i ~/.ssh/deploy web1 uptime",
    ),
    mended(
        "error-gh",
        "gh pr create --fill",
        "aborted: you must first push the current branch to a remote, or use the --head flag",
        "gh pr create --fill --head fix",
    ),
    mended(
        "error-cmake",
        "cmake -B build",
        "CMake Error: The source directory does not appear to contain CMakeLists.txt",
        "cmake -S src -B build",
    ),
    mended("error-make", "make tets", "make: *** No rule to make target 'tets'.  Stop.", "make test"),
    mended(
        "error-yarn",
        "yarn install",
        'error node@20.1.0: The engine "node" is incompatible with this module.',
        "yarn install --ignore-engines",
    ),
    mended(
        "error-rsync",
        "rsync -av dist/ web1:/srv/app/",
        "rsync: mkstemp failed: Permission denied (13)",
        "rsync -av --rsync-path='sudo rsync' dist/ web1:/srv/app/",
    ),
    mended_by("error-cargo", "cargo build", "error[E0432]: unresolved import `serde`", "cargo add serde"),
    mended_by("error-npm", "npm test", "Error: Cannot find module 'left-pad'", "npm install"),
    mended_by(
        "error-pytest", "pytest -q", "ModuleNotFoundError: No module named 'yaml'", "pip install pyyaml"
    ),
    mended_by(
        "error-docker",
        "docker compose up -d",
        "network shop declared as external, but could not be found",
        "docker network create shop",
    ),
    mended_by(
        "error-go",
        "go build ./...",
        "main.go:4:2: no required module provides package github.com/x/y; to add it:",
        "go get github.com/x/y",
    ),
    mended_by(
        "error-rspec",
        "bundle exec rspec",
        "Could not find rake-13.1.0 in locally installed gems",
        "bundle install",
    ),
    mended_by(
        "error-rails",
        "bin/rails test",
        "ActiveRecord::PendingMigrationError: Migrations are pending.",
        "bin/rails db:migrate",
    ),
    mended_by(
        "error-psql",
        "psql shop -c 'select 1'",
        'connection to server failed: FATAL: database "shop" does not exist',
        "createdb shop",
    ),
    mended_by(
        "error-terraform",
        "terraform plan",
        'Error: Backend initialization required, please run "terraform init"',
        "terraform init",
    ),
    mended_by(
        "error-docker",
        "docker push ghcr.io/shop/api",
        "denied: requested access to the resource is denied",
        "docker login ghcr.io",
    ),
    mended_by(
        "error-git",
        "git push",
        "! [rejected] main -> main (fetch first)",
        "git pull --rebase",
    ),
    mended_by(
        "error-npm",
        "npm run build",
        "sh: vite: command not found",
        "npm ci",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A command that is run twice, and what it is called."""

    name: str
    twice: tuple[str, str]


REPEATED = (
    Repeated(name="repeated-docker-build", twice=("docker build -t a:1 .", "docker build -t b:2 .")),
    Repeated(name="repeated-kubectl-apply", twice=("kubectl apply -f a.yaml", "kubectl apply -f b.yaml")),
    Repeated(name="repeated-terraform-plan", twice=("terraform plan -out a", "terraform plan -out b")),
    Repeated(name="repeated-npm-run-build", twice=("npm run build", "npm run build")),
    Repeated(name="repeated-go-test", twice=("go test ./a", "go test ./b")),
    Repeated(name="repeated-pytest", twice=("pytest tests/a.py", "pytest tests/b.py")),
    Repeated(name="repeated-cargo-bench", twice=("cargo bench --bench a", "cargo bench --bench b")),
    Repeated(
        name="repeated-ansible-playbook",
        twice=("ansible-playbook -l web a.yml", "ansible-playbook -l db a.yml"),
    ),
    Repeated(name="repeated-helm-upgrade", twice=("helm upgrade api c/api", "helm upgrade web c/web")),
    Repeated(
        name="repeated-aws-s3-sync",
        twice=("aws s3 sync dist s3://site-a", "aws s3 sync dist s3://site-b"),
    ),
    Repeated(name="repeated-rsync", twice=("rsync -av dist/ web1:/srv/", "rsync -av dist/ web2:/srv/")),
    Repeated(name="repeated-systemctl-restart", twice=("systemctl restart api", "systemctl restart worker")),
    Repeated(name="repeated-psql", twice=("psql shop -f a.sql", "psql shop -f b.sql")),
    Repeated(name="repeated-alembic-revision", twice=("alembic revision -m a", "alembic revision -m b")),
    Repeated(name="repeated-gh-workflow-run", twice=("gh workflow run a.yml", "gh workflow run b.yml")),
    Repeated(name="repeated-dotnet-test", twice=("dotnet test", "dotnet test")),
    Repeated(name="repeated-mvn-verify", twice=("mvn verify", "mvn verify")),
    Repeated(
        name="repeated-bundle-exec-rspec",
        twice=("bundle exec rspec spec/a_spec.rb", "bundle exec rspec spec/b_spec.rb"),
    ),
    Repeated(name="repeated-make-deploy", twice=("make deploy ENV=a", "make deploy ENV=b")),
    Repeated(name="repeated-scp", twice=("scp a web1:/srv/", "scp b web2:/srv/")),
)
# Six calls that count, so that the session is long enough; none of them twice, one of them failed, so that
# there is no row.
BESIDE = ("mkdir -p out", "!touch x # touch: x: Permission denied", "mkdir -p logs", "chmod +x run.sh")


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """What the agent ran, how the user corrected it, and what worked."""

    name: str
    wrong: str
    said: str
    right: str


CORRECTED = (
    Corrected(
        name="user-correction-build",
        wrong="npm run build",
        said="no, use npm run build:prod instead",
        right="npm run build:prod",
    ),
    Corrected(
        name="user-correction-pnpm",
        wrong="npm install",
        said="no, this project uses pnpm: use pnpm install instead",
        right="pnpm install",
    ),
    Corrected(
        name="user-correction-upgrade",
        wrong="helm install api charts/api",
        said="That's wrong, use helm upgrade --install api charts/api",
        right="helm upgrade --install api charts/api",
    ),
    Corrected(
        name="user-correction-docker",
        wrong="docker-compose up -d",
        said="actually, try docker compose up -d",
        right="docker compose up -d",
    ),
    Corrected(
        name="user-correction-uv",
        wrong="pip install -e .",
        said="Nein, nimm stattdessen uv sync",
        right="uv sync",
    ),
    Corrected(
        name="user-correction-workspace",
        wrong="cargo test",
        said="not what I wanted, run cargo test --workspace",
        right="cargo test --workspace",
    ),
    Corrected(
        name="user-correction-k8s",
        wrong="kubectl apply -f k8s/prod",
        said="wrong folder, use kubectl apply -f k8s/staging",
        right="kubectl apply -f k8s/staging",
    ),
)

# Sessions of which nobody needs a skill: what speaks against each is in its commands.
NOTHING = (
    ("!npm test # 1 failed, 12 passed", "npm test"),
    ("!npm test # Tests: 2 failed, 3 passed", "npm install", "npm test"),
    ("!go test ./... # --- FAIL: TestA (0.00s)", "go test ./... -v", "go test ./..."),
    ("!go test ./pkg -v # --- FAIL: TestA (0.00s)", "go test ./pkg"),
    ("!cargo build # error[E0308]: mismatched types", "cargo add serde", "cargo build"),
    ("!make lint # Found 3 errors.", "make lint"),
    ("git checkout -b fix", "git add a.py", "git commit -m fix", "git stash pop"),
    ("mkdir -p out", "cp a.txt out/", "mv out/a.txt out/b.txt", "rm -rf out"),
    ("python3 /tmp/a.py", "python3 /tmp/b.py", "node /tmp/c.js", "python3 /tmp/a.py"),
    ("cat > a.py <<'EOF'\nx = 1\nEOF", "sed -i s/1/2/ a.py", "python3 - <<'EOF'\nprint(1)\nEOF", "ls"),
    ("kubectl get pods", "docker ps", "terraform show", "flyctl status", "acme trail show 7"),
    ("!docker build . # failed to solve", "ls"),
    ("!acme sync --bogus # Error: unknown flag: --bogus", "acme version"),
    ("!git add a.py # fatal: Unable to create index.lock: File exists.", "git add b.py"),
    ("git push", "git push", "git push", "git push", "git push", "git push"),
)
