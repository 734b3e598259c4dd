"""Repeated episodes propose, and a saved skill is remembered (CAP-9, LAY-3, LAY-4): each once.

All of it is written in the transaction of what it follows from, by whoever has the turn of the suggestions
and, before that, of the workspace: looking whether it was proposed before and proposing it are one act.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.claims.subject import semantic_key
from runlore.domain.detectors.conversations import Conversation
from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.record import Kind, Origin, Record, State, StateReason
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import Run, RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import UNBOUND, SessionId, visible_scopes
from runlore.domain.skill import Skill
from runlore.domain.skills.repetition import (
    DIGEST,
    digests_of,
    draft_of_suggestion,
    finding_of,
    finding_of_note,
    is_repeated,
    scope_of,
    scope_of_suggestion,
    states_same,
    workflow_of,
    workflow_of_skill,
)
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import StoredSuggestion, Suggestion
from runlore.domain.taint import inherit
from runlore.flow.publish.decide import reject
from runlore.flow.reactions import confirm_learning
from runlore.flow.record.intake import Intake, propose
from runlore.flow.skills.detecting import Looking, readable_runs
from runlore.flow.skills.saving import Saving
from runlore.ports.ids import Ids
from runlore.ports.store import RecordFilter, Transaction

REPEATED = "several runs show it"
SAVED_AS = "saved as skill {name}"
SKIPPED = "the suggestion that it comes from was skipped"
_ALL = 2**62
_FOUND_IN = frozenset({Kind.EXPERIMENT, Kind.SCAN, Kind.FAILURE})


def workspace_turn(tx: Transaction, *scopes: Scope) -> None:
    """The workspace is ours until the end of the transaction, with what else is needed: all at once, before
    the turn of the suggestions, so that no two wait for each other."""
    tx.lock({WORKSPACE, *scopes})


def run_turn_with_workspace(tx: Transaction, run_id: RunId) -> Run | None:
    """A run, where there is one, with all scopes that its session sees, which are ours until the end of the
    transaction."""
    run = tx.runs.find(run_id)
    if run is None:
        return None
    session = tx.sessions.find(run.session_id)
    workspace_turn(tx, *visible_scopes(run.session_id, UNBOUND if session is None else session.binding))
    return tx.runs.get(run_id)


def scopes_to_remember(tx: Transaction, stored: StoredSuggestion | None) -> set[Scope]:
    """Where what is to be remembered of a suggestion lies, or would."""
    if stored is None:
        return set()
    kinds = (Kind.PROCEDURE, Kind.FACT)
    earlier = _proposals(tx, [each for kind in kinds for each in digests_of(stored.suggestion, kind)])
    return {scope_of_suggestion(stored.suggestion), *(record.scope for record in earlier)}


def propose_repeated(tx: Transaction, ids: Ids, seen: Iterable[Suggestion], at: datetime) -> None:
    """Propose what several sessions or runs have shown by now, and was not proposed before."""
    intake = Intake(ids=ids, act=Act(actor=DAEMON, at=at, reason=REPEATED), origin=Origin.DAEMON)
    looking = Looking(tx)
    for suggestion in seen:
        draft = draft_of_suggestion(suggestion)
        if draft is not None and not _proposals(tx, digests_of(suggestion, draft.kind)):
            _try_propose(tx, intake, draft_of_suggestion(_retold(suggestion, looking)) or draft)


def withdraw_repeated(tx: Transaction, stored: StoredSuggestion, act: Act) -> None:
    """Take what waits for review of a suggestion out of the list: whoever skips it wants none of it. It is
    proposed again when the suggestion waits again and is seen. The caller has the turn of its scopes."""
    kinds = (Kind.PROCEDURE, Kind.FACT)
    digests = [digest for kind in kinds for digest in digests_of(stored.suggestion, kind)]
    for record in _still_waiting(_proposals(tx, digests), act.at):
        reject(tx, record, replace(act, reason=SKIPPED))


def _retold(suggestion: Suggestion, looking: Looking) -> Suggestion:
    """A suggestion in the words of all that it was seen in: what is known of a run that has just ended are
    those of one, with the values that this one happened to have."""
    matches = looking.matches((each.session_id for each in suggestion.evidence), suggestion)
    found = suggestions_of(matches, origins=looking.origins)
    best = next((each for each in found if each.pattern == suggestion.pattern), None)
    if best is None or suggestion.enhanced_by:
        return suggestion
    return replace(
        suggestion,
        description=best.description,
        commands=best.commands,
        body=best.body,
        provenance=inherit((suggestion.provenance, best.provenance)),
    )


def remember_saved(
    tx: Transaction, skill: Skill, stored: StoredSuggestion | None, saving: Saving, *, is_reviewed: bool
) -> None:
    """Write the procedure of a skill that was saved. Who `is_reviewed` by has read it, so that it stands at
    once, with what else the suggestion has proposed: one answer decides on all of that, but on what
    contradicts something in use. Else it waits. What people have decided about it before stays decided."""
    if stored is None:
        draft = workflow_of_skill(skill)
        digests: tuple[str, ...] = (str(draft.metadata[DIGEST]),)
        facts: Sequence[Record] = ()
    else:
        draft = workflow_of(stored.suggestion, skill.name)
        digests = digests_of(stored.suggestion, Kind.PROCEDURE)
        facts = _proposals(tx, digests_of(stored.suggestion, Kind.FACT))
    act = saving.act
    own = Act(actor=act.actor, at=act.at, reason=SAVED_AS.format(name=skill.name))
    intake = Intake(ids=saving.ids, act=replace(own, actor=DAEMON), origin=Origin.DAEMON)
    procedures = _still_waiting(_proposals(tx, digests) or _try_propose(tx, intake, draft), act.at)
    if is_reviewed:
        for each in (*procedures[:1], *_still_waiting(facts, act.at)):
            with suppress(Conflict):
                confirm_learning(tx, each, own, accept_untrusted=True)
        for each in procedures[1:]:
            reject(tx, each, own)


def propose_finding(tx: Transaction, ids: Ids, episode: Record, act: Act) -> None:
    """Propose what an episode says, where enough of the latest ones of its kind say the same."""
    if episode.kind not in _FOUND_IN:
        return
    workspace_turn(tx, episode.scope, scope_of([_project_of(tx, episode.scope)]))
    where = RecordFilter(kinds=frozenset({episode.kind}), states=frozenset({State.ACTIVE}), now=act.at)
    recent = tx.records.page(where, limit=limits.LIST_LIMIT_MAX)
    alike = [each for each in recent if states_same(each, episode)][: limits.EVIDENCE_REFS_MAX]
    if len(alike) >= limits.REPEATED_SESSIONS_MIN:
        scopes = {each.scope for each in alike}
        scope = episode.scope if len(scopes) == 1 else _scope_of_all(tx, scopes)
        act_of_daemon = Act(actor=DAEMON, at=act.at, reason="several episodes tell it")
        _propose_found(tx, ids, finding_of(alike, scope), act_of_daemon)


def propose_noted(tx: Transaction, ids: Ids, run: Run, at: datetime) -> None:
    """Propose what a run has noted as found, where enough others of the latest notes say the same. Whatever
    their conversations have read taints it. The caller has the turn of the run and the workspace."""
    notes = [each for each in tx.records.of_run(run.run_id) if _is_finding(each)][: limits.EVIDENCE_REFS_MAX]
    if not notes:
        return
    where = RecordFilter(kinds=frozenset({Kind.SCRATCH}), states=frozenset({State.TOMBSTONED}))
    recent = [each for each in tx.records.page(where, limit=limits.LIST_LIMIT_MAX) if _is_finding(each)]
    by_key: dict[str, list[Record]] = {}
    for each in recent:
        by_key.setdefault(_key_of_note(each), []).append(each)
    for key in dict.fromkeys(map(_key_of_note, notes)):
        alike = by_key.get(key, [])[: limits.EVIDENCE_REFS_MAX]
        sessions = {each.scope for each in alike}
        if is_repeated(sessions=len(sessions), runs=len({each.source.run_id for each in alike})):
            draft = finding_of(alike, _scope_of_all(tx, sessions))
            read = (Conversation(readable_runs(tx, SessionId(each.id))) for each in sorted(sessions))
            taint = inherit((draft.provenance, *(each.read_by(_ALL) for each in read)))
            act = Act(actor=DAEMON, at=at, reason="several runs have noted it")
            _propose_found(tx, ids, replace(draft, provenance=taint), act)


def _is_finding(note: Record) -> bool:
    is_cleared = note.kind is Kind.SCRATCH and note.state_reason is StateReason.CLEARED
    return is_cleared and bool(finding_of_note(note.summary))


def _key_of_note(note: Record) -> str:
    return semantic_key(finding_of_note(note.summary)).text


def _propose_found(tx: Transaction, ids: Ids, draft: Draft, act: Act) -> None:
    if not _proposals(tx, [str(draft.metadata[DIGEST])]):
        _try_propose(tx, Intake(ids=ids, act=act, origin=Origin.DAEMON), draft)


def _scope_of_all(tx: Transaction, scopes: Iterable[Scope]) -> Scope:
    return scope_of([_project_of(tx, scope) for scope in scopes])


def _project_of(tx: Transaction, scope: Scope) -> str:
    if scope.kind is ScopeKind.PROJECT:
        return scope.id
    session = tx.sessions.find(SessionId(scope.id)) if scope.kind is ScopeKind.SESSION else None
    return "" if session is None else next(iter(session.binding.project_ids), "")


def _proposals(tx: Transaction, digests: Iterable[str]) -> Sequence[Record]:
    """What was proposed for any of these, whatever people decided about it; not what went with a skip."""
    return [each for each in tx.records.proposals_for(*digests) if not _is_withdrawn(tx, each)]


def _still_waiting(proposals: Iterable[Record], at: datetime) -> list[Record]:
    return [each for each in proposals if each.state is State.CONSTRAINED and not each.is_expired(at)]


def _is_withdrawn(tx: Transaction, record: Record) -> bool:
    is_rejected = record.state_reason is StateReason.REJECTED
    return is_rejected and tx.records.events(record.record_id)[-1].reason == SKIPPED


def _try_propose(tx: Transaction, intake: Intake, draft: Draft) -> Sequence[Record]:
    """The proposal; none where its text cannot be a record, as one that looks like a secret."""
    with suppress(Invalid, Refused):
        return propose(tx, intake, [draft])
    return ()
