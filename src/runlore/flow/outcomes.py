"""How runs went, read off their journals a day after they ended, when what followed is known too (VAL-3); and
what that says of the learnings that they were given (VAL-4)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.languages.detection import language_of
from runlore.domain.languages.language import Cue
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import Receipt, SectionName
from runlore.domain.record import STANDING_KINDS, WORTH, Move, Record, RecordId, State
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.records.feedback import FeedbackVerdict, verdict_of
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType, JournalEvent, text_of
from runlore.domain.skill import SkillId, SkillOrigin
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus
from runlore.domain.statements.user_messages import refusal_words
from runlore.domain.text.analysis import tokenize
from runlore.domain.worth.effect import REVOKE, Effect, Worth, estimate_effect
from runlore.domain.worth.outcome import RunFacts, SaidOutcome
from runlore.flow.policies import current_projection, current_skills
from runlore.flow.skills.catalogue import row_of
from runlore.flow.skills.sources import every_promoted, procedures_of, revoke_because
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.store import Collections, Store

SETTLED_AFTER = timedelta(days=1)
# So many runs of a person behind one are looked at for the same request, and so much of what a run did for
# words.
_FOLLOWING_MAX = 200
_PAGE = 500
_DONE_CHARS_MAX = 200_000
_REQUEST_CHARS_MAX = 2_000
# "Yes" and "go on" are asked again all day long.
_REQUEST_TERMS_MIN = 3
# Of the words of a learning that the request had not, how many a run says or types where it uses the
# learning.
_USED_TERMS_MIN = 2
_USED_PART = 0.5
# So many failed runs say something of the skill that they used.
_FAILED_MIN = 5


def settle_outcomes(store: Store, now: datetime, *, limit: int) -> int:
    """Settle the runs whose time has come: how many. Each is settled once, whoever comes first."""
    with store.snapshot() as snapshot:
        due = snapshot.outcomes.list_unsettled(now - SETTLED_AFTER, limit=limit)
        found = {run_id: _read(snapshot, run_id, said) for run_id, said in due.items()}
    if found:
        with store.transaction() as tx:
            still = tx.outcomes.list_unsettled(now - SETTLED_AFTER, limit=limit)
            for run_id in sorted(found.keys() & still.keys()):
                facts, used = found[run_id]
                tx.outcomes.settle(run_id, facts, now, used)
    return len(found)


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """What is now sure of a learning, in words. `skill` is what it was promoted to, where that is what harms
    or fails its runs."""

    record: Record
    sentence: str
    skill: PromotedSkill | None = None


def propose_by_worth(store: Store, now: datetime) -> int:
    """Have a person look at each learning and skill that is now known to help or to harm, and at each
    promoted skill that fails its runs: how many there are. One that was looked at waits again only when
    something else becomes true. Nothing is decided here, but that a promoted skill is taken out of use where
    the policy says so."""
    with store.snapshot() as snapshot:
        sure: dict[str, Effect] = {}
        if current_projection(snapshot).holdback_percent:
            sure = {
                source_id: effect
                for source_id, runs in groupby(snapshot.outcomes.trials(now), key=lambda run: run.source_id)
                if (effect := estimate_effect(runs)).sentence
            }
        news = len(_list_news(snapshot, sure))
    if news:
        with store.transaction() as tx:
            suggestions_turn(tx)
            takes_back = current_skills(tx).roll_back_harmful
            for found in _list_news(tx, sure):
                sentence = found.sentence
                if takes_back and found.skill is not None:
                    sentence = f"{sentence.removesuffix(REVOKE)}. It was taken out of use"
                    revoke_because(tx, found.skill, found.sentence, Act(actor=DAEMON, at=now))
                act = Act(actor=DAEMON, at=now, reason=sentence)
                after = replace(
                    found.record, revalidate_at=now, metadata={**found.record.metadata, WORTH: sentence}
                )
                tx.write([apply_record_move(found.record, Move.AMEND, act, after=after)])
    return news


def _list_news(collections: Collections, sure: Mapping[str, Effect]) -> list[_Finding]:
    """What is sure of learnings in use, and was not said of them last; one thing of each."""
    news: dict[RecordId, _Finding] = {}
    for found in (*_list_failing(collections), *_list_sure(collections, sure)):
        record = found.record
        said = str(record.metadata.get(WORTH)), found.sentence
        is_new = len({each.partition(",")[0] for each in said}) > 1
        if record.state is State.ACTIVE and is_new:
            news.setdefault(record.record_id, found)
    return list(news.values())


def _list_sure(collections: Collections, sure: Mapping[str, Effect]) -> Iterator[_Finding]:
    records = collections.records.get_many([RecordId(each) for each in sure])
    for source_id, effect in sorted(sure.items()):
        record = records.get(RecordId(source_id))
        if record is not None and (effect.worth is Worth.HARMS or _may_stand(record)):
            yield _Finding(record=record, sentence=effect.sentence)
        elif record is None and effect.worth is Worth.HARMS:
            yield from _tell_of_skill(collections, SkillId(source_id), effect.sentence)


def _may_stand(record: Record) -> bool:
    return record.kind in STANDING_KINDS and not record.standing


def _list_failing(collections: Collections) -> Iterator[_Finding]:
    """The promoted skills in use most of whose runs have failed."""
    for promoted in every_promoted(collections):
        row = row_of(collections, promoted.name) if promoted.status is RolloutStatus.ACTIVE else None
        if row is not None and row.usage.failed >= _FAILED_MIN and row.usage.failed > row.usage.succeeded:
            runs = row.usage.failed + row.usage.succeeded
            told = f"most runs that used it failed, {row.usage.failed} of {runs}{REVOKE}"
            yield from _tell_of_skill(collections, row.skill_id, told)


def _tell_of_skill(collections: Collections, skill_id: SkillId, sentence: str) -> Iterator[_Finding]:
    """A finding about a skill, told with the procedure that it was promoted from or is kept as."""
    with suppress(NotFound):
        skill = collections.skills.get(skill_id)
        promoted = collections.promotions.find(skill.name) if skill.origin is SkillOrigin.PROMOTED else None
        for record in procedures_of(collections, skill)[:1]:
            yield _Finding(record=record, sentence=f"skill {skill.name}: {sentence}", skill=promoted)


def _read(
    collections: Collections, run_id: RunId, said: SaidOutcome | None
) -> tuple[RunFacts | None, Mapping[str, bool]]:
    """How a run went. One that cannot be read counts for nothing, but for what was said of it."""
    try:
        return _read_whole(collections, collections.runs.get(run_id), said)
    except Corrupt:
        return None if said is None else RunFacts(status=RunStatus.COMPLETED, said=said), {}


def _read_whole(
    collections: Collections, run: Run, said: SaidOutcome | None
) -> tuple[RunFacts, Mapping[str, bool]]:
    receipt = collections.runs.get_receipt(run.run_id)
    facts, done = _read_journal(collections, run)
    request = _request(collections, run.run_id)
    following = _list_following(collections, run)
    next_run = next((each for each in following if each.session_id == run.session_id), None)
    helped, wrong = _count_feedback(collections, run.run_id, receipt)
    facts = replace(
        facts,
        said=said,
        corrected=next_run is not None and _corrects(_request(collections, next_run.run_id)),
        asked_again=_is_asked_again(collections, request, following),
        helped=helped,
        wrong=wrong,
    )
    return facts, _find_used(collections, receipt, request, done)


def _read_journal(collections: Collections, run: Run) -> tuple[RunFacts, str]:
    """What the journal counts, and what the agent said and typed."""
    calls = failed = refusals = tokens = after = 0
    done: list[str] = []
    while page := collections.journal.page(run_id=run.run_id, after=after, limit=_PAGE):
        for event in page:
            body = event.body
            if event.type is EventType.TOOL_CALL:
                calls += 1
                done.append(str(body.get("arguments")))
            elif event.type is EventType.ASSISTANT_MESSAGE:
                done.append(text_of(body))
            elif event.type is EventType.TOOL_RESULT and _is_refused(event):
                refusals += 1
            elif event.type is EventType.TOOL_RESULT:
                failed += body.get("is_error") is True or body.get("exit_code") not in (None, 0)
            elif event.type is EventType.USAGE:
                tokens += sum(n for n in body.values() if isinstance(n, int) and not isinstance(n, bool))
        after = page[-1].number
    facts = RunFacts(
        status=run.status, calls=calls, failed_calls=min(failed, calls), tokens=tokens, refusals=refusals
    )
    return facts, "\n".join(done)[:_DONE_CHARS_MAX]


def _is_refused(event: JournalEvent) -> bool:
    body = event.body
    return "exit_code" not in body and bool(
        refusal_words(str(body.get("output")), is_error=body.get("is_error") is True)
    )


def _request(collections: Collections, run_id: RunId) -> str:
    return collections.runs.request_excerpts([run_id], chars_max=_REQUEST_CHARS_MAX).get(run_id, "")


def _list_following(collections: Collections, run: Run) -> list[Run]:
    """The runs of the same person that were opened within a day behind a run, in order."""
    created_by = collections.sessions.get(run.session_id).created_by
    end = (run.finished_at or run.opened_at) + SETTLED_AFTER
    newest = collections.runs.page(
        limit=_FOLLOWING_MAX, before=(end, RunId("")), sessions_created_by=created_by
    )
    return [each for each in reversed(newest) if each.opened_at > run.opened_at]


def _corrects(request: str) -> bool:
    first = request.strip().partition("\n")[0].casefold()
    return Cue.CORRECTION in language_of(first).cues_in(first)


def _is_asked_again(collections: Collections, request: str, following: list[Run]) -> bool:
    wanted = tokenize(request)
    if len(set(wanted)) < _REQUEST_TERMS_MIN or not following:
        return False
    others = collections.runs.request_excerpts(
        [each.run_id for each in following], chars_max=_REQUEST_CHARS_MAX
    )
    return any(tokenize(text) == wanted for text in others.values())


def _count_feedback(collections: Collections, run_id: RunId, receipt: Receipt | None) -> tuple[int, int]:
    events = collections.records.events_of_many(_list_given(receipt))
    verdicts = [verdict_of(each, run_id) for each in events.values()]
    return verdicts.count(FeedbackVerdict.HELPED), verdicts.count(FeedbackVerdict.WRONG)


def _find_used(collections: Collections, receipt: Receipt | None, request: str, done: str) -> dict[str, bool]:
    """Which of the learnings that a run was given show in what it said and did, and which of the skills it
    opened."""
    if receipt is None:
        return {}
    asked, did = set(tokenize(request)), set(tokenize(done))
    opened = {each.skill_id for each in collections.skills.uses_of([receipt.run_id])}
    used = {each: each in opened for each in receipt.skills}
    for record_id, record in collections.records.get_many(_list_given(receipt)).items():
        own = set(tokenize(record.summary)) - asked
        least = max(min(_USED_TERMS_MIN, len(own)), _USED_PART * len(own))
        used[record_id] = bool(own) and len(own & did) >= least
    return used


def _list_given(receipt: Receipt | None) -> list[RecordId]:
    sections = () if receipt is None else receipt.sections
    return [
        RecordId(entry.source_id)
        for section in sections
        if section.name is SectionName.LEARNED_CONTEXT
        for entry in section.entries
    ]
