"""Sessions, runs, events, receipts and pointers for the store's tests: plain ones, and any there could be."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

from runlore.domain.capability import CapabilityScope
from runlore.domain.prompts.projection import (
    Budget,
    Omission,
    Omitted,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    SectionBudget,
    SectionName,
)
from runlore.domain.prompts.run_memory import CaptureState, Pointer
from runlore.domain.run import (
    OPEN,
    TERMINAL,
    Artifact,
    ArtifactId,
    MemoryState,
    ProcessId,
    Run,
    RunId,
    RunStatus,
)
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Binding, Persona, PersonaId, Session, SessionId
from runlore.ports.store import Store
from tests.fakes import START

ThingT = TypeVar("ThingT", Session, Run)
_numbers = itertools.count(1)
BUDGET = Budget(
    model_family=None,
    window_tokens=None,
    reserved_tokens=0,
    prompt_tokens=0,
    input_tokens=0,
    factor_percent=100,
    room_tokens=None,
)


def at(milliseconds: int) -> datetime:
    """A moment after the start."""
    return START + timedelta(milliseconds=milliseconds)


def session(name: str | None = None, **fields: Any) -> Session:
    """A session with an id of its own."""
    given = {"created_by": "claude", "created_at": START, "active_at": START, **fields}
    return Session(session_id=SessionId(name or f"ses_{next(_numbers):06}"), **given)


def run(of: Session | SessionId, name: str | None = None, **fields: Any) -> Run:
    """A run of a session, with an id of its own; one that has ended when its status says so."""
    session_id = of.session_id if isinstance(of, Session) else of
    status = fields.get("status", RunStatus.RUNNING)
    given = {
        "status": status,
        "input_number": 1,
        "created_by": "claude",
        "opened_at": START,
        "active_at": START,
        "finished_at": START if status in TERMINAL else None,
        **fields,
    }
    return Run(run_id=RunId(name or f"run_{next(_numbers):06}"), session_id=session_id, **given)


def changed(thing: ThingT, **fields: Any) -> ThingT:
    """A session or a run with other fields, at its next revision."""
    return replace(thing, **{**fields, "revision": thing.revision + 1})


def artifact(of: Run, name: str | None = None, **fields: Any) -> Artifact:
    """An artifact of a run."""
    return Artifact(
        artifact_id=ArtifactId(name or f"art_{next(_numbers):06}"),
        run_id=of.run_id,
        session_id=of.session_id,
        **{"name": "diff", "text": "- a\n+ b", "created_at": START, **fields},
    )


def said(text: str, kind: EventType = EventType.ASSISTANT_MESSAGE) -> Entry:
    """A message."""
    return Entry(type=kind, body={"text": text})


def keep(store: Store, *things: Session | Run) -> None:
    """Write sessions and runs in one transaction."""
    with store.transaction() as tx:
        for thing in things:
            if isinstance(thing, Session):
                tx.sessions.insert(thing)
            else:
                tx.runs.insert(thing)


def append(store: Store, session_id: SessionId, run_id: RunId | None, *entries: Entry) -> int:
    """Append in a transaction of its own."""
    with store.transaction() as tx:
        return tx.journal.append(session_id, run_id, entries, START)


# Everything that can be stored: quotes, placeholders, controls, separators, every plane.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
some = texts.filter(bool)
ids = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=12)
moments = st.integers(0, 9).map(at)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, width=32)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))
bodies = st.dictionaries(texts, json_values, max_size=4)
entries = st.builds(Entry, type=st.sampled_from(EventType), body=bodies)
patterns = st.none() | st.lists(ids, max_size=3).map(tuple)
capability_scopes = st.builds(
    CapabilityScope, allow_tools=patterns, deny_tools=patterns, allow_skills=patterns, deny_skills=patterns
)
bindings = st.builds(
    Binding,
    persona_id=st.none() | ids.map(PersonaId),
    project_ids=st.lists(ids, max_size=3, unique=True).map(tuple),
    capability_scope=capability_scopes,
)
sessions = st.builds(
    Session,
    session_id=ids.map(SessionId),
    title=texts,
    agent=st.none() | texts,
    private=st.booleans(),
    working_folder=st.none() | texts,
    binding=bindings,
    created_by=some,
    created_at=moments,
    active_at=moments,
    ended_at=st.none() | moments,
    forgotten_at=st.none() | moments,
    next_number=st.just(1),
    checkpoint_number=st.none() | st.integers(1, 2**40),
    revision=st.integers(1, 2**40),
)
personas = st.builds(
    Persona,
    persona_id=ids.map(PersonaId),
    name=texts,
    capability_scope=capability_scopes,
    capture=st.booleans(),
    updated_at=moments,
    revision=st.integers(1, 2**40),
)
_ended = {"status": st.sampled_from(sorted(TERMINAL)), "finished_at": moments}
_open = {"status": st.sampled_from(sorted(OPEN)), "finished_at": st.none()}
_run = {
    "run_id": ids.map(RunId),
    "agent": st.none() | texts,
    "model": st.none() | texts,
    "executor": st.none() | ids.map(ProcessId),
    "imported": st.booleans(),
    "input_number": st.integers(1, 2**40),
    "created_by": some,
    "opened_at": moments,
    "active_at": moments,
    "error": texts,
    "reason": texts,
    "artifact_ids": st.lists(ids.map(ArtifactId), max_size=3).map(tuple),
    "memory": st.sampled_from(MemoryState),
    "revision": st.integers(1, 2**40),
}


def runs_of(session_ids: Sequence[SessionId]) -> st.SearchStrategy[Run]:
    """Any run of these sessions."""
    named = {**_run, "session_id": st.sampled_from(session_ids)}
    return st.builds(Run, **named, **_ended) | st.builds(Run, **named, **_open)


numbers = st.integers(0, 2**31)
_entries = st.builds(
    ReceiptEntry,
    source_id=ids,
    revision=st.none() | numbers,
    score=st.none() | numbers,
    tokens=numbers,
    text=st.none() | texts,
)
_sections = st.builds(
    ReceiptSection,
    name=st.sampled_from(SectionName),
    tokens=numbers,
    truncated=st.booleans(),
    digest=texts,
    entries=st.lists(_entries, max_size=3).map(tuple),
)
_omissions = st.builds(
    Omission,
    section=st.sampled_from(SectionName),
    source_id=ids,
    reason=st.sampled_from(Omitted),
    tokens=numbers,
)
_section_budgets = st.builds(
    SectionBudget,
    section=st.sampled_from(SectionName),
    policy_tokens=numbers,
    room_tokens=numbers,
    used_tokens=numbers,
)
_budgets = st.builds(
    Budget,
    model_family=st.none() | texts,
    window_tokens=st.none() | numbers,
    reserved_tokens=numbers,
    prompt_tokens=numbers,
    input_tokens=numbers,
    factor_percent=numbers,
    room_tokens=st.none() | st.integers(-(2**31), 2**31),
    sections=st.lists(_section_budgets, max_size=2).map(tuple),
)


def receipts_of(run_ids: Sequence[RunId]) -> st.SearchStrategy[Receipt]:
    """Any receipt of these runs."""
    return st.builds(
        Receipt,
        run_id=st.sampled_from(run_ids),
        at=moments,
        renderer=numbers,
        sections=st.lists(_sections, max_size=2).map(tuple),
        omissions=st.lists(_omissions, max_size=3).map(tuple),
        budget=_budgets,
    )


SCOPES = tuple(
    Scope(kind, name)
    for kind, name in (
        (ScopeKind.SESSION, "a"),
        (ScopeKind.SESSION, "b:'?"),
        (ScopeKind.PERSONA, "a"),
        (ScopeKind.PROJECT, "acme"),
        (ScopeKind.WORKSPACE, "default"),
    )
)
pointers = st.builds(
    Pointer,
    run_id=st.integers(0, 11).map(lambda number: RunId(f"run_{number:02}")),
    session_id=st.sampled_from([SessionId("a"), SessionId("b:'?"), SessionId("雨")]),
    captured_at=moments,
    scope_keys=st.lists(st.sampled_from(SCOPES), max_size=4, unique=True).map(tuple),
    capture=st.sampled_from(CaptureState),
)
