"""Whether what is in use still holds of the repository that it speaks of (VAL-5).

What a bound folder has of what a learning or a skill names is noted as hashes, with the commit. What was
there then and is not there now makes the learning wait for a person; a skill waits as its procedure. Both
stay in use until one decides, and say so themselves.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.project import FolderId
from runlore.domain.record import CHANGED, JsonObject, Layer, Move, Record, RecordId, State
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.skill import Skill
from runlore.domain.skills.rollout import RolloutStatus
from runlore.domain.timestamps import format_time, parse_time
from runlore.domain.worth.staleness import Anchor, Look, find_anchors, find_gone, find_seen, tell_gone
from runlore.flow.skills.catalogue import as_skill
from runlore.flow.skills.library import note_doubtful, read_doubtful
from runlore.flow.skills.sources import every_promoted, procedures_of
from runlore.ports.store import Collections, RecordFilter, Store

_NOTE = "staleness:"
_COMMIT_CHARS = 7
_LOOKED_AT_MAX = 5_000
_LAYERS = frozenset({Layer.SEMANTIC, Layer.PROFILE, Layer.PROCEDURAL})
# What is said everywhere may be about any repository; what is said in one session is about its moment.
_WIDE = frozenset({ScopeKind.PERSONA, ScopeKind.WORKSPACE})


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """What a folder had when it was last looked at: its commit, if it has one, and of each learning and skill
    the keys of what it names that was there."""

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
class Change:
    """What has changed of what a learning or its skills say, empty where nothing has; and until when it was
    seen as it says."""

    what: str = ""
    last: str = ""


@dataclass(frozen=True, kw_only=True)
class DoubtfulSkill:
    """A skill that may no longer hold, and the procedure that it waits as, if it has one."""

    skill: Skill
    record_id: RecordId | None
    change: Change


@dataclass(frozen=True, kw_only=True)
class FolderChanges:
    """What a look at all folders has found: of each learning that something could be concluded of, what has
    changed; the skills in doubt; and what to note of each folder."""

    changed: Mapping[RecordId, Change]
    skills: Sequence[DoubtfulSkill]
    sightings: Mapping[FolderId, Sighting]


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """A text that may name what a repository has: that of a learning, or of a skill and its procedure."""

    id: str
    text: str
    scope: Scope | None
    record: Record | None
    skill: Skill | None = None

    def concerns(self, folder: FolderState) -> bool:
        if self.is_wide:
            return True
        return self.scope == Scope(ScopeKind.PROJECT, folder.project)

    @property
    def is_wide(self) -> bool:
        return self.scope is None or self.scope.kind in _WIDE


def last_sighting(collections: Collections, folder_id: FolderId) -> Sighting:
    noted = collections.counters.note(f"{_NOTE}{folder_id}")
    return Sighting() if noted is None else Sighting(**json.loads(noted))


def find_changes(collections: Collections, folders: Sequence[FolderState], now: datetime) -> FolderChanges:
    """Look at every learning in use, and every skill, in the folders that it may speak of. Nothing is
    written."""
    before = {each.folder_id: last_sighting(collections, each.folder_id) for each in folders}
    seen: dict[FolderId, dict[str, tuple[str, ...]]] = {each: {} for each in before}
    changed: dict[RecordId, Change] = {}
    skills: list[DoubtfulSkill] = []
    doubtful = read_doubtful(collections)
    for subject in _list_subjects(collections, folders, now):
        concerned = [each for each in folders if subject.concerns(each)]
        change = _look_at(subject, concerned, before, seen)
        record, skill = subject.record, subject.skill
        if record is not None and change is not None:
            changed[record.record_id] = _join(changed.get(record.record_id, Change()), change)
        if skill is not None and (subject.id in doubtful if change is None else change.what):
            record_id = None if record is None else record.record_id
            skills.append(DoubtfulSkill(skill=skill, record_id=record_id, change=change or Change()))
    return FolderChanges(
        changed=changed,
        skills=skills,
        sightings={
            each.folder_id: Sighting(commit=each.commit, at=format_time(now), seen=seen[each.folder_id])
            for each in folders
        },
    )


def _look_at(
    subject: _Subject,
    folders: Sequence[FolderState],
    before: Mapping[FolderId, Sighting],
    seen: Mapping[FolderId, dict[str, tuple[str, ...]]],
) -> Change | None:
    """What is gone of what it names; None where nothing can be concluded. What may be about any repository is
    only gone where no other has it."""
    anchors = find_anchors(subject.text)
    gone: dict[Anchor, str | None] = {}
    last, is_concluded = "", False
    for folder in folders:
        sighting = before[folder.folder_id]
        known = set(sighting.seen.get(subject.id, ())) & {anchor.key for anchor in anchors}
        if noted := known.union(find_seen(anchors, folder.look)):
            seen[folder.folder_id][subject.id] = tuple(sorted(noted))
        if folder.ahead is None:
            continue
        is_concluded = True
        here = find_gone(anchors, known, folder.look)
        if subject.is_wide:
            others = [each for each in folders if each is not folder]
            here = {
                each: now for each, now in here.items() if not any(find_seen([each], o.look) for o in others)
            }
        last = last or (_tell_last(sighting, folder) if here else "")
        gone |= here
    return Change(what=tell_gone(gone), last=last) if is_concluded else None


def _join(one: Change, other: Change) -> Change:
    what = dict.fromkeys(each for change in (one, other) for each in change.what.split("; ") if each)
    return Change(what="; ".join(what), last=one.last or other.last)


def note_changes(store: Store, found: FolderChanges, now: datetime) -> int:
    """Have a person look at each learning of which something else is no longer so, and take back what is so
    again: how many there are to look at."""
    news = 0
    with store.transaction() as tx:
        for record_id, record in sorted(tx.records.get_many(list(found.changed)).items()):
            change = found.changed[record_id]
            if record.state not in (State.ACTIVE, State.CONSTRAINED):
                continue
            if change.what and not _is_known(record, change.what):
                news += 1
                act = Act(actor=DAEMON, at=now, reason=change.what)
                after = _raise_doubt(record, change, now)
            elif not change.what and CHANGED in record.metadata:
                act = Act(actor=DAEMON, at=now, reason="what it names is as it was again")
                after = _clear_doubt(record)
            else:
                continue
            tx.write([apply_record_move(record, Move.AMEND, act, after=after)])
        note_doubtful(tx, {each.skill.skill_id: each.record_id for each in found.skills if each.record_id})
        for folder_id, sighting in found.sightings.items():
            kept = {"commit": sighting.commit, "at": sighting.at, "seen": sighting.seen}
            tx.counters.set_note(f"{_NOTE}{folder_id}", json.dumps(kept))
    return news


def _list_subjects(
    collections: Collections, folders: Sequence[FolderState], now: datetime
) -> Iterator[_Subject]:
    projects = frozenset(Scope(ScopeKind.PROJECT, each.project) for each in folders)
    in_use = RecordFilter(layers=_LAYERS, states=frozenset({State.ACTIVE}), now=now)
    for where in (replace(in_use, scopes=projects), replace(in_use, scope_kinds=_WIDE)):
        for record in _pages(collections, where):
            yield _Subject(id=record.record_id, text=record.summary, scope=record.scope, record=record)
    canaries = (each for each in every_promoted(collections) if each.status is RolloutStatus.CANARY)
    for skill in (*collections.skills.active(), *map(as_skill, canaries)):
        if skill.is_usable:
            procedure = next(iter(procedures_of(collections, skill)), None)
            document = skill.document
            yield _Subject(
                id=skill.skill_id,
                text=f"{document.description}\n{document.body}",
                scope=None if procedure is None else procedure.scope,
                record=procedure,
                skill=skill,
            )


def _pages(collections: Collections, where: RecordFilter) -> Iterator[Record]:
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


def _raise_doubt(record: Record, change: Change, now: datetime) -> Record:
    planned = record.revalidate_at
    noted = {
        "what": change.what,
        "last": change.last,
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
