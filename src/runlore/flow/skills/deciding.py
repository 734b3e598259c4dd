"""What people decide about suggestions: one is skipped, or let wait again (SKL-6).

Each is a line of the log.
"""

from runlore.domain.errors import NotFound
from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillEventKind, SuggestionId
from runlore.domain.skills import skips
from runlore.domain.suggestion import StoredSuggestion, SuggestionMove, SuggestionState
from runlore.flow.policies import current_skills
from runlore.flow.skills.saving import live_one, log_suggestion, skill_of
from runlore.flow.skills.suggestion_lock import every_suggestion
from runlore.ports.store import Transaction

_MAY_BE_SKIPPED = frozenset({SuggestionState.WAITING, SuggestionState.SKIPPED})


def decide(tx: Transaction, stored: StoredSuggestion, move: SuggestionMove, act: Act) -> StoredSuggestion:
    """Write a skip or a reset; where it was made before, nothing changes. Conflict where it is not legal."""
    return skip(tx, stored, act) if move is SuggestionMove.SKIP else _reset(tx, stored, act)


def skip(tx: Transaction, stored: StoredSuggestion, act: Act) -> StoredSuggestion:
    """Count a skip. One more does nothing where those there are suppress the suggestion already."""
    policy = current_skills(tx).curation
    is_skipped = stored.state is SuggestionState.SKIPPED
    if is_skipped and skips.is_suppressed(skips.skip_of(stored), policy, act.at):
        return stored
    skipped = _write(tx, stored, skips.skip_suggestion(stored, policy, act))
    log_suggestion(tx, stored, SkillEventKind.SKIPPED, act, reason=act.reason, skill=_live_skill(tx, stored))
    return skipped


def reset_skips(tx: Transaction, name: str | None, act: Act) -> tuple[StoredSuggestion, ...]:
    """Let skipped suggestions wait again as if they had never been: all, or the one of a name or id; one
    whose skill is there is saved again. Those that were, NotFound (`suggestion.not-found`); the caller has
    the turn."""
    if name is None:
        # All are read first: those that change stand elsewhere afterwards.
        skipped = [each for each in every_suggestion(tx, states=_MAY_BE_SKIPPED) if _is_skipped(each)]
    else:
        skipped = [tx.suggestions.find(name=name) or tx.suggestions.get(SuggestionId(name))]
    return tuple(_reset(tx, each, act) for each in skipped if _is_skipped(each))


def unskip(tx: Transaction, skill: Skill, act: Act) -> None:
    """Note that somebody wants a skill back: what it was learned from is not skipped any more, so that the
    next curation does not take it away again. The caller has the turn."""
    for learned in skill.learned_from:
        try:
            stored = tx.suggestions.get(learned.suggestion_id)
        except NotFound:
            continue
        if stored.state is SuggestionState.SKIPPED:
            _write(tx, stored, skips.mark_saved(stored, act))


def _is_skipped(stored: StoredSuggestion) -> bool:
    return stored.state is SuggestionState.SKIPPED or stored.times_skipped > 0


def _reset(tx: Transaction, stored: StoredSuggestion, act: Act) -> StoredSuggestion:
    if stored.state is SuggestionState.SAVED or not _is_skipped(stored):
        return stored
    skill = _live_skill(tx, stored)
    # Nobody is asked again about what is a skill already.
    after = skips.reset(stored, act) if skill is None else skips.mark_saved(stored, act)
    log_suggestion(tx, stored, SkillEventKind.RESET, act, reason=act.reason, skill=skill)
    return _write(tx, stored, after)


def _live_skill(tx: Transaction, stored: StoredSuggestion) -> Skill | None:
    made = skill_of(tx, stored)
    return None if made is None else live_one(tx, made)


def _write(tx: Transaction, stored: StoredSuggestion, after: StoredSuggestion) -> StoredSuggestion:
    tx.suggestions.update(after, expected_revision=stored.revision)
    return after
