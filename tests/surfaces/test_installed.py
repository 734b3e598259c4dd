"""Wheel and sdist, installed into clean environments outside of the repository, the first minute there."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.release import build
from tests.architecture.test_release import EPOCH, copy_tree
from tests.surfaces.cli.first_minute import RULE, fill

pytestmark = pytest.mark.req("INT-8", "INT-5")

UV = Path(sysconfig.get_path("scripts")) / "uv"
KINDS = {"wheel": "*-any.whl", "sdist": "*.tar.gz"}
# So that nothing of this environment is taken for something of theirs.
OWN = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "RUNLORE_HOME")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # `make release` tries what it has made.
    if made := os.environ.get("DIST"):
        return Path(made)
    tree = copy_tree(tmp_path_factory.mktemp("tree"), touched_at=1e9)
    build(tree, tree / "dist", EPOCH)
    return tree / "dist"


def call(*words: str | Path, folder: Path, **more: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**kept, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.stdout[-2_000:], done.stderr[-2_000:])
    return done.stdout


def clean_environment(folder: Path) -> Path:
    call(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    return folder / "venv" / "bin"


def without_an_index(package: Path, folder: Path) -> Path:
    """Only the package itself is installed: what it needs is what this environment has, which is named in a
    file, so that the repository is not."""
    programs = clean_environment(folder)
    python = programs / "python"
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "needed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--quiet")
    call(python, "-m", "pip", "install", *offline, package, folder=folder)
    return programs / "runlore"


def by_pip(package: Path, folder: Path) -> Path:
    programs = clean_environment(folder)
    call(programs / "python", "-m", "pip", "install", "--quiet", package, folder=folder)
    return programs / "runlore"


def by_pipx(package: Path, folder: Path) -> Path:
    programs = clean_environment(folder)
    call(programs / "python", "-m", "pip", "install", "--quiet", "pipx", folder=folder)
    places = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    call(programs / "pipx", "install", package, folder=folder, **places)
    return folder / "bin" / "runlore"


def by_uv(package: Path, folder: Path) -> Path:
    places = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    call(UV, "tool", "install", "--python", sys.executable, package, folder=folder, **places)
    return folder / "bin" / "runlore"


def live_the_first_minute(program: Path, folder: Path) -> None:
    """What README begins with, and what needs files that are no modules: pages, prompts, migrations."""
    home = folder / "home"
    home.mkdir()
    fill(home)
    at = {"HOME": str(home), "RUNLORE_PORT": "0"}
    where = call(
        program.resolve().parent / "python", "-c", "import runlore; print(runlore.__file__)", folder=folder
    )
    assert Path(where.strip()).is_relative_to(folder)

    assert "Found" in call(program, "init", folder=folder, **at)
    taken = json.loads(call(program, "init", "--yes", "--json", folder=folder, **at))
    try:
        steps = {step["step"]: step["is"] for step in taken["steps"]}
        assert steps == {"learn": "done", "review": "waits", "save": "waits", "connect claude-code": "done"}
        assert RULE in call(program, "inbox", folder=folder, **at)
        call(program, "remember", "The port is 8080", "--scope", "workspace", "--yes", folder=folder, **at)
        assert "The port is 8080" in call(program, "search", "which port", folder=folder, **at)
        assert "Claude Code" in call(program, "status", folder=folder, **at)
        assert "http" in call(program, "console", "--json", folder=folder, **at)
        call(program, "disconnect", "claude-code", folder=folder, **at)
    finally:
        call(program, "down", folder=folder, **at)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_minute_without_an_index(built: Path, tmp_path: Path, kind: str) -> None:
    (package,) = built.glob(KINDS[kind])
    live_the_first_minute(without_an_index(package, tmp_path), tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("install", [by_pip, by_pipx, by_uv])
def test_the_first_minute_where_it_was_installed(
    built: Path, tmp_path: Path, install: Callable[[Path, Path], Path], kind: str
) -> None:
    (package,) = built.glob(KINDS[kind])
    program = install(package, tmp_path)
    mebibytes = sum(path.lstat().st_size for path in tmp_path.rglob("*") if not path.is_symlink()) // 1024**2
    print(f"{install.__name__}, {kind}: {mebibytes} MiB")
    live_the_first_minute(program, tmp_path)
