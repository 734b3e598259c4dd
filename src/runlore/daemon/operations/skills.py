"""Skills learned from transcripts: runs brought in, what they suggest, and what people decide about that."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from runlore.daemon.background.jobs import capture_now, learning_skills
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit, cut_page, number_of
from runlore.daemon.mining.source_reader import look_up_folder
from runlore.daemon.operations.bound import operation
from runlore.daemon.operations.forgetting import ForgetActs
from runlore.daemon.runs.run_ends import remembering
from runlore.domain import limits
from runlore.domain.errors import Invalid, NotFound
from runlore.domain.guard.entry import without_secret
from runlore.domain.record import RecordId
from runlore.domain.records.audit import Act
from runlore.domain.records.contracts import check_text
from runlore.domain.runs.imported_entries import check_position, check_transcript_run
from runlore.domain.runs.transcript import Position
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.statements.ranks import Rank
from runlore.domain.suggestion import StoredSuggestion, SuggestionMove, SuggestionState
from runlore.flow.capture.sessions import find_binding
from runlore.flow.families import descendants
from runlore.flow.pipeline.importing import BatchResult, Importing
from runlore.flow.pipeline.repeating import scopes_to_remember, withdraw_repeated, workspace_turn
from runlore.flow.review.inbox import waiting_for_review
from runlore.flow.skills.deciding import decide
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

_SOURCES_MAX = 10_000
_WAITING = frozenset({SuggestionState.WAITING})
_PAUSED = "paused"
# The numbers that answers tell, as they are kept with a key.
_BROUGHT = ("stored", "known", "left", "sessions", "events", "beyond_retention")
_FOUND = ("runs", "sessions", "seen_again", "candidates", "suppressed", "enhancing", "statements", _PAUSED)
_BECAUSE = "left: "
_log = logging.getLogger(__name__)


class SkillActs(ForgetActs):
    """Transcripts, and what is suggested."""

    @operation
    def import_runs(self, request: ops.RunsToImport) -> ops.ImportedRuns:
        _check_source(request.source)
        for run in request.runs:
            check_transcript_run(run)
        if request.position is not None:
            check_position("position", request.position)
        whose = (
            self.caller if request.persona_id is None else replace(self.caller, persona_id=request.persona_id)
        )
        importing = Importing(remembering=remembering(self.parts), caller=whose, holder=self.parts.process_id)
        with self.parts.store.snapshot() as snapshot:
            bound = partial(find_binding, snapshot)
            folders = {
                folder: look_up_folder(folder, bound) for folder in {run.folder for run in request.runs}
            }
        batch = importing.prepare(request, folders)
        came: list[BatchResult] = []

        def do(tx: Transaction, _act: Act) -> Done[ops.ImportedRuns]:
            came.append(importing.bring_in(tx, batch))
            answer = came[-1].answer()
            # Under the names of what was stored, so that it goes when any of that is forgotten.
            runs = [brought.run for brought in came[-1].stored]
            names: dict[str, int] = {name: 0 for run in runs for name in (run.run_id, run.session_id)}
            return Done(answer, numbers={**names, **_imported_numbers(answer)})

        call = Call(operation="import_runs", request=request, key=request.idempotency_key)
        answer = self.acting.perform(call, do, _imported_again)
        for each in came:
            importing.remember(each)
            self._forget_begun_by(each.kept_out)
        return answer

    def _forget_begun_by(self, kept_out: Iterable[SessionId]) -> None:
        """Forget what came in before it was known whose agent has begun it: a session that was forgotten."""
        for session_id in sorted(kept_out):
            with self.parts.store.snapshot() as snapshot:
                begun = [snapshot.sessions.find(name) for name in descendants(snapshot, session_id)]
            for session in begun:
                if session is not None and session.forgotten_at is None:
                    reason = "the session that began it was forgotten"
                    self._erase(ops.Decision(record_id=RecordId(session.session_id), reason=reason), session)

    @operation
    def transcript_positions(self, sources: Sequence[str]) -> dict[str, Position]:
        if len(sources) > _SOURCES_MAX:
            raise Invalid(
                f"there are {len(sources):,} sources, more than {_SOURCES_MAX:,}",
                code="transcript.sources",
                hint="ask for some of them at a time",
            )
        with self.parts.store.snapshot() as snapshot:
            return snapshot.transcript_positions.get_many(sources)

    @operation
    def suggest(
        self, request: ops.SuggestRequest, progress: ops.Progress = ops.ignore_progress
    ) -> ops.SuggestAnswer:
        call = Call(operation="suggest", request=request, key=request.idempotency_key)
        before = self.acting.find_earlier(call, _suggested_again)
        if before is not None:
            return before
        answer = learning_skills(self.parts).suggest(enhance=request.enhance, progress=progress)
        if not answer.paused:
            # The answer with what users said: what was brought in is listened to now, without a model.
            capture_now(self.parts)
            with self.parts.store.snapshot() as snapshot:
                where = replace(waiting_for_review(self.parts.clock.now()), ranks=frozenset(Rank))
                newest = snapshot.records.page(where, limit=limits.LIST_LIMIT_MAX)
                best = max(newest, key=lambda record: record.confidence, default=None)
                count = snapshot.records.count_lines(where)
            answer = replace(answer, statements=count, first_statement="" if best is None else best.summary)

        def do(_tx: Transaction, _act: Act) -> Done[ops.SuggestAnswer]:
            new: dict[str, int] = {stored.suggestion_id: 0 for stored in answer.new}
            return Done(answer, numbers={**new, **{name: int(getattr(answer, name)) for name in _FOUND}})

        return self.acting.perform(call, do, _suggested_again)

    @operation
    def list_suggestions(self, request: ops.SuggestionsRequest) -> ops.SuggestionPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.suggestions.page(
                limit=limit + 1,
                after=_place(request.cursor),
                states=request.states or _WAITING,
                heuristics=request.heuristics or None,
            )
        items, cursor = cut_page(found, limit, _cursor)
        return ops.SuggestionPage(items=items, next_cursor=cursor)

    @operation
    def get_suggestion(self, name: str) -> StoredSuggestion:
        with self.parts.store.snapshot() as snapshot:
            return _find_suggestion(snapshot, name)

    @operation
    def skip_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        return self._decide(suggestion_id, SuggestionMove.SKIP)

    @operation
    def reset_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        return self._decide(suggestion_id, SuggestionMove.RESET)

    def _decide(self, suggestion_id: SuggestionId, move: SuggestionMove) -> StoredSuggestion:
        with self.parts.store.transaction() as tx:
            workspace_turn(tx, *scopes_to_remember(tx, _find_suggestion(tx, suggestion_id)))
            suggestions_turn(tx)
            act = Act(actor=self.caller.actor, at=self.parts.clock.now())
            decided = decide(tx, _find_suggestion(tx, suggestion_id), move, act)
            if decided.state is SuggestionState.SKIPPED:
                withdraw_repeated(tx, decided, act)
        for remark in self.parts.library.mirror_skips():
            _log.warning("the list of skipped suggestions is behind: %s", remark)
        return decided


def _find_suggestion(collections: Collections, name: str) -> StoredSuggestion:
    asked = askable(name, "suggestion")
    named = collections.suggestions.find(name=asked)
    return named or collections.suggestions.get(SuggestionId(asked))


def _check_source(source: str) -> None:
    if not check_text("the source", source).strip() or len(source) > limits.ID_CHARS_MAX:
        raise Invalid(
            f"the source is blank or longer than {limits.ID_CHARS_MAX} characters",
            code="transcript.source",
            hint="give a digest of where the runs come from",
        )
    without_secret("the source", source)


def _imported_numbers(answer: ops.ImportedRuns) -> dict[str, int]:
    counts = {name: getattr(answer, name) for name in _BROUGHT}
    return {**counts, **{f"{_BECAUSE}{reason}": number for reason, number in answer.reasons.items()}}


def _imported_again(kept: EarlierResult) -> ops.ImportedRuns:
    numbers = kept.numbers
    reasons = {
        name.removeprefix(_BECAUSE): number for name, number in numbers.items() if name.startswith(_BECAUSE)
    }
    return ops.ImportedRuns(reasons=reasons, **{name: numbers.get(name, 0) for name in _BROUGHT})


def _suggested_again(kept: EarlierResult) -> ops.SuggestAnswer:
    """What was found then, without what was forgotten since."""
    numbers = kept.numbers
    new: list[StoredSuggestion] = []
    for name in numbers:
        if name not in _FOUND:
            with suppress(NotFound):
                new.append(kept.tx.suggestions.get(SuggestionId(name)))
    counts = {name: numbers.get(name, 0) for name in _FOUND if name != _PAUSED}
    is_paused = bool(numbers.get(_PAUSED))
    return ops.SuggestAnswer(new=tuple(new), paused=is_paused, first_statement="", **counts)


def _cursor(stored: StoredSuggestion) -> str:
    return f"{stored.suggestion.score.points}:{stored.suggestion_id}"


def _place(cursor: str | None) -> tuple[int, SuggestionId] | None:
    if cursor is None:
        return None
    score, _, name = cursor.partition(":")
    return number_of(score), SuggestionId(name)
