"""Calls of tools other than the shell, as far as a procedure can have them as steps: tools of MCP servers,
skills, sub-agents, and edits. Reading, searching and planning are the agent's own affair."""

import re
from collections.abc import Iterator, Mapping

from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonValue
from runlore.domain.taint_sources.tools import FILE_WRITERS, MCP_PREFIXES
from runlore.domain.text.word_tables import words

AGENT, SKILL, EDIT = "agent", "skill", "edit"
TEXT_CHARS_MAX = 300
_VALUE_CHARS_MAX, _FILES_MAX, _ARGUMENTS_MAX = 60, 8, 12
_AGENTS = words("Task Agent spawn_agent task delegate delegate_task subagent new_task")
_SKILLS = words("Skill activate_skill skill use_skill")
_AGENT_KEYS = ("subagent_type", "agent_type", "agent", "type")
_SKILL_KEYS = ("skill", "skill_name", "name", "command")
_PATH_KEYS = ("file_path", "path", "filePath", "filename", "notebook_path", "target_file", "TargetFile")
_OLD_KEYS, _NEW_KEYS = ("old_string", "old_str", "oldString"), ("new_string", "new_str", "newString")
_LINE_CHARS_MAX, _LINES_MAX = 90, 2
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,400})$", re.MULTILINE)
_APPROVED = {"sandbox_permissions": "require_escalated", "with_escalated_permissions": True}


def describe_call(name: str, arguments: JsonValue) -> tuple[str, str] | None:
    """The tool and what it was given, redacted; None where the call is no step of a procedure."""
    known = name.lower()
    if known.startswith(MCP_PREFIXES):
        return name, _clean(" ".join(_scalars(arguments)))
    if known in _SKILLS:
        return SKILL, _clean(_first(arguments, _SKILL_KEYS))
    if known in _AGENTS:
        return AGENT, _clean(_first(arguments, _AGENT_KEYS))
    if known in FILE_WRITERS:
        return EDIT, _clean(" ".join(_files(arguments)))
    return None


def asks_for_approval(arguments: JsonValue) -> bool:
    """Whether a shell call asks to be run outside of the agent's sandbox."""
    return isinstance(arguments, Mapping) and any(
        arguments.get(key) == value for key, value in _APPROVED.items()
    )


def change_of(arguments: JsonValue) -> str:
    """The lines that an edit took away and brought, a few of each, redacted; empty where it does not say."""
    if not isinstance(arguments, Mapping):
        arguments = {"patch": arguments}
    gone, come = (_first(arguments, keys).splitlines() for keys in (_OLD_KEYS, _NEW_KEYS))
    if not come:
        patch = _first(arguments, ("input", "patch", "diff")).splitlines()
        gone, come = ([line[1:] for line in patch if _is_change(line, sign)] for sign in "-+")
    told = [
        f"{sign} {line.strip()[:_LINE_CHARS_MAX]}"
        for sign, lines, others in (("-", gone, come), ("+", come, gone))
        for line in [each for each in lines if each.strip() and each not in others][:_LINES_MAX]
    ]
    return _clean("\n".join(told))


def _is_change(line: str, sign: str) -> bool:
    return line.startswith(sign) and not line.startswith(sign * 3)


def _scalars(arguments: JsonValue) -> Iterator[str]:
    for key, value in list(arguments.items())[:_ARGUMENTS_MAX] if isinstance(arguments, Mapping) else ():
        text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        is_short = 0 < len(text) <= _VALUE_CHARS_MAX and "\n" not in text
        yield f"{key}={text!r}" if is_short and " " in text else f"{key}={text if is_short else '...'}"


def _first(arguments: JsonValue, keys: tuple[str, ...]) -> str:
    if not isinstance(arguments, Mapping):
        return ""
    return next((text for key in keys if isinstance(text := arguments.get(key), str)), "")


def _files(arguments: JsonValue) -> list[str]:
    if isinstance(arguments, Mapping):
        path = _first(arguments, _PATH_KEYS)
        if path:
            return [path]
        arguments = _first(arguments, ("input", "patch", "diff"))
    return _PATCHED.findall(arguments)[:_FILES_MAX] if isinstance(arguments, str) else []


def _clean(text: str) -> str:
    return redact_text(text[:TEXT_CHARS_MAX]).text
