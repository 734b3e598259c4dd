"""What a command does, whatever its flags are, as commands of several sessions are compared."""

from collections.abc import Mapping
from functools import lru_cache

from runlore.domain.text.word_tables import words

EVERYDAY = frozenset(
    f"git {word}"
    for word in words(
        "add commit push pull fetch checkout switch branch merge rebase stash reset restore rm mv clean"
        " cherry-pick init config tag worktree clone"
    )
)
"""What every project does with every change: alone it is no procedure of any."""
RUNNING = words("python pypy node deno bun ruby perl php java lua bash sh zsh npx uvx tsx ts-node") | {
    "deno run",
    "bun run",
    "go run",
    "cargo run",
    "dotnet run",
    "swift run",
}
"""What runs a program of which the form says nothing: two of them may be anything."""
FORMS_CACHED_MAX = 8_192
DOING: Mapping[str, frozenset[str]] = {
    "cmake": frozenset({"--build", "--install", "-P", "-E"}),
    "tar": frozenset({"-x", "-c", "-t", "--extract", "--create", "--list"}),
    "dpkg": frozenset({"-i", "-r", "-P"}),
    "pacman": frozenset({"-S", "-R", "-U"}),
    "gpg": frozenset({"--sign", "--verify", "--encrypt", "--decrypt", "--import", "--export"}),
    "ansible-playbook": frozenset({"--check", "--syntax-check"}),
}
"""Flags that say what is done, and not how."""


@lru_cache(FORMS_CACHED_MAX)
def act_of(form: str) -> str:
    """What a form does, whatever its flags are: `go test -race` is a `go test`."""
    words = form.split()
    doing = DOING.get(words[0] if words else "", frozenset())
    return " ".join(word for word in words if not word.startswith("-") or word in doing)
