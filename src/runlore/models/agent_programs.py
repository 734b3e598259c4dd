"""Agents' programs as models: Claude Code and Codex answer single questions, with the account that they have.

A program is started for one question: without tools, hooks or servers of its user's, within a time and an
amount of output, in a folder from which nothing is learned. Its answer is checked as any model's is.
"""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.project import PROJECT_FILE
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonObject
from runlore.hook import HOOKS_VARIABLE
from runlore.models.model_choice import closing_failure, late_failure
from runlore.models.structured_answer import IN_WORDS, StructuredAnswer, no_answer, read_answer
from runlore.ports.model import ModelFailure, Provider, TokenUsage

# What tells a program that it runs inside another one of its kind: then it would refuse, or report there.
_NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT")
# What is set for Runlore itself: tokens, and the address of the database with its password.
_OWN = "RUNLORE_"
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_READ_BYTES = 65_536
# A program that has said all ends at once, as a rule.
_LOOK_FIRST_S = 0.001
_LOOK_AGAIN_S = 0.05
# What Codex would offer to its model; an older or newer one that does not know a name ignores it.
_CODEX_OFF = (
    *("shell_tool", "unified_exec", "hooks", "plugin_hooks", "plugins", "apps", "goals", "view_image"),
    *("multi_agent", "image_generation", "browser_use", "computer_use", "memories"),
)


@dataclass(frozen=True, kw_only=True)
class ProgramAnswer:
    """What a program answered, and what it says that this took."""

    text: str
    usage: TokenUsage | None = None


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A program that can be asked: its words on a command line, how its output is read, and the variables in
    which it looks for a key of its own. ValueError where the output is none."""

    command: str
    words: Callable[[str, str], list[str]]
    read: Callable[[bytes], ProgramAnswer]
    keys: Callable[[], Iterable[str]]


def _claude_words(_folder: str, instructions: str) -> list[str]:
    alone = ["--safe-mode", "--strict-mcp-config", "--no-session-persistence", "--tools", ""]
    return ["-p", "--output-format", "json", *alone, "--system-prompt", instructions]


def _codex_words(folder: str, instructions: str) -> list[str]:
    path = os.path.join(folder, "instructions.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(instructions)
    settings = [
        *(f"features.{name}=false" for name in _CODEX_OFF),
        *(f"mcp_servers.{name}.enabled=false" for name in _codex_servers()),
        "web_search=disabled",
        "project_doc_max_bytes=0",
        f"model_instructions_file={json.dumps(path)}",
    ]
    alone = ["--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only", "--color", "never"]
    return ["exec", *alone, *(word for each in settings for word in ("-c", each))]


def _codex_servers() -> Iterable[str]:
    """The MCP servers that the user's settings name: there is no one switch that leaves all of them out."""
    return [name for name in _codex_tables("mcp_servers") if _SERVER_NAME.fullmatch(name)]


def _codex_keys() -> Iterable[str]:
    named = [table.get("env_key") for table in _codex_tables("model_providers").values()]
    return ["OPENAI_API_KEY", *(name for name in named if isinstance(name, str))]


def _codex_tables(name: str) -> Mapping[str, Mapping[str, Any]]:
    folder = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    try:
        with open(os.path.join(folder, "config.toml"), "rb") as file:
            tables = tomllib.load(file).get(name)
    except (OSError, ValueError):
        return {}
    found = tables.items() if isinstance(tables, dict) else ()
    return {each: table for each, table in found if isinstance(table, dict)}


def _read_claude(output: bytes) -> ProgramAnswer:
    reply = orjson.loads(output)
    if not isinstance(reply, dict) or reply.get("is_error") or not isinstance(reply.get("result"), str):
        raise ValueError("it ended with an error")
    usage: Mapping[str, Any] = reply["usage"] if isinstance(reply.get("usage"), dict) else {}
    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    cost = reply.get("total_cost_usd")
    return ProgramAnswer(
        text=reply["result"],
        usage=TokenUsage(
            input_tokens=min(sum(_count(usage.get(name)) for name in sent), limits.MODEL_USAGE_TOKENS_MAX),
            output_tokens=_count(usage.get("output_tokens")),
            cost_micro_usd=_count(round(cost * 1_000_000)) if isinstance(cost, int | float) else None,
        ),
    )


def _count(value: object) -> int:
    return min(max(value, 0), limits.MODEL_USAGE_TOKENS_MAX) if isinstance(value, int) else 0


PROGRAMS: Mapping[str, AgentProgram] = {
    "claude-code": AgentProgram(
        command="claude", words=_claude_words, read=_read_claude, keys=lambda: ["ANTHROPIC_API_KEY"]
    ),
    "codex": AgentProgram(
        command="codex",
        words=_codex_words,
        read=lambda output: ProgramAnswer(text=output.decode()),
        keys=_codex_keys,
    ),
}


def find_executable(name: str) -> tuple[AgentProgram, str, str]:
    """The program behind a name such as `codex` or `claude-code:opus`, where it lies, and the model that it
    is to take; ModelFailure where there is none."""
    program_name, _, model = name.partition(":")
    program = PROGRAMS.get(program_name)
    if program is None or model.startswith("-"):
        raise ModelFailure(
            f"'agent:{name[: limits.MODEL_CHARS_MAX]}' names no program that can be asked",
            code="model.unknown",
            hint=f"there are {', '.join(f'agent:{each}' for each in PROGRAMS)}; a model may follow, as in"
            " agent:claude-code:opus",
        )
    executable = shutil.which(program.command)
    if executable is None:
        raise ModelFailure(
            f"agent:{program_name} is asked by the program {program.command}, which is not on the PATH",
            code="model.program",
            hint=f"install {program.command} and log in with it, or put it on the PATH of Runlore and start"
            " Runlore again",
            is_absent=True,
        )
    return program, executable, model


class ProgramClient:
    """Asks programs, each in a process of its own, and ends those that are under way when it is closed."""

    def __init__(
        self, folder: str, *, keys: Iterable[str] = (), start_s: float = limits.MODEL_PROGRAM_START_S
    ) -> None:
        """`keys` are the variables with Runlore's own keys, which are no program's business."""
        self._folder = folder
        self._keys = frozenset(keys)
        self._start_s = start_s
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def ask(
        self,
        provider: Provider,
        name: str,
        *,
        instructions: str,
        text: str,
        schema: JsonObject,
        timeout_s: float,
    ) -> StructuredAnswer:
        """Ask one program; ModelFailure as the port says. A program takes its time to start, so it has some
        beyond what was given for the answer."""
        program, executable, model = find_executable(name)
        asked = f"{provider.name}:{name}"
        whole = instructions + IN_WORDS + orjson.dumps(schema, default=dict).decode()
        with tempfile.TemporaryDirectory(prefix="runlore-question-") as folder:
            words = [executable, *program.words(folder, whole)]
            chosen = ["--model", model] if model else []
            left_out = self._keys.difference(program.keys())
            environment = {
                name: value
                for name, value in os.environ.items()
                if name not in _NESTED and name not in left_out and not name.startswith(_OWN)
            }
            whole_s = timeout_s + self._start_s
            output = self._run(asked, [*words, *chosen], text, environment=environment, timeout_s=whole_s)
        try:
            said = program.read(output)
        except (ValueError, TypeError, OverflowError):
            raise no_answer(asked, "it is not in the form of the program's output") from None
        usage = said.usage or TokenUsage(
            input_tokens=estimate(whole) + estimate(text), output_tokens=estimate(said.text)
        )
        answer, problem = read_answer(said.text, schema)
        if answer is None:
            failure = no_answer(asked, problem)
            failure.usage = usage
            raise failure
        return StructuredAnswer(output=answer, usage=usage)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for process in self._running:
                _end_group(process)

    def _run(
        self, asked: str, words: list[str], text: str, *, environment: Mapping[str, str], timeout_s: float
    ) -> bytes:
        """What a program prints; ModelFailure where it fails, takes too long or prints too much."""
        self._prepare_folder()
        with tempfile.TemporaryFile() as question:
            question.write(text.encode())
            question.seek(0)
            process = self._start(asked, words, environment, question.fileno())
            assert process.stdout is not None, "it is a pipe"
            try:
                with process.stdout:
                    deadline = time.monotonic() + timeout_s
                    output = _read_output(process.stdout.fileno(), asked, deadline)
                    _await_end(process, asked, deadline)
            finally:
                # Whoever closes us ends no program that has been waited for: its number may be another's.
                with self._lock:
                    self._running.discard(process)
                    _end_group(process)
                status = process.wait()
        if self._is_closed:
            raise closing_failure()
        if status != 0:
            raise ModelFailure(
                f"the program behind {asked} ended with status {status}",
                code="model.failed",
                hint=f"run {os.path.basename(words[0])} yourself: it may want you to log in",
            )
        return output

    def _start(
        self, asked: str, words: list[str], environment: Mapping[str, str], question: int
    ) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_closed:
                raise closing_failure()
            try:
                process = subprocess.Popen(
                    words,
                    cwd=self._folder,
                    env={**environment, HOOKS_VARIABLE: "off", "DISABLE_AUTOUPDATER": "1"},
                    stdin=question,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise ModelFailure(
                    f"the program behind {asked} cannot be started: {error.strerror}",
                    code="model.program",
                    hint=f"check that {words[0]} can be run",
                ) from None
            self._running.add(process)
        return process

    def _prepare_folder(self) -> None:
        """A folder of our own, which says that nothing of what happens there is learned."""
        path = os.path.join(self._folder, PROJECT_FILE)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if not os.path.exists(path):
                with open(path, "w", encoding="ascii") as file:
                    file.write("capture = false\n")
        except OSError as error:
            raise ModelFailure(
                f"{self._folder} cannot be written: {error.strerror}",
                code="model.program",
                hint="make room, or make the state root writable",
                passes=True,
            ) from None


def _read_output(pipe: int, asked: str, deadline: float) -> bytes:
    received = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise late_failure(asked)
            block = os.read(pipe, _READ_BYTES)
            if not block:
                return bytes(received)
            received += block
            if len(received) > limits.MODEL_ANSWER_BYTES_MAX:
                raise no_answer(asked, f"it is longer than {limits.MODEL_ANSWER_BYTES_MAX} bytes")


def _await_end(process: "subprocess.Popen[bytes]", asked: str, deadline: float) -> None:
    """Wait until a program has ended, and leave it as it is: as long as nobody has taken its status, its
    number is nobody else's, and what it started can be ended by it."""
    pause_s = _LOOK_FIRST_S
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise late_failure(asked)
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LOOK_AGAIN_S)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program, whose status nobody has taken, with all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
