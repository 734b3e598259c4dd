"""The store's collections for sessions and runs. In snapshots they are read, in transactions written too.

Journals are canonical. Pointers are derived from runs and run memories and can be rebuilt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from runlore.domain.prompts.projection import Receipt
    from runlore.domain.prompts.run_memory import Capture, CaptureState, Pointer
    from runlore.domain.run import Artifact, ArtifactId, MemoryState, ProcessId, Run, RunId, RunStatus
    from runlore.domain.runs.journal import Entry, EventType, JournalEvent
    from runlore.domain.scope import Scope
    from runlore.domain.session import Binding, Persona, PersonaId, Session, SessionId
    from runlore.domain.taint_sources.fingerprints import FirstSeen


class Sessions(Protocol):
    """Sessions and personas."""

    def get(self, session_id: SessionId) -> Session:
        """One session; NotFound (`session.not-found`) when the id names nothing."""

    def find(self, session_id: SessionId) -> Session | None:
        """One session, or None."""

    def page(
        self,
        *,
        limit: int,
        before: tuple[datetime, SessionId] | None = None,
        scopes: frozenset[Scope] | None = None,
        created_by: str | None = None,
    ) -> tuple[Session, ...]:
        """The newest first (`created_at`, then id, descending). `scopes` keeps those whose own session scope
        is named, `created_by` those of one caller; both given, either is enough."""

    def binding_at(self, session_id: SessionId, moment: datetime) -> Binding | None:
        """What a session was bound to at a moment, from its binding events; None before it was made."""

    def parent_of(self, session_id: SessionId) -> SessionId | None:
        """The session whose agent began this one as a subagent's; None where nobody is known to have."""

    def children_of(self, session_ids: Sequence[SessionId]) -> tuple[SessionId, ...]:
        """The sessions that the agents of any of these began, by id. Some may never have been stored."""

    def put_parent(self, session_id: SessionId, parent_id: SessionId) -> None:
        """Note whose agent began a session; what was noted first stays. Neither need be there."""

    def count(self) -> int: ...

    def insert(self, session: Session) -> None:
        """Write a new session; Conflict (`session.exists`) when the id is taken."""

    def update(self, session: Session, *, expected_revision: int) -> None:
        """Write a session's new state; Conflict (`session.moved`) when it has moved. `next_number` is not
        touched: only `Journal.append` moves it."""

    def get_persona(self, persona_id: PersonaId) -> Persona:
        """One persona; NotFound (`persona.not-found`) when the id names nothing."""

    def find_persona(self, persona_id: PersonaId) -> Persona | None: ...

    def personas(
        self, *, limit: int, before: tuple[datetime, PersonaId] | None = None
    ) -> tuple[Persona, ...]:
        """The latest changed first (`updated_at`, then id, descending)."""

    def put_persona(self, persona: Persona, *, expected_revision: int) -> None:
        """Write a persona (0 expected: a new one); Conflict (`persona.moved`) when it has moved."""


class Runs(Protocol):
    """Runs, their artifacts and their receipts."""

    def get(self, run_id: RunId) -> Run:
        """One run; NotFound (`run.not-found`) when the id names nothing."""

    def find(self, run_id: RunId) -> Run | None: ...

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Run]: ...

    def page(
        self,
        *,
        limit: int,
        before: tuple[datetime, RunId] | None = None,
        session_id: SessionId | None = None,
        statuses: frozenset[RunStatus] | None = None,
        sessions_created_by: str | None = None,
    ) -> tuple[Run, ...]:
        """The newest first (`opened_at`, then id, descending)."""

    def of_session(self, session_id: SessionId) -> tuple[Run, ...]:
        """All runs of a session, oldest first."""

    def finished_before(self, session_id: SessionId, moment: datetime, *, limit: int) -> tuple[Run, ...]:
        """A session's runs that had ended at a moment, the latest ended first."""

    def idle_external(self, since: datetime, *, limit: int) -> tuple[Run, ...]:
        """Open runs without an executor whose `active_at` is earlier than a moment. Here, in `abandoned` and
        in `owing_memory` a run that cannot be read is left out, so that it keeps no other one waiting."""

    def list_abandoned(self, now: datetime, *, limit: int) -> tuple[Run, ...]:
        """Open runs whose executor's lease has lapsed, is unknown, or is longer than any is given."""

    def owing_memory(self, *, limit: int, after: RunId | None = None) -> tuple[Run, ...]:
        """Terminal runs whose memory is `pending`, by id."""

    def terminal(self, *, after: RunId | None = None, limit: int) -> tuple[Run, ...]:
        """Terminal runs, by id."""

    def changed_since(self, cursor: int) -> Iterator[Run]:
        """Terminal runs that changed in or after a change number (all from 0), streamed; for the index."""

    def count_changed(self, cursor: int, *, most: int) -> int:
        """How many of those there are, counted up to `most`."""

    def count(self) -> dict[RunStatus, int]: ...

    def insert(self, run: Run) -> None:
        """Write a new run; Conflict (`run.exists`) when the id is taken."""

    def update(self, run: Run, *, expected_revision: int) -> None:
        """Write a run's new state; Conflict (`run.moved`) when it has moved."""

    def touch(self, run_id: RunId, at: datetime) -> None:
        """Note activity of an open run, without a new revision."""

    def set_memory(self, run_id: RunId, state: MemoryState, *, expected: frozenset[MemoryState]) -> bool:
        """Say what has become of a run's memory; False, and nothing changed, when it was none of those."""

    def put_artifact(self, artifact: Artifact) -> bool:
        """Keep an artifact; False when the very same is there; Conflict (`artifact.exists`) for another."""

    def get_artifact(self, artifact_id: ArtifactId) -> Artifact: ...

    def artifact_excerpts(self, run_id: RunId, *, chars_max: int) -> tuple[Artifact, ...]:
        """A run's artifacts, oldest first, with at most so many characters of each text, and `whole_bytes`
        where that is not all; long texts are not read as a whole."""

    def request_excerpts(self, run_ids: Sequence[RunId], *, chars_max: int) -> dict[RunId, str]:
        """At most so many characters of each run's input; long ones are not read as a whole."""

    def artifact_names(self, run_id: RunId) -> tuple[ArtifactId, ...]:
        """The ids of a run's artifacts, oldest first."""

    def artifact_sizes(self) -> Iterator[tuple[ArtifactId, datetime, int]]:
        """The artifacts of runs that have ended, with their time and bytes, oldest first; for retention."""

    def own_with_artifacts(self, since: datetime) -> tuple[RunId, ...]:
        """The runs that Runlore has worked itself and that have artifacts from a moment on, by id."""

    def artifact_bytes(self) -> int: ...

    def delete_artifacts(self, artifact_ids: Sequence[ArtifactId]) -> int: ...

    def put_receipt(self, receipt: Receipt) -> None:
        """Keep what a run was given, with what it names so that forgetting finds it."""

    def get_receipt(self, run_id: RunId) -> Receipt | None:
        """What a run was given; None where it asked for nothing."""

    def receipts_naming(self, source_id: str) -> tuple[Receipt, ...]:
        """The receipts that name a record or a run."""

    def delete_receipts(self, run_ids: Sequence[RunId]) -> None: ...


class Journal(Protocol):
    """The journals, numbered from 1 without gaps in each session."""

    def append(
        self,
        session_id: SessionId,
        run_id: RunId | None,
        entries: Sequence[Entry],
        at: datetime | Sequence[datetime],
    ) -> int:
        """Append entries and move the session's `next_number`: the first number. Also when runs of the
        session are parallel, on any number of daemons, there is no gap and no number twice. `at` is the time
        of all of them, or of each."""

    def range(self, session_id: SessionId, first: int, last: int) -> tuple[JournalEvent, ...]: ...

    def page(
        self,
        *,
        session_id: SessionId | None = None,
        run_id: RunId | None = None,
        after: int = 0,
        limit: int,
    ) -> tuple[JournalEvent, ...]:
        """The events of a session or a run behind a number, in order; fewer than `limit` where their bodies
        are large, never none while there are some."""

    def inputs(self, run_ids: Sequence[RunId]) -> dict[RunId, str]: ...

    def short_inputs(self, run_ids: Sequence[RunId], *, bytes_max: int) -> dict[RunId, JournalEvent]:
        """The input of each run whose body takes no more bytes than that; longer ones are not read."""

    def latest_text(self, run_id: RunId) -> str:
        """The text of a run's last assistant message that has one, with those that it continues; empty where
        there is none."""

    def has(self, run_id: RunId, kind: EventType) -> bool:
        """Whether there is an event of this type in a run, emptied or not."""

    def erase_run(self, run_id: RunId) -> int:
        """Empty the bodies of a run's events; numbers, types and times stay: how many there were."""

    def erase_session(self, session_id: SessionId) -> int: ...

    def erase_checkpoints(self, session_id: SessionId, before: datetime) -> int:
        """Empty a session's checkpoints from before a moment: how many there were."""

    def sessions_with_checkpoints(self, before: datetime) -> tuple[SessionId, ...]:
        """The sessions with a checkpoint from before a moment that still says something, by id."""

    def count(self, *, session_id: SessionId | None = None, run_id: RunId | None = None) -> int:
        """How many events of a session or a run still say something, damaged ones included."""

    def sizes(self) -> Iterator[tuple[RunId, datetime, int]]:
        """Terminal runs with the end and the bytes of their journal that is not empty, oldest first."""

    def bytes(self) -> int:
        """The bytes of all bodies, about."""

    def find_miscounted(self, *, limit: int) -> tuple[SessionId, ...]:
        """Sessions, by id, of which `bytes` counts something else than their bodies take."""

    def recount(self, session_id: SessionId) -> None:
        """Count a session's bytes anew, from its events; they are derived."""


@dataclass(frozen=True, kw_only=True)
class PointerCounts:
    """How much the topology index holds."""

    sessions: int
    runs: int
    scopes: int
    pending: int


class Pointers(Protocol):
    """The topology index: where run memories are, by session and by scope."""

    def of_session(self, session_id: SessionId, *, limit: int) -> tuple[Pointer, ...]:
        """The newest first (`captured_at`, then run id, descending)."""

    def runs_of_session(self, session_id: SessionId, *, limit: int) -> tuple[tuple[RunId, datetime], ...]:
        """Only which runs those are and when they were captured, in the same order."""

    def of_scopes(
        self,
        scopes: Iterable[Scope],
        *,
        limit: int,
        before: tuple[datetime, RunId] | None = None,
    ) -> tuple[Pointer, ...]:
        """Those that any of the scopes saw, once each, the newest first."""

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Pointer]: ...

    def everything(self) -> Iterator[Pointer]:
        """All pointers, by run id, streamed."""

    def list_expired(self, before: datetime, *, limit: int) -> tuple[Pointer, ...]:
        """Those captured earlier than a moment, the oldest first."""

    def pending(self, *, limit: int) -> tuple[Pointer, ...]:
        """Those whose semantic capture is owed, the oldest first."""

    def list_skipped(
        self, *, limit: int, session_id: SessionId | None = None, since: datetime | None = None
    ) -> tuple[Pointer, ...]:
        """Those whose semantic capture was skipped, the oldest first; for a backfill."""

    def put(self, pointers: Iterable[Pointer]) -> None:
        """Write pointers, each in place of an earlier one of its run."""

    def set_capture(self, run_id: RunId, capture: CaptureState) -> None: ...

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete pointers; those that are not there are passed over."""

    def count(self) -> PointerCounts: ...


class Captures(Protocol):
    """What capture has made of runs: the receipts, and what each run read from outside."""

    def get(self, run_id: RunId) -> Capture | None:
        """What was made of a run; None where nobody has looked at it yet."""

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Capture]:
        """What was made of those of the runs that somebody has looked at."""

    def put(self, capture: Capture) -> None: ...

    def untrusted_before(self, session_id: SessionId, moment: datetime) -> tuple[Capture, ...]:
        """The captures of a session's runs opened before a moment that read from outside, oldest first."""

    def missing_before(self, session_id: SessionId, moment: datetime) -> tuple[RunId, ...]:
        """The runs of a session opened before a moment that nobody has looked at yet, oldest first."""

    def count_without_memory(self, *, session_id: SessionId | None, since: datetime | None) -> int:
        """How many completed runs have no memory any more, and nothing was taken from them: those of one
        session, and those that ended since a moment."""

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was noted of forgotten runs. Whether one read from outside stays known, without from
        where: what it read may stand in the rest of the conversation. What waited is skipped."""


class OutsideWords(Protocol):
    """The words that runs read from outside, as fingerprints, each with the sources that brought it."""

    def is_empty(self) -> bool: ...

    def find(self, fingerprints: Iterable[int]) -> Mapping[int, FirstSeen]:
        """Where those of the fingerprints that are known were first seen."""

    def record(self, run_id: RunId, at: datetime, brought: Mapping[str, Collection[int]]) -> None:
        """Keep what a run's sources brought, whether or not others have brought it before."""

    def prune(self, *, before: datetime, words_max: int) -> None:
        """Delete what was read before a moment, and of the rest the oldest until it is not too much."""

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what forgotten runs had read."""


class Processes(Protocol):
    """The Runlore processes that execute runs, each under a lease."""

    def heartbeat(self, process_id: ProcessId, *, lease_until: datetime, description: str) -> None:
        """Register or renew."""

    def leases(self) -> Mapping[ProcessId, datetime]:
        """All known processes and until when each is alive."""

    def delete(self, process_id: ProcessId) -> None: ...
