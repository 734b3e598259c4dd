"""What agents' hooks report, and the answers that they understand: one row an agent.

An agent whose transcripts are read reports when an input is taken and when it is done; what happened between
is in its transcript, which is read then. An agent without a reader reports its tools and its words too.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.transcript import TranscriptAgent


class HookKind(StrEnum):
    """What a hook tells."""

    START = "start"
    PROMPT = "prompt"
    TOOL = "tool"
    SAID = "said"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True, kw_only=True)
class HookReport:
    """One report, in one form for all agents. `session` is the agent's own id of it. Where it `is_compacted`,
    the agent has just replaced its conversation by a summary."""

    kind: HookKind
    session: str
    folder: str = ""
    prompt: str = ""
    transcript: str = ""
    text: str = ""
    model: str = ""
    tool: str = ""
    arguments: JsonObject | None = None
    output: str = ""
    is_error: bool = False
    is_compacted: bool = False


# The names that agents give to what they report, the first that is there counts.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "session": ("session_id", "sessionId", "conversation_id"),
    "folder": ("cwd", "workspace_roots"),
    "prompt": ("prompt", "initialPrompt"),
    "transcript": ("transcript_path", "transcriptPath"),
    "text": ("last_assistant_message", "prompt_response", "text"),
    "model": ("model",),
    "tool": ("tool_name", "toolName"),
    "arguments": ("tool_input", "toolArgs"),
    "output": ("tool_response", "tool_output", "toolResult", "output", "result_json"),
}


def _answer_nested(event: str, context: str) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


@dataclass(frozen=True, kw_only=True)
class HookedAgent:
    """An agent with hooks: its events, and how context is handed to it.

    `reader` is the agent as its transcripts name it, None where nobody reads them. `told_at` is the kind of
    report whose answer may hold context.
    """

    name: str
    title: str
    events: Mapping[str, HookKind]
    reader: TranscriptAgent | None
    told_at: frozenset[HookKind] = frozenset({HookKind.PROMPT})
    answer: Callable[[str, str], JsonObject] = _answer_nested


_TOOLS = {"postToolUse": HookKind.TOOL, "postToolUseFailure": HookKind.TOOL}
_CLAUDE_EVENTS = {
    "SessionStart": HookKind.START,
    "UserPromptSubmit": HookKind.PROMPT,
    "Stop": HookKind.STOP,
    "SessionEnd": HookKind.END,
}
_GEMINI_EVENTS = {
    "SessionStart": HookKind.START,
    "BeforeAgent": HookKind.PROMPT,
    "AfterAgent": HookKind.STOP,
    "SessionEnd": HookKind.END,
}
_CURSOR_EVENTS = {
    "sessionStart": HookKind.START,
    "beforeSubmitPrompt": HookKind.PROMPT,
    **_TOOLS,
    "afterAgentResponse": HookKind.SAID,
    "stop": HookKind.STOP,
    "sessionEnd": HookKind.END,
}
_COPILOT_EVENTS = {
    "sessionStart": HookKind.START,
    "userPromptSubmitted": HookKind.PROMPT,
    **_TOOLS,
    "agentStop": HookKind.STOP,
    "sessionEnd": HookKind.END,
}
_ROWS = (
    HookedAgent(
        name="claude-code", title="Claude Code", events=_CLAUDE_EVENTS, reader=TranscriptAgent.CLAUDE_CODE
    ),
    HookedAgent(name="codex", title="Codex", events=_CLAUDE_EVENTS, reader=TranscriptAgent.CODEX),
    HookedAgent(name="gemini", title="Gemini CLI", events=_GEMINI_EVENTS, reader=TranscriptAgent.GEMINI),
    HookedAgent(
        name="opencode",
        title="opencode",
        events={"message": HookKind.PROMPT, "idle": HookKind.STOP},
        reader=TranscriptAgent.OPENCODE,
        answer=lambda _event, context: {"additionalContext": context},
    ),
    HookedAgent(
        name="cursor",
        title="Cursor",
        events=_CURSOR_EVENTS,
        reader=None,
        told_at=frozenset({HookKind.START}),
        answer=lambda _event, context: {"additional_context": context},
    ),
    HookedAgent(
        name="copilot",
        title="Copilot CLI",
        events=_COPILOT_EVENTS,
        reader=None,
        told_at=frozenset({HookKind.START, HookKind.PROMPT}),
        answer=lambda _event, context: {"additionalContext": context},
    ),
)
AGENTS: Mapping[str, HookedAgent] = {agent.name: agent for agent in _ROWS}


def find_agent(name: str) -> HookedAgent:
    if name not in AGENTS:
        raise Invalid(
            f"no agent is known as {name!r:.80}",
            code="hook.agent",
            hint=f"name one of {', '.join(AGENTS)}",
        )
    return AGENTS[name]


def read_report(agent: HookedAgent, event: str, payload: JsonObject) -> HookReport | None:
    """A report in our form; None where it is of an event that nothing is made of, or names no session."""
    kind = agent.events.get(event)
    values = {name: _find(payload, names) for name, names in _FIELDS.items()}
    session = _text(values["session"], limits.ID_CHARS_MAX)
    if kind is None or not session:
        return None
    arguments, output = values["arguments"], values["output"]
    return HookReport(
        kind=kind,
        session=session,
        folder=_text(values["folder"], limits.PATH_CHARS_MAX),
        prompt=_text(values["prompt"], limits.REQUEST_CHARS_MAX),
        transcript=_text(values["transcript"], limits.PATH_CHARS_MAX),
        text=_text(values["text"], limits.TOLD_TEXT_CHARS_MAX),
        model=_text(values["model"], limits.MODEL_CHARS_MAX),
        tool=_text(values["tool"], limits.ID_CHARS_MAX),
        arguments=arguments if isinstance(arguments, Mapping) else {"input": arguments},
        output=_text(output, limits.TOLD_TEXT_CHARS_MAX),
        is_error=event.endswith("Failure"),
        is_compacted=payload.get("source") == "compact",
    )


def _find(payload: JsonObject, names: tuple[str, ...]) -> JsonValue:
    return next((payload[name] for name in names if payload.get(name) is not None), None)


def _text(value: JsonValue, chars_max: int) -> str:
    """A value as text: of a list its first entry, of an object what it says was the result."""
    if isinstance(value, str):
        return value[:chars_max]
    if isinstance(value, list | tuple):
        return _text(value[0], chars_max) if value else ""
    if isinstance(value, Mapping):
        named = ("textResultForLlm", "stdout", "output", "text", "content")
        return next((_text(value[name], chars_max) for name in named if value.get(name)), "")
    return "" if value is None else str(value)[:chars_max]
