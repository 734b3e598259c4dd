"""What a run is given when it is opened, and what it was given when that is asked for once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.daemon.calls.access import asks_privately
from runlore.daemon.parts import Parts
from runlore.daemon.search.query_vector import BUILDING, PAST, QueryVector
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule
from runlore.domain.prompts.injected import without_notes
from runlore.domain.prompts.projection import Section, SectionName
from runlore.domain.prompts.selection import query_of
from runlore.domain.record import RecordId, StateReason
from runlore.domain.run import MemoryState, RunId
from runlore.domain.runs.journal import Entry, text_of
from runlore.domain.runs.journal_entry import input_entry
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.session import Binding, Session, SessionId
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.flow.prompt_context import gathering, rebuild
    from runlore.flow.prompt_context.gathering import Input, PromptContext
    from runlore.ports.operations import NewRun, Operations
    from runlore.ports.store import Collections
else:
    gathering = LazyModule("runlore.flow.prompt_context.gathering")
    rebuild = LazyModule("runlore.flow.prompt_context.rebuild")


class ForgottenMeanwhile(Exception):
    """Something that an input was to be given has been forgotten: it has to be gathered again."""


def reached_scopes(caller: Caller, session: Session, binding: Binding | None = None) -> tuple[Scope, ...]:
    """What a session sees, in order of priority, as far as the caller's token reaches; with a past binding,
    what it saw then."""
    seen = session.visible_scopes(binding)
    if caller.scopes is None:
        return seen
    return tuple(scope for scope in seen if scope == session.scope or scope in caller.scopes)


def require_request(text: str) -> None:
    """Refuse an input that asks for nothing."""
    if not text.strip():
        raise Invalid("the request is blank", code="run.request", hint="say what was asked for")


def input_of(request: NewRun) -> Entry:
    """The input of a run as it is journalled, its bounds checked."""
    require_request(request.request)
    if request.prompt_tokens is not None and not 0 <= request.prompt_tokens < 2**31:
        raise Invalid(
            "prompt_tokens is not a number of tokens",
            code="run.prompt-tokens",
            hint="tell what the prompt costs without this input, or leave it out",
        )
    return input_entry(request.request, request.metadata)


def near_query(
    parts: Parts,
    caller: Caller,
    text: str,
    session_id: SessionId | None,
    *,
    as_of: datetime | None = None,
    timeout_s: float | None = limits.EMBEDDING_TURN_TIMEOUT_S,
) -> QueryVector:
    """A query as a vector, asked for before anything is read: an answer never waits with a snapshot open.

    What is asked in a session of which nothing is kept goes to no backend beyond this machine. Whoever may
    not ask at all is told so by whoever answers; until then nothing is sent for it.
    """
    if parts.follower.is_building:
        return QueryVector(remark=BUILDING)
    if not parts.meaning.is_configured:
        return QueryVector()
    if as_of is not None:
        return QueryVector(remark=PAST)
    is_private = False
    if not parts.meaning.stays_here:
        with parts.store.snapshot() as snapshot:
            is_private = asks_privately(snapshot, caller, session_id)
    wanted = query_of(without_notes(text))
    plainly = caller.role is Role.AGENT
    return parts.meaning.query(wanted, is_private=is_private, plainly=plainly, timeout_s=timeout_s)


def gather_context(
    parts: Parts, caller: Caller, asked: Input, *, asked_in: SessionId | None
) -> PromptContext:
    """What an input is given. `asked_in` is the stored session that says whether it may be sent on: the
    session itself, or whose child it becomes."""
    near = near_query(parts, caller, asked.text, asked_in)
    now = parts.clock.now()

    found = parts.follower.answer(
        lambda reading: gathering.gather(
            reading.with_vectors(near.vectors), asked, families=parts.families, now=now
        ),
        has_words=True,
    )
    # The memories are read with no snapshot open: where they are a table, that takes a connection too.
    made = gathering.assemble_prompt(found, parts.run_memories)
    remark = BUILDING if parts.follower.is_building else near.remark
    projection = replace(made.projection, semantic=near.semantic, remark=remark)
    return replace(made, projection=projection)


def get_ready(parts: Parts, operations: Operations) -> None:
    """Have what the first input needs loaded before it comes, for an agent waits for what it is given."""
    operations.report_hook(ops.HookEvent(agent="claude-code", event="", payload={}))
    now = parts.clock.now()
    nobodys = Session(session_id=SessionId("none"), created_by="daemon", created_at=now, active_at=now)
    entry = input_of(ops.NewRun(session_id=nobodys.session_id, request="What did we decide about the tests?"))
    asked = gathering.Input(session=nobodys, scopes=(WORKSPACE,), text=text_of(entry.body), recovers=False)
    found = parts.follower.answer(
        lambda reading: gathering.gather(reading, asked, families=parts.families, now=now),
        has_words=True,
    )
    gathering.assemble_prompt(found, parts.run_memories)


def sections_now(collections: Collections, given: PromptContext | None) -> tuple[Section, ...] | None:
    """The sections that an input is given, looked at once more; ForgottenMeanwhile where one of them tells
    what was forgotten since they were made.

    Behind a session's lock nothing of its runs is forgotten any more until the transaction ends.
    """
    if given is None:
        return None
    sections = given.projection.sections
    named = {section.name: [entry.source_id for entry in section.entries] for section in sections}
    run_ids = [RunId(name) for name in (*named.get(SectionName.RECOVERED_MEMORY, ()), *given.unreadable)]
    record_ids = [RecordId(name) for name in named.get(SectionName.LEARNED_CONTEXT, ())]
    runs = collections.runs.get_many(run_ids) if run_ids else {}
    records = collections.records.get_many(record_ids) if record_ids else {}
    if any(run.memory is MemoryState.FORGOTTEN for run in runs.values()) or any(
        record.state_reason is StateReason.FORGOTTEN for record in records.values()
    ):
        raise ForgottenMeanwhile
    return sections


def sections_again(collections: Collections, run_id: RunId) -> tuple[Section, ...] | None:
    """The sections that a run was given, told again from its receipt; None where it was given none."""
    receipt = collections.runs.get_receipt(run_id)
    return None if receipt is None else rebuild.sections_again(receipt, collections.records)
