"""What an agent does, as its run's journal keeps it: every message, call and answer, in order, durable before
the next thing happens. And the requests that really went to the provider, the first and the last.
"""

from collections.abc import Sequence
from datetime import datetime

from runlore.agents.transcripts.parsing import shorten
from runlore.daemon.agent.provider_requests import SentRequests
from runlore.daemon.agent.run_opening import AGENT, OpenedRun
from runlore.daemon.own_runs.live_events import Live
from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, ToolCall
from runlore.domain.errors import Invalid
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import Run
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, continuing
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.serialization.codec import serialize
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.flow.capture.approvals import WAITING, go_on, lapse
from runlore.flow.capture.consent import is_captured
from runlore.flow.capture.runs import add_artifact, append_events
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.capture.usage import usage_counters
from runlore.flow.provider_requests import may_keep
from runlore.ports.model import TokenUsage
from runlore.ports.store import Transaction

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
        """Something a person should know."""
        self._live.remark(remark)

    def on_message(self, said: AssistantSaid, model: str, usage: TokenUsage) -> None:
        """A whole message, its calls, and what it took."""
        entries = [_to_entry(event) for event in (*map(_call, said.calls), _usage(model, usage))]
        if said.text.strip():
            message = _to_entry({"type": EventType.ASSISTANT_MESSAGE.value, "text": said.text})
            entries.insert(0, continuing(message) if said.continues else message)
        self._append(entries)

    def on_tool_answer(self, answer: ToolAnswered) -> None:
        told: dict[str, JsonValue] = {
            "type": EventType.TOOL_RESULT.value,
            "call_id": answer.call_id,
            "output": answer.output,
            "exit_code": answer.exit_code,
            "is_error": answer.is_error,
            "source": answer.source or None,
        }
        self._append([_to_entry(told)])

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
        """Write the events; the number of the last."""
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
    told: dict[str, JsonValue] = {
        "type": EventType.USAGE.value,
        "model": model[: limits.MODEL_CHARS_MAX],
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.cost_micro_usd is not None:
        told["cost_micro_usd"] = usage.cost_micro_usd
    return told


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
