"""Forgetting runs in what was mined, suggested and saved: no suggestion keeps a word of a run that was
forgotten.

Steps of several runs of a session may stand in one suggestion, so all that were seen in the session are
written anew from what is left. That a forgotten run had read from outside stays known, without from where:
what it read is still in the conversation behind it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from runlore.domain.audit import Act
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.errors import Corrupt
from runlore.domain.job import JobKind
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import (
    StoredSuggestion,
    Suggestion,
    SuggestionEvidence,
    SuggestionState,
    Trigger,
)
from runlore.flow.skills.detecting import Looking
from runlore.flow.skills.names import free_name
from runlore.flow.skills.suggesting import joined_variants
from runlore.flow.skills.turn import note_forgetting, suggestions_turn
from runlore.flow.skills.unlearning import FORGOTTEN_SOURCE, Unlearning, forget_in_skills
from runlore.ports.store import Transaction


def forget_run_in_skills(tx: Transaction, session_id: SessionId, run_id: RunId, act: Act) -> None:
    """Take a forgotten run out of what was mined, suggested and saved; the caller has the session's turn.

    Nothing is suggested of a run of which nothing was mined.
    """
    suggestions_turn(tx)
    tx.jobs.cancel(JobKind.SAVE, run_id)
    try:
        mined = tx.mined_runs.find(run_id)
        left = None if mined is None else _left_of(mined)
        if mined == left:
            return
    except Corrupt:
        # Of what is damaged nothing is known, and forgetting goes on.
        left = None
    tx.mined_runs.delete([run_id])
    if left is not None and left.outside:
        tx.mined_runs.put(left)
    _forget_suggested(tx, session_id, frozenset({run_id}), act)


def forget_session_in_skills(tx: Transaction, session_id: SessionId, act: Act) -> None:
    """The same for all runs of a forgotten session, and for how far its transcript was read."""
    suggestions_turn(tx)
    run_ids = frozenset(run.run_id for run in tx.runs.of_session(session_id))
    tx.jobs.cancel(JobKind.CURATE, session_id)
    for run_id in sorted(run_ids):
        tx.jobs.cancel(JobKind.SAVE, run_id)
    tx.transcript_positions.delete_of_sessions([session_id])
    with suppress(Corrupt):
        if not tx.mined_runs.of_session(session_id, limit=1):
            return
    tx.mined_runs.delete(sorted(run_ids))
    _forget_suggested(tx, session_id, run_ids, act)


def _left_of(mined: MinedRun) -> MinedRun:
    """What stays of a run: that it read from outside, and when, without from where."""
    return MinedRun(
        session_id=mined.session_id,
        run_id=mined.run_id,
        agent="",
        project="",
        at=mined.at,
        request=None,
        steps=(),
        outside=tuple(replace(read, source=FORGOTTEN_SOURCE) for read in mined.outside),
    )


def _forget_suggested(tx: Transaction, session_id: SessionId, run_ids: frozenset[RunId], act: Act) -> None:
    touched = tx.suggestions.of_runs([run.run_id for run in tx.runs.of_session(session_id)])
    looking = Looking(tx)
    for stored in touched:
        rebuilt = _rebuilt(tx, stored, looking, session_id=session_id, run_ids=run_ids)
        if rebuilt is None:
            tx.jobs.cancel(JobKind.ENHANCE, stored.suggestion_id)
            tx.suggestions.delete([stored.suggestion_id])
        elif rebuilt != stored.suggestion:
            after = replace(stored, suggestion=rebuilt, updated_at=act.at, revision=stored.revision + 1)
            tx.suggestions.update(after, expected_revision=stored.revision)
    forget_in_skills(tx, Unlearning(before=touched, run_ids=run_ids, actor=act.actor, at=act.at))
    tx.suggestions.forget_runs(sorted(run_ids))
    note_forgetting(tx)


def _rebuilt(
    tx: Transaction,
    stored: StoredSuggestion,
    looking: Looking,
    *,
    session_id: SessionId,
    run_ids: frozenset[RunId],
) -> Suggestion | None:
    """A suggestion from what is left of it; None where nothing shows its pattern any more.

    What a person has decided on stays decided where there is any evidence left, without its words.
    """
    known = stored.suggestion
    sessions = {session_id, *(evidence.session_id for evidence in known.evidence)}
    found = suggestions_of(looking.matches(sessions, known))
    if found:
        return _anew(tx, stored, found)
    left = tuple(evidence for evidence in known.evidence if evidence.run_id not in run_ids)
    if stored.state is SuggestionState.WAITING or not left:
        return None
    return _bare(tx, known, left)


def _anew(tx: Transaction, stored: StoredSuggestion, found: Sequence[Suggestion]) -> Suggestion | None:
    """What is found of it now, under its name. Of several variants another may be the best by now; where
    that one is suggested already, nothing is left to say twice."""
    known = stored.suggestion
    best = next((each for each in found if each.pattern == known.pattern), found[0])
    best = replace(best, name=_name(tx, known, best.name))
    if stored.state is not SuggestionState.WAITING:
        return replace(best, pattern=known.pattern, variants=joined_variants(known, best))
    is_taken = best.pattern != known.pattern and tx.suggestions.find(pattern=best.pattern) is not None
    return None if is_taken else best


def _name(tx: Transaction, known: Suggestion, wanted: str) -> str:
    """The name that it has; another one where this may be words of what was forgotten."""
    is_words = bool(known.enhanced_by) or known.heuristic is Heuristic.EXPLICIT_INSTRUCTION
    return free_name(tx, wanted) if is_words and wanted != known.name else known.name


def _bare(tx: Transaction, known: Suggestion, left: tuple[SuggestionEvidence, ...]) -> Suggestion:
    """What says only that the pattern was decided on, and where it was seen."""
    return replace(
        known,
        name=_name(tx, known, known.heuristic.value),
        description="",
        commands=(),
        trigger=Trigger(topic=""),
        body="",
        evidence=left,
        provenance=replace(known.provenance, sources=()),
        parameters=(),
        enhanced_by="",
    )
