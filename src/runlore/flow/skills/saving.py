"""Saving: a suggestion becomes a skill, because somebody said so (SKL-8) or by itself behind the gate
(SKL-7).

The suggestion is marked and the skill written in one transaction, with a line in the log; the caller has the
turn. What was saved before is not saved twice: it comes back where it was taken away.
"""

from collections.abc import Sequence
from dataclasses import replace

from runlore.domain.errors import Conflict, Refused
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import Act
from runlore.domain.run import RunId
from runlore.domain.skill import (
    Skill,
    SkillEvent,
    SkillEventKind,
    SkillId,
    SkillMove,
    SkillOrigin,
    SkillState,
)
from runlore.domain.skill_document import render_document
from runlore.domain.skills import skips
from runlore.domain.skills.skill_saving import decide_saving, document_of
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.flow.policies import current_skills
from runlore.flow.skills.names import is_free, refuse_promoted
from runlore.ports.ids import Ids
from runlore.ports.store import Collections, Transaction

SAVED_BY_ITSELF = "it passed the gate"
MADE_BEFORE = "a skill was made of it before"
SKIPPED_BEFORE = "it was skipped before"
_SOURCES_TOLD = 5


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Who saves, when and why, and where the ids come from."""

    ids: Ids
    act: Act


def save(
    tx: Transaction,
    stored: StoredSuggestion,
    saving: Saving,
    *,
    name: str | None = None,
    accept_untrusted: bool = False,
    expected_revision: int | None = None,
    run_id: RunId | None = None,
) -> Skill:
    """Keep a suggestion as a skill, under another name where one is given; the same again gives the same one.

    Refused (`skill.tainted`) where it has words from outside that nobody accepts; Conflict (`skill.exists`)
    where the name is another's, and (`suggestion.moved`) where it is not the revision that was read. `run_id`
    is the run that it is saved after by itself.
    """
    made = skill_of(tx, stored)
    if made is None and expected_revision is not None and stored.revision != expected_revision:
        raise Conflict(
            f"suggestion {stored.suggestion.name} is at revision {stored.revision} by now: it was changed"
            " since it was read",
            code="suggestion.moved",
            hint=f"`runlore skill suggestions show {stored.suggestion.name}` shows it; decide anew",
        )
    _check_taint(stored, made, accept_untrusted=accept_untrusted)
    if made is not None and name is not None and name != made.name:
        raise Conflict(
            f"suggestion {stored.suggestion.name} was saved as {made.name} before",
            code="skill.exists",
            hint="leave the name out: it has its name, and keeps it",
        )
    for text in (stored.suggestion.description, stored.suggestion.body, *stored.suggestion.commands):
        without_secret("the suggestion", text)
    skill = (
        _make_skill(tx, stored, saving, name=name, run_id=run_id)
        if made is None
        else _again(tx, made, saving)
    )
    if stored.state is not SuggestionState.SAVED:
        tx.suggestions.update(skips.mark_saved(stored, saving.act), expected_revision=stored.revision)
    return skill


def auto_save(
    tx: Transaction, waiting: Sequence[StoredSuggestion], saving: Saving, *, run_id: RunId, has_model: bool
) -> tuple[Skill, ...]:
    """Save what passes the gate of all that a run showed, the best first, as many as the policy allows.

    Every suggestion that is not saved already gets its line: saved, declined with the reasons, or suppressed.
    """
    policy = current_skills(tx)
    if not policy.auto_save.enabled:
        return ()
    best_first = sorted(waiting, key=lambda each: (-each.suggestion.score.points, each.suggestion_id))
    decisions = decide_saving(
        [each for each in best_first if _is_new(tx, each)],
        taken=_find_taken_names(tx, best_first),
        requires_model=policy.auto_save.require_llm and policy.llm_learn and has_model,
        most=policy.auto_save.max_per_run - count_saved(tx, run_id),
    )
    reasons = {decision.stored.suggestion_id: decision.reason for decision in decisions}
    saved = []
    for stored in best_first:
        if stored.state is SuggestionState.SAVED:
            continue
        if stored.state is SuggestionState.SKIPPED:
            log_suggestion(tx, stored, SkillEventKind.SUPPRESSED, saving.act, reason=SKIPPED_BEFORE)
        elif reason := reasons.get(stored.suggestion_id, MADE_BEFORE):
            log_suggestion(tx, stored, SkillEventKind.DECLINED, saving.act, reason=reason)
        else:
            act = replace(saving.act, reason=SAVED_BY_ITSELF)
            saved.append(save(tx, stored, replace(saving, act=act), run_id=run_id))
    return tuple(saved)


def skill_of(collections: Collections, stored: StoredSuggestion) -> Skill | None:
    """The skill that was made of a suggestion itself, whatever became of it."""
    for skill in collections.skills.of_suggestions([stored.suggestion_id]):
        if skill.suggestion_id == stored.suggestion_id:
            return skill
    return None


def live_one(collections: Collections, made: Skill) -> Skill | None:
    """The skill that says by now what this one says: itself, or the one that it was merged into."""
    now = made
    while now.state is SkillState.MERGED and now.merged_into is not None:
        now = collections.skills.get(now.merged_into)
    return now if now.state is SkillState.ACTIVE else None


def count_saved(collections: Collections, run_id: RunId) -> int:
    """How many skills a run has left by itself, whatever became of them."""
    shown = [each.suggestion_id for each in collections.suggestions.of_runs([run_id])]
    return sum(skill.source_run_id == run_id for skill in collections.skills.of_suggestions(shown))


def _is_new(tx: Transaction, stored: StoredSuggestion) -> bool:
    return stored.state is SuggestionState.WAITING and skill_of(tx, stored) is None


def _find_taken_names(tx: Transaction, waiting: Sequence[StoredSuggestion]) -> frozenset[str]:
    """Those of the names that a skill has, or another suggestion."""
    return frozenset(
        each.suggestion.name
        for each in waiting
        if not is_free(tx, each.suggestion.name, besides=each.suggestion_id)
    )


def _check_taint(stored: StoredSuggestion, made: Skill | None, *, accept_untrusted: bool) -> None:
    provenance = stored.suggestion.provenance if made is None else made.provenance
    if made is None and provenance.tainted and not accept_untrusted:
        option = f"--accept-untrusted --expected-revision {stored.revision}"
        name = stored.suggestion.name
        shown_by = f"runlore skill suggestions show {name}"
        raise taint_error(f"suggestion {name}", provenance.sources, option, shown_by=shown_by)


def taint_error(what: str, sources: Sequence[str], option: str, *, shown_by: str = "") -> Refused:
    """The error for what somebody has to read first, naming what it comes from, and what shows it."""
    read = f"read it with `{shown_by}`" if shown_by else "read it"
    return Refused(
        f"{what} has words from outside in it: {_join_sources(sources)}",
        code="skill.tainted",
        hint=f"{read}, and where it is sound say so with {option}",
    )


def _join_sources(sources: Sequence[str]) -> str:
    named = ", ".join(sources[:_SOURCES_TOLD]) or "an unknown source"
    return f"{named} and {len(sources) - _SOURCES_TOLD} more" if len(sources) > _SOURCES_TOLD else named


def _acceptance_note(stored: StoredSuggestion) -> str:
    provenance = stored.suggestion.provenance
    return (
        f"read and accepted, with words from: {_join_sources(provenance.sources)}"
        if provenance.tainted
        else ""
    )


def _make_skill(
    tx: Transaction, stored: StoredSuggestion, saving: Saving, *, name: str | None, run_id: RunId | None
) -> Skill:
    suggestion, act = stored.suggestion, saving.act
    document = document_of(suggestion, name=name or suggestion.name)
    # It can be written as a file before it is stored.
    render_document(document, suggestion.provenance)
    if not is_free(tx, document.name, besides=stored.suggestion_id):
        raise Conflict(
            f"there is a skill or a suggestion called {document.name} already",
            code="skill.exists",
            hint="save it under another name with --name",
        )
    skill = Skill(
        skill_id=SkillId(saving.ids.new("skl", act.at)),
        document=document,
        origin=SkillOrigin.LEARNED,
        state_actor=act.actor,
        provenance=suggestion.provenance.clear(),
        suggestion_id=stored.suggestion_id,
        pattern=suggestion.pattern,
        source_run_id=run_id,
        created_at=act.at,
        updated_at=act.at,
    )
    tx.skills.insert(skill)
    log_suggestion(
        tx, stored, SkillEventKind.SAVED, act, reason=act.reason or _acceptance_note(stored), skill=skill
    )
    return skill


def _again(tx: Transaction, made: Skill, saving: Saving) -> Skill:
    """The skill as it is there: itself, the one that it was merged into, or itself brought back."""
    now = live_one(tx, made)
    if now is not None:
        return now
    act = saving.act
    refuse_promoted(tx, made.name)
    back = replace(made.apply_move(SkillMove.RESTORE, at=act.at, actor=act.actor), merged_into=None)
    tx.skills.update(back, expected_revision=made.revision)
    log(tx, back, SkillEventKind.RESTORED, act)
    return back


def log(tx: Transaction, skill: Skill, kind: SkillEventKind, act: Act, *, reason: str | None = None) -> None:
    tx.skills.log(
        SkillEvent(
            kind=kind,
            name=skill.name,
            actor=act.actor,
            at=act.at,
            reason=act.reason if reason is None else reason,
            skill_id=skill.skill_id,
            suggestion_id=skill.suggestion_id,
        )
    )


def log_suggestion(
    tx: Transaction,
    stored: StoredSuggestion,
    kind: SkillEventKind,
    act: Act,
    *,
    reason: str,
    skill: Skill | None = None,
) -> None:
    """Write a line about a suggestion, under the name of its skill where there is one."""
    tx.skills.log(
        SkillEvent(
            kind=kind,
            name=stored.suggestion.name if skill is None else skill.name,
            actor=act.actor,
            at=act.at,
            reason=reason,
            skill_id=None if skill is None else skill.skill_id,
            suggestion_id=stored.suggestion_id,
        )
    )
