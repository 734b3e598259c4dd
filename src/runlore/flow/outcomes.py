"""How runs went, read off their journals a day after they ended, when what followed is known too (VAL-3); and
what that says of the learnings that they were given (VAL-4)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from runlore.domain.languages.choosing import language_of
from runlore.domain.languages.language import Cue
from runlore.domain.prompts.projection import Receipt, SectionName
from runlore.domain.record import WORTH, JsonValue, Move, Record, RecordId, State
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.records.feedback import FeedbackVerdict, verdict_of
from runlore.domain.run import Run, RunId
from runlore.domain.runs.journal import EventType, JournalEvent, text_of
from runlore.domain.statements.user_messages import refusal_words
from runlore.domain.text.analysis import terms_of
from runlore.domain.worth.effect import Effect, Worth, estimate_effect
from runlore.domain.worth.outcome import RunFacts, SaidOutcome
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


def settle_outcomes(store: Store, now: datetime, *, limit: int) -> int:
    """Settle the runs whose time has come: how many. Each is settled once, whoever comes first."""
    with store.snapshot() as snapshot:
        due = snapshot.outcomes.list_unsettled(now - SETTLED_AFTER, limit=limit)
        runs = snapshot.runs.get_many(list(due))
        found = {
            run_id: _read(snapshot, runs[run_id], said) for run_id, said in due.items() if run_id in runs
        }
    if found:
        with store.transaction() as tx:
            still = tx.outcomes.list_unsettled(now - SETTLED_AFTER, limit=limit)
            for run_id in sorted(found.keys() & still.keys()):
                facts, used = found[run_id]
                tx.outcomes.settle(run_id, facts, now, used)
    return len(found)


def propose_by_worth(store: Store, now: datetime) -> int:
    """Have a person look at each learning that is now known to help or to harm: how many there are.
    Nothing is decided here, and one that was looked at waits again only when the other becomes true."""
    with store.snapshot() as snapshot:
        sure = {
            RecordId(source_id): effect
            for source_id, runs in groupby(snapshot.outcomes.trials(), key=lambda run: run.source_id)
            if (effect := estimate_effect(runs)).sentence
        }
        news = [each.record_id for each in _list_news(snapshot, sure)]
    if news:
        with store.transaction() as tx:
            for record in _list_news(tx, {record_id: sure[record_id] for record_id in news}):
                sentence = sure[record.record_id].sentence
                act = Act(actor=DAEMON, at=now, reason=sentence)
                after = replace(record, revalidate_at=now, metadata={**record.metadata, WORTH: sentence})
                tx.write([apply_record_move(record, Move.AMEND, act, after=after)])
    return len(news)


def _list_news(collections: Collections, sure: Mapping[RecordId, Effect]) -> list[Record]:
    """The learnings in use of which the opposite, or nothing, was said until now."""
    return [
        record
        for record_id, record in sorted(collections.records.get_many(list(sure)).items())
        if record.state is State.ACTIVE
        and not (record.standing and sure[record_id].worth is Worth.HELPS)
        and _first_words(record.metadata.get(WORTH)) != _first_words(sure[record_id].sentence)
    ]


def _first_words(sentence: JsonValue) -> str:
    return str(sentence).partition(",")[0]


def _read(
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
    wanted = terms_of(request)
    if len(set(wanted)) < _REQUEST_TERMS_MIN or not following:
        return False
    others = collections.runs.request_excerpts(
        [each.run_id for each in following], chars_max=_REQUEST_CHARS_MAX
    )
    return any(terms_of(text) == wanted for text in others.values())


def _count_feedback(collections: Collections, run_id: RunId, receipt: Receipt | None) -> tuple[int, int]:
    events = collections.records.events_of_many(_list_given(receipt))
    verdicts = [verdict_of(each, run_id) for each in events.values()]
    return verdicts.count(FeedbackVerdict.HELPED), verdicts.count(FeedbackVerdict.WRONG)


def _find_used(collections: Collections, receipt: Receipt | None, request: str, done: str) -> dict[str, bool]:
    """Which of the learnings that a run was given show in what it said and did."""
    asked, did = set(terms_of(request)), set(terms_of(done))
    used: dict[str, bool] = {}
    for record_id, record in collections.records.get_many(_list_given(receipt)).items():
        own = set(terms_of(record.summary)) - asked
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
