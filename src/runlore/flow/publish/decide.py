"""What is decided on records: confirmed, rejected, rolled back, restored, revoked, and what runs say of them.

Each is one transaction, with everything it rests on checked again inside it. The same act again is answered
as it stands (SUR-7): `..._before` tells whether a record is already what an act would make of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.prompts.projection import Receipt
from runlore.domain.record import (
    RECORD,
    STANDING_KINDS,
    Move,
    PublishTier,
    Record,
    RecordId,
    State,
    StateReason,
    transition,
)
from runlore.domain.records.admission import Edits, apply_edits
from runlore.domain.records.audit import Act, RecordChange, apply_record_move
from runlore.domain.records.contracts import check_standing
from runlore.domain.records.feedback import (
    FeedbackVerdict,
    count_verdict,
    reason_of,
    refuse_more,
    verdict_of,
    without_note,
)
from runlore.domain.records.publication import (
    BY_HAND,
    BlockedRecord,
    Consequences,
    Obstacle,
    PublishTerms,
    apply_confirmation,
    consequences,
    require,
    restore_obstacle,
)
from runlore.domain.run import Run, RunId
from runlore.flow.neighbours import replacements, surroundings
from runlore.ports.operations import RollbackAnswer
from runlore.ports.store import RecordFilter, Records, Transaction

_AS_IT_IS = Edits()


def confirm(
    tx: Transaction,
    candidate: Record,
    act: Act,
    *,
    terms: PublishTerms | None = None,
    edits: Edits | None = None,
    supersedes: RecordId | None = None,
    accept_untrusted: bool = False,
) -> Record:
    """Make a candidate active and retire what it replaces; a duplicate ends here and the original answers.

    The caller holds the locks of the candidate's scope, and of the one that the edits name.
    """
    on = terms or BY_HAND
    refuse_expired(candidate, act.at)
    transition(candidate, Move.CONFIRM)
    text = candidate if edits is None or edits == _AS_IT_IS else apply_edits(candidate, edits, now=act.at)
    around = surroundings(tx.records, text, act.at, named=supersedes)
    outcome = consequences(text, around, act.at, terms=on)
    if outcome.duplicate_of is not None:
        end_as_duplicate(tx, candidate, outcome.duplicate_of, act, terms=terms)
        return set_standing(
            tx, outcome.duplicate_of, act, standing=bool(on.standing or outcome.duplicate_of.standing)
        )
    require(text, outcome, terms=on, accept_untrusted=accept_untrusted)
    after = apply_confirmation(text, outcome, actor=act.actor, now=act.at, terms=on)
    change = apply_record_move(candidate, Move.CONFIRM, act, after=after)
    published = change.record
    if published.standing and not any(each.standing for each in outcome.supersedes):
        _require_place(tx.records, published, act.at)
    tx.write(
        [
            *_retire(outcome, published.record_id, act),
            *link_both_hold(outcome.both_hold, published, act),
            change,
        ]
    )
    return published


def set_standing(tx: Transaction, record: Record, act: Act, *, standing: bool) -> Record:
    """Have a rule in every prompt of its scope from now on, or no longer; nothing where it is so already."""
    refuse_expired(record, act.at)
    if record.standing is standing:
        return record
    if standing:
        check_standing(record)
        _require_place(tx.records, record, act.at)
    return tx.write([apply_record_move(record, Move.AMEND, act, after=replace(record, standing=standing))])[0]


def _require_place(records: Records, record: Record, now: datetime) -> None:
    """Refuse a rule more than a prompt reads of one scope: it would stand and never be given."""
    where = RecordFilter(
        kinds=STANDING_KINDS,
        states=frozenset({State.ACTIVE}),
        scopes=frozenset({record.scope}),
        standing=True,
        now=now,
    )
    if len(records.lines(where, limit=limits.STANDING_RULES_MAX)) == limits.STANDING_RULES_MAX:
        raise Conflict(
            f"{limits.STANDING_RULES_MAX} rules stand in {record.scope} already, and no prompt reads more",
            code="record.standing-full",
            hint="let one of them stand no longer, or publish this one without `standing`",
        )


def link_both_hold(others: Sequence[Record], record: Record, act: Act) -> list[RecordChange]:
    """The events on those that a reviewer said hold together with a record, which names them too."""
    return [
        apply_record_move(
            other, Move.AMEND, act, after=replace(other, both_hold=(*other.both_hold, record.record_id))
        )
        for other in others
    ]


def end_as_duplicate(
    tx: Transaction, candidate: Record, original: Record, act: Act, *, terms: PublishTerms | None = None
) -> Record:
    """Tombstone a candidate that says what a learning says already."""
    ended = replace(_with_review(candidate, act, terms), duplicate_of=original.record_id)
    return tx.write([apply_record_move(candidate, Move.DUPLICATE, act, after=ended)])[0]


def reject(tx: Transaction, candidate: Record, act: Act, *, terms: PublishTerms | None = None) -> Record:
    """Tombstone a candidate; `terms` tell of a decision that was not an operator's."""
    refuse_expired(candidate, act.at)
    return tx.write(
        [apply_record_move(candidate, Move.REJECT, act, after=_with_review(candidate, act, terms))]
    )[0]


def expect_revision(record: Record, expected: int | None) -> None:
    if expected is not None and record.revision != expected:
        raise Conflict(
            f"record {record.record_id} is at revision {record.revision}, not {expected}",
            code="record.revision",
            hint="read it again, and decide on what it says now",
        )


def refuse_expired(record: Record, now: datetime) -> None:
    """Refuse to decide on a record that the next sweep takes away: for readers it is gone already."""
    if record.is_expired(now) and RECORD.allows(record.state, Move.EXPIRE):
        raise Conflict(
            f"record {record.record_id} has expired",
            code="record.expired",
            hint="propose it again with a later expires_at",
        )


def _retire(outcome: Consequences, successor: RecordId, act: Act) -> list[RecordChange]:
    return [
        apply_record_move(record, Move.SUPERSEDE, act, after=replace(record, superseded_by=successor))
        for record in outcome.supersedes
    ]


def _with_review(candidate: Record, act: Act, terms: PublishTerms | None) -> Record:
    if terms is None:
        return candidate
    return replace(
        candidate,
        policy_decision=terms.decision,
        policy_actor=terms.actor or act.actor,
        automation_review=terms.review or candidate.automation_review,
    )


def roll_back(tx: Transaction, record: Record, act: Act, *, restore_sources: bool = False) -> RollbackAnswer:
    """Tombstone an active record; with `restore_sources` what it replaced becomes active again."""
    refuse_expired(record, act.at)
    change = apply_record_move(record, Move.ROLLBACK, act)
    tx.write([change])
    restorable, blocked = replaced_by(tx.records, record.record_id, act.at)
    if not restore_sources:
        return RollbackAnswer(record=change.record, restorable=restorable, blocked=blocked)
    # All of them stood side by side when they were replaced, so none is in the way of another.
    restored = _restore(tx, restorable, act)
    return RollbackAnswer(record=change.record, restored=restored, blocked=blocked)


def replaced_by(
    records: Records, record_id: RecordId, now: datetime
) -> tuple[tuple[Record, ...], tuple[BlockedRecord, ...]]:
    """What a record had replaced: what can come back now, and what cannot and why."""
    seen = [(source, _obstacle(records, source, now)) for source in records.superseded_by(record_id)]
    return (
        tuple(source for source, obstacle in seen if obstacle is None),
        tuple(BlockedRecord(record=source, obstacle=why) for source, why in seen if why is not None),
    )


def restore(tx: Transaction, record: Record, act: Act) -> Record:
    """Make a superseded record active again, when nothing active replaces it."""
    transition(record, Move.RESTORE)
    obstacle = _obstacle(tx.records, record, act.at)
    if obstacle is not None:
        raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    return _restore(tx, [record], act)[0]


def sweep(tx: Transaction, due: Sequence[Record], act: Act) -> tuple[Record, ...]:
    return tx.write([apply_record_move(record, Move.EXPIRE, act) for record in due])


def _restore(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    changes = [
        apply_record_move(record, Move.RESTORE, act, after=replace(record, superseded_by=None))
        for record in records
    ]
    return tx.write(changes)


def _obstacle(records: Records, record: Record, now: datetime) -> Obstacle | None:
    around = surroundings(records, record, now)
    return restore_obstacle(record, around, replacements(records, record, now), now)


def revoke(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """Tombstone learnings, all of them or none."""
    for record in records:
        refuse_expired(record, act.at)
    return tx.write([apply_record_move(record, Move.REVOKE, act) for record in records])


def was_given(receipt: Receipt | None, record_id: RecordId) -> bool:
    return receipt is not None and record_id in _source_ids(receipt)


def give_feedback(
    tx: Transaction, record: Record, run: Run, act: Act, *, verdict: FeedbackVerdict, note: str
) -> Record:
    """Count a run's verdict, in place of its earlier one; the same once more changes nothing."""
    refuse_expired(record, act.at)
    transition(record, Move.AMEND)
    events = tx.records.events(record.record_id)
    earlier = verdict_of(events, run.run_id)
    if earlier is verdict:
        return record
    refuse_more(events, run.run_id)
    because = replace(act, reason=reason_of(verdict, run, note))
    change = apply_record_move(
        record, Move.AMEND, because, after=count_verdict(record, earlier, verdict, act.at)
    )
    return tx.write([change])[0]


def forget_notes(tx: Transaction, run_id: RunId) -> None:
    """Erase what a forgotten run said beside its verdicts; the verdicts stay, for they are counted."""
    receipt = tx.runs.get_receipt(run_id)
    named = () if receipt is None else tuple(map(RecordId, _source_ids(receipt)))
    for record_id, events in tx.records.events_of_many(named).items():
        changed = [after for event in events if (after := without_note(event, run_id)) != event]
        if changed:
            tx.erase(record_id, changed)


def _source_ids(receipt: Receipt) -> frozenset[str]:
    return frozenset(entry.source_id for section in receipt.sections for entry in section.entries)


_NOTHING = Edits()


def ended_before(record: Record, reason: StateReason) -> bool:
    return record.state is State.TOMBSTONED and record.state_reason is reason


def restored_before(records: Records, record: Record) -> bool:
    return record.state is State.ACTIVE and records.events(record.record_id)[-1].move is Move.RESTORE


def published_before(
    records: Records,
    record: Record,
    edits: Edits,
    *,
    now: datetime,
    tier: PublishTier = PublishTier.ACTIVE,
    supersedes: RecordId | None = None,
    standing: bool | None = None,
) -> Record | None:
    """What a candidate was published as, where that is what is asked for; the original of a duplicate."""
    if ended_before(record, StateReason.DUPLICATE):
        original = records.get_many(_ids(record.duplicate_of)).get(record.duplicate_of or record.record_id)
        is_told = (
            original is not None
            and original.state is State.ACTIVE
            and not (standing and not original.standing)
        )
        return original if is_told else None
    if record.state is not State.ACTIVE or record.published_at is None or record.is_expired(now):
        return None
    replaced = {each.record_id for each in records.superseded_by(record.record_id)}
    if not replaced.issuperset(_ids(supersedes)) or record.publish_tier is not tier:
        return None
    if standing not in (None, record.standing):
        return None
    return record if edits == _NOTHING or apply_edits(record, edits, now=now) == record else None


def superseded_before(
    records: Records, old: Record, edits: Edits, *, now: datetime, tier: PublishTier
) -> Record | None:
    """What a learning was superseded by, where that says what is asked for."""
    if old.state is not State.SUPERSEDED:
        return None
    new = records.get_many(_ids(old.superseded_by)).get(old.superseded_by or old.record_id)
    return None if new is None else published_before(records, new, edits, now=now, tier=tier)


def _ids(record_id: RecordId | None) -> Sequence[RecordId]:
    return [] if record_id is None else [record_id]
