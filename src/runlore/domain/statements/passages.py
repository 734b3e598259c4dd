"""What a model is shown of sessions: each message of the user with what stood around it, in batches (SKL-20).

Only the user's own words are shown as said, redacted and bounded, and of what the agent did the calls that
tell a way of working.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runlore.domain import limits
from runlore.domain.detectors.mined import Outcome, Step
from runlore.domain.detectors.recovery_texts import is_about_code
from runlore.domain.detectors.tool_calls import EDIT
from runlore.domain.privacy.redaction import redact_beginning, redact_text
from runlore.domain.prompts.injected import strip_injected, without_notes
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.session import SessionId
from runlore.domain.statements.sentences import own_text
from runlore.domain.statements.user_messages import UserMessage, UserMessageCollector
from runlore.domain.text.excerpt import excerpt

SESSIONS_MIN = 3
"""A request that is found in fewer sessions is not said to come back."""

_SAID_CHARS_MAX = 1_500
# Few words mean little without what stood before them.
_FEW_CHARS, _BEFORE_FEW_CHARS_MAX, _BEFORE_CHARS_MAX = 60, 700, 300
_CALL_CHARS_MAX, _ERROR_CHARS_MAX = 300, 240
_FIRST_CALLS_MAX, _LAST_CALLS_MAX = 8, 12
# A text that is handed to a command, and what only cuts short what it prints.
_QUOTED = re.compile(r"\$?\"(?:\\.|[^\"\\]){0,20000}\"|\$?'[^']{0,20000}'", re.DOTALL)
_WRITTEN_CHARS_MIN = 40
_CUTTING = re.compile(r"\s*2>&1|\s*\|\s*(?:head|tail)(?: -\S+)*(?= *(?:$|[;|&]))")
_PASSAGES_PER_RUN_MAX = 40
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A message of the user with what stood around it: `own` is what of it is surely the user's and is shown,
    `before` what the agent had said or tried, `calls` what was done after it, in order, each with its error,
    which is empty where it succeeded. `sessions` is in how many sessions the same was asked for."""

    message: UserMessage
    own: str
    before: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    project: str = ""
    day: str = ""
    sessions: int = 0

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it takes in a request."""
        calls = (text for call in self.calls for text in call)
        return 20 + sum(map(estimate, (self.own, self.before, *calls)))

    @property
    def ran(self) -> tuple[str, ...]:
        """What succeeded."""
        return tuple(text for text, error in self.calls if not error)


class PassageCollector:
    """Hears the runs of one session in order, for what their user said with what stood around it. `spoken` is
    what the agent said last."""

    def __init__(self, *, session_id: SessionId, project: str, personal: bool) -> None:
        self._session_id = session_id
        self._project = project
        self._personal = personal
        self.spoken = ""

    def hear_run(
        self,
        run_id: RunId,
        events: Iterable[tuple[int, EventType, JsonObject]],
        steps: Sequence[Step] = (),
        *,
        day: str = "",
    ) -> tuple[Passage, ...]:
        """The passages of the next run."""
        listener = UserMessageCollector(session_id=self._session_id, run_id=run_id)
        before: list[str] = []
        calls: dict[str, str] = {}
        for number, kind, body in events:
            call_id = str(body.get("call_id"))
            if kind is EventType.ASSISTANT_MESSAGE:
                self.spoken = text_of(body).strip() or self.spoken
            elif kind is EventType.TOOL_CALL:
                calls[call_id] = f"{body.get('name')} {body.get('arguments')}"
            listener.hear(number, kind, body)
            if len(listener.said) > len(before):
                before.append(calls.get(call_id, "") if kind is EventType.TOOL_RESULT else self.spoken)
        heard = [pair for pair in zip(listener.said, before, strict=True) if not pair[0].foreign_tool]
        ends = [*(said.event_number for said, _ in heard[1:]), limits.NUMBER_MAX]
        return tuple(
            Passage(
                message=said,
                own=own,
                before=self._shorten(around, own, is_end=not said.is_refusal),
                calls=_calls([step for step in steps if said.event_number < step.number < end]),
                project=self._project,
                day=day,
            )
            for (said, around), end in zip(heard, ends, strict=False)
            if (own := self._own(said))
        )[:_PASSAGES_PER_RUN_MAX]

    def _own(self, said: UserMessage) -> str:
        own = without_notes(own_text(strip_injected(said.text))).strip()
        if not _LETTERS.search(own):
            return ""
        return excerpt(redact_beginning(own, personal=self._personal).text, _SAID_CHARS_MAX)

    def _shorten(self, text: str, own: str, *, is_end: bool) -> str:
        """What stood before a message: of what the agent said the end, of a call the beginning."""
        plain = " ".join(strip_injected(text).split())
        most = _BEFORE_FEW_CHARS_MAX if len(own) <= _FEW_CHARS else _BEFORE_CHARS_MAX
        cut = plain[-most:] if is_end else plain[:most]
        return redact_text(cut, personal=self._personal).text


def _calls(steps: Iterable[Step]) -> tuple[tuple[str, str], ...]:
    """What was done, each call once, and what failed, each error once, without edits. What only looks around
    counts where it failed, or its program had. An error about the code of the moment teaches nothing."""
    found: dict[tuple[str, str], None] = {}
    failed: set[str] = set()
    for step in steps:
        text, error = _call_text(step), ""
        if step.outcome is Outcome.FAILED:
            text, error = excerpt(text, _CALL_CHARS_MAX), excerpt(step.error, _ERROR_CHARS_MAX)
            is_shown = bool(error) and not is_about_code(error) and all(error != met for _, met in found)
            failed.update(command.topic for command in step.commands)
        else:
            is_done = bool(step.tool) or not step.is_looking or _is_tried_again(step, failed)
            is_shown = step.outcome is Outcome.SUCCEEDED and is_done and len(text) <= _CALL_CHARS_MAX
        if is_shown and text and step.tool != EDIT:
            found[text, error] = None
    calls = tuple(found)
    is_long = len(calls) > _FIRST_CALLS_MAX + _LAST_CALLS_MAX
    # What begins the work, and what hands it in.
    return calls[:_FIRST_CALLS_MAX] + calls[-_LAST_CALLS_MAX:] if is_long else calls


def _is_tried_again(step: Step, failed: Container[str]) -> bool:
    """Whether what only looks around is of a program that had failed, and is kept as it was written."""
    return any(command.topic in failed and command.text != command.form for command in step.commands)


def _call_text(step: Step) -> str:
    """A call in one line, what is written in it left out: a message, the text of a pull request."""
    if step.tool:
        return f"{step.tool} {' '.join(step.text.split())}".strip()
    short = _QUOTED.sub(lambda found: "<text>" if len(found[0]) > _WRITTEN_CHARS_MIN else found[0], step.text)
    typed, is_fed, _ = short.replace("\\\n", " ").partition("<<")
    lines = (" ".join(_CUTTING.sub("", line).split()) for line in typed.splitlines())
    return " ; ".join(filter(None, lines)) + (" <text>" if is_fed else "")


@dataclass(frozen=True, kw_only=True)
class MessageBatch:
    """Messages that are asked about together. A message is known by its place among them, from 1 on."""

    passages: tuple[Passage, ...]

    @property
    def runs(self) -> tuple[RunId, ...]:
        """The runs that it is about, each whole."""
        return tuple(dict.fromkeys(each.message.run_id for each in self.passages))

    @property
    def sessions(self) -> tuple[SessionId, ...]:
        return tuple(dict.fromkeys(each.message.session_id for each in self.passages))

    @property
    def document(self) -> dict[str, JsonValue]:
        """What a model is shown."""
        sessions: list[JsonValue] = []
        for session_id in self.sessions:
            those = [
                (place, each)
                for place, each in enumerate(self.passages, start=1)
                if each.message.session_id == session_id
            ]
            first = those[0][1]
            messages: list[JsonValue] = [_message(place, each) for place, each in those]
            sessions.append({"project": first.project, "day": first.day, "messages": messages})
        return {"sessions": sessions}


def _message(place: int, passage: Passage) -> dict[str, JsonValue]:
    message: dict[str, JsonValue] = {"id": place}
    if passage.before:
        message["refused_call" if passage.message.is_refusal else "agent_before"] = passage.before
    message["said"] = passage.own
    if passage.sessions >= SESSIONS_MIN:
        message["asked_in_sessions"] = passage.sessions
    if passage.calls:
        message["calls_after"] = [
            {"failed": text, "error": error} if error else text for text, error in passage.calls
        ]
    return message


def batches_of(runs: Iterable[Sequence[Passage]], *, tokens_max: int) -> Iterator[MessageBatch]:
    """Runs in batches that fit, in order. A run is never divided: one that is too long goes alone."""
    taken: list[Passage] = []
    tokens = 0
    for run in runs:
        more = sum(each.tokens for each in run)
        if taken and tokens + more > tokens_max:
            yield MessageBatch(passages=tuple(taken))
            taken, tokens = [], 0
        taken += run
        tokens += more
    if taken:
        yield MessageBatch(passages=tuple(taken))
