"""A policy on trial: what it would make of candidates, beside what the present one makes of them.

Nothing is written and no model is asked; where the judge would be, that is said. What was decided already is
looked at as it last waited, so that an operator's edits and acceptance do not speak for the candidate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile

from runlore.domain.policies.learning_policy import LearningPolicy
from runlore.domain.policies.verdict import asks_the_judge, baseline
from runlore.domain.record import LEARNING_KINDS, Kind, Record, State, StateReason
from runlore.domain.records.audit import replay
from runlore.ports.operations import Outlook, TrialRow
from runlore.ports.store import RecordFilter, Records

_TURNED_DOWN = frozenset({StateReason.REJECTED, StateReason.DUPLICATE})
# Proposals and what expired lie between what is shown; no more pages than these are looked through.
_PAGES_MAX = 20


@dataclass(frozen=True, kw_only=True)
class PolicyComparison:
    """The two policies, and the moment at which both are asked."""

    present: LearningPolicy
    tried: LearningPolicy
    now: datetime


def try_policy(records: Records, trial: PolicyComparison, *, limit: int) -> tuple[TrialRow, ...]:
    """What waits, the newest first, then what was decided lately, the newest first; `limit` of each."""
    base = RecordFilter(kinds=_kinds(trial), now=trial.now)
    waiting = _newest(records, replace(base, states=frozenset({State.CONSTRAINED})), limit)
    decided = _newest(records, replace(base, states=frozenset(State) - {State.CONSTRAINED}), limit)
    return (
        *(_row(record, record, trial) for record in waiting),
        *(_row(record, _as_it_waited(records, record), trial) for record in decided),
    )


def _newest(records: Records, where: RecordFilter, limit: int) -> Iterator[Record]:
    return islice(filter(_is_automations, _iterate_records(records, where, limit)), limit)


def _iterate_records(records: Records, where: RecordFilter, size: int) -> Iterator[Record]:
    place = None
    for _ in range(_PAGES_MAX):
        page = records.page(where, limit=size, before=place)
        yield from page
        if len(page) < size:
            return
        place = (page[-1].created_at, page[-1].record_id)


def _kinds(trial: PolicyComparison) -> frozenset[Kind]:
    """The kinds of candidates. Every run leaves a summary: those are shown only where a rule is for them."""
    rules = (*trial.present.publication.rules, *trial.tried.publication.rules)
    asked = any(rule.kind is Kind.RUN_SUMMARY for rule in rules)
    return LEARNING_KINDS if asked else LEARNING_KINDS - {Kind.RUN_SUMMARY}


def _is_automations(record: Record) -> bool:
    """Whether automation decides or could have decided on it: no proposal, and not expired or forgotten."""
    is_waiting = record.state is State.CONSTRAINED
    is_decided = record.published_at is not None or record.state_reason in _TURNED_DOWN
    is_there = record.state_reason is not StateReason.FORGOTTEN
    return record.proposal is None and is_there and (is_waiting or is_decided)


def _as_it_waited(records: Records, record: Record) -> Record:
    waited = takewhile(lambda event: event.to_state is State.CONSTRAINED, records.events(record.record_id))
    events = tuple(waited)
    # What was published at once, such as a replacement, never waited: it is looked at as it is.
    return replay(events) if events else record


def _row(record: Record, candidate: Record, trial: PolicyComparison) -> TrialRow:
    return TrialRow(
        record=record,
        present=_outlook(candidate, trial.present, trial.now),
        tried=_outlook(candidate, trial.tried, trial.now),
    )


def _outlook(candidate: Record, policy: LearningPolicy, now: datetime) -> Outlook:
    said = baseline(candidate, policy, now)
    return Outlook(
        action=said.action, rule=said.rule, reason=said.reason, judged=asks_the_judge(said.action, policy)
    )
