"""Learnings by filter: what a list asks the store for, and what is revoked together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.daemon.access import narrowed
from runlore.daemon.scanning import checked_words, holds, newest_first
from runlore.domain.access import Caller
from runlore.domain.errors import Invalid
from runlore.domain.record import Record, State
from runlore.domain.scope import Scope
from runlore.ports.operations import LearningFilters
from runlore.ports.store import RecordFilter, Records

REVOKED_MAX = 10_000


def published_where(
    filters: LearningFilters, readable: frozenset[Scope] | None, now: datetime
) -> RecordFilter:
    """What was once published, as the filters narrow it; its text is looked at by the caller.

    Invalid for an actor or a rule that is blank: nothing has no name, and it looks like a filter.
    """
    _refuse_blank(filters)
    return RecordFilter(
        published=True,
        kinds=filters.kinds or None,
        states=filters.states or None,
        scopes=narrowed(filters.scopes, readable),
        scope_kinds=filters.scope_kinds or None,
        tiers=filters.tiers or None,
        decisions=filters.decisions or None,
        actor=filters.actor,
        rule=filters.rule,
        now=now,
    )


def require_filter(filters: LearningFilters) -> None:
    """Refuse to revoke without a filter: a state alone is none, for only what is active can be revoked."""
    if filters.states and State.ACTIVE not in filters.states:
        raise Invalid(
            f"only active learnings can be revoked, not {', '.join(sorted(filters.states))} ones",
            code="learning.filter",
            hint="leave the state out",
        )
    narrowing = (filters.scopes, filters.scope_kinds, filters.kinds, filters.tiers, filters.decisions)
    if not any(narrowing) and filters.actor is None and filters.rule is None and not filters.text.strip():
        raise Invalid(
            "revoke-matching without a filter would revoke everything",
            code="learning.filter",
            hint="name a scope, a kind, a tier, a decision, an actor, a rule or a text",
        )


def revocable(
    records: Records, filters: LearningFilters, caller: Caller, now: datetime
) -> tuple[Record, ...]:
    """The active learnings that pass the filters and that the caller reaches, newest first; a bounded lot."""
    where = _active_where(filters, caller.scopes, now)
    words = checked_words(filters.text)
    found: list[Record] = []
    for record in newest_first(records, where):
        if holds(record, words):
            found.append(record)
        if len(found) > REVOKED_MAX:
            raise Invalid(
                f"more than {REVOKED_MAX:,} learnings pass the filter",
                code="learning.too-many",
                hint="narrow it, and revoke them in several calls",
            )
    return tuple(found)


def still_revocable(
    records: Records, found: Sequence[Record], filters: LearningFilters, now: datetime
) -> tuple[Record, ...]:
    """Those found that pass the filters as they are now, with their scopes in hand."""
    where = _active_where(filters, None, now)
    present = records.get_many([record.record_id for record in found])
    words = checked_words(filters.text)
    locked = {record.scope for record in found}
    return tuple(
        record
        for record in (present[each.record_id] for each in found if each.record_id in present)
        if record.scope in locked and where.admits(record) and holds(record, words)
    )


def _active_where(filters: LearningFilters, readable: frozenset[Scope] | None, now: datetime) -> RecordFilter:
    return replace(published_where(filters, readable, now), states=frozenset({State.ACTIVE}))


def _refuse_blank(filters: LearningFilters) -> None:
    for what, name in (("an actor", filters.actor), ("a rule", filters.rule)):
        if name is not None and not name.strip():
            raise Invalid(
                f"{what} without a name was asked for",
                code="learning.filter",
                hint=f"name {what}, or leave it out",
            )
