"""The commands of a shell call as the detectors see them: normal form, topic, verb, values, kind."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from runlore.domain import limits
from runlore.domain.detectors.command_kinds import NEVER_COUNTING, is_fed, kind_of, writes_file
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.detectors.topics import NAMELESS, essential, slug, topic_of
from runlore.domain.detectors.verbs import verb_of
from runlore.domain.shell import Script, ShellCommand, form_of, parts_of
from runlore.domain.shell.program_forms import FORMS

COMMANDS_PER_STEP_MAX = 40
VALUES_MAX, VALUE_CHARS_MAX = 24, 160
# Commands that are remembered: the same ones are run over and over.
REMEMBERED_COMMANDS, REMEMBERED_CHARS_MAX = 4_096, 512
# How far back a command is looked for that another stands in.
_OUTER_MAX = 4

# What can be a program's name: no sign of a text that was taken for a script.
_NAMED = re.compile(r"[\w./~$@+:{}%-]*[^\W_][\w./~$@+:{}%-]*$|[.:\[]$|\[\[$")
_COUNTING = frozenset({CommandKind.WORK, CommandKind.FILES})
# Members of an enumeration are slow to reach.
_MOVING = CommandKind.MOVING
_TOPICS = {program: slug(program) or NAMELESS for program in NEVER_COUNTING}
_HEREDOC = re.compile(r"<<<\s*LiftedQ*\d+x")
_LIFTED = re.compile(r"LiftedQ*\d+x")


def step_commands(script: Script) -> tuple[StepCommand, ...]:
    """The commands of one call in their order. What stands in another one's words (`$(...)`) belongs to that.

    `cd` counts where nothing else in the call does; before a command that counts it only says where. Of a
    script that could not be read as a whole, what counts is known by its program: the rest may be any text.
    """
    outer = _outer(script.commands)
    if not script.whole:
        outer = [each for at, each in enumerate(outer) if at == 0 or _is_known(each)]
    found = [_describe_command(each) for each in outer]
    moving = [each for each in found if each.kind is _MOVING]
    if not moving or len(moving) == len(found):
        return tuple(found)
    return tuple([replace(each, is_looking=True) if each.kind is _MOVING else each for each in found])


def _outer(commands: Iterable[ShellCommand]) -> list[ShellCommand]:
    outer: list[ShellCommand] = []
    has_inside = False
    for command in commands:
        if len(outer) >= COMMANDS_PER_STEP_MAX:
            break
        if _NAMED.match(command.program) and not (has_inside and _is_within(command, outer[-_OUTER_MAX:])):
            outer.append(command)
            has_inside = has_inside or "(" in command.text or "`" in command.text
    return outer


def _is_within(command: ShellCommand, outer: Sequence[ShellCommand]) -> bool:
    return any(_is_inside(command, each) for each in outer)


def _is_inside(command: ShellCommand, outer: ShellCommand) -> bool:
    if command.pipeline == outer.pipeline or not ("(" in outer.text or "`" in outer.text):
        return False
    return 0 < len(command.text) < len(outer.text) and command.text in outer.text


def _is_known(command: ShellCommand) -> bool:
    name = parts_of(command).program
    return name in FORMS or name in NEVER_COUNTING


class _Facts(NamedTuple):
    form: str
    topic: str
    verb: str
    values: tuple[str, ...]
    kind: CommandKind
    is_looking: bool


def _describe_command(command: ShellCommand) -> StepCommand:
    text = _restore_text(command.text)
    program = command.program.rpartition("/")[2]
    writes = bool(command.redirects) and writes_file(command)
    if (kind := NEVER_COUNTING.get(program)) is not None and not writes:
        return StepCommand(text=text, form=program, topic=_TOPICS[program], is_looking=True, kind=kind)
    read = _remembered if len(command.text) <= REMEMBERED_CHARS_MAX else _facts
    fed = command.place > 0 or (bool(command.redirects) and is_fed(command))
    facts = read(command.program, command.arguments, writes, fed)
    return StepCommand(
        text=text,
        form=facts.form,
        topic=facts.topic,
        verb=facts.verb,
        values=facts.values,
        is_looking=facts.is_looking,
        kind=facts.kind,
    )


def _facts(program: str, arguments: tuple[str, ...], writes: bool, fed: bool, /) -> _Facts:
    own = parts_of(ShellCommand(program=program, arguments=arguments))
    parts, inner = essential(own, arguments)
    form = form_of(own)
    kind = kind_of(parts, inner, writes=writes, fed=fed)
    return _Facts(
        form=form,
        topic=topic_of(parts),
        verb=verb_of(parts),
        values=_values(arguments, form),
        kind=kind,
        is_looking=kind not in _COUNTING and kind is not _MOVING,
    )


_remembered = lru_cache(maxsize=REMEMBERED_COMMANDS)(_facts)


def _values(arguments: Sequence[str], form: str) -> tuple[str, ...]:
    """The words that the normal form leaves out, in order; of `--name=value` the value."""
    form_words = frozenset(form.split())
    values: list[str] = []
    for word in arguments:
        value = word.partition("=")[2] if word.startswith("-") else word
        if value and value not in form_words and len(value) <= VALUE_CHARS_MAX:
            values.append(value)
    return tuple(values[:VALUES_MAX])


def _restore_text(text: str) -> str:
    """A command's text, short of what was taken out of it to be parsed."""
    if "Lifted" in text:
        text = _LIFTED.sub("...", _HEREDOC.sub("<<EOF", text))
    most = limits.STEP_TEXT_CHARS_MAX
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
