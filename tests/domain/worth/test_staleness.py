"""What a text names of a repository, and what is told when that is there no longer."""

from time import process_time

import pytest

from runlore.domain.worth.staleness import (
    ANCHORS_MAX,
    Anchor,
    AnchorKind,
    cut_version,
    find_anchors,
    find_gone,
    find_seen,
    find_tasks,
    find_versions,
    has_flag,
    has_symbol,
    look_at_version,
    tell_gone,
)

pytestmark = pytest.mark.req("VAL-5")

PATH, TASK, FLAG, SYMBOL, VERSION = (
    AnchorKind.PATH,
    AnchorKind.TASK,
    AnchorKind.FLAG,
    AnchorKind.SYMBOL,
    AnchorKind.VERSION,
)
NAMED: tuple[tuple[str, list[tuple[AnchorKind, str, str]]], ...] = (
    ("The API is documented in docs/api.md.", [(PATH, "docs/api.md", "")]),
    ("Unit tests are in tests/", [(PATH, "tests", "")]),
    (
        "Run `./scripts/deploy.sh --dry-run` first",
        [(PATH, "scripts/deploy.sh", ""), (FLAG, "--dry-run", "scripts/deploy.sh")],
    ),
    (
        "Use `make check` before each commit, and make sure it is green",
        [(TASK, "make check", ""), (TASK, "make sure", "")],
    ),
    ("We build with pnpm run build:all.", [(TASK, "pnpm run build:all", "")]),
    ("Pages: `make html` in docs/", [(TASK, "make html", ""), (TASK, "make html", "docs")]),
    ("Pages: `make -C docs html`", [(TASK, "make html", "docs")]),
    ("Run tox -e lint, then nox -s docs", [(TASK, "tox lint", ""), (TASK, "nox docs", "")]),
    ("We are on React 18 and Python 3.11.", [(VERSION, "18", "react"), (VERSION, "3.11", "python")]),
    (
        "Pin @types/node@20, typing_extensions==4.9, tornado>=4 and less ~2",
        [
            (VERSION, "20", "@types/node"),
            (VERSION, "4.9", "typing-extensions"),
            (VERSION, ">=4", "tornado"),
            (VERSION, ">=2", "less"),
        ],
    ),
    ("pytest is pinned to 3.4.1", [(VERSION, "3.4", "pytest")]),
    ("billiard must stay below 3.6", [(VERSION, "<3.6", "billiard")]),
    (
        "kombu 4.2 or newer is needed, at least attrs 20",
        [(VERSION, ">=4.2", "kombu"), (VERSION, ">=20", "attrs")],
    ),
    ("We support Python 2.7 and 3.4", [(VERSION, "~2.7", "python"), (VERSION, "~3.4", "python")]),
    ("Coverage comes from pytest-cov", [(VERSION, "", "pytest-cov")]),
    (
        "Settings are in pyproject.toml and the Makefile, see the NOTES and the Changelog file",
        [(PATH, "pyproject.toml", ""), (PATH, "Makefile", ""), (PATH, "NOTES", ""), (PATH, "Changelog", "")],
    ),
    (
        "Travis is told in .travis.yml, pip in etc/pip.conf, eslint in .eslintrc; see NEWS.rst",
        [
            (PATH, ".travis.yml", ""),
            (PATH, "etc/pip.conf", ""),
            (PATH, ".eslintrc", ""),
            (PATH, "NEWS.rst", ""),
            (PATH, "NEWS.rst", "*"),
        ],
    ),
    ("Pages (tree.html) are under site/pages", [(PATH, "site/pages/tree.html", "")]),
    ("Run python -m acme.tools.check", [(PATH, "acme.tools.check", "")]),
    (
        "`TaskRegistry` and load_all are in acme/tasks.py",
        [(SYMBOL, "TaskRegistry", "acme/tasks.py"), (SYMBOL, "load_all", "acme/tasks.py")],
    ),
    ("flake8's lines are set in setup.cfg", [(SYMBOL, "flake8", "setup.cfg")]),
)
NOTHING = (
    "See https://docs.example/api.md, /etc/hosts, ~/notes.md and ../other/file.py",
    "We deploy on Fridays",
    "Less than 100% is a failure",
    "Call acme.tools.check() first",
)
FILES = (
    ("uv.lock", '[[package]]\nname = "Pydantic_core"\nversion = "2.1.0"\n', ("pydantic-core", "", "2.1.0")),
    ("package-lock.json", '{"packages": {"node_modules/@x/y": {\n "version": "3.0.1"', ("@x/y", "", "3.0.1")),
    ("yarn.lock", '"react@^18.0.0":\n  version "18.2.0"\n', ("react", "", "18.2.0")),
    ("pnpm-lock.yaml", "packages:\n  '@x/y@3.0.1':\n    resolution: x\n", ("@x/y", "", "3.0.1")),
    ("go.mod", "module m\n\nrequire (\n\tgithub.com/a/b v1.4.2\n)\n", ("github.com/a/b", "", "1.4.2")),
    ("requirements.txt", "httpx[http2]==0.27.0\n", ("httpx", "", "0.27.0")),
    ("requirements/ci.txt", "# pins\ncython==0.27.3  # compiled\n", ("cython", "", "0.27.3")),
    ("requirements/ci.txt", "pytest>=3.0,<3.3\n", ("pytest", "<", "3.3")),
    ("requirements/ci.txt", "pytest-cov\n", ("pytest-cov", "", "")),
    ("pyproject.toml", '[project]\nrequires-python = ">=3.11"\n', ("python", ">=", "3.11")),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.8"\n', ("python", ">=", "3.8")),
    ("pyproject.toml", 'dependencies = [\n  "kombu>=4.2,<5",\n]\n', ("kombu", ">=", "4.2")),
    ("setup.py", "setup(\n    python_requires='>=3.5.3',\n", ("python", ">=", "3.5.3")),
    ("setup.py", "    'Programming Language :: Python :: 2.7',\n", ("python", "~", "2.7")),
    ("setup.cfg", "install_requires =\n    pytz >= 2016.7\n", ("pytz", ">=", "2016.7")),
    ("package.json", '{"devDependencies": {"eslint": "^4.18.2"}}', ("eslint", ">=", "4.18.2")),
    ("bower.json", '{"dependencies": {\n  "jquery": "components/jquery#~2.2"\n}}', ("jquery", ">=", "2.2")),
    (".tool-versions", "nodejs 20.1.0\n", ("nodejs", "", "20.1.0")),
    (".python-version", "3.11.7\n", ("python", "", "3.11.7")),
)  # fmt: skip
HELD: tuple[tuple[str, set[tuple[str, str]], str | None], ...] = (
    ("2.2", {(">=", "2.2.1"), ("", "4.0")}, "2.2"),
    ("2.2", {(">=", "2.9"), ("", "2.10.1")}, "2.10"),
    ("2.2", {("!", "2.2.0"), ("<", "2.2"), ("~", "2.2")}, None),
    ("<3.3", {(">=", "3.0"), ("<", "3.3")}, "<3.3"),
    ("<3.3", {("", "3.2.9")}, "<3.3"),
    ("<3.3", {("", "3.4.0")}, "3.4"),
    (">=4.2", {(">=", "4.2.0")}, ">=4.2"),
    (">=4.2", {(">=", "4.6")}, None),
    (">=4.2", {("", "5.1")}, ">=4.2"),
    ("~2.7", {("~", "2.7"), (">=", "3.6")}, "~2.7"),
    ("~2.7", {("~", "3.6"), ("~", "3.11")}, "3.11"),
    ("", {("", "")}, ""),
    ("", set(), None),
)


def test_a_text_names_files_tasks_flags_names_and_versions_and_nothing_outside() -> None:
    for text, named in NAMED:
        found = {(each.kind, each.name, each.of) for each in find_anchors(text)}
        assert set(named) <= found, text
    for text in NOTHING:
        assert find_anchors(text) == (), text


def test_a_long_or_hostile_text_names_a_bounded_number_of_things_at_once() -> None:
    for text in (
        "1" * 60_000,
        "a/b " * 15_000,
        "x 1 " * 15_000,
        "below " * 10_000 + "3.3",
        "tests/a.cfg word " * 4_000,
    ):
        began = process_time()
        assert len(find_anchors(text)) <= ANCHORS_MAX
        assert process_time() - began < 1, text[:20]


def test_versions_are_read_from_what_fixes_them() -> None:
    for file, text, found in FILES:
        assert found in tuple(find_versions(file, text)), (file, text)
    assert cut_version("3.11.7", "3.12") == "3.11"
    assert cut_version("18.2.0", "18") == "18"


def test_a_version_holds_as_it_is_said() -> None:
    for name, found, seen in HELD:
        anchor = Anchor(kind=VERSION, name=name, of="acme")
        told = look_at_version(anchor, found)
        assert told == seen or (seen is None and told != name), (name, found)


def test_a_name_is_there_as_long_as_something_defines_it() -> None:
    for text in (
        "class TaskRegistry(dict):",
        "export const TaskRegistry = 1",
        "  TaskRegistry: 3",
        "[tool.TaskRegistry]",
        "TaskRegistry==1.3",
    ):
        assert has_symbol(f"# first\n{text}\n", "TaskRegistry"), text
    for text in ("# see TaskRegistry", "from x import TaskRegistry2", "a TaskRegistry is"):
        assert not has_symbol(text, "TaskRegistry"), text


def test_a_flag_is_a_word_of_its_own() -> None:
    assert has_flag("  --dry-run) shift ;;", "--dry-run")
    assert not has_flag("  --dry-run-all) shift ;;", "--dry-run")
    assert not has_flag("  x--dry-run", "--dry-run")


def test_tasks_are_those_of_task_files() -> None:
    assert {"make check", "make test"} <= find_tasks("Makefile", "check: lint\n\ttrue\ntest:\n\ttrue\n")
    assert find_tasks("tox.ini", "[testenv:lint]\n") == {"tox lint"}
    assert find_tasks("noxfile.py", "@nox.session\ndef docs(session):\n") == {"nox docs"}
    assert "npm run build" in find_tasks("package.json", '{"scripts": {"build": "tsc"}}')
    assert find_tasks("notes.md", "check:\n") == frozenset()


def test_only_what_was_seen_can_be_gone() -> None:
    anchors = find_anchors("`make check` runs tools/look.sh --fast and and/or on React 18")
    here = {"make check": "make check", "tools/look.sh": "tools/look.sh", "--fast": "--fast", "18": "18"}

    def look(anchor: Anchor) -> str | None:
        return here.get(anchor.name) if anchor.of in ("", "react") or anchor.kind is FLAG else None

    seen = find_seen(anchors, look)
    assert {each.name for each in anchors if each.key in seen} == set(here)
    assert tell_gone(find_gone(anchors, seen, look)) == ""
    del here["--fast"]
    here["18"] = "19"
    assert tell_gone(find_gone(anchors, seen, look)) == (
        "tools/look.sh no longer knows --fast; react is no longer at 18 but at 19"
    )
    # A file takes its flags along; a word that looked like a path never was one.
    here.clear()
    assert tell_gone(find_gone(anchors, seen, look)) == (
        "tools/look.sh is gone; make check is no longer a task; react is no longer at 18"
    )
    assert tell_gone(find_gone(anchors, (), look)) == ""
