"""Repeated episodes propose, and a saved skill is remembered (CAP-9, LAY-3, LAY-4): each once.

All of it is written in the transaction of what it follows from, by whoever has the turn of the suggestions
and, before that, of the workspace: looking whether it was proposed before and proposing it are one act.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from runlore.domain import limits
from runlore.domain.admission import Draft
from runlore.domain.audit import Act
from runlore.domain.errors import Invalid, Refused
from runlore.domain.record import Kind, Origin, Record, State
from runlore.domain.repetition import (
    DIGEST,
    digests_of,
    finding_of,
    is_told_by,
    proposed_by,
    workflow_of,
    workflow_of_skill,
)
from runlore.domain.run import Run, RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.skill import Skill
from runlore.domain.suggestion import StoredSuggestion
from runlore.flow.reactions import DAEMON, confirm_learning
from runlore.flow.record.intake import Intake, propose
from runlore.flow.skills.saving import Saving
from runlore.ports.ids import Ids
from runlore.ports.store import RecordFilter, Transaction

REPEATED = "several sessions show it"
SAVED_AS = "saved as skill {name}"
_FOUND_IN = frozenset({Kind.EXPERIMENT, Kind.SCAN, Kind.FAILURE})


def workspace_turn(tx: Transaction, *scopes: Scope) -> None:
    """The workspace is ours until the end of the transaction, with what else is needed: all at once, before
    the turn of the suggestions, so that no two wait for each other."""
    tx.lock({WORKSPACE, *scopes})


def run_turn_with_workspace(tx: Transaction, run_id: RunId) -> Run | None:
    """A run, where there is one, with its session and the workspace, which are ours until the end of the
    transaction."""
    run = tx.runs.find(run_id)
    if run is None:
        return None
    workspace_turn(tx, Scope(ScopeKind.SESSION, run.session_id))
    return tx.runs.get(run_id)


def propose_repeated(
    tx: Transaction, ids: Ids, seen: Iterable[StoredSuggestion], at: datetime
) -> tuple[Record, ...]:
    """Propose what several sessions have shown by now, and was not proposed before."""
    intake = Intake(ids=ids, act=Act(actor=DAEMON, at=at, reason=REPEATED), origin=Origin.DAEMON)
    made: list[Record] = []
    for stored in seen:
        draft = proposed_by(stored.suggestion)
        if draft is not None and not _proposals(tx, digests_of(stored.suggestion, draft.kind)):
            made += _proposed(tx, intake, draft)
    return tuple(made)


def remember_saved(
    tx: Transaction, skill: Skill, stored: StoredSuggestion | None, saving: Saving, *, is_reviewed: bool
) -> None:
    """Write the procedure of a skill that was saved. Who `is_reviewed` by has read it, so that it stands at
    once; else it waits. What people have decided about it before stays decided."""
    if stored is None:
        draft = workflow_of_skill(skill)
        digests: tuple[str, ...] = (str(draft.metadata[DIGEST]),)
    else:
        draft = workflow_of(stored.suggestion, skill.name)
        digests = digests_of(stored.suggestion, Kind.PROCEDURE)
    act = saving.act
    reason = SAVED_AS.format(name=skill.name)
    intake = Intake(ids=saving.ids, act=Act(actor=DAEMON, at=act.at, reason=reason), origin=Origin.DAEMON)
    earlier = _proposals(tx, digests) or _proposed(tx, intake, draft)
    waiting = [each for each in earlier if each.state is State.CONSTRAINED and not each.is_expired(act.at)]
    if is_reviewed and waiting:
        own = Act(actor=act.actor, at=act.at, reason=reason)
        confirm_learning(tx, waiting[0], own, accept_untrusted=True)


def propose_finding(tx: Transaction, ids: Ids, episode: Record, act: Act) -> None:
    """Propose what an episode says, where enough of the latest ones of its kind say the same."""
    if episode.kind not in _FOUND_IN:
        return
    workspace_turn(tx, episode.scope)
    where = RecordFilter(kinds=frozenset({episode.kind}), states=frozenset({State.ACTIVE}), now=act.at)
    recent = tx.records.page(where, limit=limits.LIST_LIMIT_MAX)
    alike = [each for each in recent if is_told_by(each, episode)][: limits.EVIDENCE_REFS_MAX]
    if len(alike) < limits.REPEATED_SESSIONS_MIN:
        return
    draft = finding_of(alike)
    if not _proposals(tx, [str(draft.metadata[DIGEST])]):
        reason = "several episodes tell it"
        intake = Intake(ids=ids, act=Act(actor=DAEMON, at=act.at, reason=reason), origin=Origin.DAEMON)
        _proposed(tx, intake, draft)


def _proposals(tx: Transaction, digests: Iterable[str]) -> Sequence[Record]:
    """What was proposed for any of these, whatever became of it."""
    return [record for digest in digests for record in tx.records.proposals_for(digest)]


def _proposed(tx: Transaction, intake: Intake, draft: Draft) -> Sequence[Record]:
    """The proposal; none where its text cannot be a record, as one that looks like a secret."""
    with suppress(Invalid, Refused):
        return propose(tx, intake, [draft])
    return ()
