"""Reads the profiles that come with Runlore, and checks them whole: one with a mistake is no profile."""

import re
import tomllib
from functools import cache
from importlib import resources

from runlore.agents.tools.toolbox import TOOLS
from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits, AgentProfile
from runlore.domain.errors import Corrupt, NotFound

DEFAULT = "default"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_FIELDS = frozenset({"asks", "tools", "limits"})
# The most that each limit may be.
_MOST = {
    "turns_max": limits.AGENT_TURNS_MAX,
    "seconds_max": limits.AGENT_SECONDS_MAX,
    "turn_seconds_max": limits.AGENT_SECONDS_MAX,
    "call_seconds_max": limits.AGENT_SECONDS_MAX,
    "output_chars_max": limits.AGENT_OUTPUT_CHARS_MAX,
    "answer_seconds_max": limits.AGENT_SECONDS_MAX,
}
_COUNTED = frozenset({"turns_max", "output_chars_max"})


@cache
def load_profile(name: str = DEFAULT) -> AgentProfile:
    names = profile_names()
    if name not in names:
        raise NotFound(
            f"there is no agent profile {name[:80]!r}",
            code="profile.not-found",
            hint=f"there are: {', '.join(names)}",
        )
    folder = resources.files(__package__)
    table = folder.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    words = folder.joinpath(f"{name}.md").read_text(encoding="utf-8")
    return profile_of(name, table, words)


@cache
def profile_names() -> tuple[str, ...]:
    files = (entry.name for entry in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def profile_of(name: str, table: str, words: str) -> AgentProfile:
    """A profile out of its two files; Corrupt (`profile.format`) says what is wrong."""
    if not _NAME.fullmatch(name):
        raise _wrong(name, "has a name that is none")
    try:
        told = tomllib.loads(table)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(name, f"is not TOML: {error}") from None
    if told.keys() != _FIELDS:
        raise _wrong(name, f"does not have exactly the fields {', '.join(sorted(_FIELDS))}")
    if not isinstance(told["asks"], bool):
        raise _wrong(name, "says neither true nor false for asks")
    if not words.strip():
        raise _wrong(name, "has no words")
    return AgentProfile(
        name=name,
        instructions=words.strip(),
        tools=_tools(name, told["tools"]),
        limits=_limits(name, told["limits"]),
        asks=told["asks"],
    )


def _tools(profile: str, told: object) -> tuple[str, ...]:
    names = told if isinstance(told, list) else []
    if not names or len(set(map(str, names))) < len(names):
        raise _wrong(profile, "names no tools, or one twice")
    for each in names:
        if each not in TOOLS:
            raise _wrong(profile, f"names the tool {each!r:.80}, which is not there")
    return tuple(names)


def _limits(profile: str, told: object) -> AgentLimits:
    table = told if isinstance(told, dict) else {}
    if table.keys() != _MOST.keys():
        raise _wrong(profile, f"does not have exactly the limits {', '.join(_MOST)}")
    for name, value in table.items():
        kinds = (int,) if name in _COUNTED else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= _MOST[name]:
            raise _wrong(profile, f"has a {name} that is no number from 1 to {_MOST[name]}")
    return AgentLimits(
        turns_max=table["turns_max"],
        seconds_max=float(table["seconds_max"]),
        turn_seconds_max=float(table["turn_seconds_max"]),
        call_seconds_max=float(table["call_seconds_max"]),
        output_chars_max=table["output_chars_max"],
        answer_seconds_max=float(table["answer_seconds_max"]),
    )


def _wrong(name: str, problem: str) -> Corrupt:
    return Corrupt(
        f"the agent profile {name[:80]!r} {problem}",
        code="profile.format",
        hint="install Runlore again: its profiles come with it",
    )
