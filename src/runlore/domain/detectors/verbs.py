"""What a command does (SKL-4): test, build, install, push, migrate, lint and so on.

The verb comes from the words that name what is done: a subcommand, the target of a task runner, a script's
name; and else from the program, where that does one thing only.
"""

import re
from collections.abc import Iterator, Mapping

from runlore.domain.shell import CommandParts
from runlore.domain.text.word_tables import words

# The words that name what is done, each under the verb that is told for it.
VERB_WORDS: Mapping[str, str] = {
    "test": "test tests pytest unittest spec check-test testacc itest e2e integration nextest coverage"
    " cov retest",
    "build": "build compile bundle dist package pack assemble rebuild wheel",
    "install": "install ci add get require sync bootstrap reinstall i",
    "remove": "uninstall remove rm rmi delete purge prune clean clear down destroy drop autoremove",
    "update": "update upgrade bump outdated tidy lock",
    "lint": "lint vet clippy check stylecheck analyze analyse linters golangci-lint shellcheck",
    "format": "format fmt fix prettier lint-fix black gofmt",
    "typecheck": "typecheck type-check types mypy pyright tsc",
    "run": "run start serve dev up exec preview watch server shell",
    "stop": "stop kill halt",
    "restart": "restart reload rollout",
    "deploy": "deploy apply ship promote",
    "release": "release publish tag version",
    "push": "push upload",
    "pull": "pull fetch download",
    "clone": "clone checkout-repo",
    "commit": "commit amend",
    "stage": "stage",
    "merge": "merge rebase cherry-pick",
    "branch": "checkout switch branch worktree",
    "revert": "revert reset restore stash rollback undo",
    "migrate": "migrate migration migrations makemigrations upgrade-db db-migrate",
    "seed": "seed fixtures loaddata",
    "generate": "generate gen codegen protoc docs doc stubs",
    "create": "create init new startproject startapp scaffold mk",
    "configure": "configure config set setup login auth use link",
    "benchmark": "bench benchmark perf profile",
    "scan": "audit scan",
    "plan": "plan validate preview-plan",
    "bisect": "bisect",
}
# Where a word means something of its own behind one program.
VERBS_BEHIND: Mapping[str, str] = {
    "git add": "stage",
    "git mv": "move",
    "git rm": "remove",
    "git tag": "release",
    "git am": "merge",
    "git apply": "merge",
    "docker tag": "tag",
    "docker cp": "copy",
    "alembic upgrade": "migrate",
    "alembic downgrade": "migrate",
    "alembic revision": "create",
    "flask db": "migrate",
    "go mod": "update",
    "go tool": "run",
    "kubectl delete": "remove",
    # It waits until what was rolled out runs, and fails where it does not.
    "kubectl rollout status": "verify",
    "kubectl scale": "deploy",
    "helm upgrade": "deploy",
    "helm install": "deploy",
    "terraform init": "install",
    "pre-commit run": "lint",
    "pre-commit install": "configure",
    "rustup update": "update",
    "npm version": "release",
    "gh release": "release",
    "gh pr create": "propose",
    "gh pr checkout": "branch",
    "gh issue create": "report",
}
# What a program does that does one thing only.
VERB_PROGRAMS: Mapping[str, str] = {
    "test": "pytest py.test jest vitest mocha ava tap nose2 tox nox rspec phpunit bats ctest playwright"
    " cypress karma"
    " gotestsum unittest behave",
    "build": "make cmake ninja meson gcc g++ clang cc rustc javac webpack rollup esbuild vite tsup swc"
    " bazel ant"
    " gradle gradlew mvn mvnw xcodebuild goreleaser pyinstaller hugo mkdocs sphinx-build latexmk pdflatex",
    "lint": "ansible-lint eslint ruff flake8 pylint golangci-lint shellcheck clippy stylelint rubocop"
    " hadolint yamllint"
    " markdownlint staticcheck biome pre-commit bandit actionlint",
    "format": "prettier black isort gofmt goimports gofumpt rustfmt clang-format shfmt autopep8 yapf",
    "typecheck": "mypy pyright tsc pyre pytype",
    "run": "uvicorn gunicorn flask node deno python ruby php java nodemon ts-node tsx streamlit celery",
    "migrate": "alembic flyway liquibase goose dbmate migrate",
    "install": "ansible-galaxy",
    "query": "psql mysql sqlite3 redis-cli mongosh mongo duckdb clickhouse-client",
    "request": "curl http https httpie xh grpcurl",
    "download": "wget aria2c",
    "copy": "rsync scp cp",
    "move": "mv",
    "remove": "rm rmdir unlink dropdb dropuser",
    "create": "mkdir touch ln createdb createuser initdb venv virtualenv",
    "change": "chmod chown",
    "connect": "ssh telnet nc",
    "convert": "ffmpeg convert magick pandoc",
    "deploy": "ansible-playbook vercel netlify flyctl fly wrangler serverless sls cap",
    "go": "cd pushd popd",
    "benchmark": "hyperfine ab wrk k6 locust",
    "debug": "gdb lldb dlv pdb strace ltrace perf valgrind",
}
# Programs whose first words name a task.
TASK_RUNNERS = words(
    """
    make gmake just task rake npm yarn pnpm bun nox tox invoke inv mage rails gulp grunt manage.py
    django-admin artisan mix gradle gradlew mvn mvnw bazel composer ninja turbo nx lerna deno mise
    """
)
_LETTERS_MAX = 80
_BETWEEN = re.compile(r"[^a-z0-9]+")


def _invert(table: Mapping[str, str]) -> Mapping[str, str]:
    return {word: verb for verb, words in table.items() for word in words.split()}


_BY_WORD = _invert(VERB_WORDS)
_BY_PROGRAM = _invert(VERB_PROGRAMS)


def verb_of(parts: CommandParts) -> str:
    """What a command does, in one word; empty where no table tells it."""
    if parts.program == "tar":
        return _archive_verb(parts)
    for count in (2, 1):
        if verb := VERBS_BEHIND.get(" ".join((parts.program, *parts.subcommands[:count])), ""):
            return verb
    is_task = parts.program in TASK_RUNNERS
    for word in _naming(parts):
        if verb := _verb_in(word, is_name=is_task):
            return verb
    if verb := _BY_PROGRAM.get(parts.program.lower(), ""):
        return verb
    return _verb_in(parts.program.rpartition(".")[0] or parts.program, is_name=True)


def _naming(parts: CommandParts) -> Iterator[str]:
    yield from (word for word in parts.subcommands if word != "run" or len(parts.subcommands) == 1)
    if parts.program in TASK_RUNNERS or parts.subcommands[:1] == ("run",):
        yield from (word for word in parts.plain[:2] if "/" not in word)
    if parts.program == "python" and parts.plain[:1] and parts.plain[0].endswith("manage.py"):
        yield from parts.plain[1:2]
    if "run" in parts.subcommands:
        yield "run"


def _verb_in(word: str, *, is_name: bool) -> str:
    """The verb of a word. A name that somebody gave to a task or a script may have it as a part."""
    word = word[:_LETTERS_MAX].lower()
    if word in _BY_WORD or not is_name:
        return _BY_WORD.get(word, "")
    return next((_BY_WORD[each] for each in _BETWEEN.split(word) if each in _BY_WORD), "")


def _archive_verb(parts: CommandParts) -> str:
    for flag, verb in (("-x", "extract"), ("-c", "archive"), ("-t", "list")):
        if flag in parts.flags:
            return verb
    return "extract" if "--extract" in parts.flags else "archive"
