"""A session of the OpenAI Agents SDK over a run: what earlier runs said comes back, and what
this one says and does is kept in the journal.

One run is one request. The journal only grows, so nothing can be popped or cleared from here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from runlore.client.async_sdk import AsyncRecordedRun
from runlore.client.sdk import Event, RecordedRun
from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.errors import Invalid, Refused
from runlore.domain.runs.journal import EventType, JournalEvent, text_of
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate

if TYPE_CHECKING:
    from agents import TResponseInputItem
    from agents.memory import SessionSettings


class AgentsSession:
    """`Runner.run(agent, text, session=runlore.AgentsSession(run))`, with the run that `lore.run` opened."""

    session_settings: SessionSettings | None = None

    def __init__(self, run: RecordedRun | AsyncRecordedRun) -> None:
        self._run = run.recorded if isinstance(run, AsyncRecordedRun) else run
        self.session_id: str = self._run.session_id
        self._asked: str | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The conversation so far, the latest `limit` items; of tools only calls that were answered."""
        return await asyncio.to_thread(self._history, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep what was said and done. The request itself is in the journal already."""
        events = [event for item in items for event in self._events_of(cast("Mapping[str, Any]", item))]
        for part in into_batches(events, limits.EVENTS_PER_CALL_MAX):
            await asyncio.to_thread(self._run.append, *part)

    async def pop_item(self) -> TResponseInputItem | None:
        raise _only_grows("taken out of")

    async def clear_session(self) -> None:
        raise _only_grows("cleared from")

    def _history(self, limit: int | None) -> list[TResponseInputItem]:
        newest = (item for run in self._newest_runs() for item in reversed(_items_of(run)))
        # A call may be beyond the limit whose answer is within it.
        return cast("list[TResponseInputItem]", _without_halves([*islice(newest, limit)][::-1]))

    def _newest_runs(self) -> Iterator[Sequence[JournalEvent]]:
        """The events of the session's runs, the newest run first; of this one once its request was told."""
        operations = self._run.operations
        for view in paginate(operations.list_runs, ops.RunsRequest(session_id=self._run.session_id)):
            is_own = view.run.run_id == self._run.run_id
            if self._asked is not None if is_own else view.run.is_terminal:
                yield [*paginate(operations.journal, ops.JournalRequest(run_id=view.run.run_id))]

    def _events_of(self, item: Mapping[str, Any]) -> Iterator[Event]:
        kind, role = item.get("type", "message"), item.get("role")
        if role == "user":
            self._take_request(_plain_text(item.get("content")))
        elif role == "assistant":
            if said := _plain_text(item.get("content")):
                yield {"type": "assistant_message", "text": said}
        elif kind == "function_call":
            arguments = _read_arguments(item["arguments"])
            yield {
                "type": "tool_call",
                "call_id": item["call_id"],
                "name": item["name"],
                "arguments": arguments,
            }
        elif kind == "function_call_output":
            yield {"type": "tool_result", "call_id": item["call_id"], "output": _output(item["output"])}
        elif kind.endswith("_call") and item.get("id"):
            # What the provider's own tools did: a search of the web is where words may come from.
            rest = {name: value for name, value in item.items() if name not in ("id", "type")}
            name = kind.removesuffix("_call")
            yield {"type": "tool_call", "call_id": item["id"], "name": name, "arguments": rest}
            yield {"type": "tool_result", "call_id": item["id"], "output": _output(item.get("output", ""))}

    def _take_request(self, text: str) -> None:
        if self._asked is None:
            self._asked = text
        elif text != self._asked:
            raise Invalid(
                "this run has its request already, and one run is one request",
                code="session.request",
                hint="open another run with lore.run(...), and make another AgentsSession of that",
            )


def _item_of(event: JournalEvent) -> dict[str, Any] | None:
    body: Mapping[str, Any] = event.body
    if event.type in _ROLES and text_of(body):
        return {"role": _ROLES[event.type], "content": text_of(body)}
    if event.type is EventType.TOOL_CALL and "name" in body:
        arguments = body.get("arguments")
        told = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return {"type": "function_call", "call_id": body["call_id"], "name": body["name"], "arguments": told}
    if event.type is EventType.TOOL_RESULT and "output" in body:
        output = body["output"]
        told = output if isinstance(output, str) else json.dumps(output)
        return {"type": "function_call_output", "call_id": body["call_id"], "output": told}
    return None


_ROLES = {EventType.INPUT: "user", EventType.ASSISTANT_MESSAGE: "assistant"}


def _items_of(run: Iterable[JournalEvent]) -> list[dict[str, Any]]:
    return _without_halves([item for item in map(_item_of, run) if item])


def _without_halves(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without calls that have no answer and answers whose call is not there: providers refuse both."""
    called = {item["call_id"] for item in items if item.get("type") == "function_call"}
    answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    return [item for item in items if "call_id" not in item or item["call_id"] in called & answered]


def _plain_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    told = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping))
    return "\n".join(each for each in told if isinstance(each, str))


def _read_arguments(arguments: str) -> Any:
    """The arguments of a call; what is no JSON object or list stays text."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return found if isinstance(found, (dict, list)) else arguments


def _output(output: object) -> str:
    return output if isinstance(output, str) else _plain_text(output) or json.dumps(output, default=str)


def _only_grows(how: str) -> Refused:
    return Refused(
        f"nothing is {how} a session: its journal only grows",
        code="session.journal",
        hint="take another session id, or erase this one with `runlore forget SESSION`",
    )
