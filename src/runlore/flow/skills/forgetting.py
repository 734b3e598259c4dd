"""Forgetting runs in what was mined, suggested and saved: no suggestion keeps a word of a run that was
forgotten.

Steps of several runs of a session may stand in one suggestion, so all that were seen in the session are
written anew from what is left. That a forgotten run had read from outside stays known, without from where:
what it read is still in the conversation behind it.

Forgetting in skills: none that is Runlore's own text keeps a word of a run that was forgotten.

A learned skill lives with its suggestions: it is written anew from what is left of them, and goes where that
is nothing. What was merged into one that goes stands for itself again. What a person has written or edited is
theirs and stays, without where it came from. The log and the curations no longer tell of any of them, nor of
those that were ever put together with one: their texts and reasons quote each other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import Act
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.domain.skill import (
    LearnedFrom,
    Quality,
    Skill,
    SkillEvent,
    SkillEventKind,
    SkillId,
    SkillMove,
    SkillOrigin,
    SkillState,
    SuggestionId,
)
from runlore.domain.skill_curating.merging import merge_skills
from runlore.domain.skills.skill_saving import document_of
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import (
    StoredSuggestion,
    Suggestion,
    SuggestionEvidence,
    SuggestionState,
    Trigger,
)
from runlore.domain.suspicion.flagging import FLAG
from runlore.domain.taint import Provenance
from runlore.flow.skills.detecting import Looking
from runlore.flow.skills.names import free_name
from runlore.flow.skills.suggesting import join_variants
from runlore.flow.skills.suggestion_lock import note_forgetting, suggestions_turn
from runlore.ports.store import Transaction

FORGOTTEN_SOURCE = "a run that was forgotten"
REWRITTEN = "a run that it was learned from was forgotten"


@dataclass(frozen=True, kw_only=True)
class Unlearning:
    """What was forgotten, when and by whom. `before` are the suggestions that may have had words of it, as
    they were; they are written anew or gone by now."""

    before: Sequence[StoredSuggestion]
    run_ids: frozenset[RunId]
    actor: str
    at: datetime


def forget_in_skills(tx: Transaction, unlearning: Unlearning) -> None:
    """Take what was forgotten out of the skills, their log and the curations; the caller has the turn."""
    ids = [each.suggestion_id for each in unlearning.before]
    tx.skills.forget_log(suggestion_ids=ids)
    touched = tx.skills.of_suggestions(ids)
    if not touched:
        return
    family = _family(tx, {skill.skill_id for skill in touched})
    tx.curations.forget(sorted(family))
    tx.skills.forget_log(skill_ids=sorted(family))
    _Rows(tx, touched, unlearning).write()


def _family(tx: Transaction, skill_ids: Iterable[SkillId]) -> set[SkillId]:
    """Skills with all that curation ever put together with one of them, directly or not."""
    known, new = set[SkillId](), set(skill_ids)
    while new:
        known |= new
        pairs = [
            {action.gone, *([] if action.kept is None else [action.kept])}
            for curation in tx.curations.of_skills(sorted(new))
            for action in curation.actions
        ]
        new = {skill_id for pair in pairs if pair & known for skill_id in pair} - known
    return known


class _Rows:
    """The skills that were touched, and those that they were made of."""

    def __init__(self, tx: Transaction, touched: Sequence[Skill], unlearning: Unlearning) -> None:
        self._tx = tx
        self._touched = [skill.skill_id for skill in touched]
        self._unlearning = unlearning
        self._old_names = {each.suggestion_id: each.suggestion.name for each in unlearning.before}
        learned = {each.suggestion_id for skill in touched for each in skill.learned_from}
        self._left = dict(_iterate_remaining(tx, learned))
        self._rows = {skill.skill_id: skill for skill in tx.skills.of_suggestions(sorted(learned))}
        self._named: dict[SuggestionId, str] = {}

    def write(self) -> None:
        """Delete what nothing is left of, and write the others, in the order of their ids."""
        gone = {skill_id: skill for skill_id, skill in self._rows.items() if self._is_gone(skill)}
        freed = {skill.skill_id: skill for skill in self._free_children(gone)}
        self._tx.skills.delete(sorted(gone))
        for skill_id in sorted({*self._touched, *freed} - set(gone)):
            self._write(self._rows[skill_id], freed.get(skill_id, self._rows[skill_id]))

    def _is_gone(self, skill: Skill) -> bool:
        """Whether nothing is left of what it was made of itself; what a person wrote stays."""
        return skill.origin is SkillOrigin.LEARNED and skill.suggestion_id not in self._left

    def _free_children(self, gone: Mapping[SkillId, Skill]) -> Iterable[Skill]:
        """What was merged into skills that go, as it is from here on: for itself, or merged into what those
        were merged into."""
        for child in self._rows.values():
            parent = None if child.merged_into is None else gone.get(child.merged_into)
            if parent is None or child.skill_id in gone:
                continue
            while parent.merged_into is not None and parent.merged_into in gone:
                parent = gone[parent.merged_into]
            yield self._free_child(child, parent)

    def _free_child(self, child: Skill, parent: Skill) -> Skill:
        if parent.state is not SkillState.ACTIVE:
            return replace(child, merged_into=parent.merged_into)
        unlearning = self._unlearning
        back = child.apply_move(SkillMove.RESTORE, at=unlearning.at, actor=unlearning.actor)
        return replace(self._with_free_name(back), merged_into=None)

    def _write(self, before: Skill, skill: Skill) -> None:
        is_own = skill.origin is SkillOrigin.LEARNED
        after = self._anew(skill) if is_own else self._without_lineage(skill)
        if after == before:
            return
        after = replace(after, updated_at=self._unlearning.at, revision=before.revision + 1)
        self._tx.skills.update(after, expected_revision=before.revision)
        self._tx.skills.log(
            SkillEvent(
                kind=SkillEventKind.REWRITTEN,
                name=after.name,
                actor=self._unlearning.actor,
                at=self._unlearning.at,
                reason=REWRITTEN,
                skill_id=after.skill_id,
                suggestion_id=after.suggestion_id,
            )
        )

    def _with_free_name(self, skill: Skill) -> Skill:
        """One that comes back under another name where somebody has taken its own."""
        holder = self._tx.skills.find(skill.name)
        is_its_own = holder is None or holder.skill_id == skill.skill_id
        if is_its_own and skill.name not in self._tx.promotions.names():
            return skill
        name = free_name(self._tx, skill.name, besides=skill.suggestion_id)
        return replace(skill, document=replace(skill.document, name=name))

    def _anew(self, skill: Skill) -> Skill:
        """A learned skill from what is left of its suggestions."""
        parts = [
            self._part(self._own_row(each.suggestion_id, skill), each.suggestion_id)
            for each in skill.learned_from
            if each.suggestion_id in self._left
        ]
        whole = merge_skills(parts) if len(parts) > 1 else parts[0]
        document = replace(whole.document, version=skill.document.version, quality=skill.document.quality)
        is_same = document == skill.document
        provenance = whole.provenance
        if is_same and not skill.provenance.tainted:
            # Somebody has read these very words.
            provenance = provenance.clear()
        if provenance.tainted:
            document = replace(document, quality=Quality.DRAFT)
        return replace(
            skill,
            document=document,
            provenance=provenance,
            pattern=whole.pattern,
            also_from=whole.also_from,
            source_run_id=self._source(skill),
        )

    def _part(self, row: Skill, suggestion_id: SuggestionId) -> Skill:
        """What a skill would be if it were made of one suggestion now."""
        suggestion = self._left[suggestion_id]
        name = self._name(row, suggestion_id, suggestion)
        return replace(
            row,
            document=document_of(suggestion, name=name),
            provenance=suggestion.provenance,
            suggestion_id=suggestion_id,
            pattern=suggestion.pattern,
            also_from=(),
        )

    def _own_row(self, suggestion_id: SuggestionId, default: Skill) -> Skill:
        """The skill that was made of a suggestion itself; the `default` where it is that."""
        if default.suggestion_id == suggestion_id:
            return default
        own = (row for row in self._rows.values() if row.suggestion_id == suggestion_id)
        return next(own, default)

    def _name(self, row: Skill, suggestion_id: SuggestionId, suggestion: Suggestion) -> str:
        """Its name; that of the suggestion where it had that one, and the suggestion has another by now."""
        old = self._old_names.get(suggestion_id, suggestion.name)
        if row.name != old or suggestion.name == old:
            return row.name
        if suggestion_id not in self._named:
            self._named[suggestion_id] = free_name(self._tx, suggestion.name, besides=suggestion_id)
        return self._named[suggestion_id]

    def _without_lineage(self, skill: Skill) -> Skill:
        """What a person has written, without what was forgotten of where it came from."""
        own = self._left.get(skill.suggestion_id) if skill.suggestion_id is not None else None
        also = tuple(
            LearnedFrom(suggestion_id=each.suggestion_id, pattern=self._left[each.suggestion_id].pattern)
            for each in skill.also_from
            if each.suggestion_id in self._left
        )
        return replace(
            skill,
            suggestion_id=None if own is None else skill.suggestion_id,
            pattern="" if own is None else own.pattern,
            also_from=also,
            provenance=_without_names(skill.provenance),
            source_run_id=self._source(skill),
        )

    def _source(self, skill: Skill) -> RunId | None:
        return None if skill.source_run_id in self._unlearning.run_ids else skill.source_run_id


def _iterate_remaining(
    tx: Transaction, ids: Collection[SuggestionId]
) -> Iterable[tuple[SuggestionId, Suggestion]]:
    """What is left of suggestions that still say anything."""
    for suggestion_id in sorted(ids):
        try:
            suggestion = tx.suggestions.get(suggestion_id).suggestion
        except NotFound:
            continue
        if suggestion.body.strip() and suggestion.description.strip():
            yield suggestion_id, suggestion


def _without_names(provenance: Provenance) -> Provenance:
    """That something came from outside, without from where; what is odd about the text itself stays."""
    flags = [source for source in provenance.sources if source.startswith(FLAG)]
    forgotten = [FORGOTTEN_SOURCE] if len(flags) < len(provenance.sources) else []
    return replace(provenance, sources=(*flags, *forgotten))


def forget_run_in_skills(tx: Transaction, session_id: SessionId, run_id: RunId, act: Act) -> None:
    """Take a forgotten run out of what was mined, suggested and saved; the caller has the session's turn.

    Nothing is suggested of a run of which nothing was mined.
    """
    suggestions_turn(tx)
    tx.jobs.cancel(JobKind.SAVE, run_id)
    try:
        mined = tx.mined_runs.find(run_id)
        left = None if mined is None else _keep_outside_reads(mined)
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


def _keep_outside_reads(mined: MinedRun) -> MinedRun:
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
    matches = looking.matches(sessions, known)
    found = suggestions_of(matches, origins=looking.origins)
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
        return replace(best, pattern=known.pattern, variants=join_variants(known, best))
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
