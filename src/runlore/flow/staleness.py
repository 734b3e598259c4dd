"""Whether what is in use still holds of the repository that it speaks of (VAL-5).

What a repository has of what a learning names is noted as hashes, with the commit. What was there then and
is not there now makes the learning wait for a person. It stays in use until one decides, and says so itself.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.project import FolderId
from runlore.domain.record import CHANGED, JsonObject, Layer, Move, Record, RecordId, State
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.timestamps import format_time, parse_time
from runlore.domain.worth.staleness import Look, find_anchors, find_seen, tell_changes
from runlore.ports.store import Collections, RecordFilter, Store

_NOTE = "staleness:"
_COMMIT_CHARS = 7
_LOOKED_AT_MAX = 5_000
_LAYERS = frozenset({Layer.SEMANTIC, Layer.PROFILE, Layer.PROCEDURAL})


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """What a folder had when it was last looked at: its commit, if it has one, and of each learning the keys
    of what it names that was there."""

    commit: str = ""
    at: str = ""
    seen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FolderState:
    """A folder as it is now. `ahead` is by how many commits it has gone on since it was last looked at; None
    where it has not gone on from there but is another line of work, of which nothing is concluded."""

    folder_id: FolderId
    project: str
    look: Look
    commit: str = ""
    ahead: int | None = 0


@dataclass(frozen=True, kw_only=True)
class FolderChanges:
    """What a look has found: what has changed of what each learning says, empty where nothing has, and what
    to note for the next time."""

    changed: Mapping[RecordId, str]
    sighting: Sighting


def last_sighting(collections: Collections, folder_id: FolderId) -> Sighting:
    noted = collections.counters.note(f"{_NOTE}{folder_id}")
    return Sighting() if noted is None else Sighting(**json.loads(noted))


def find_changes(collections: Collections, state: FolderState, now: datetime) -> FolderChanges:
    """Look at every learning in use of the folder's project. Nothing is written."""
    before = last_sighting(collections, state.folder_id)
    changed: dict[RecordId, str] = {}
    seen: dict[str, tuple[str, ...]] = {}
    for record in _list_in_use(collections, state.project, now):
        anchors = find_anchors(record.summary)
        known = set(before.seen.get(record.record_id, ())) & {anchor.key for anchor in anchors}
        changed[record.record_id] = tell_changes(anchors, known, state.look)
        if noted := known.union(find_seen(anchors, state.look)):
            seen[record.record_id] = tuple(sorted(noted))
    return FolderChanges(
        changed=changed, sighting=Sighting(commit=state.commit, at=format_time(now), seen=seen)
    )


def note_changes(store: Store, state: FolderState, found: FolderChanges, now: datetime) -> int:
    """Have a person look at each learning of which something else is no longer so, and take back what is so
    again: how many there are to look at."""
    news = 0
    with store.transaction() as tx:
        before = last_sighting(tx, state.folder_id)
        for record_id, record in sorted(tx.records.get_many(list(found.changed)).items()):
            what = found.changed[record_id]
            if record.state is not State.ACTIVE:
                continue
            if what and state.ahead is not None and not _is_known(record, what):
                news += 1
                act = Act(actor=DAEMON, at=now, reason=what)
                after = _raise_doubt(record, what, _tell_last(before, state), now)
            elif not what and CHANGED in record.metadata:
                act = Act(actor=DAEMON, at=now, reason="what it names is as it was again")
                after = _clear_doubt(record)
            else:
                continue
            tx.write([apply_record_move(record, Move.AMEND, act, after=after)])
        kept = {"commit": found.sighting.commit, "at": found.sighting.at, "seen": found.sighting.seen}
        tx.counters.set_note(f"{_NOTE}{state.folder_id}", json.dumps(kept))
    return news


def _list_in_use(collections: Collections, project: str, now: datetime) -> Iterator[Record]:
    where = RecordFilter(
        layers=_LAYERS,
        states=frozenset({State.ACTIVE}),
        scopes=frozenset({Scope(ScopeKind.PROJECT, project)}),
        now=now,
    )
    before, left = None, _LOOKED_AT_MAX
    while left > 0 and (
        page := collections.records.page(where, limit=limits.LIST_LIMIT_DEFAULT, before=before)
    ):
        yield from page
        before, left = (page[-1].created_at, page[-1].record_id), left - len(page)


def _is_known(record: Record, what: str) -> bool:
    """Whether a person was asked about all of it before."""
    noted = _read_note(record)
    return noted is not None and set(what.split("; ")) <= set(str(noted["what"]).split("; "))


def _read_note(record: Record) -> JsonObject | None:
    noted = record.metadata.get(CHANGED)
    return noted if isinstance(noted, Mapping) else None


def _tell_last(before: Sighting, state: FolderState) -> str:
    if not before.commit:
        return f"last seen true on {before.at[:10]}"
    ago = f"{state.ahead:,} commit{'' if state.ahead == 1 else 's'} ago" if state.ahead else "before a change"
    return f"last seen true at {before.commit[:_COMMIT_CHARS]}, {ago}"


def _raise_doubt(record: Record, what: str, last: str, now: datetime) -> Record:
    planned = record.revalidate_at
    noted = {
        "what": what,
        "last": last,
        "since": format_time(now),
        **({} if planned is None or CHANGED in record.metadata else {"planned": format_time(planned)}),
    }
    return replace(record, revalidate_at=now, metadata={**record.metadata, CHANGED: noted})


def _clear_doubt(record: Record) -> Record:
    """The learning as it was before; a revalidation that somebody else has planned stays."""
    noted = _read_note(record) or {}
    due_at = record.revalidate_at
    if due_at is not None and format_time(due_at) == noted.get("since"):
        planned = noted.get("planned")
        due_at = parse_time(planned) if isinstance(planned, str) else None
    rest = {name: value for name, value in record.metadata.items() if name != CHANGED}
    return replace(record, revalidate_at=due_at, metadata=rest)
