"""The programs of the system that the tests start: PostgreSQL's and a browser.

`python -m tests.system_programs` prints the packages that are missing. It needs nothing that has to be
installed, so that `scripts/setup.sh` can install packages and requirements at once.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Where `scripts/setup.sh` puts the agents that the tests connect.
AGENT_PROGRAMS = Path(sys.prefix) / "agents" / "node_modules" / ".bin"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class ProgramMissing(Exception):
    """The text says what to run to have it."""

    def __init__(self, package: str) -> None:
        line = f"sudo apt-get update && sudo apt-get install --yes {package}"
        super().__init__(f"the tests start {package}, and there is none here. Run:  {line}")
        self.package = package


@cache
def find_postgres() -> Path:
    """The folder with `initdb` and `postgres`: what PATH names first, then the newest installed."""
    for folder in _postgres_folders():
        if all(os.access(folder / program, os.X_OK) for program in ("initdb", "postgres")):
            return folder
    raise ProgramMissing("postgresql")


@cache
def find_browser() -> str:
    """The first browser on PATH."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise ProgramMissing("chromium")


def find_missing() -> Iterator[str]:
    """The packages without which the tests cannot run."""
    for find in (find_postgres, find_browser):
        try:
            find()
        except ProgramMissing as missing:
            yield missing.package


def _postgres_folders() -> Iterator[Path]:
    for program in ("initdb", "postgres"):
        if found := shutil.which(program):
            yield Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda folder: _version(folder.parent.name), reverse=True)
    if pg_config := shutil.which("pg_config"):
        told = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(told.stdout.strip())


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())


if __name__ == "__main__":
    print(*find_missing())
