"""What one origin brought (TNT-5): suggestions that wait and skills, beside records; taken back or cleared.

Whatever else has a say in something keeps it marked: only what rests on the origin alone is cleared.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, State
from runlore.domain.records.audit import Act
from runlore.domain.scope import Scope
from runlore.domain.skill import Skill, SkillOrigin, SkillState
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.domain.taint import Provenance
from runlore.domain.taint_sources.fingerprints import origin_in
from runlore.flow.pipeline.repeating import scopes_to_remember, withdraw_repeated, workspace_turn
from runlore.flow.publish.decide import reject
from runlore.flow.publish.promote_tier import amend
from runlore.flow.reactions import revoke_learnings
from runlore.flow.skills.deciding import skip
from runlore.flow.skills.library import accept, delete, every_skill
from runlore.flow.skills.suggestion_lock import every_suggestion, suggestions_turn
from runlore.ports.store import Collections, Transaction

_WAITING = frozenset({SuggestionState.WAITING})


@dataclass(frozen=True, kw_only=True)
class OriginItems:
    """The suggestions that wait, and the skills, that have an origin among their sources; with `alone` those
    that nothing else marks."""

    origin: str
    alone: bool
    suggestions: tuple[StoredSuggestion, ...] = ()
    skills: tuple[Skill, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        suggestions = (f"suggestion {each.suggestion.name}" for each in self.suggestions)
        return (*suggestions, *(f"skill {each.name}" for each in self.skills))

    def narrow(self, suggestions: Iterable[StoredSuggestion], skills: Iterable[Skill]) -> "OriginItems":
        """Those of these that it is about."""
        return replace(
            self,
            suggestions=tuple(
                each for each in suggestions if each.waits and self._has(each.suggestion.provenance)
            ),
            skills=tuple(
                each
                for each in skills
                if each.state is SkillState.ACTIVE
                and each.origin is not SkillOrigin.PROMOTED
                and self._has(each.provenance)
            ),
        )

    def _has(self, provenance: Provenance) -> bool:
        if self.alone:
            return rests_alone(provenance, self.origin)
        return self.origin in map(origin_in, provenance.sources)


def rests_alone(provenance: Provenance, origin: str) -> bool:
    """Whether nothing but one origin marks it."""
    return provenance.tainted and {*map(origin_in, provenance.sources)} == {origin}


def find_origin_items(collections: Collections, origin: str, *, alone: bool) -> OriginItems:
    """What an origin brought; nothing where none is named."""
    brought = OriginItems(origin=origin, alone=alone)
    if not origin:
        return brought
    return brought.narrow(every_suggestion(collections, states=_WAITING), every_skill(collections))


def take_turns(tx: Transaction, scopes: Iterable[Scope], found: OriginItems) -> OriginItems:
    """Lock these scopes and what was found until the transaction ends; what was found, as it is now."""
    if not found.origin:
        tx.lock({*scopes})
        return found
    remembered = (scope for each in found.suggestions for scope in scopes_to_remember(tx, each))
    workspace_turn(tx, *scopes, *remembered)
    suggestions_turn(tx)
    return found.narrow(
        (tx.suggestions.get(each.suggestion_id) for each in found.suggestions),
        (tx.skills.get(each.skill_id) for each in found.skills),
    )


def take_back(tx: Transaction, brought: OriginItems, act: Act) -> OriginItems:
    """Skip the suggestions, with what they proposed, and delete the skills. The caller has the turns."""
    suggestions = []
    for stored in brought.suggestions:
        suggestions.append(skip(tx, stored, act))
        withdraw_repeated(tx, suggestions[-1], act)
    skills = tuple(delete(tx, skill, act) for skill in brought.skills)
    return replace(brought, suggestions=tuple(suggestions), skills=skills)


def clear(tx: Transaction, brought: OriginItems, act: Act) -> OriginItems:
    """Take the marks away, and keep the sources. The caller has the turns."""
    suggestions = tuple(_clear_suggestion(tx, each, act) for each in brought.suggestions)
    skills = tuple(
        accept(tx, each, act, force=True, expected_revision=each.revision) for each in brought.skills
    )
    return replace(brought, suggestions=suggestions, skills=skills)


def end_records(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """Revoke learnings, and reject candidates."""
    waiting = [record for record in records if record.state is State.CONSTRAINED]
    revoked = revoke_learnings(tx, [record for record in records if record not in waiting], act)
    return (*revoked, *(reject(tx, record, act) for record in waiting))


def clear_records(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    """The same records without their marks, in the states they are in."""
    cleared = (replace(record, provenance=record.provenance.clear()) for record in records)
    return tuple(amend(tx, record, after, act) for record, after in zip(records, cleared, strict=True))


def _clear_suggestion(tx: Transaction, stored: StoredSuggestion, act: Act) -> StoredSuggestion:
    cleared = replace(stored.suggestion, provenance=stored.suggestion.provenance.clear())
    after = replace(
        stored, suggestion=cleared, state_actor=act.actor, updated_at=act.at, revision=stored.revision + 1
    )
    tx.suggestions.update(after, expected_revision=stored.revision)
    return after
