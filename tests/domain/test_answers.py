"""Answers as JSON: read back on the other side of a connection as they were, and never believed blindly."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.daemon import answers
from runlore.domain import audit, errors
from runlore.domain.access import AccessToken, Role, TokenId
from runlore.domain.approval import Approval
from runlore.domain.audit import RecordEvent
from runlore.domain.job import Job
from runlore.domain.policy import PolicyRevision
from runlore.domain.projection import Projection, Receipt
from runlore.domain.record import JsonValue, Record, Transition
from runlore.domain.rollout import PromotedSkill
from runlore.domain.run import Artifact
from runlore.domain.run_memory import RunMemory
from runlore.domain.session import Persona, Session, SessionId
from runlore.domain.skill import Skill
from runlore.domain.skill_curation import Curation
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.transcript import Position
from runlore.ports import operations as ops
from tests.domain.random_answers import of_type
from tests.domain.random_records import json_values
from tests.examples import scaled
from tests.fakes import START

pytestmark = pytest.mark.req("SUR-2")

Write = Callable[[Any], JsonValue]
Read = Callable[[JsonValue], Any]

# Every type that an operation answers, with its two functions.
ANSWERS: dict[Any, tuple[Write, Read]] = {
    Record: (answers.record_to_plain, answers.record_from_plain),
    tuple[Record, ...]: (answers.records_to_plain, answers.records_from_plain),
    ops.Page: (answers.page_to_plain, answers.page_from_plain),
    tuple[RecordEvent, ...]: (answers.history_to_plain, answers.history_from_plain),
    ops.SearchHits: (lambda hits: answers.hits_to_plain("q", hits), answers.hits_from_plain),
    ops.GoalContext: (answers.goal_context_to_plain, answers.goal_context_from_plain),
    tuple[Transition, ...]: (answers.states_to_plain, answers.states_from_plain),
    ops.ReviewPage: (answers.review_to_plain, answers.review_from_plain),
    ops.RollbackAnswer: (answers.rollback_to_plain, answers.rollback_from_plain),
    tuple[ops.MergeItem, ...]: (answers.merges_to_plain, answers.merges_from_plain),
    ops.ForgetAnswer: (answers.forget_to_plain, answers.forget_from_plain),
    ops.Revoked: (answers.revoked_to_plain, answers.revoked_from_plain),
    ops.TrialAnswer: (answers.trial_to_plain, answers.trial_from_plain),
    ops.BackfillAnswer: (answers.backfill_to_plain, answers.backfill_from_plain),
    ops.DeletedRunMemories: (
        answers.deleted_run_memories_to_plain,
        answers.deleted_run_memories_from_plain,
    ),
    ops.WorkAnswer: (answers.work_to_plain, answers.work_from_plain),
    ops.Adoption: (answers.adoption_to_plain, answers.adoption_from_plain),
    ops.RadarLog: (answers.radar_log_to_plain, answers.radar_log_from_plain),
    Session: (answers.session_to_plain, answers.session_from_plain),
    ops.SessionPage: (answers.sessions_to_plain, answers.sessions_from_plain),
    Persona: (answers.persona_to_plain, answers.persona_from_plain),
    ops.PersonaPage: (answers.personas_to_plain, answers.personas_from_plain),
    ops.RunView: (answers.run_to_plain, answers.run_from_plain),
    ops.RunPage: (answers.runs_to_plain, answers.runs_from_plain),
    ops.Appended: (answers.appended_to_plain, answers.appended_from_plain),
    Record | None: (answers.scratch_to_plain, answers.scratch_from_plain),
    Artifact: (answers.artifact_to_plain, answers.artifact_from_plain),
    Artifact | None: (answers.artifact_to_plain, answers.kept_artifact_from_plain),
    ops.ArtifactPage: (answers.artifacts_to_plain, answers.artifacts_from_plain),
    ops.JournalPage: (answers.journal_to_plain, answers.journal_from_plain),
    ops.MemoryContext: (answers.memory_context_to_plain, answers.memory_context_from_plain),
    ops.SessionSearch: (answers.session_search_to_plain, answers.session_search_from_plain),
    Projection: (answers.projection_to_plain, answers.projection_from_plain),
    ops.ReceiptView: (answers.receipt_view_to_plain, answers.receipt_view_from_plain),
    Receipt: (answers.receipt_to_plain, answers.receipt_from_plain),
    RunMemory: (answers.run_memory_to_plain, answers.run_memory_from_plain),
    PolicyRevision: (answers.policy_to_plain, answers.policy_from_plain),
    tuple[PolicyRevision, ...]: (answers.policies_to_plain, answers.policies_from_plain),
    AccessToken: (answers.token_to_plain, answers.token_from_plain),
    tuple[AccessToken, ...]: (answers.tokens_to_plain, answers.tokens_from_plain),
    ops.MadeToken: (answers.made_token_to_plain, answers.made_token_from_plain),
    ops.CaptureStatus: (answers.capture_to_plain, answers.capture_from_plain),
    Job: (answers.job_to_plain, answers.job_from_plain),
    tuple[Job, ...]: (answers.jobs_to_plain, answers.jobs_from_plain),
    StoredSuggestion: (answers.stored_suggestion_to_plain, answers.stored_suggestion_from_plain),
    ops.SuggestionPage: (answers.suggestions_to_plain, answers.suggestions_from_plain),
    ops.SuggestAnswer: (answers.detected_to_plain, answers.detected_from_plain),
    ops.ImportedRuns: (answers.imported_runs_to_plain, answers.imported_runs_from_plain),
    tuple[StoredSuggestion, ...]: (
        answers.stored_suggestions_to_plain,
        answers.stored_suggestions_from_plain,
    ),
    Skill: (answers.skill_to_plain, answers.skill_from_plain),
    tuple[Skill, ...]: (answers.skills_to_plain, answers.skills_from_plain),
    ops.SkillPage: (
        lambda page: answers.skills_to_plain(page.items, page.next_cursor),
        answers.skill_page_from_plain,
    ),
    ops.FittingSkills: (answers.fitting_to_plain, answers.fitting_from_plain),
    Curation: (answers.curation_to_plain, answers.curation_from_plain),
    tuple[Curation, ...]: (answers.curations_to_plain, answers.curations_from_plain),
    ops.CurateAnswer: (answers.curated_to_plain, answers.curated_from_plain),
    ops.SkillLog: (answers.skill_log_to_plain, answers.skill_log_from_plain),
    PromotedSkill: (answers.promoted_to_plain, answers.promoted_from_plain),
    ops.PromotedPage: (answers.promoted_page_to_plain, answers.promoted_page_from_plain),
    ops.PromotedHistory: (answers.promoted_history_to_plain, answers.promoted_history_from_plain),
    Approval: (answers.approval_to_plain, answers.approval_from_plain),
    ops.ApprovalPage: (answers.approvals_to_plain, answers.approvals_from_plain),
    ops.RunEvent: (answers.run_event_to_plain, answers.run_event_from_plain),
    dict[str, Position]: (answers.positions_to_plain, answers.positions_from_plain),
    ops.ExportAnswer: (answers.export_to_plain, answers.export_from_plain),
    ops.ImportAnswer: (answers.import_to_plain, answers.import_from_plain),
    ops.BackupAnswer: (answers.backup_to_plain, answers.backup_from_plain),
    ops.Diagnosis: (answers.diagnosis_to_plain, answers.diagnosis_from_plain),
    ops.Status: (answers.status_to_plain, answers.status_from_plain),
}
few = settings(max_examples=scaled(20))
every_answer = pytest.mark.parametrize("kind", ANSWERS, ids=str)


def operations() -> Iterable[tuple[str, Any]]:
    """The name of every operation, and the type that it answers."""
    for name, method in inspect.getmembers(ops.Operations, inspect.isfunction):
        if not name.startswith("_"):
            told = typing.get_type_hints(method)["return"]
            # A stream is told one by one.
            yield name, typing.get_args(told)[0] if typing.get_origin(told) is Iterator else told


@pytest.mark.req("SUR-1")
def test_every_operation_answers_what_can_be_written_and_read_back() -> None:
    found = dict(operations())
    assert len(found) > 50
    assert [name for name, kind in found.items() if kind not in ANSWERS] == []


@pytest.mark.req("SUR-1")
@every_answer
@few
@given(data=st.data())
def test_an_answer_is_read_back_as_it_was(kind: Any, data: st.DataObject) -> None:
    write, read = ANSWERS[kind]
    answer = data.draw(of_type(kind))
    sent = orjson.dumps(write(answer))
    assert read(orjson.loads(sent)) == answer
    assert orjson.dumps(write(read(orjson.loads(sent)))) == sent


@every_answer
@few
@given(data=st.data())
def test_an_answer_with_a_damaged_field_is_another_answer_or_one_error(
    kind: Any, data: st.DataObject
) -> None:
    write, read = ANSWERS[kind]
    plain = orjson.loads(orjson.dumps(write(data.draw(of_type(kind)))))
    damage(plain, data)
    outcome(read, plain)


@every_answer
@given(plain=json_values)
def test_anything_else_than_the_answer_is_one_error(kind: Any, plain: JsonValue) -> None:
    outcome(ANSWERS[kind][1], plain)


def outcome(read: Read, plain: JsonValue) -> None:
    """Reads it, or refuses it with the one error; any other error is the test's."""
    refused: errors.Unavailable | None = None
    try:
        read(plain)
    except errors.Unavailable as error:
        refused = error
    if refused is not None:
        assert (refused.code, len(refused.sentence) < 400) == ("answer.format", True)


def damage(plain: JsonValue, data: st.DataObject) -> None:
    """Takes one thing away from somewhere in a document, or puts another in its place."""
    places = list(containers(plain))
    place = data.draw(st.sampled_from(places)) if places else None
    if isinstance(place, dict) and place:
        name = data.draw(st.sampled_from(sorted(place)))
        if data.draw(st.booleans()):
            del place[name]
        else:
            place[name] = data.draw(json_values)
    elif isinstance(place, list):
        place.append(data.draw(json_values))


def containers(plain: Any) -> Iterable[Any]:
    """All objects and lists of a document."""
    if isinstance(plain, dict | list):
        yield plain
        for inner in plain.values() if isinstance(plain, dict) else plain:
            yield from containers(inner)


@given(event=of_type(audit.RecordEvent))
def test_an_event_of_a_record_keeps_its_changes(event: RecordEvent) -> None:
    assert answers.history_from_plain(orjson.loads(orjson.dumps(answers.history_to_plain([event])))) == (
        event,
    )


@pytest.mark.req("OPS-5")
def test_neither_the_digest_nor_the_secret_of_a_token_is_in_its_answer() -> None:
    token = AccessToken(
        token_id=TokenId("tok_1"),
        name="claude-code",
        role=Role.AGENT,
        scopes=None,
        digest="d1g3st",
        created_at=START,
        created_by="operator",
    )
    assert "d1g3st" not in repr(answers.tokens_to_plain([token]))
    made = answers.made_token_to_plain(ops.MadeToken(token=token, secret="s3cret"))
    assert (made.pop("secret"), made) == ("s3cret", answers.token_to_plain(token))


def test_a_private_session_says_that_nothing_is_stored() -> None:
    session = Session(
        session_id=SessionId("s"), private=True, created_by="a", created_at=START, active_at=START
    )
    assert answers.session_to_plain(session)["stored"] is False
    assert answers.session_to_plain(dataclasses.replace(session, private=False))["stored"] is True
    assert answers.scratch_to_plain(None) == answers.artifact_to_plain(None) == {"stored": False}


def test_an_empty_answer_in_place_of_a_kept_thing_is_not_taken_for_one_that_was_not_stored() -> None:
    for plain in ({}, {"stored": True}, None, {"stored": 0.5}):
        with pytest.raises(errors.Unavailable, match="something else"):
            answers.scratch_from_plain(plain)
        with pytest.raises(errors.Unavailable, match="something else"):
            answers.kept_artifact_from_plain(plain)


def test_a_section_of_a_status_stands_beside_the_rest_and_never_in_its_place() -> None:
    status = ops.Status(
        version="1", state_root="/r", store={}, counts={}, waiting=3, sections={"jobs": {}, "waiting": 9}
    )
    plain = answers.status_to_plain(status)
    assert (plain["jobs"], plain["waiting"]) == ({}, 3)


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize(
    "kind",
    [
        errors.Invalid,
        errors.Refused,
        errors.Denied,
        errors.NotFound,
        errors.Conflict,
        errors.Unavailable,
        errors.Corrupt,
        errors.RunloreError,
    ],
)
def test_an_error_is_the_same_error_on_the_other_side(kind: type[errors.RunloreError]) -> None:
    error = kind("no such thing", code="thing.reason", hint="look again")
    sent = orjson.dumps(answers.problem(error, 418))
    again = answers.problem_from_plain(orjson.loads(sent))
    assert type(again) is kind
    assert (again.sentence, again.code, again.hint) == ("no such thing", "thing.reason", "look again")


@pytest.mark.req("SUR-7")
@given(plain=json_values)
def test_what_is_no_problem_document_is_no_error_of_ours(plain: JsonValue) -> None:
    with pytest.raises(errors.Unavailable, match="something else"):
        answers.problem_from_plain(plain)
