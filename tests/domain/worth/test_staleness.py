"""What a text names of a repository, and what is told when that is there no longer."""

import pytest

from runlore.domain.worth.staleness import (
    Anchor,
    AnchorKind,
    cut_version,
    find_anchors,
    find_gone,
    find_seen,
    find_tasks,
    find_versions,
    has_flag,
    tell_gone,
)

pytestmark = pytest.mark.req("VAL-5")

PATH, TASK, FLAG, VERSION = AnchorKind.PATH, AnchorKind.TASK, AnchorKind.FLAG, AnchorKind.VERSION
NAMED: tuple[tuple[str, list[tuple[AnchorKind, str, str]]], ...] = (
    ("The API is documented in docs/api.md.", [(PATH, "docs/api.md", "")]),
    (
        "Run `./scripts/deploy.sh --dry-run` first",
        [(PATH, "scripts/deploy.sh", ""), (FLAG, "--dry-run", "scripts/deploy.sh")],
    ),
    (
        "Use `make check` before each commit, and make sure it is green",
        [(TASK, "make check", ""), (TASK, "make sure", "")],
    ),
    ("We build with pnpm run build:all.", [(TASK, "pnpm run build:all", "")]),
    ("We are on React 18 and Python 3.11.", [(VERSION, "18", "react"), (VERSION, "3.11", "python")]),
    (
        "Pin @types/node@20, typing_extensions==4.9",
        [(VERSION, "20", "@types/node"), (VERSION, "4.9", "typing-extensions")],
    ),
    (
        "Settings are in pyproject.toml and the Makefile",
        [(PATH, "pyproject.toml", ""), (PATH, "Makefile", "")],
    ),
    (
        "Travis is told in .travis.yml, pip in etc/pip.conf, eslint in .eslintrc; see NEWS.rst",
        [
            (PATH, ".travis.yml", ""),
            (PATH, "etc/pip.conf", ""),
            (PATH, ".eslintrc", ""),
            (PATH, "NEWS.rst", ""),
        ],
    ),
    ("See https://docs.example/api.md, /etc/hosts, ~/notes.md and ../other/file.py", []),
    ("We deploy on Fridays", []),
)
FILES = (
    ("uv.lock", '[[package]]\nname = "Pydantic_core"\nversion = "2.1.0"\n', ("pydantic-core", "2.1.0")),
    ("package-lock.json", '{"packages": {"node_modules/@x/y": {\n  "version": "3.0.1"', ("@x/y", "3.0.1")),
    ("yarn.lock", '"react@^18.0.0":\n  version "18.2.0"\n', ("react", "18.2.0")),
    ("pnpm-lock.yaml", "packages:\n  '@x/y@3.0.1':\n    resolution: x\n", ("@x/y", "3.0.1")),
    ("go.mod", "module m\n\nrequire (\n\tgithub.com/a/b v1.4.2\n)\n", ("github.com/a/b", "1.4.2")),
    ("requirements.txt", "httpx[http2]==0.27.0\n", ("httpx", "0.27.0")),
    ("requirements/ci.txt", "# pins\ncython==0.27.3  # compiled\n", ("cython", "0.27.3")),
    ("pyproject.toml", '[project]\nrequires-python = ">=3.11"\n', ("python", "3.11")),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.8"\n', ("python", "3.8")),
    ("setup.py", "setup(\n    python_requires='>=3.5.3',\n", ("python", "3.5.3")),
    ("package.json", '{"devDependencies": {"eslint": "^4.18.2"}}', ("eslint", "4.18.2")),
    (".tool-versions", "nodejs 20.1.0\n", ("nodejs", "20.1.0")),
    (".python-version", "3.11.7\n", ("python", "3.11.7")),
)  # fmt: skip


def test_a_text_names_files_tasks_flags_and_versions_and_nothing_outside() -> None:
    for text, named in NAMED:
        assert [(each.kind, each.name, each.of) for each in find_anchors(text)] == named, text


def test_versions_are_read_from_what_fixes_them() -> None:
    for file, text, found in FILES:
        assert found in tuple(find_versions(file, text)), file
    assert cut_version("3.11.7", "3.12") == "3.11"
    assert cut_version("18.2.0", "18") == "18"


def test_a_flag_is_a_word_of_its_own() -> None:
    assert has_flag("  --dry-run) shift ;;", "--dry-run")
    assert not has_flag("  --dry-run-all) shift ;;", "--dry-run")
    assert not has_flag("  x--dry-run", "--dry-run")


def test_tasks_are_those_of_task_files() -> None:
    assert {"make check", "make test"} <= find_tasks("Makefile", "check: lint\n\ttrue\ntest:\n\ttrue\n")
    assert "npm run build" in find_tasks("package.json", '{"scripts": {"build": "tsc"}}')
    assert find_tasks("notes.md", "check:\n") == frozenset()


def test_only_what_was_seen_can_be_gone() -> None:
    anchors = find_anchors("`make check` runs tools/look.sh --fast and and/or on React 18")
    here = {"make check": "make check", "tools/look.sh": "tools/look.sh", "--fast": "--fast", "18": "18"}

    def look(anchor: Anchor) -> str | None:
        return here.get(anchor.name)

    seen = find_seen(anchors, look)
    assert len(seen) == 4
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
