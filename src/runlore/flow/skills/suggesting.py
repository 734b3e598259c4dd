"""Keeping what was found: a pattern is suggested once, and seen again where it is there already.

What a person has skipped or saved stays so, and keeps its words; only what it was seen in is noted. A skip
that does not count any more lets it wait again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.detectors.match import PROCEDURES, Heuristic
from runlore.domain.lazy import dataclass
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.runs.job import JobKind
from runlore.domain.skill import SuggestionId
from runlore.domain.skills.skips import sighting
from runlore.domain.suggesting.bodies import update_frequency
from runlore.domain.suggestion import (
    SUGGESTION,
    StoredSuggestion,
    Suggestion,
    SuggestionEvidence,
    SuggestionState,
    pattern_digest,
)
from runlore.domain.taint import inherit
from runlore.flow.policies import current_skills
from runlore.flow.skills.names import free_name
from runlore.flow.skills.suggestion_lock import every_suggestion
from runlore.ports.ids import Ids
from runlore.ports.store import Transaction

# What may stand for others: a procedure for its variants, a failure that came back for its fixes.
_STANDING = PROCEDURES | {Heuristic.ERROR_RECOVERY}
# A procedure may tell what is repeated by itself, too.
_STOOD_FOR = _STANDING | {Heuristic.REPEATED_ACTION}


@dataclass(frozen=True, kw_only=True)
class DetectionContext:
    """Who looked, and when. `whole_since` is when a look at everything began; None where it was at one
    session, whose findings are added to what is known."""

    ids: Ids
    at: datetime
    whole_since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class KeepResult:
    """What became of findings: new ones, those seen again, and those that were skipped and stay so."""

    new: tuple[StoredSuggestion, ...] = ()
    again: tuple[StoredSuggestion, ...] = ()
    skipped: tuple[StoredSuggestion, ...] = ()

    def __add__(self, other: "KeepResult") -> "KeepResult":
        return KeepResult(
            new=(*self.new, *other.new),
            again=(*self.again, *other.again),
            skipped=(*self.skipped, *other.skipped),
        )

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        return tuple(each.suggestion for each in (*self.new, *self.again))

    @property
    def suppressed(self) -> int:
        return len(self.skipped)


def keep(tx: Transaction, found: Sequence[Suggestion], finding: DetectionContext) -> KeepResult:
    """Write what was found; the caller has the turn. What is as it was is not written again."""
    kept = KeepResult()
    known = _Known(tx, is_whole=finding.whole_since is not None)
    policy = current_skills(tx).curation
    for suggestion in found:
        present = known.of(suggestion)
        if present is None:
            kept += KeepResult(new=(_insert(tx, suggestion, finding),))
            continue
        seen = _see_again(tx, present, suggestion, finding=finding, policy=policy)
        if seen.state is SuggestionState.SKIPPED:
            kept += KeepResult(skipped=(seen,))
        else:
            kept += KeepResult(again=(seen,))
    return kept


class _Known:
    """What is suggested already. A finding may be a variant of a procedure that is, or a step of one."""

    def __init__(self, tx: Transaction, *, is_whole: bool) -> None:
        self._tx = tx
        self._is_whole = is_whole
        self._procedures: tuple[StoredSuggestion, ...] | None = None

    def of(self, found: Suggestion) -> StoredSuggestion | None:
        present = self._tx.suggestions.find(pattern=found.pattern)
        if present is not None or found.heuristic not in _STOOD_FOR:
            return present
        if self._procedures is None:
            self._procedures = tuple(
                filter(self._may_change, every_suggestion(self._tx, heuristics=_STANDING))
            )
        kin = (each for each in self._procedures if _are_kin(each.suggestion, found))
        nearest = next(kin, None)
        # An earlier finding may have changed it.
        return None if nearest is None else self._tx.suggestions.get(nearest.suggestion_id)

    def _may_change(self, stored: StoredSuggestion) -> bool:
        """A look at everything says itself what waits; what is decided on, or written by a model, stays."""
        is_decided = stored.state is not SuggestionState.WAITING
        return is_decided or bool(stored.suggestion.enhanced_by) or not self._is_whole


def _are_kin(one: Suggestion, other: Suggestion) -> bool:
    return one.stands_for(other.pattern) or other.stands_for(one.pattern)


def join_variants(known: Suggestion, seen: Suggestion) -> tuple[str, ...]:
    """The variants of both, without what the known one is itself."""
    both = {*known.variants, *seen.variants, pattern_digest(seen.pattern)} - {pattern_digest(known.pattern)}
    return tuple(sorted(both))[: limits.SUGGESTION_VARIANTS_MAX]


def take_back(tx: Transaction, patterns: frozenset[str], whole_since: datetime) -> int:
    """Delete what waits and a look at everything does not find any more; how many that were. The caller has
    the turn. What a person has decided on stays, and what a model has written; so does what came since, and
    what a skill was made of."""
    found = [
        each.suggestion_id
        for each in every_suggestion(tx, states=frozenset({SuggestionState.WAITING}))
        if each.suggestion.pattern not in patterns
        and not each.suggestion.enhanced_by
        and each.updated_at < whole_since
    ]
    skills = tx.skills.of_suggestions(found)
    saved = {learned.suggestion_id for skill in skills for learned in skill.learned_from}
    gone = [suggestion_id for suggestion_id in found if suggestion_id not in saved]
    for suggestion_id in gone:
        tx.jobs.cancel(JobKind.ENHANCE, suggestion_id)
    tx.suggestions.delete(gone)
    return len(gone)


def _insert(tx: Transaction, suggestion: Suggestion, finding: DetectionContext) -> StoredSuggestion:
    stored = StoredSuggestion(
        suggestion_id=SuggestionId(finding.ids.new("sug", finding.at)),
        suggestion=replace(suggestion, name=free_name(tx, suggestion.name)),
        created_at=finding.at,
        updated_at=finding.at,
    )
    tx.suggestions.insert(stored)
    return stored


def _see_again(
    tx: Transaction,
    present: StoredSuggestion,
    found: Suggestion,
    *,
    finding: DetectionContext,
    policy: SkillCurationPolicy,
) -> StoredSuggestion:
    # What was added since the look began is not in what was found.
    is_whole = finding.whole_since is not None and present.updated_at <= finding.whole_since
    seen = found if is_whole else _join_evidence(present.suggestion, found)
    seen = replace(seen, provenance=present.suggestion.provenance.see_again(seen.provenance))
    move = sighting(present, policy, finding.at)
    waits = replace(present, state=SUGGESTION.after(present.state, move, name=present.suggestion_id))
    after = replace(waits, suggestion=_update_words(waits, seen))
    if after == present:
        return present
    changed = replace(after, updated_at=finding.at, revision=present.revision + 1)
    tx.suggestions.update(changed, expected_revision=present.revision)
    return changed


def _update_words(present: StoredSuggestion, seen: Suggestion) -> Suggestion:
    """What a suggestion says from here on. It keeps its name; its words too, where a person has decided on
    them or a model has written them, and then what they were made of taints them still."""
    known = present.suggestion
    if present.state is SuggestionState.WAITING and not known.enhanced_by:
        return replace(seen, name=known.name)
    return replace(
        known,
        evidence=seen.evidence,
        times=seen.times,
        sessions=seen.sessions,
        score=seen.score,
        provenance=inherit((known.provenance, seen.provenance)),
        variants=join_variants(known, seen),
    )


def _join_evidence(known: Suggestion, found: Suggestion) -> Suggestion:
    """What is known with what one more look at a part adds. The words are those that promise more, and what
    they were taken from stays among the evidence: forgetting finds them by it."""
    fresh = [evidence for evidence in found.evidence if _is_news(evidence, known)]
    if not fresh:
        return known
    is_better = found.pattern == known.pattern and (found.score.points > known.score.points)
    better, rest = (found, known.evidence) if is_better else (known, tuple(fresh))
    room = max(0, limits.SUGGESTION_EVIDENCE_MAX - len(better.evidence))
    new = [each for each in rest if each not in better.evidence]
    if better is known:
        # What it was seen in stays known to the store, so that only the latest need be told.
        evidence = sorted((*known.evidence, *new), key=_when)[-limits.SUGGESTION_EVIDENCE_MAX :]
    else:
        evidence = sorted((*found.evidence, *sorted(new, key=_when)[len(new) - room :]), key=_when)
    before = {each.session_id for each in known.evidence}
    times = known.times + len(fresh)
    sessions = known.sessions + len({each.session_id for each in fresh} - before)
    return replace(
        better,
        body=update_frequency(better.body, times=times, sessions=sessions),
        evidence=tuple(evidence),
        times=times,
        sessions=sessions,
        provenance=inherit((known.provenance, found.provenance)),
        variants=join_variants(known, found),
    )


def _is_news(evidence: SuggestionEvidence, known: Suggestion) -> bool:
    """Whether an occurrence is not counted yet: it shares no event with one that is told, and where some are
    told no longer it is not older than all of these."""
    numbers = frozenset(evidence.event_numbers)
    for each in known.evidence:
        if each.session_id == evidence.session_id and not numbers.isdisjoint(each.event_numbers):
            return False
    is_cut = known.times > len(known.evidence)
    return not is_cut or _when(evidence) > min(map(_when, known.evidence))


def _when(evidence: SuggestionEvidence) -> tuple[datetime, str, tuple[int, ...]]:
    return evidence.at, evidence.session_id, evidence.event_numbers
