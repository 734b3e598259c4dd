"""What a value is called: by the flag before it, by its place, by what it looks like."""

import re
from collections.abc import Sequence

from runlore.domain.detectors.mined import StepCommand

NAME_CHARS_MAX = 24
ANY_VALUE = "value"

_BY_FLAG = {
    "-m": "message", "--message": "message", "-b": "branch", "--branch": "branch", "-k": "expression",
    "-f": "file", "--file": "file", "-o": "output", "--output": "output", "--name": "name",
    "-n": "number", "-p": "port", "--port": "port", "-t": "tag", "--tag": "tag", "-r": "file",
    "-C": "folder", "--cwd": "folder", "--prefix": "folder", "-H": "header", "-d": "data", "--data": "data",
    "-u": "user", "-e": "setting", "--env": "setting", "-v": "volume", "--filter": "package",
    "-w": "workspace", "--workspace": "workspace", "-X": "method", "-run": "test", "--run": "test",
    "-c": "code", "--title": "title", "--body": "body",
}  # fmt: skip
_BY_FLAG_OF = {
    ("kubectl", "-n"): "namespace", ("helm", "-n"): "namespace", ("docker", "-t"): "image",
    ("podman", "-t"): "image", ("cargo", "-p"): "package", ("docker", "-p"): "port", ("psql", "-c"): "query",
    ("mysql", "-e"): "query", ("sqlite3", "-cmd"): "query", ("pytest", "-m"): "marker",
    ("npm", "-w"): "workspace", ("head", "-n"): "lines", ("tail", "-n"): "lines", ("psql", "-d"): "database",
    ("psql", "-h"): "host", ("git", "-C"): "folder", ("ssh", "-p"): "port",
}  # fmt: skip
_INSTALLING = frozenset({"install", "add", "remove", "uninstall", "i", "get", "upgrade", "update"})
_PACKAGERS = frozenset(
    ("pip", "uv", "pipx", "poetry", "pdm", "conda", "npm", "pnpm", "yarn", "bun", "apt", "apt-get", "brew",
     "apk", "dnf", "yum", "pacman", "cargo", "gem", "go")
)  # fmt: skip
_BRANCHING = frozenset({"checkout", "switch", "push", "pull", "merge", "rebase", "branch", "fetch"})
_IMAGING = frozenset({"pull", "push", "run", "tag", "rmi", "save", "inspect"})
_CONTAINING = frozenset({"exec", "logs", "stop", "start", "restart", "rm", "kill", "attach"})
_ENVIRONMENTS = frozenset(
    ("prod", "production", "staging", "stage", "dev", "develop", "development", "test", "testing", "qa",
     "uat", "preprod", "preview", "sandbox", "demo", "live", "local", "int", "integration", "canary", "beta")
)  # fmt: skip
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://|^[\w.-]+@[\w.-]+:", re.IGNORECASE)
_VERSION = re.compile(r"^v?\d+(?:\.\d+)+(?:[-+.][\w.]+)?$")
_NUMBER = re.compile(r"^[-+]?\d+(?:\.\d+)?$")
_PATH = re.compile(r"[/\\]|^\.{1,2}$|\.[A-Za-z][A-Za-z0-9]{0,5}$")
_WORD = re.compile(r"[a-z0-9]+")


def name_of_value(command: StepCommand, value: str, *, flag: str = "", place: int = 0) -> str:
    """A parameter's name: lower-case words with hyphens."""
    words = command.form.split()
    program, subcommand = (*words[:2], "", "")[:2]
    if flag:
        known = _BY_FLAG_OF.get((program, flag)) or _BY_FLAG.get(flag)
        if known:
            return known
        if len(flag) > 2 and (slug := "-".join(_WORD.findall(flag.lower()))[:NAME_CHARS_MAX].strip("-")):
            return slug
    return _by_look_first(value) or _by_place(program, subcommand, value, place) or _by_look(value)


def name_of_look(values: Sequence[str]) -> str:
    """What values are called that stand in others: by what they look like alone."""
    if all(value.lower() in _ENVIRONMENTS for value in values):
        return "env"
    names = {_by_look_first(value) or _by_look(value) for value in values}
    return names.pop() if len(names) == 1 else ANY_VALUE


def name_of_setting(variable: str) -> str:
    """What the value of a setting before a command is called: as its variable. Empty for a flag."""
    if not variable or variable.startswith("-"):
        return ""
    return "-".join(_WORD.findall(variable.lower()))[:NAME_CHARS_MAX].strip("-")


def _by_look_first(value: str) -> str:
    return "url" if _URL.match(value) else "version" if _VERSION.match(value) else ""


def _by_place(program: str, subcommand: str, value: str, place: int) -> str:
    if program in _PACKAGERS and subcommand in _INSTALLING:
        return "path" if value.startswith((".", "/")) else "package"
    if program == "git" and subcommand in _BRANCHING:
        return "remote" if value in ("origin", "upstream") else "branch"
    if program in ("docker", "podman"):
        return "image" if subcommand in _IMAGING else "container" if subcommand in _CONTAINING else ""
    if program == "cd":
        return "folder"
    if program == "kubectl":
        return "resource" if place else ""
    return "workspace" if program in ("terraform", "tofu") and subcommand == "workspace" else ""


def _by_look(value: str) -> str:
    if _NUMBER.match(value):
        return "number"
    if " " in value or "\n" in value:
        return "text"
    return "path" if _PATH.search(value) else ANY_VALUE
