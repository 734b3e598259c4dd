"""Everything that waits for a person, in one list: what runs ask, records to decide on, suggested skills and
jobs that were given up. Each thing is there once, under one kind, and the counts are those of the list."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeAlias

from runlore.domain import limits
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.agent.approval import Approval, ApprovalKind
from runlore.domain.record import REVIEWED_KINDS, Kind, PolicyDecision, Proposal, Record, RecordId, State
from runlore.domain.records.audit import DAEMON
from runlore.domain.runs.job import Job, JobState
from runlore.domain.scope import Scope
from runlore.domain.skill import SuggestionId
from runlore.domain.statements.conduct import may_stand
from runlore.domain.statements.ranks import confidence_reasons
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.flow.review.inbox import (
    WaitingRecord,
    count_dead,
    due_items,
    foresee,
    held_items,
    list_held_and_due,
    of_suggestions,
    only_folded,
    waiting_for_review,
    waiting_suggestions,
    without_folded,
)
from runlore.ports.operations.review import InboxAct, InboxItem, InboxKind, InUse
from runlore.ports.store import Collections, RecordFilter

_ESCALATED = frozenset({PolicyDecision.ESCALATED})
_PROCEDURES = frozenset({Kind.PROCEDURE})
_DEAD = frozenset({JobState.DEAD})
_ON_CANDIDATE = (InboxAct.CONFIRM, InboxAct.STANDING, InboxAct.EDIT, InboxAct.REJECT)
_ON_CLASH = (InboxAct.REPLACE, InboxAct.BOTH_HOLD, InboxAct.REJECT)
_ON_LEARNING = (InboxAct.VERIFY, InboxAct.REVOKE)
_ON_HELD_CLASH = (InboxAct.BOTH_HOLD, InboxAct.REVOKE)


# What a part of the list is in the order of, and an id: a time in milliseconds, or a score.
_Place: TypeAlias = tuple[int, str]


class ListedItem(NamedTuple):
    """An item, and its place in its part of the list."""

    place: _Place
    item: InboxItem


_Part: TypeAlias = tuple[InboxKind, Callable[[_Place | None], Iterator[ListedItem]]]


class InboxPlace(NamedTuple):
    """How far a list was told: the part, and the place in it."""

    part: int
    number: int
    id: str


class Inbox:
    """The list in one snapshot. `scopes` are those that are seen, None for all; then what belongs to no
    scope, suggestions and jobs, is in it too. `approvals` are those that whoever looks may decide."""

    def __init__(
        self,
        collections: Collections,
        *,
        now: datetime,
        scopes: frozenset[Scope] | None = None,
        approvals: Sequence[Approval] = (),
    ) -> None:
        self._collections = collections
        self._records = collections.records
        self._now = now
        self._where = waiting_for_review(now, scopes=scopes)
        self._sees_all = scopes is None
        self._approvals = approvals

    def page(
        self, kinds: frozenset[InboxKind], *, limit: int, after: InboxPlace | None
    ) -> tuple[tuple[InboxItem, ...], InboxPlace | None]:
        """A page of some kinds, or of all, and the place behind it where there is more."""
        found: list[InboxItem] = []
        last = after
        for part, (kind, items_of) in enumerate(self._parts):
            if (after is not None and part < after.part) or (kinds and kind not in kinds):
                continue
            for placed in items_of((after.number, after.id) if after and part == after.part else None):
                if len(found) == limit:
                    return tuple(found), last
                found.append(placed.item)
                last = InboxPlace(part, *placed.place)
        return tuple(found), None

    def counts(self) -> dict[str, int]:
        elsewhere = [*self._of_suggestions.values()]
        elsewhere += (item.record for item in self._clashes if _is_waiting(item))
        escalated = self._records.count_lines(replace(self._where, decisions=_ESCALATED))
        escalated -= sum(record.policy_decision in _ESCALATED for record in elsewhere)
        everything = self._records.count_lines(self._where) - len(elsewhere)
        return {
            InboxKind.APPROVAL: len(self._approvals),
            InboxKind.CONFLICT: len(self._clashes),
            InboxKind.ESCALATION: len(self._held_alone) + escalated,
            InboxKind.REVALIDATION: len(self._standing[1]),
            InboxKind.CANDIDATE: everything - escalated,
            InboxKind.SUGGESTION: self._count_suggestions(),
            InboxKind.DEAD_LETTER: self._count_dead(),
        }

    def mark(self) -> Hashable:
        """Cheaper than the counts, and another one whenever something was done that may change them."""
        return self._records.position(), len(self._approvals), self._count_suggestions(), self._count_dead()

    def _count_suggestions(self) -> int:
        counted = self._collections.suggestions.count() if self._sees_all else {}
        return counted.get(SuggestionState.WAITING, 0)

    def _count_dead(self) -> int:
        return count_dead(self._collections) if self._sees_all else 0

    @property
    def _parts(self) -> tuple[_Part, ...]:
        return (
            (InboxKind.APPROVAL, self._list_approvals),
            (InboxKind.CONFLICT, self._list_clashes),
            (InboxKind.ESCALATION, self._list_held),
            (InboxKind.ESCALATION, self._list_escalated),
            (InboxKind.REVALIDATION, self._list_due),
            (InboxKind.CANDIDATE, self._list_first),
            (InboxKind.SUGGESTION, self._list_suggestions),
            (InboxKind.CANDIDATE, self._list_procedures),
            (InboxKind.CANDIDATE, self._list_folded),
            (InboxKind.DEAD_LETTER, self._list_dead),
        )

    @cached_property
    def _standing(self) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        return list_held_and_due(self._records, self._where, self._now)

    @cached_property
    def _held(self) -> tuple[WaitingRecord, ...]:
        return held_items(self._records, self._standing[0], self._now)

    @cached_property
    def _of_suggestions(self) -> dict[RecordId, Record]:
        return of_suggestions(self._collections, self._where)

    @cached_property
    def _clashes(self) -> tuple[WaitingRecord, ...]:
        """What contradicts something in use. Beyond a bound, candidates are listed as what else they are."""
        contested = self._records.page_contested(self._where, limit=limits.CONTESTED_LISTED_MAX)
        own = (record for record in contested if record.record_id not in self._of_suggestions)
        asked = (foresee(self._records, record, self._now) for record in own)
        return tuple(each for each in (*self._held, *asked) if each.clashing)

    @property
    def _held_alone(self) -> tuple[WaitingRecord, ...]:
        return tuple(each for each in self._held if not each.clashing)

    def _list_approvals(self, after: _Place | None) -> Iterator[ListedItem]:
        return _in_time(((each.created_at, _approval_item(each)) for each in self._approvals), after)

    def _list_clashes(self, after: _Place | None) -> Iterator[ListedItem]:
        clashes = (
            _record_item(each, InboxKind.CONFLICT, _ON_CLASH if _is_waiting(each) else _ON_HELD_CLASH)
            for each in self._clashes
        )
        return _in_time(zip(_times(self._clashes), clashes, strict=True), after)

    def _list_held(self, after: _Place | None) -> Iterator[ListedItem]:
        items = (_record_item(each, InboxKind.ESCALATION, _ON_LEARNING) for each in self._held_alone)
        return _in_time(zip(_times(self._held_alone), items, strict=True), after)

    def _list_due(self, after: _Place | None) -> Iterator[ListedItem]:
        due = due_items(self._standing[1])
        items = (_record_item(each, InboxKind.REVALIDATION, _ON_LEARNING) for each in due)
        return _in_time(zip(_times(due), items, strict=True), after)

    def _list_escalated(self, after: _Place | None) -> Iterator[ListedItem]:
        return self._list_records(replace(self._where, decisions=_ESCALATED), InboxKind.ESCALATION, after)

    def _list_first(self, after: _Place | None) -> Iterator[ListedItem]:
        others = replace(self._where, kinds=REVIEWED_KINDS - _PROCEDURES)
        return self._list_candidates(without_folded(others), after)

    def _list_procedures(self, after: _Place | None) -> Iterator[ListedItem]:
        """Behind the suggestions: those that are of none."""
        return self._list_candidates(without_folded(replace(self._where, kinds=_PROCEDURES)), after)

    def _list_folded(self, after: _Place | None) -> Iterator[ListedItem]:
        return self._list_candidates(only_folded(self._where), after)

    def _list_candidates(self, where: RecordFilter, after: _Place | None) -> Iterator[ListedItem]:
        return self._list_records(where, InboxKind.CANDIDATE, after, but_for=_ESCALATED)

    def _list_records(
        self,
        where: RecordFilter,
        kind: InboxKind,
        after: _Place | None,
        *,
        but_for: frozenset[PolicyDecision] = frozenset(),
    ) -> Iterator[ListedItem]:
        """The newest first, without what is a conflict or goes with a suggestion."""
        elsewhere = {each.record.record_id for each in self._clashes} | self._of_suggestions.keys()
        before = None if after is None else (from_milliseconds(after[0]), RecordId(after[1]))
        while found := self._records.page(where, limit=limits.LIST_LIMIT_DEFAULT, before=before):
            listed = [
                record
                for record in found
                if record.record_id not in elsewhere and record.policy_decision not in but_for
            ]
            for record in listed:
                place = (to_milliseconds(record.created_at), record.record_id)
                waiting = foresee(self._records, record, self._now)
                yield ListedItem(place, _record_item(waiting, kind, _ON_CANDIDATE))
            before = (found[-1].created_at, found[-1].record_id)

    def _list_suggestions(self, after: _Place | None) -> Iterator[ListedItem]:
        place = None if after is None else (after[0], SuggestionId(after[1]))
        for each in waiting_suggestions(self._collections, place) if self._sees_all else ():
            yield ListedItem((each.suggestion.score.points, each.suggestion_id), _suggestion_item(each))

    def _list_dead(self, after: _Place | None) -> Iterator[ListedItem]:
        limit = self._count_dead()
        jobs = self._collections.jobs.list(_DEAD, limit=limit) if limit else ()
        return _in_time(((job.created_at, _job_item(job)) for job in jobs), after)


def _is_waiting(item: WaitingRecord) -> bool:
    """Whether nothing was published of it yet."""
    return item.record.state is State.CONSTRAINED


def _times(items: Iterable[WaitingRecord]) -> Iterator[datetime]:
    return (each.record.created_at for each in items)


def _in_time(items_at: Iterable[tuple[datetime, InboxItem]], after: _Place | None) -> Iterator[ListedItem]:
    """What is read at once, the oldest first, behind a place."""
    placed = (ListedItem((to_milliseconds(at), item.id), item) for at, item in items_at)
    found = sorted(placed, key=lambda each: each.place)
    return (each for each in found if after is None or each.place > after)


def _record_item(item: WaitingRecord, kind: InboxKind, acts: tuple[InboxAct, ...]) -> InboxItem:
    record, outcome = item.record, item.outcome
    twin = outcome.duplicate_of
    against = item.clashing or outcome.supersedes or (() if twin is None else (twin,))
    # One record is replaced by name; where more stand in the way, nothing can be.
    is_one = len(item.clashing) == 1 and not outcome.supersedes
    closed = {
        *(() if is_one else (InboxAct.REPLACE,)),
        *(() if may_stand(record.kind, record.summary) else (InboxAct.STANDING,)),
    }
    return InboxItem(
        kind=kind,
        id=record.record_id,
        title=_title(record.summary),
        why=_title(_why(item)),
        acts=tuple(act for act in acts if act not in closed),
        against=tuple(InUse(record_id=each.record_id, title=_title(each.summary)) for each in against),
        outside=(record.provenance.sources or (_UNNAMED,)) if record.provenance.tainted else (),
        revision=record.revision,
    )


def _why(item: WaitingRecord) -> str:
    record, outcome = item.record, item.outcome
    if item.attention:
        return "; ".join(item.attention)
    if item.clashing:
        return f"contradicts what is in use: {item.clashing[0].summary}"
    if outcome.supersedes:
        return f"would replace what is in use: {outcome.supersedes[0].summary}"
    if outcome.duplicate_of is not None:
        return f"says the same as what is in use: {outcome.duplicate_of.summary}"
    if reasons := [*confidence_reasons(record, with_points=False)]:
        return "; it ".join(("you said it", *reasons))
    review = (record.automation_review or {}) if record.policy_decision in _ESCALATED else {}
    reason = record.metadata.get("reason") or review.get("reason")
    return str(reason) if reason not in (None, "", _NO_REASON) else _who_proposed(record)


def _who_proposed(record: Record) -> str:
    seen = len({each.run_id for each in record.evidence_refs if each.run_id})
    if record.created_by == DAEMON and seen:
        how = "your agents did it in" if record.proposal is Proposal.EPISODES else "taken from"
        return f"{how} {seen} run{'s' * (seen != 1)}"
    notes = (f": {each.note}" for each in record.evidence_refs if each.note)
    who = "you" if record.created_by == LOCAL_OPERATOR.actor else record.created_by
    return f"proposed by {who}{next(notes, '')}"


def _approval_item(approval: Approval) -> InboxItem:
    is_call = approval.kind is ApprovalKind.CALL
    return InboxItem(
        kind=InboxKind.APPROVAL,
        id=approval.approval_id,
        title=_title(_told_call(approval) if is_call else approval.question),
        why=_title(approval.why or f"run {approval.run_id} {'wants to call it' if is_call else 'asks'}"),
        acts=(InboxAct.APPROVE, InboxAct.DENY) if is_call else (InboxAct.ANSWER,),
        revision=approval.revision,
    )


def _told_call(approval: Approval) -> str:
    """A call in a line: a tool that takes one thing with that alone."""
    given = approval.arguments
    told = next(iter(given.values())) if len(given) == 1 else dict(given)
    return f"{approval.tool}: {told}" if given else approval.tool


def _suggestion_item(stored: StoredSuggestion) -> InboxItem:
    suggestion = stored.suggestion
    provenance = suggestion.provenance
    times, sessions = suggestion.times, suggestion.sessions
    seen = f"seen {times} time{'s' * (times != 1)} in {sessions} session{'s' * (sessions != 1)}"
    return InboxItem(
        kind=InboxKind.SUGGESTION,
        id=stored.suggestion_id,
        title=_title(f"{suggestion.name}: {suggestion.description}"),
        why=f"{suggestion.heuristic}, {seen}",
        acts=(InboxAct.SAVE, InboxAct.SKIP),
        outside=(provenance.sources or (_UNNAMED,)) if provenance.tainted else (),
        revision=stored.revision,
    )


def _job_item(job: Job) -> InboxItem:
    return InboxItem(
        kind=InboxKind.DEAD_LETTER,
        id=job.job_id,
        title=_title(f"{job.kind} {job.subject}"),
        why=_title(f"given up after {job.attempts} attempts: {job.error}"),
        acts=(InboxAct.RETRY,),
    )


_UNNAMED = "an unnamed source"
# What stands for the reason of a preference for which nobody gave one.
_NO_REASON = "captured"


def _title(text: str) -> str:
    return excerpt(text, limits.TITLE_CHARS_MAX)
