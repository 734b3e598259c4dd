"""Runlore's own agent: one part of the settings. It is read from the state root alone, never from a folder
that somebody works in: whoever writes there would say what may be run.
"""

import os
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runlore.config.providers import ModelSettings, check_model
from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.text.safe_text import hidden_characters

if TYPE_CHECKING:
    from runlore.config.file import AgentTable, ApprovalTable, ConfigFile

# Signs that stand between commands, or for something else; in a command they are in quotes, or it is none.
_JOINING = frozenset(';|&<>$`\\()"')
_IN_QUOTES = re.compile(r"'[^']*'")


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Its models (empty: the default, and no fallback), its limits (None: the profile's), what its commands
    may read beside the working folder, whether they may speak to other processes, and what a person has
    settled about its calls."""

    model: str = ""
    fallback_model: str = ""
    turns_max: int | None = None
    seconds_max: float | None = None
    turn_seconds_max: float | None = None
    call_seconds_max: float | None = None
    output_chars_max: int | None = None
    readable: tuple[str, ...] = ()
    local_sockets: bool = False
    approval: ApprovalRules = field(default_factory=ApprovalRules)

    def limits(self, profile: AgentLimits) -> AgentLimits:
        return replace(
            profile,
            turns_max=self.turns_max or profile.turns_max,
            seconds_max=self.seconds_max or profile.seconds_max,
            turn_seconds_max=self.turn_seconds_max or profile.turn_seconds_max,
            call_seconds_max=self.call_seconds_max or profile.call_seconds_max,
            output_chars_max=self.output_chars_max or profile.output_chars_max,
        )


def read_agent(file: "ConfigFile | None", models: ModelSettings, path: str) -> AgentSettings:
    if file is None:
        return AgentSettings()
    table = file.agent
    providers = tuple(provider.name for provider in models.providers)
    return AgentSettings(
        model=check_model(table.model, f"agent.model in {path}", providers),
        fallback_model=check_model(table.fallback_model, f"agent.fallback_model in {path}", providers),
        turns_max=table.turns_max,
        seconds_max=table.seconds_max,
        turn_seconds_max=table.turn_seconds_max,
        call_seconds_max=table.call_seconds_max,
        output_chars_max=table.output_chars_max,
        readable=_folders(table, path),
        local_sockets=table.local_sockets,
        approval=_rules(table.approval, path),
    )


def _folders(table: "AgentTable", path: str) -> tuple[str, ...]:
    state_root = os.path.realpath(os.path.dirname(path))
    return tuple(_folder(written, state_root, path) for written in table.readable)


def _folder(written: str, state_root: str, path: str) -> str:
    folder = os.path.normpath(os.path.expanduser(written)) if written.strip() else ""
    if not os.path.isabs(folder) or len(folder) > limits.PATH_CHARS_MAX or not folder.isprintable():
        raise _wrong(
            f"agent.readable in {path} has {written[:80]!r}, which is no folder's whole path",
            "name folders by their whole paths, or from ~ on",
        )
    real = os.path.realpath(folder)
    if os.path.commonpath([real, state_root]) in (real, state_root):
        raise _wrong(
            f"agent.readable in {path} has {written[:80]!r}, and Runlore's own files lie there",
            f"name folders that neither hold {state_root} nor lie in it",
        )
    return folder


def _rules(table: "ApprovalTable", path: str) -> ApprovalRules:
    return ApprovalRules(
        shell=Stance(table.shell),
        writes=Stance(table.writes),
        unconfined=Stance(table.unconfined),
        allow=_patterns("allow", table.allow, path),
        deny=_patterns("deny", table.deny, path),
    )


def _patterns(name: str, patterns: list[str], path: str) -> tuple[str, ...]:
    for pattern in patterns:
        is_plain = pattern.isprintable() and not hidden_characters(pattern)
        if not pattern or pattern != " ".join(pattern.split()) or not is_plain:
            raise _wrong(
                f"agent.approval.{name} in {path} has {pattern[:80]!r}, which no command can match",
                "write a command with one blank between its words, such as git status*",
            )
        if _JOINING.intersection(_IN_QUOTES.sub("", pattern)):
            raise _wrong(
                f"agent.approval.{name} in {path} has {pattern[:80]!r}, which is more than one plain command",
                "write a pattern for each command of a line, and words with such signs in single quotes",
            )
        if len(pattern) > limits.APPROVAL_PATTERN_CHARS_MAX:
            raise _wrong(
                f"agent.approval.{name} in {path} has a pattern of {len(pattern)} characters",
                f"use at most {limits.APPROVAL_PATTERN_CHARS_MAX}",
            )
    return tuple(dict.fromkeys(patterns))


def _wrong(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.agent", hint=hint)
