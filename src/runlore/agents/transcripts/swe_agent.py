"""Reads trajectories of SWE-agent (`.traj`, older and newer keys) and of mini-swe-agent (`.traj.json`).

A trajectory is one run: the task, then steps of a thought, an action and what was observed. It has no id, so
its name, its task and its first step stand for one.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.lines import document_of, top_keys
from runlore.agents.transcripts.parsing import (
    UNKNOWN,
    Plain,
    bound_value,
    list_of,
    object_of,
    parse_json,
    text_of,
    whole_number,
)
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import TASK
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource

_OWN_COMMAND_NAMES = (
    "open create insert edit goto scroll_up scroll_down find_file search_dir search_file submit"
    " str_replace_editor view_file filemap windowed_edit_replace think finish undo_edit exit_cost exit_format"
    " exit_forfeit disassemble decompile connect_start connect_sendline connect_exec connect_stop debug_start"
    " debug_add_breakpoint debug_continue debug_step debug_exec debug_stop"
)
# What its own tools are called; everything else is a command of the shell.
_OWN_COMMANDS = frozenset(_OWN_COMMAND_NAMES.split())
_MARKS = ("trajectory", "history", "environment", "messages", "trajectory_format")
_FENCES = ("```mswea_bash_command", "```bash", "```sh")
_RETURN_CODE = re.compile(r"\s{0,20}<returncode>\s{0,20}(-?\d{1,10})\s{0,20}</returncode>\s{0,20}")
# What the harness puts behind an output.
_PROMPT = re.compile(r"\n?\(Open file: [^\n]{0,600}\)\n\(Current directory: [^\n]{0,600}\)\nbash-\$\s{0,20}$")
_PROMPT_CHARS_MAX = 1_400
_OUTPUT = re.compile(r"<output>\n?(.*)</output>", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class _TrajectoryStep:
    thought: str = ""
    name: str = ""
    command: str = ""
    answer: str | None = None
    exit_code: int | None = None
    at: object = None


class SweAgentReader:
    """Reads trajectories."""

    agent = TranscriptAgent.SWE_AGENT

    def recognises(self, head: bytes, path: str) -> bool:
        keys = frozenset(top_keys(head))
        if path.endswith(".traj"):
            return not keys.isdisjoint(_MARKS)
        if path.endswith(".traj.json"):
            return head.lstrip()[:1] == b"[" or not keys.isdisjoint(_MARKS)
        return path.endswith(".json") and "trajectory_format" in keys

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        found = document_of(source.path, counts)
        if found is None:
            return
        document: Plain = {"messages": found} if type(found) is list else object_of(found)
        steps = _steps(document, counts)
        task = _task(document)
        if not task and not steps:
            counts.lines += 1
            counts.skip(UNKNOWN)
            return
        assembly.speak_of(_id(source, task, document))
        config = object_of(object_of(document.get("info")).get("config"))
        assembly.know(folder=_folder(document), model=object_of(config.get("model")).get("model_name"))
        # The task is mostly an issue that somebody else wrote.
        assembly.begin(task, steps[0].at if steps else None, said_by=TASK)
        yield
        for number, step in enumerate(steps, 1):
            _tell(step, number, assembly)
            yield
        assembly.end(_status(document))


def _steps(document: Plain, counts: ReadCounts) -> list[_TrajectoryStep]:
    trajectory = list_of(document.get("trajectory"))
    if trajectory:
        counts.lines += len(trajectory)
        return [_trajectory_step(step, counts) for step in trajectory]
    messages = list_of(document.get("messages")) or list_of(document.get("history"))
    counts.lines += len(messages)
    return list(_message_steps([object_of(message) for message in messages], counts))


def _trajectory_step(value: object, counts: ReadCounts) -> _TrajectoryStep:
    step = object_of(value)
    if "action" not in step:
        counts.skip(UNKNOWN)
        return _TrajectoryStep()
    action = text_of(step.get("action")).strip("\n")
    return _TrajectoryStep(
        thought=text_of(step.get("thought")) or text_of(step.get("response")),
        name=_name(action),
        command=action,
        answer=text_of(step.get("observation")),
    )


def _message_steps(messages: list[Plain], counts: ReadCounts) -> Iterator[_TrajectoryStep]:
    """The steps of a conversation: what the assistant does, and the messages that answer it."""
    for place, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            answers = _answers(messages, place + 1)
            yield from _assistant_steps(message, answers)
        elif type(role) is not str and message.get("type") != "function_call_output":
            counts.skip(UNKNOWN)


def _answers(messages: list[Plain], place: int) -> list[Plain]:
    found = []
    while place < len(messages) and messages[place].get("role") not in ("assistant", "system"):
        found.append(messages[place])
        place += 1
    return found


def _assistant_steps(message: Plain, answers: list[Plain]) -> Iterator[_TrajectoryStep]:
    thought = _content(message.get("thought")) or _content(message.get("content"))
    at = object_of(message.get("extra")).get("timestamp") or message.get("timestamp")
    commands = _commands(message)
    if not commands:
        yield _TrajectoryStep(thought=thought, at=at)
    for place, command in enumerate(commands):
        answer = answers[place] if place < len(answers) else None
        code, text = _read_observation(answer) if answer is not None else (None, None)
        yield _TrajectoryStep(
            thought=thought if place == 0 else "",
            name=_name(command),
            command=command,
            answer=text,
            exit_code=code,
            at=at,
        )


def _commands(message: Plain) -> list[str]:
    """What a message of the assistant runs: an action, calls of a tool, or the one block of shell in it."""
    if action := text_of(message.get("action")).strip("\n"):
        return [action]
    commands: list[str] = []
    for call in list_of(message.get("tool_calls")):
        function = object_of(object_of(call).get("function"))
        arguments = function.get("arguments")
        try:
            parsed = object_of(parse_json(arguments.encode()) if type(arguments) is str else arguments)
        except ValueError:
            parsed = {}
        commands += filter(None, [text_of(parsed.get("command"))])
    if commands:
        return commands
    actions = list_of(object_of(message.get("extra")).get("actions"))
    commands = [text_of(object_of(action).get("command")) for action in actions]
    return [command for command in commands if command] or _fenced_commands(_content(message.get("content")))


def _fenced_commands(text: str) -> list[str]:
    """The command in the one block of shell; where there are several, the harness has refused them all."""
    blocks = [block for fence in _FENCES for block in text.split(f"{fence}\n")[1:]]
    return [blocks[0].partition("\n```")[0].strip("\n")] if len(blocks) == 1 else []


def _read_observation(message: Plain) -> tuple[int | None, str]:
    extra = object_of(message.get("extra"))
    text = _content(message.get("content")) or text_of(message.get("output"))
    code = whole_number(extra.get("returncode"))
    if found := _RETURN_CODE.match(text):
        code = int(found[1]) if code is None else code
        text = text[found.end() :]
        if inner := _OUTPUT.match(text):
            text = inner[1]
    prompt = _PROMPT.search(text, max(0, len(text) - _PROMPT_CHARS_MAX))
    return code, text[: prompt.start()] if prompt else text


def _tell(step: _TrajectoryStep, number: int, assembly: Assembly) -> None:
    assembly.say(step.thought, step.at)
    if step.command:
        id = f"step_{number}"
        assembly.call(id, step.name, {"command": step.command}, step.at)
        if step.answer is not None:
            assembly.answer(id, step.answer, step.at, exit_code=step.exit_code)


def _name(action: str) -> str:
    word = action.split(None, 1)[0] if action.split() else ""
    return word if word in _OWN_COMMANDS else "bash"


def _task(document: Plain) -> str:
    messages = list_of(document.get("history")) or list_of(document.get("messages"))
    for message in map(object_of, messages):
        if message.get("role") == "user" and not message.get("is_demo"):
            return _content(message.get("content"))
    return ""


def _folder(document: Plain) -> str:
    steps = list_of(document.get("trajectory"))
    state = object_of(steps[0]).get("state") if steps else None
    if type(state) is str:
        try:
            state = parse_json(state.encode())
        except ValueError:
            state = None
    return text_of(object_of(state).get("working_dir"))


def _status(document: Plain) -> RunStatus:
    status = text_of(object_of(document.get("info")).get("exit_status")).lower()
    if not status or "submitted" in status or status == "skipped":
        return RunStatus.COMPLETED
    return RunStatus.FAILED


def _id(source: TranscriptSource, task: str, document: Plain) -> str:
    steps = (
        list_of(document.get("trajectory"))
        or list_of(document.get("messages"))
        or list_of(document.get("history"))
    )
    first = next((step for step in map(object_of, steps) if step.get("role", "assistant") == "assistant"), {})
    name = source.path.removesuffix(".gz").replace("\\", "/").rpartition("/")[2]
    known = json.dumps([task, bound_value(first)], sort_keys=True, default=str)
    return f"{name}:{hashlib.sha256(known.encode(errors='replace')).hexdigest()[:32]}"


def _content(content: object) -> str:
    if type(content) is str:
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text"))
    # A part is a text or an object, and never a list of parts.
    texts = (part if type(part) is str else text_of(object_of(part).get("text")) for part in list_of(content))
    return "\n".join(text for text in texts if text)
