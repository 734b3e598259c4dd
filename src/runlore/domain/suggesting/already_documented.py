"""Only what is new (SKL-18): what a project's own instructions tell is not suggested again.

Instructions are what an agent has before it anyway: CLAUDE.md and its like, the commands of a README, the
tasks of a task file, an installed skill. A step is told where a line of code there has the same words in the
same order, values left out. What one text tells whole, in the order of the steps, is nothing new; what it
tells in part is suggested as an addition, which says what the sessions add: steps, flags, their order, and
the pitfalls that were met.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.detectors.mining_commands import step_commands
from runlore.domain.detectors.toolchains import is_everyday
from runlore.domain.lazy import dataclass
from runlore.domain.shell import script_of
from runlore.domain.suggesting.bodies import NONE_MET, join_words
from runlore.domain.suggesting.fixes import FIXES
from runlore.domain.suggesting.fragments import sections_of
from runlore.domain.suggesting.known_commands import Segment, segments
from runlore.domain.suggesting.markdown import code_span, visible
from runlore.domain.suggestion import Suggestion
from runlore.domain.text.excerpt import excerpt

SOURCES_NAMED_MAX, STEPS_NAMED_MAX = 2, 4
_PROMPT = re.compile(r"^\s*[$%>]\s+", re.MULTILINE)
_PARAMETER = re.compile(r"<[a-z0-9-]+>")
_TARGET = re.compile(r"^@?([A-Za-z][\w.-]*)(?: [^:=\n]*)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  ([A-Za-z][\w:.-]*):\s*$", re.MULTILINE)
_OVERVIEW_END = "\n## Step-by-Step\n"
_PACKAGE_RUNNERS = ("npm run", "npm", "pnpm", "pnpm run", "yarn", "yarn run", "bun run")


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """A text that tells agents how things are done: what people call it, and the commands in it, in order."""

    source: str
    told: tuple[Segment, ...]


def instructions_of(source: str, file: str, text: str) -> Instructions:
    """What a file tells: a task file the calls of its tasks, any other the code in its Markdown."""
    calls = _TASKS.get(file.lower(), _code_lines)(text)
    return Instructions(source=source, told=tuple(each for call in calls for each in segments(call)))


def only_new(
    suggestions: Iterable[Suggestion], places: Callable[[Suggestion], Sequence[Sequence[Instructions]]]
) -> tuple[Suggestion, ...]:
    """The suggestions that add something to what the instructions of every one of their `places` tell."""
    found = (_add_to(each, places(each)) for each in suggestions)
    return tuple(each for each in found if each is not None)


def _add_to(suggestion: Suggestion, places: Sequence[Sequence[Instructions]]) -> Suggestion | None:
    needed = [] if suggestion.heuristic is Heuristic.EXPLICIT_INSTRUCTION else _find_needed(suggestion)
    if not needed or not places:
        return suggestion
    best = [max(place, key=lambda each: _count_told(needed, each), default=None) for place in places]
    telling = [each for each in best if each is not None and _count_told(needed, each)]
    if len(telling) < len(places):
        return suggestion
    new = [code_span(text) for text, step in needed if not all(_tells(each, step) for each in telling)]
    if not new and not all(_tells_in_order(each, needed) for each in telling):
        new = ["the order of the steps"]
    if suggestion.heuristic not in FIXES and NONE_MET not in suggestion.body:
        new.append("what went wrong on the way")
    return _as_addition(suggestion, telling, new) if new else None


def _as_addition(suggestion: Suggestion, telling: Sequence[Instructions], new: Sequence[str]) -> Suggestion:
    """The suggestion as something that belongs to what is written down already."""
    sources = list(dict.fromkeys(visible(each.source) for each in telling))
    steps = join_words(list(dict.fromkeys(new))[:STEPS_NAMED_MAX])
    line = f"It adds to {join_words(sources[:SOURCES_NAMED_MAX])}: {steps}."
    before, end, behind = suggestion.body.partition(_OVERVIEW_END)
    body = f"{before.rstrip()}\n\n{line}\n{end}{behind}"
    return replace(
        suggestion,
        description=excerpt(f"{suggestion.description} {line}", limits.SKILL_DESCRIPTION_CHARS_MAX),
        body=body if len(body) <= limits.SKILL_BODY_CHARS_MAX else suggestion.body,
    )


def _find_needed(suggestion: Suggestion) -> list[tuple[str, Segment]]:
    """What has to be told: of a fix what worked, else all that is not run with every change anyway."""
    is_fix = suggestion.heuristic in FIXES
    commands = [each for each in suggestion.commands[is_fix:] if not is_fix or each != suggestion.commands[0]]
    # What a fix is about is what was changed, and not which tests were run that time.
    values = _values(suggestion.commands[0]) if is_fix else frozenset()
    steps = [
        (command, tuple(word for word in segment if word not in values))
        for command in commands
        for segment in segments(command)
        if segment[0] != "cd"
    ]
    telling = [step for step in steps if is_fix or not _is_everyday(step[1])]
    return telling or steps


def _values(command: str) -> frozenset[str]:
    script = script_of(_PARAMETER.sub("parameter", command))
    return frozenset(value for each in step_commands(script) for value in each.values)


def _is_everyday(segment: Segment) -> bool:
    form = " ".join(word for word in segment if not word.startswith(("-", "<")))
    return is_everyday(StepCommand(text=" ".join(segment), form=form, topic=segment[0]))


def _count_told(needed: Sequence[tuple[str, Segment]], text: Instructions) -> int:
    return sum(_tells(text, step) for _, step in needed)


def _tells_in_order(text: Instructions, needed: Sequence[tuple[str, Segment]]) -> bool:
    rest = iter(text.told)
    return all(any(_is_same(step, told) for told in rest) for _, step in needed)


def _tells(text: Instructions, step: Segment) -> bool:
    return any(_is_same(step, told) for told in text.told)


def _is_same(step: Segment, told: Segment) -> bool:
    """Whether all words of a step that are no values of the moment stand in a line, in order."""
    rest = iter(told)
    words = _lasting(step)
    return bool(words) and told[0] == step[0] and all(word in rest for word in words)


def _lasting(step: Segment) -> list[str]:
    """The words of a step without parameters, and without a flag that only brings one."""
    return [
        word
        for at, word in enumerate(step)
        if not _PARAMETER.search(word)
        and not (word.startswith("-") and _PARAMETER.search(" ".join(step[at + 1 : at + 2])))
    ]


def _code_lines(text: str) -> Iterator[str]:
    for section in sections_of(text):
        yield from (_PROMPT.sub("", code) for code in (*section.ordered, *section.cells))


def _recipes(call: str, names: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def calls(text: str) -> Iterator[str]:
        yield from (f"{call} {name}" for name in names.findall(text))
        yield from (line.strip().lstrip("@-") for line in text.split("\n") if line.startswith(("\t", "  ")))

    return calls


def _scripts(text: str) -> Iterator[str]:
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    for name, line in scripts.items() if isinstance(scripts, dict) else ():
        yield from (f"{runner} {name}" for runner in _PACKAGE_RUNNERS)
        yield str(line)


def _mise_tasks(text: str) -> Iterator[str]:
    try:
        tasks = tomllib.loads(text).get("tasks", {})
    except (ValueError, RecursionError):
        return
    for name, task in tasks.items() if isinstance(tasks, dict) else ():
        yield from (f"mise run {name}", f"mise {name}")
        lines = task.get("run", "") if isinstance(task, dict) else task
        yield from map(str, lines) if isinstance(lines, list) else [str(lines)]


_TASKS: dict[str, Callable[[str], Iterator[str]]] = {
    **dict.fromkeys(("makefile", "gnumakefile"), _recipes("make", _TARGET)),
    **dict.fromkeys(("justfile", ".justfile"), _recipes("just", _TARGET)),
    **dict.fromkeys(("taskfile.yml", "taskfile.yaml"), _recipes("task", _TASK)),
    **dict.fromkeys(("mise.toml", ".mise.toml"), _mise_tasks),
    "package.json": _scripts,
}
TASK_FILES = frozenset(_TASKS)
# What else of a project tells commands.
COMMANDED = frozenset({"claude.md", "agents.md", "gemini.md", "readme.md", "contributing.md"})
