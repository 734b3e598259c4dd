"""What an agent does, as its run's journal keeps it: every message, call and answer, in order, durable before
the next thing happens. And the requests that really went to the provider, the first and the last.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime

from runlore.agents.transcripts.parsing import shorten
from runlore.daemon.agent.run_opening import AGENT, OpenedRun
from runlore.daemon.own_runs.live_events import Live
from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, ToolCall
from runlore.domain.errors import Invalid
from runlore.domain.privacy.redaction import redact_json, redact_text
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import Artifact, ArtifactId, Run
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, continuing
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.serialization.codec import serialize
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.text.safe_text import make_storable
from runlore.flow.capture.approvals import WAITING, go_on, lapse
from runlore.flow.capture.runs import FIRST, LAST, add_artifact, append_events, may_keep, usage_counters
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.capture.sessions import is_captured
from runlore.ports.model import TokenUsage
from runlore.ports.store import Transaction

_CUT = "[{:,} characters left out]"
# How much of each text is kept where a whole request is too large, tried one after the other.
_KEPT_CHARS = (100_000, 20_000, 4_000, 400)


class SentRequests:
    """The first and the last request of one run. They are noted in any thread, and kept in the run's own."""

    def __init__(self, parts: Parts, run: Run) -> None:
        self._parts = parts
        self._run = run
        self._lock = threading.Lock()
        self._first: str | None = None
        self._last: str | None = None
        self._is_kept = False

    def note(self, body: str) -> None:
        with self._lock:
            self._first = body if self._first is None else self._first
            self._last = body

    def first_to_keep(self, at: datetime) -> Artifact | None:
        """The first one, once there is one and until it is kept. It is made outside of any transaction: a
        long conversation is long to clean, and nobody waits with it for the store."""
        with self._lock:
            body = None if self._is_kept else self._first
        return None if body is None else self._artifact(FIRST, body, at)

    def first_is_kept(self) -> None:
        self._is_kept = True

    def artifacts_to_keep(self, at: datetime) -> tuple[Artifact, ...]:
        with self._lock:
            last = self._last
        first = self.first_to_keep(at)
        made = (first, None if last is None else self._artifact(LAST, last, at))
        return tuple(each for each in made if each is not None)

    def _artifact(self, name: str, body: str, at: datetime) -> Artifact:
        return Artifact(
            artifact_id=ArtifactId(self._parts.ids.new("art", at)),
            run_id=self._run.run_id,
            session_id=self._run.session_id,
            name=name,
            text=redact_request(body),
            created_at=at,
        )


def redact_request(body: str) -> str:
    """A request's body without secrets. Where that is too large for an artifact, long texts in it are cut."""
    try:
        document: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return _truncate(redact_text(make_storable(body)).text, limits.ARTIFACT_BYTES_MAX)
    clean, _ = redact_json(make_json_storable(document))
    for chars_max in (None, *_KEPT_CHARS):
        small = clean if chars_max is None else _cut(clean, chars_max)
        text = json.dumps(small, ensure_ascii=False, indent=1, default=dict)
        if len(text.encode()) <= limits.ARTIFACT_BYTES_MAX:
            return text
    return _truncate(text, limits.ARTIFACT_BYTES_MAX)


def _cut(value: JsonValue, chars_max: int) -> JsonValue:
    if isinstance(value, str):
        left_out = len(value) - chars_max
        return value if left_out <= 0 else value[:chars_max] + _CUT.format(left_out)
    if isinstance(value, Mapping):
        return {name: _cut(item, chars_max) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_cut(item, chars_max) for item in value]
    return value


def _truncate(text: str, bytes_max: int) -> str:
    return text.encode()[:bytes_max].decode(errors="ignore")


# What stands for an argument or an output that no journal takes.
_LEFT_OUT = "[left out: it is too large]"
_TOLD_CHARS = 100_000


class JournalWriter:
    """The listener of one run (`ports.runner.Listener`)."""

    def __init__(self, parts: Parts, opened: OpenedRun, live: Live) -> None:
        self._parts = parts
        self._opened = opened
        self._live = live
        self.requests = SentRequests(parts, opened.run)

    def on_text(self, piece: str) -> None:
        self._live.text(piece)

    def on_request(self, body: str, _model: str) -> None:
        self.requests.note(body)

    def on_remark(self, remark: str) -> None:
        self._live.remark(remark)

    def on_message(self, said: AssistantSaid, model: str, usage: TokenUsage) -> None:
        entries = [_to_entry(event) for event in (*map(_call, said.calls), _usage(model, usage))]
        if said.text.strip():
            message = _to_entry({"type": EventType.ASSISTANT_MESSAGE.value, "text": said.text})
            entries.insert(0, continuing(message) if said.continues else message)
        self._append(entries)

    def on_tool_answer(self, answer: ToolAnswered) -> None:
        event: dict[str, JsonValue] = {
            "type": EventType.TOOL_RESULT.value,
            "call_id": answer.call_id,
            "output": answer.output,
            "exit_code": answer.exit_code,
            "is_error": answer.is_error,
            "source": answer.source or None,
        }
        self._append([_to_entry(event)])

    def _append(self, entries: Sequence[Entry]) -> None:
        at = self._parts.clock.now()
        if not self._opened.stored:
            self._tell(entries, at)
            return
        number: int | None = None
        first = self.requests.first_to_keep(at)
        with self._parts.store.transaction() as tx:
            run, session = run_turn(tx, self._opened.run.run_id)
            if is_captured(tx, session):
                if run.status in WAITING:
                    # What it waited for could not be closed then: it goes on all the same.
                    run = self._gone_on(tx, run, at)
                number = self._write(tx, run, entries, at)
                if first is not None and may_keep(tx, run, first):
                    add_artifact(tx, run, first)
        if number is None:
            self._tell(entries, at)
            return
        if first is not None:
            self.requests.first_is_kept()
        self._live.grew(number)

    def _gone_on(self, tx: Transaction, run: Run, at: datetime) -> Run:
        lapse(tx, run.run_id, at=at, actor=AGENT)
        return go_on(tx, run, at)

    def _write(self, tx: Transaction, run: Run, entries: Sequence[Entry], at: datetime) -> int:
        numbers = append_events(tx, run, entries, first_number=None, at=at)
        learned = usage_counters(tx, run, entries, first=numbers.first, families=self._parts.families)
        if learned:
            tx.counters.add(learned)
        return numbers.last

    def _tell(self, entries: Sequence[Entry], at: datetime) -> None:
        """Tell whoever follows, where nothing is stored."""
        run = self._opened.run
        for entry in entries:
            event = JournalEvent(
                session_id=run.session_id,
                number=0,
                run_id=run.run_id,
                type=entry.type,
                at=at,
                body=entry.body,
            )
            self._live.add_event(serialize(event), numbered=not self._opened.stored)


def _call(call: ToolCall) -> JsonObject:
    return {
        "type": EventType.TOOL_CALL.value,
        "call_id": call.call_id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _usage(model: str, usage: TokenUsage) -> JsonObject:
    body: dict[str, JsonValue] = {
        "type": EventType.USAGE.value,
        "model": model[: limits.MODEL_CHARS_MAX],
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.cost_micro_usd is not None:
        body["cost_micro_usd"] = usage.cost_micro_usd
    return body


def _to_entry(event: JsonObject) -> Entry:
    """An event as the journal takes it; what is too large for it is shortened, and never left out."""
    plain = {name: make_json_storable(value) for name, value in event.items()}
    try:
        return parse_entry(plain)
    except (Invalid, RecursionError):
        return parse_entry({name: _small(name, value) for name, value in plain.items()})


def _small(name: str, value: JsonValue) -> JsonValue:
    if name == "arguments":
        return {"note": _LEFT_OUT}
    if name in ("call_id", "name"):
        return str(value).strip()[: limits.ID_CHARS_MAX] or "unknown"
    if name == "source" and isinstance(value, str):
        return value[: limits.PATH_CHARS_MAX]
    return shorten(value, _TOLD_CHARS) if isinstance(value, str) else value
