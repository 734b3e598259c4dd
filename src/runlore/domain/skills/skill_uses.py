"""Which skills a run opened (SKL-11).

A call that failed, was refused or was never answered opened nothing. Names are told as they stand in the
events: whether a skill is called so, and was there at the time, is for the store to say.

Which skills one tool call, or one request of the user, opens by name or by reading its file.

Agents open a skill in four ways: with a tool that is there for it, by a command that the user typed, by
reading its file with a tool, and by printing the file in a shell. What is told here is bounded, whatever a
stranger's arguments hold; names are told as they stand there.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise

from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.mining import TIMELESS, NumberedTranscriptEvent
from runlore.domain.detectors.outcome import failing_line, judge_results, output_text
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.journal import EventType, text_of, words_of
from runlore.domain.runs.transcript import ToldRun, TranscriptAgent
from runlore.domain.shell import Script, ShellCommand, script_of, script_of_words
from runlore.domain.suggesting.naming import is_valid_name
from runlore.domain.taint_sources.call_arguments import commands_of_call
from runlore.domain.taint_sources.reading import NumberedEvent
from runlore.domain.taint_sources.tools import is_batch, runs_commands
from runlore.domain.text.word_tables import words

FILE_NAME = "SKILL.md"
# The folders in which agents look for skills, by their last two names, and Runlore's own.
SKILL_FOLDERS = frozenset(
    {
        *(".agents/skills", ".claude/skills", ".codex/skills", ".cursor/skills", ".gemini/skills"),
        *(".opencode/skills", ".opencode/skill", "opencode/skills", "opencode/skill", ".runlore/skills"),
    }
)
PLUGIN_FOLDERS = frozenset({(".claude", "plugins"), (".codex", "plugins")})
# Tools that open a skill which they are told by its name. Names are compared in lower case.
OPENING_TOOLS = words("skill activate_skill use_skill openskills load_skill")
_NAME_KEYS = ("skill", "skill_name", "skillname", "name", "command")
# Tools that show a file.
READING_TOOLS = words(
    "read read_file view_file view open cat fs_read read_many_files read_files batch_read read_text_file"
)
# Tools that show a file where they are told to, and write it otherwise.
_EDITORS, _VIEW = words("str_replace_editor str_replace_based_edit_tool text_editor"), "view"
_PATH_KEYS = words(
    "path file_path filepath file filename absolute_path absolutepath paths files target_file targetfile"
    " relative_path"
)
_FOLDER_KEYS = ("workdir", "cwd", "working_directory", "dir_path", "directory")
# Programs that print the files which they are given.
PRINTING_PROGRAMS = frozenset(
    {"cat", "head", "tail", "less", "more", "nl", "bat", "batcat", "sed", "get-content", "gc", "type"}
)
_OPENSKILLS, _WRAPPED_MAX = "openskills", 5
_OWN_SERVER = ("mcp__runlore__", "mcp_runlore_", "runlore__", "runlore_")
_TYPED = re.compile(r"[/$]([a-z0-9][a-z0-9:_-]{0,199})(?=\s|\Z)")
_WRAPPED = re.compile(r"<command-name>\s{0,8}([^<\s]{1,200})")
_WRAPPERS = ("<command-name>", "<command-message>")

# How much of one run is looked at. Longer scripts write files; none of them is needed to read one.
SCRIPT_CHARS_MAX = 8_192
SCRIPTS_CHARS_MAX, CALLS_MAX, PATHS_MAX = 262_144, 2_000, 2_000
COMMANDS_MAX, TEXTS_MAX, DEPTH_MAX = 200, 64, 3
_TEXT_CHARS_MAX, _PATH_CHARS_MAX, _JSON_CHARS_MAX = 4_096, 1_024, 16_384
# Agents that know no skills: what is typed with a stroke there is a command of their own.
WITHOUT_SKILLS = frozenset({TranscriptAgent.AIDER.value})
# So many skills are told of one run.
NAMES_MAX = 100
# How much of an answer is looked at where no code and no flag says whether the call went well.
_REPORTED_CHARS_MAX = 400
# Members of an enumeration are slow to reach, and these are asked for with every event.
_INPUT, _CALL, _RESULT = EventType.INPUT, EventType.TOOL_CALL, EventType.TOOL_RESULT
_LOOKED_AT = frozenset({_INPUT, _CALL, _RESULT})


def skill_of_path(path: str, folder: str = "") -> str:
    """The skill whose file this is, where it lies in a folder of skills; empty where it does not.

    A relative path is one below `folder`.
    """
    if len(path) > _PATH_CHARS_MAX or not _is_file(path):
        return ""
    plain = path.removeprefix("file://").replace("\\", "/")
    parts = posixpath.normpath(posixpath.join(folder, plain)).split("/")
    is_known = len(parts) > 3 and ("/".join(parts[-4:-2]) in SKILL_FOLDERS or _is_of_plugin(parts))
    return parts[-2] if is_known and is_valid_name(parts[-2]) else ""


def _is_of_plugin(parts: Sequence[str]) -> bool:
    """Whether a file lies among the skills of a plugin that an agent has installed."""
    return parts[-3] == "skills" and any(each in PLUGIN_FOLDERS for each in pairwise(parts))


def _is_file(path: str) -> bool:
    return path.replace("\\", "/").rpartition("/")[2].lower() == FILE_NAME.lower()


@dataclass(kw_only=True, slots=True)
class OpeningBudget:
    """How many calls, characters of scripts, and paths may still be looked at."""

    calls: int = CALLS_MAX
    script_chars: int = SCRIPTS_CHARS_MAX
    paths: int = PATHS_MAX


@dataclass(frozen=True, kw_only=True, slots=True)
class _Called:
    """A tool by its plain name, what it is told, and what may be spent on it."""

    tool: str
    arguments: JsonValue
    budget: OpeningBudget


def find_opened_by_call(body: JsonObject, budget: OpeningBudget) -> tuple[str, ...]:
    """The skills that a tool call opens, should it go well."""
    name = body.get("name")
    if not isinstance(name, str) or budget.calls <= 0:
        return ()
    called = _Called(tool=_plain(name), arguments=body.get("arguments"), budget=budget)
    names = tuple(dict.fromkeys(islice(_of_call(called, depth=0), TEXTS_MAX)))
    budget.calls -= bool(names)
    return names


def _plain(name: str) -> str:
    """A tool's name in lower case, without the name of Runlore's own server; of a tool of another server
    that reads files only what it is called there."""
    plain = name.strip().lower()
    for prefix in _OWN_SERVER:
        if plain.startswith(prefix):
            return plain.removeprefix(prefix)
    last = plain.rpartition("__")[2]
    return last if last in READING_TOOLS else plain


def _of_call(called: _Called, *, depth: int) -> Iterator[str]:
    tool, arguments = called.tool, called.arguments
    if tool in OPENING_TOOLS:
        yield from filter(None, [_argument_name(arguments)])
    elif runs_commands(tool):
        yield from _of_shell(called)
    elif tool in READING_TOOLS or (tool in _EDITORS and _views(arguments)):
        yield from _of_files(_paths(arguments), "", called.budget)
    elif is_batch(tool) and depth == 0:
        yield from _of_batch(called)


def _of_batch(called: _Called) -> Iterator[str]:
    calls = called.arguments.get("tool_calls") if isinstance(called.arguments, Mapping) else None
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        return
    for call in islice(calls, TEXTS_MAX):
        tool = call.get("tool") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and isinstance(tool, str):
            inner = _Called(tool=_plain(tool), arguments=call.get("parameters", call), budget=called.budget)
            yield from _of_call(inner, depth=1)


def _argument_name(arguments: JsonValue) -> str:
    if isinstance(arguments, str):
        if arguments.lstrip()[:1] != "{":
            return _name(arguments)
        arguments = _parse_arguments(arguments)
    if not isinstance(arguments, Mapping):
        return ""
    by_name = {str(key).lower(): value for key, value in islice(arguments.items(), TEXTS_MAX)}
    given = next((value for key in _NAME_KEYS if isinstance(value := by_name.get(key), str)), "")
    return _name(given)


def _parse_arguments(text: str) -> JsonValue:
    if len(text) > _JSON_CHARS_MAX:
        return None
    try:
        parsed: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _name(text: str) -> str:
    """The name that a text begins with; of `plugin:name` the skill's own."""
    first = text[:_REPORTED_CHARS_MAX].split(maxsplit=1)[:1]
    name = first[0].lstrip("/$").rpartition(":")[2] if first else ""
    return name if is_valid_name(name) else ""


def find_opened_by_request(body: JsonObject) -> str:
    """The skill that the user called by a command: `/name`, `$name`, or an agent's wrapper around one."""
    text = text_of(body)[:_TEXT_CHARS_MAX].lstrip()
    if not text.startswith(("/", "$", "<")) or words_of(body):
        return ""
    called = _WRAPPED.search(text) if text.startswith(_WRAPPERS) else _TYPED.match(text)
    return _name(called[1]) if called else ""


def _views(arguments: JsonValue) -> bool:
    return isinstance(arguments, Mapping) and arguments.get("command") == _VIEW


def _paths(arguments: JsonValue) -> Iterator[str]:
    """The files that a tool is told to show, as many as are looked at."""
    if isinstance(arguments, str):
        parsed = _parse_arguments(arguments) if arguments.lstrip()[:1] == "{" else None
        yield from _paths(parsed) if isinstance(parsed, Mapping) else (arguments,)
        return
    yield from islice(_path_texts(arguments, "", depth=0), TEXTS_MAX)


def _path_texts(value: JsonValue, key: str, *, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if key.lower() in _PATH_KEYS:
            yield value
    elif depth > DEPTH_MAX:
        return
    elif isinstance(value, Mapping):
        for name, item in islice(value.items(), TEXTS_MAX):
            yield from _path_texts(item, str(name), depth=depth + 1)
    elif isinstance(value, Sequence):
        for item in islice(value, TEXTS_MAX):
            yield from _path_texts(item, key, depth=depth + 1)


def _of_shell(called: _Called) -> Iterator[str]:
    for command in islice(commands_of_call(called.tool, called.arguments), TEXTS_MAX):
        text = command if isinstance(command, str) else " ".join(command)
        if not _may_open(text) or called.budget.script_chars < len(text):
            continue
        called.budget.script_chars -= len(text)
        script = script_of(command) if isinstance(command, str) else script_of_words(command)
        yield from _of_script(script, _folder(called.arguments), called.budget)


def _may_open(text: str) -> bool:
    if len(text) > SCRIPT_CHARS_MAX:
        return False
    plain = text.lower()
    return FILE_NAME.lower() in plain or _OPENSKILLS in plain


def _folder(arguments: JsonValue) -> str:
    if not isinstance(arguments, Mapping):
        return ""
    given = (arguments.get(key) for key in _FOLDER_KEYS)
    folder = next((each for each in given if isinstance(each, str)), "")
    return folder if len(folder) <= _PATH_CHARS_MAX else ""


def _of_files(paths: Iterable[str], folder: str, budget: OpeningBudget) -> Iterator[str]:
    for path in filter(_is_file, paths):
        if budget.paths <= 0:
            return
        budget.paths -= 1
        if name := skill_of_path(path, folder):
            yield name


def _of_script(script: Script, folder: str, budget: OpeningBudget) -> Iterator[str]:
    for command in script.commands[:COMMANDS_MAX]:
        program = command.program.replace("\\", "/").rpartition("/")[2].lower()
        if program == "cd":
            folder = posixpath.join(folder, *command.arguments[:1])[-_PATH_CHARS_MAX:]
        elif program in PRINTING_PROGRAMS:
            if not command.writes and not _edits(program, command):
                yield from _of_files((*command.arguments, *command.reads), folder, budget)
        else:
            yield from _of_openskills(command)


def _edits(program: str, command: ShellCommand) -> bool:
    return program == "sed" and any(word.startswith(("-i", "--in-place")) for word in command.arguments)


def _of_openskills(command: ShellCommand) -> Iterator[str]:
    """`openskills read NAME`, by itself or through a package runner."""
    words = command.words
    for place, word in enumerate(words[:_WRAPPED_MAX]):
        is_it = word.rpartition("/")[2].partition("@")[0] == _OPENSKILLS
        if is_it and words[place + 1 : place + 2] == ("read",):
            given = (name for each in words[place + 2 :] for name in each.split(","))
            yield from islice(filter(is_valid_name, given), TEXTS_MAX)
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillOpening:
    """A skill that a run opened: under which name, with which event of its session, and when."""

    name: str
    number: int
    at: datetime


def find_opened_skills(events: Iterable[NumberedEvent], *, agent: str = "") -> tuple[SkillOpening, ...]:
    """The skills that a run's events opened, each once: the first time that it went well, in order."""
    found: dict[str, SkillOpening] = {}
    for each in () if agent in WITHOUT_SKILLS else _openings(events):
        if each.results is not None and not _went_well(each.results):
            continue
        for name in each.names:
            if len(found) < NAMES_MAX:
                found.setdefault(name, SkillOpening(name=name, number=each.event.number, at=each.event.at))
    return tuple(found.values())


def find_opened_in_transcript(imported: ToldRun) -> tuple[SkillOpening, ...]:
    """The same for a run of a transcript, at the times that it tells."""
    at = next((event.at for event in imported.events if event.at is not None), TIMELESS)
    events: list[NumberedTranscriptEvent] = []
    for number, event in enumerate(imported.events, start=imported.first_number):
        at = event.at or at
        if event.entry.type in _LOOKED_AT:
            events.append(NumberedTranscriptEvent(number, at, event.entry.type, event.entry.body))
    return find_opened_skills(events, agent=imported.agent.value)


@dataclass(kw_only=True, slots=True)
class _Opening:
    """An event that opens skills; a call has results, which say whether it did."""

    event: NumberedEvent
    names: tuple[str, ...]
    results: list[JsonObject] | None = None


def _openings(events: Iterable[NumberedEvent]) -> list[_Opening]:
    openings: list[_Opening] = []
    by_id: dict[str, _Opening] = {}
    budget = OpeningBudget()
    for event in events:
        kind = event.type
        if kind is _INPUT:
            if name := find_opened_by_request(event.body):
                openings.append(_Opening(event=event, names=(name,)))
            continue
        call_id = event.body.get("call_id")
        if not isinstance(call_id, str):
            continue
        if kind is _CALL:
            # Some agents count their calls anew: what comes from here on answers this one.
            by_id.pop(call_id, None)
            if names := find_opened_by_call(event.body, budget):
                openings.append(_Opening(event=event, names=names, results=[]))
                by_id[call_id] = openings[-1]
        elif kind is _RESULT and (asked := by_id.get(call_id)) is not None and asked.results is not None:
            asked.results.append(event.body)
    return openings


def _went_well(results: Sequence[JsonObject]) -> bool:
    """Whether a call was made. What it showed is a text about anything, so that only how it was answered
    counts, and the first line where nothing else says so."""
    judgement = judge_results(results, is_asking=True)
    if judgement.outcome is not Outcome.SUCCEEDED:
        return False
    last = results[-1]
    if judgement.exit_code is not None or last.get("is_error") is False:
        return True
    beginning = output_text(last.get("output"))[:_REPORTED_CHARS_MAX]
    return not failing_line(beginning.partition("\n")[0])
