"""Forgetting in skills: none that is Runlore's own text keeps a word of a run that was forgotten.

A learned skill lives with its suggestions: it is written anew from what is left of them, and goes where that
is nothing. What was merged into one that goes stands for itself again. What a person has written or edited is
theirs and stays, without where it came from. The log and the curations no longer tell of any of them, nor of
those that were ever put together with one: their texts and reasons quote each other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
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
)
from runlore.domain.skill_curating.merging import united
from runlore.domain.skill_saving import document_of
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionId
from runlore.domain.suspicion.flagging import FLAG
from runlore.domain.taint import Provenance
from runlore.flow.skills.names import free_name
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
        self._left = dict(_left(tx, learned))
        self._rows = {skill.skill_id: skill for skill in tx.skills.of_suggestions(sorted(learned))}
        self._named: dict[SuggestionId, str] = {}

    def write(self) -> None:
        """Delete what nothing is left of, and write the others, in the order of their ids."""
        gone = {skill_id: skill for skill_id, skill in self._rows.items() if self._is_gone(skill)}
        freed = {skill.skill_id: skill for skill in self._freed_from(gone)}
        self._tx.skills.delete(sorted(gone))
        for skill_id in sorted({*self._touched, *freed} - set(gone)):
            self._write(self._rows[skill_id], freed.get(skill_id, self._rows[skill_id]))

    def _is_gone(self, skill: Skill) -> bool:
        """Whether nothing is left of what it was made of itself; what a person wrote stays."""
        return skill.origin is SkillOrigin.LEARNED and skill.suggestion_id not in self._left

    def _freed_from(self, gone: Mapping[SkillId, Skill]) -> Iterable[Skill]:
        """What was merged into skills that go, as it is from here on: for itself, or merged into what those
        were merged into."""
        for child in self._rows.values():
            parent = None if child.merged_into is None else gone.get(child.merged_into)
            if parent is None or child.skill_id in gone:
                continue
            while parent.merged_into is not None and parent.merged_into in gone:
                parent = gone[parent.merged_into]
            yield self._freed(child, parent)

    def _freed(self, child: Skill, parent: Skill) -> Skill:
        if parent.state is not SkillState.ACTIVE:
            return replace(child, merged_into=parent.merged_into)
        unlearning = self._unlearning
        back = child.moved(SkillMove.RESTORE, at=unlearning.at, actor=unlearning.actor)
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
        whole = united(parts) if len(parts) > 1 else parts[0]
        document = replace(whole.document, version=skill.document.version, quality=skill.document.quality)
        is_same = document == skill.document
        provenance = whole.provenance
        if is_same and not skill.provenance.tainted:
            # Somebody has read these very words.
            provenance = provenance.cleared()
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
            provenance=_unnamed(skill.provenance),
            source_run_id=self._source(skill),
        )

    def _source(self, skill: Skill) -> RunId | None:
        return None if skill.source_run_id in self._unlearning.run_ids else skill.source_run_id


def _left(tx: Transaction, ids: Collection[SuggestionId]) -> Iterable[tuple[SuggestionId, Suggestion]]:
    """What is left of suggestions that still say anything."""
    for suggestion_id in sorted(ids):
        try:
            suggestion = tx.suggestions.get(suggestion_id).suggestion
        except NotFound:
            continue
        if suggestion.body.strip() and suggestion.description.strip():
            yield suggestion_id, suggestion


def _unnamed(provenance: Provenance) -> Provenance:
    """That something came from outside, without from where; what is odd about the text itself stays."""
    flags = [source for source in provenance.sources if source.startswith(FLAG)]
    forgotten = [FORGOTTEN_SOURCE] if len(flags) < len(provenance.sources) else []
    return replace(provenance, sources=(*flags, *forgotten))
