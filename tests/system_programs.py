"""The programs of the system that the tests start: PostgreSQL's, a browser, and strace.

`python -m tests.system_programs` prints the packages that are missing. It needs nothing that has to be
installed, so that `scripts/setup.sh` can install packages and requirements at once.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Where `scripts/setup.sh` puts the agents that the tests connect.
AGENT_PROGRAMS = Path(sys.prefix) / "agents" / "node_modules" / ".bin"
CAP_SYS_ADMIN = 21
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


@cache
def find_strace() -> str:
    """What follows a process from one call of the system to the next."""
    if path := shutil.which("strace"):
        return path
    raise ProgramMissing("strace")


@cache
def can_mount_images() -> bool:
    """Whether a file system in a file can be made and mounted here."""
    effective = re.search(r"^CapEff:\s*(\w+)", _status(), re.MULTILINE)
    may_mount = effective is not None and int(effective[1], 16) >> CAP_SYS_ADMIN & 1
    return bool(may_mount and os.access("/dev/loop-control", os.W_OK) and shutil.which("mkfs.ext4"))


def find_missing() -> Iterator[str]:
    """The packages without which the tests cannot run."""
    for find in (find_postgres, find_browser, find_strace):
        try:
            find()
        except ProgramMissing as missing:
            yield missing.package


def _status() -> str:
    """What the kernel says of this process; nothing where it is not Linux."""
    try:
        return Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return ""


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
