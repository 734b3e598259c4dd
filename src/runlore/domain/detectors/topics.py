"""What a command is about (SKL-4): the first word of it that means something, as a name can hold it.

What only runs another command is seen through: `sudo`, `env` and `FOO=1` where the shell is read, then
`uv run`, `npx`, `python -m`, `bash script.sh` by the table here.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from runlore.domain.shell import CommandParts, ShellCommand, parts_of
from runlore.domain.shell.wrappers import SHELLS

TOPIC_CHARS_MAX = 40
# What a command is about of which nothing else can be told.
NAMELESS = "command"
SEEN_THROUGH_MAX = 4

# Programs that run another one, by the words behind which it stands; no word where it follows at once.
RUNNERS: Mapping[str, tuple[str, ...]] = {
    "npx": ("",),
    "bunx": ("",),
    "uvx": ("",),
    "pipx": ("run",),
    "uv": ("run", "tool run"),
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "bundle": ("exec",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "npm": ("exec",),
    "bun": ("x",),
    "mise": ("exec", "x"),
    "conda": ("run",),
    "mamba": ("run",),
    "dotenv": ("run",),
    "direnv": ("exec",),
    "doppler": ("run",),
    "op": ("run",),
    "corepack": ("",),
}
# Programs that run a framework's console, by its name: `php artisan migrate` is what `artisan migrate` is.
_CONSOLES = {
    "php": re.compile(r"(?:^|/)(?:artisan|console|wp)$"),
    "ruby": re.compile(r"(?:^|/)(?:rails|rake)$"),
}
_MODULES = frozenset({"python", "pypy"})
_NOT_NAME = re.compile(r"[^a-z0-9]+")
_EXTENSION = re.compile(r"\.(?:sh|bash|zsh|fish|py|js|mjs|cjs|ts|rb|pl|php|lua|ps1|bat|cmd|exe|jar)$")


def essential(parts: CommandParts, arguments: tuple[str, ...]) -> tuple[CommandParts, tuple[str, ...]]:
    """The parts and the arguments of the command that does the work: what `uv run`, `npx` and so on run."""
    for _ in range(SEEN_THROUGH_MAX):
        words = _inner(parts, arguments)
        if not words:
            break
        arguments = tuple(words[1:])
        parts = parts_of(ShellCommand(program=words[0], arguments=arguments))
    return parts, arguments


def topic_of(parts: CommandParts) -> str:
    """What a command is about: 1 to 40 characters of `a-z`, `0-9` and single hyphens, never empty."""
    name = parts.program
    if name in SHELLS and parts.plain:
        name = parts.plain[0].rstrip("/").rpartition("/")[2]
    return slug(_EXTENSION.sub("", name.lower())) or NAMELESS


def slug(text: str) -> str:
    """A text as a part of a name; empty where nothing of it can stand in one."""
    plain = text[: TOPIC_CHARS_MAX * 2]
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return _NOT_NAME.sub("-", plain.lower()).strip("-")[:TOPIC_CHARS_MAX].rstrip("-")


def _inner(parts: CommandParts, arguments: Sequence[str]) -> Sequence[str]:
    if parts.inner:
        # `mise exec go@1.22 -- go test` says first what it needs.
        is_needed = "@" in parts.inner[0] and "--" in parts.inner
        return parts.inner[parts.inner.index("--") + 1 :] if is_needed else parts.inner
    if parts.program in _MODULES:
        return arguments[arguments.index("-m") + 1 :] if "-m" in arguments[:-1] else ()
    if parts.program in _CONSOLES and arguments[:1] and _CONSOLES[parts.program].search(arguments[0]):
        return arguments
    for behind in RUNNERS.get(parts.program, ()):
        words = behind.split()
        if tuple(arguments[: len(words)]) == tuple(words):
            rest = list(arguments[len(words) :])
            if "--" in rest:
                rest = rest[rest.index("--") + 1 :]
            while rest and rest[0].startswith("-"):
                del rest[0]
            if rest:
                return rest
    return ()
