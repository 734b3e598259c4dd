"""What a user has said: the input of a run, what they typed into a form of the agent's, or the reason given
with a call that was refused.

The harness of Claude Code puts such a reason into the result of the call. A tool that is not the harness's
own can put the same words there, so a reason that stands in the answer of one is marked with its name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import Entry, EventType, text_of, words_of
from runlore.domain.session import SessionId
from runlore.domain.text.word_tables import words

_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)\."
    r"[^\n]{0,400}?the user said:\s*"
)
# What the harness adds behind the user's words.
_ADDED = "\n\nNote: The user's next message"
# The tools whose errors are the harness's own words. What any other answers may be anybody's.
_HARNESS_TOOLS = words(
    """
    Agent AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode Glob Grep KillShell LS MultiEdit NotebookEdit
    Read Skill Task TodoWrite Write
    """
)
_UNKNOWN_TOOL = "an unknown tool"
_FORM = "AskUserQuestion"
_ANSWER_ENDS = re.compile(r'"(?:, "|\. You can now|\.?\s*$| selected preview:)')


@dataclass(frozen=True, kw_only=True)
class UserMessage:
    """One message of the user, as it was sent, and where it stands. `is_refusal` marks the reason for a
    refused call; `foreign_tool` names the tool from outside in whose answer it stands, if it is one."""

    session_id: SessionId
    run_id: RunId
    event_number: int
    text: str
    is_refusal: bool = False
    foreign_tool: str = ""


class UserMessageCollector:
    """Hears the events of a run in order, and keeps what its user said. An input that is another agent's or a
    task's is nobody's wish."""

    def __init__(self, *, session_id: SessionId, run_id: RunId) -> None:
        self.said: list[UserMessage] = []
        self._session_id = session_id
        self._run_id = run_id
        self._tools: dict[str, str] = {}
        self._forms: dict[str, dict[str, frozenset[str]]] = {}

    def hear(self, number: int, kind: EventType, body: JsonObject) -> None:
        """Hear the event of this number."""
        words, tool, is_refusal = "", "", False
        if kind is EventType.INPUT and not words_of(body):
            words = text_of(body)
        elif kind is EventType.TOOL_CALL:
            self._tools[str(body.get("call_id"))] = str(body.get("name"))
            if body.get("name") == _FORM:
                self._forms[str(body.get("call_id"))] = _choices(body.get("arguments"))
        elif kind is EventType.TOOL_RESULT and (form := self._forms.get(str(body.get("call_id")))):
            words = typed_answers(str(body.get("output")), form)
        elif kind is EventType.TOOL_RESULT and "exit_code" not in body:
            # A command that ran has said whatever stands there.
            words = refusal_words(str(body.get("output")), is_error=body.get("is_error") is True)
            tool, is_refusal = foreign_tool(self._tools.get(str(body.get("call_id")), "")), True
        if words:
            self.said.append(
                UserMessage(
                    session_id=self._session_id,
                    run_id=self._run_id,
                    event_number=number,
                    text=words,
                    is_refusal=is_refusal,
                    foreign_tool=tool,
                )
            )


def list_user_messages(
    entries: Iterable[Entry], *, session_id: SessionId, run_id: RunId, first_number: int = 1
) -> list[UserMessage]:
    """What the user said in a run, of its entries in order; `first_number` is that of the first."""
    listener = UserMessageCollector(session_id=session_id, run_id=run_id)
    for number, entry in enumerate(entries, first_number):
        listener.hear(number, entry.type, entry.body)
    return listener.said


def refusal_words(output: str, *, is_error: bool) -> str:
    """What the user said in refusing a call, of the call's result; empty where nothing was said."""
    found = _REFUSED.match(output) if is_error else None
    if found is None:
        return ""
    return output[found.end() :].partition(_ADDED)[0].strip()


def foreign_tool(name: str) -> str:
    """The name of a tool that answers with texts of its own; empty for those of the harness."""
    return "" if name in _HARNESS_TOOLS else name or _UNKNOWN_TOOL


def typed_answers(output: str, form: Mapping[str, frozenset[str]]) -> str:
    """What the user typed into a form of the agent's, of its questions with their choices. What was only
    chosen are the agent's words."""
    typed: list[str] = []
    for question, choices in form.items():
        _, found, behind = output.partition(f'"{question}"="')
        answer = _ANSWER_ENDS.split(behind, maxsplit=1)[0].strip() if found else ""
        parts = {part.strip() for part in answer.split(",")} | {answer}
        if answer and not parts & choices:
            typed.append(answer)
    return "\n".join(typed)


def _choices(arguments: JsonValue) -> dict[str, frozenset[str]]:
    """The questions of a form, each with the labels that can be chosen."""
    questions = arguments.get("questions") if isinstance(arguments, Mapping) else None
    found: dict[str, frozenset[str]] = {}
    for each in questions if isinstance(questions, list | tuple) else ():
        if isinstance(each, Mapping) and isinstance(each.get("question"), str):
            options = each.get("options")
            listed = options if isinstance(options, list | tuple) else ()
            labels = (option.get("label") for option in listed if isinstance(option, Mapping))
            found[str(each["question"])] = frozenset(str(label).strip() for label in labels)
    return found
