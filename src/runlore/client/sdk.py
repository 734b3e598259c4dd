"""Runlore in Python: the few daily acts as methods, and every other operation under `operations`.

`connect()` reaches the Runlore that a command would reach: the one at RUNLORE_URL, the daemon of the state
root, or the state root itself where no daemon runs. Several threads may use one connection.
"""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Literal, Self, TypedDict, cast

from runlore.client.connect import choose_settings, open_operations
from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound, RunloreError
from runlore.domain.record import PERSON_KINDS, Kind, State
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import SessionId
from runlore.domain.statements.candidates import guess_statement
from runlore.domain.worth.outcome import SaidOutcome
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import NotRequired

    from runlore.domain.record import JsonObject, JsonValue, Record
    from runlore.domain.scope import Scope

AGENT = "python"


class MessageEvent(TypedDict):
    """What the agent said."""

    type: Literal["assistant_message"]
    text: str


class ToolCallEvent(TypedDict):
    """A tool that the agent called."""

    type: Literal["tool_call"]
    call_id: str
    name: str
    arguments: Mapping[str, JsonValue]


class ToolResultEvent(TypedDict):
    """What a call gave back. `source` is the address or path that was read."""

    type: Literal["tool_result"]
    call_id: str
    output: str
    exit_code: NotRequired[int]
    is_error: NotRequired[bool]
    source: NotRequired[str]


class UsageEvent(TypedDict):
    """What a request to the model took."""

    type: Literal["usage"]
    input_tokens: NotRequired[int]
    output_tokens: NotRequired[int]
    model: NotRequired[str]


Event = MessageEvent | ToolCallEvent | ToolResultEvent | UsageEvent


class RecordedRun:
    """A run that an agent of yours works, in Runlore's journal. Leaving the `with` block ends it: as
    completed, as failed with the error that came out of it, or as interrupted."""

    def __init__(self, operations: ops.Operations, view: ops.RunView) -> None:
        self.operations = operations
        self.run_id = view.run.run_id
        self.session_id = view.run.session_id
        # What memory gives to this run's prompt, to be put before the request; empty where it gives nothing.
        self.context = "\n\n".join(section.text for section in view.sections or ())
        # False in a private session, of which nothing is kept.
        self.is_stored = view.stored
        self._is_open = True

    def say(self, text: str) -> None:
        """Keep what the agent said."""
        self.append({"type": "assistant_message", "text": text})

    def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        output: str,
        *,
        exit_code: int | None = None,
        is_error: bool | None = None,
        source: str | None = None,
    ) -> None:
        """Keep a call of a tool and what came of it."""
        call_id = uuid.uuid4().hex
        result: ToolResultEvent = {"type": "tool_result", "call_id": call_id, "output": output}
        if exit_code is not None:
            result["exit_code"] = exit_code
        if is_error is not None:
            result["is_error"] = is_error
        if source is not None:
            result["source"] = source
        call: ToolCallEvent = {"type": "tool_call", "call_id": call_id, "name": name, "arguments": arguments}
        self.append(call, result)

    def append(self, *events: Event) -> None:
        """Keep events in the order in which they happened. They are durable when this returns."""
        self.operations.append_events(
            ops.NewEvents(run_id=self.run_id, events=tuple(cast("JsonObject", event) for event in events))
        )

    def finish(
        self,
        *,
        status: RunStatus = RunStatus.COMPLETED,
        error: str = "",
        outcome: Literal["good", "bad"] | None = None,
    ) -> None:
        """End the run before the `with` block does; `outcome` is how it went, if you can say. Its memory is
        there when this returns."""
        if not self._is_open:
            return
        if outcome is not None and outcome not in [*SaidOutcome]:
            raise Invalid(
                f"{outcome!r} says nothing of how a run went",
                code="outcome.unknown",
                hint="use good or bad, or leave it out",
            )
        said = None if outcome is None else SaidOutcome(outcome)
        self.operations.finish_run(ops.RunEnd(run_id=self.run_id, status=status, error=error, outcome=said))
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
            return
        is_failure = isinstance(error, Exception)
        told = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
        # What came out of the block is more important than that its end could not be told.
        with suppress(RunloreError):
            self.finish(
                status=RunStatus.FAILED if is_failure else RunStatus.INTERRUPTED,
                error=told.replace("\0", " ")[: limits.ERROR_CHARS_MAX],
            )


class Lore:
    """A connection to Runlore. Close it, or use it as a context manager."""

    def __init__(self, operations: ops.Operations, closing: ExitStack) -> None:
        # Every operation there is, each with its own request: `lore.operations.list_learnings(...)`.
        self.operations = operations
        self._closing = closing

    def remember(
        self, text: str, *, kind: Kind | str | None = None, scope: Scope = WORKSPACE, confirm: bool = False
    ) -> Record:
        """Propose one sentence to remember; its kind is guessed where none is given. It waits for review,
        unless an operator confirms it here."""
        if kind is not None and kind not in PERSON_KINDS:
            raise Invalid(
                f"{kind!r} is no kind of memory that can be proposed",
                code="kind.unknown",
                hint="use fact, preference, decision or procedure, or leave it out",
            )
        known = guess_statement(text)[0] if kind is None else Kind(kind)
        candidate = self.operations.create_candidate(ops.NewCandidate(kind=known, content=text, scope=scope))
        # What is known already answers for itself.
        if not confirm or candidate.state is not State.CONSTRAINED:
            return candidate
        return self.operations.publish(ops.Publication(record_id=candidate.record_id))

    def search(self, query: str, *, limit: int = 12, session: str | None = None) -> tuple[ops.SearchHit, ...]:
        """Reviewed memory that matches, the best first, each with its score; of a session, what it sees."""
        filters = ops.Filters(session_id=None if session is None else SessionId(session))
        return self.operations.search(ops.SearchRequest(query=query, limit=limit, filters=filters)).items

    def context(self, goal: str, *, session: str | None = None) -> ops.GoalContext:
        """What planning a task should know: the best preferences, procedures and facts for a goal."""
        seen_by = None if session is None else SessionId(session)
        return self.operations.goal_context(ops.GoalRequest(goal=goal, session_id=seen_by))

    def run(self, session: str, text: str, *, agent: str = AGENT, model: str | None = None) -> RecordedRun:
        """Open a run of a session, which is made where it is not there yet. `run.context` is what memory
        gives to its prompt."""
        opened = ops.NewRun(
            session_id=SessionId(session),
            request=text,
            run_id=RunId(f"run_{uuid.uuid4().hex}"),
            agent=agent,
            model=model,
            context=True,
        )
        try:
            view = self.operations.open_run(opened)
        except NotFound:
            self.operations.create_session(ops.NewSession(session_id=SessionId(session), agent=agent))
            view = self.operations.open_run(opened)
        return RecordedRun(self.operations, view)

    def close(self) -> None:
        """End the connection. Where no daemon runs, what the runs taught is looked at now."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def connect(*, home: str | None = None, url: str | None = None, token: str | None = None) -> Lore:
    """Reach a Runlore: at `url` (RUNLORE_URL) with `token` (RUNLORE_TOKEN), or of the state root `home`
    (RUNLORE_HOME): its daemon where one runs, else the files themselves, which no other process can use
    meanwhile."""
    environment = dict(os.environ)
    if token is not None:
        environment["RUNLORE_TOKEN"] = token
    settings = choose_settings(home=home, url=url, token_file=None, environment=environment)
    closing = ExitStack()
    operations = closing.enter_context(open_operations(settings))
    return Lore(operations, closing)
