"""Procedures become skills step by step: each step with its evidence, and nothing by itself."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from runlore.domain.errors import RunloreError
from runlore.domain.record import Kind, PublishTier, RecordId
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.skill import Quality, SkillOrigin
from runlore.domain.skills.rollout import Canary, ExecutionKind, PromotedSkill, RolloutMove, RolloutStatus
from runlore.ports import operations as ops
from tests.flow.learning_acts import learning
from tests.flow.rolling import (
    CANARY,
    MARKER,
    NAME,
    STAGES,
    STEPS,
    active,
    advance,
    catalogue,
    executed,
    in_canary,
    procedure,
    promoted,
    record,
    revoke,
    roll_back,
    seen_by,
    stored,
    verified,
)
from tests.flow.skill_shelf import files, rows, saved
from tests.flow.telling import suggested
from tests.world import World, outcome

OTHER = "Another way to do it.\nSay RELEASED."


@pytest.fixture
def world(sqlite_world: World) -> World:
    """What no database can change is asked of one; what one might is asked of `either_world`."""
    return sqlite_world


@pytest.mark.req("ROL-1", "ROL-2", "ROL-3", "ROL-4", "ROL-8")
def test_a_procedure_becomes_a_skill_step_by_step_and_only_then_everybody_sees_it(
    either_world: World,
) -> None:
    world = either_world
    world.session(CANARY)
    skill = promoted(world)
    assert skill.status is RolloutStatus.DRAFT
    with pytest.raises(RunloreError, match="verification"):
        advance(world, "verified")
    record(world, "verification", executed(world, skill))
    advance(world, "verified")
    assert (catalogue(world), seen_by(world, CANARY)) == (set(), set())

    advance(world, "canary", sessions=(CANARY,))
    assert (catalogue(world), seen_by(world, CANARY), seen_by(world, "other")) == (set(), {NAME}, set())
    with pytest.raises(RunloreError, match="canary"):
        advance(world, "active")
    record(world, "canary", executed(world, skill, kind=ExecutionKind.USE, session=CANARY))
    done = advance(world, "active")

    assert done.status is RolloutStatus.ACTIVE
    assert (catalogue(world), seen_by(world, CANARY), seen_by(world, "other")) == ({NAME}, {NAME}, {NAME})
    row = world.operator.get_skill(NAME)
    assert (row.origin, row.document.quality) == (SkillOrigin.PROMOTED, Quality.PROMOTED)
    assert STEPS in row.document.body
    assert files(world) == rows(world)
    assert STEPS in files(world)[NAME]
    moves = [event.move for event in done.events]
    assert moves == [
        RolloutMove.PROMOTE,
        RolloutMove.RECORD,
        RolloutMove.VERIFY,
        RolloutMove.TRY,
        RolloutMove.RECORD,
        RolloutMove.ACTIVATE,
    ]
    history = world.operator.promoted_history(ops.PromotedHistoryRequest(skill_name=NAME)).items
    assert [each.number for each in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1].skill == done == stored(world)
    assert [history_in_pages(world, limit) for limit in (1, 4, 6)] == [history] * 3
    for wrong, code in (({"limit": 0}, "limit.range"), ({"cursor": "what?"}, "cursor.format")):
        request = ops.PromotedHistoryRequest(skill_name=NAME, **wrong)
        assert outcome(partial(world.operator.promoted_history, request)) == code


def history_in_pages(world: World, limit: int) -> tuple[ops.PromotedSnapshot, ...]:
    """The same, so many at a time."""
    page = world.operator.promoted_history(ops.PromotedHistoryRequest(skill_name=NAME, limit=limit))
    found = page.items
    while page.next_cursor is not None:
        request = ops.PromotedHistoryRequest(skill_name=NAME, limit=limit, cursor=page.next_cursor)
        page = world.operator.promoted_history(request)
        assert len(page.items) <= limit
        found += page.items
    return found


@pytest.mark.req("ROL-1")
@pytest.mark.parametrize(
    ("source", "code"),
    [
        (lambda world: learning(world, "The codename is Atlas"), "promoted.kind"),
        (
            lambda world: procedure(
                world, candidate={"scope": Scope(ScopeKind.SESSION, world.session().session_id)}
            ),
            "promoted.scope",
        ),
        (lambda world: procedure(world, publish_tier=PublishTier.PROVISIONAL), "promoted.tier"),
        (
            lambda world: world.operator.create_candidate(
                ops.NewCandidate(kind=Kind.PROCEDURE, content="Only proposed")
            ),
            "promoted.state",
        ),
    ],
)
def test_only_a_procedure_of_the_workspace_that_stands_is_promoted(
    world: World, source: Callable[[World], Any], code: str
) -> None:
    record_id = source(world).record_id

    asked = ops.PromoteLearning(record_id=record_id, skill_name=NAME, instructions=STEPS)

    assert outcome(lambda: world.operator.promote_learning(asked)) == code
    assert world.operator.list_promoted(ops.PromotedRequest()).items == ()


@pytest.mark.req("ROL-1")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"context": "inline"}, "promoted.inline"),
        ({"context": "elsewhere"}, "promoted.context"),
        ({"agent_profile": "default"}, "promoted.profile"),
        ({"skill_name": "Not A Name"}, "promoted.name"),
        ({"instructions": "  "}, "promoted.instructions"),
        ({"provider": "acme"}, "promoted.model"),
        ({"instructions": "Use password: hunter2hunter2hunter2 Zx81Qq"}, "guard.secret"),
        ({"expected_revision": 3}, "promoted.moved"),
    ],
)
def test_what_cannot_be_a_promoted_skill_leaves_nothing_behind(
    world: World, fields: dict[str, Any], code: str
) -> None:
    source = procedure(world)
    before = world.tables()["promoted_skills"]

    assert outcome(lambda: promoted(world, source, **fields)) == code
    assert world.tables()["promoted_skills"] == before == []


@pytest.mark.req("ROL-1", "SKL-8")
@pytest.mark.parametrize("taken", ["skill", "suggestion", "another"])
def test_a_name_that_something_has_is_not_promoted(world: World, taken: str) -> None:
    if taken == "skill":
        saved(world, NAME)
    elif taken == "suggestion":
        suggested(world, NAME)
    else:
        promoted(world, procedure(world, "Something else entirely"))
    code = "promoted.exists" if taken == "another" else "skill.exists"

    assert outcome(lambda: promoted(world, procedure(world))) == code


@pytest.mark.req("SKL-8")
@pytest.mark.parametrize("stage", [*STAGES, "revoked"])
def test_nothing_else_takes_the_name_of_a_promoted_skill(sqlite_world: World, stage: str) -> None:
    world = sqlite_world
    STAGES.get(stage, active)(world)
    if stage == "revoked":
        revoke(world)
    text = f"---\nname: {NAME}\ndescription: Mine.\n---\nMine.\n"
    brought = world.operator.import_skill(ops.ImportSkill(text=text, source="a friend"))
    suggested(world, "learned")
    kept = ops.SaveSkill(suggestion="learned", name=NAME)

    assert brought.name == f"{NAME}-2"
    assert outcome(lambda: world.operator.save_skill(kept)) == "skill.exists"


@pytest.mark.req("SKL-8")
@pytest.mark.parametrize("way", ["restored", "saved again"])
def test_a_skill_that_went_does_not_come_back_under_a_name_that_was_promoted_since(
    sqlite_world: World, way: str
) -> None:
    world = sqlite_world
    suggested(world, "learned")
    kept = ops.SaveSkill(suggestion="learned", name=NAME)
    gone = world.operator.delete_skill(world.operator.save_skill(kept).skill_id)
    promoted(world)

    def back() -> object:
        if way == "restored":
            return world.operator.restore_skill(gone.skill_id)
        return world.operator.save_skill(ops.SaveSkill(suggestion="learned"))

    assert outcome(back) == "skill.exists"
    assert catalogue(world) == set()


@pytest.mark.req("ROL-3", "ROL-6")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"says": "It went wrong."}, "promoted.verification"),
        ({"calls": False}, "promoted.verification"),
        ({"status": RunStatus.FAILED}, "promoted.verification"),
        ({"status": RunStatus.CANCELLED}, "promoted.verification"),
        ({"kind": ExecutionKind.USE}, "promoted.trial"),
        ({"fingerprint": "of-other-words"}, "promoted.not-executed"),
        ({"run_id": RunId("run_of_nobody")}, "promoted.not-executed"),
    ],
)
def test_a_run_that_verifies_nothing_is_refused_and_nothing_is_stored(
    world: World, fields: dict[str, Any], code: str
) -> None:
    skill = promoted(world)
    run = executed(world, skill, **fields)

    assert outcome(lambda: record(world, "verification", run)) == code
    assert stored(world) == skill
    assert outcome(lambda: advance(world, "verified")) == "promoted.evidence"


@pytest.mark.req("ROL-3")
def test_a_marker_in_another_run_or_in_one_from_before_verifies_nothing(world: World) -> None:
    other = executed(world, promoted(world, skill_name="another"))
    early = world.finished(reply=f"All done: {MARKER}")
    world.clock.advance(seconds=1)
    skill = promoted(world, procedure(world, "A second one"))
    with world.parts.store.transaction() as tx:
        told = tx.promotions.executions("another", other.run_id)[0]
        tx.promotions.add_execution(
            replace(told, run_id=early.run_id, skill_name=NAME, fingerprint=skill.fingerprint)
        )

    assert outcome(lambda: record(world, "verification", other)) == "promoted.not-executed"
    assert outcome(lambda: record(world, "verification", early)) == "promoted.before"
    assert outcome(lambda: record(world, "verification", RunId("run_x"))) == "run.not-found"


@pytest.mark.req("ROL-12", "ROL-3")
def test_the_final_output_is_preferred_to_the_last_word(world: World) -> None:
    skill = promoted(world)
    unsaid = executed(world, skill, says=MARKER, output="It went wrong.")
    said = executed(world, skill, says="no", output=f"Here you are: {MARKER}")

    assert outcome(lambda: record(world, "verification", unsaid)) == "promoted.verification"
    assert len(record(world, "verification", said).evidence) == 1


@pytest.mark.req("ROL-6")
def test_a_stale_fingerprint_is_refused_and_the_same_run_counts_once(world: World) -> None:
    skill = promoted(world)
    run = executed(world, skill)
    stale = {"definition_fingerprint": "0" * 64}
    assert outcome(lambda: record(world, "verification", run, **stale)) == "promoted.fingerprint"

    once = record(world, "verification", run, definition_fingerprint=skill.fingerprint)
    again = record(world, "verification", run)

    assert once == again
    assert len(again.evidence) == 1
    assert skill.fingerprint in again.evidence[0].note
    assert outcome(lambda: record(world, "canary", run)) == "promoted.counted"


@pytest.mark.req("ROL-4", "ROL-6")
def test_a_failed_canary_is_kept_and_the_same_words_never_become_active(world: World) -> None:
    source = procedure(world)
    skill = in_canary(world, source)
    bad = executed(world, skill, kind=ExecutionKind.USE, session=CANARY, says="No.")
    good = executed(world, skill, kind=ExecutionKind.USE, session=CANARY)

    assert record(world, "canary", bad).evidence[-1].success is False
    record(world, "canary", good)
    assert outcome(lambda: advance(world, "active")) == "promoted.failed"

    changed = promoted(world, source, instructions=OTHER)
    assert changed.status is RolloutStatus.DRAFT
    assert len(changed.evidence) == 3
    assert outcome(lambda: advance(world, "verified")) == "promoted.evidence"


@pytest.mark.req("ROL-4")
def test_a_canary_is_given_to_sessions_that_are_there(sqlite_world: World) -> None:
    world = sqlite_world
    for name in (CANARY, "gone"):
        world.session(name)
    world.forget(RecordId("gone"))
    skill = verified(world)

    for sessions in ((SessionId("tlak"),), (CANARY, SessionId("tlak")), (SessionId("gone"),)):
        give = partial(advance, world, "canary", sessions=sessions, share=50)
        assert outcome(give) == "session.not-found"
    assert stored(world) == skill
    advance(world, "canary", sessions=(CANARY,))
    world.forget(RecordId(CANARY))
    assert advance(world, "canary", share=50).canary == Canary(sessions=(CANARY,), share=50)
    assert advance(world, "canary", sessions=()).canary == Canary(share=50)


@pytest.mark.req("ROL-3", "ROL-4")
def test_canary_evidence_comes_from_a_session_of_the_canary_set(world: World) -> None:
    skill = in_canary(world)
    elsewhere = executed(world, skill, kind=ExecutionKind.USE, session="other")
    trial = executed(world, skill, session=CANARY)

    assert outcome(lambda: record(world, "canary", elsewhere)) == "promoted.session"
    assert record(world, "canary", trial).evidence[-1].success is True
    assert advance(world, "active").status is RolloutStatus.ACTIVE


@pytest.mark.req("ROL-5")
def test_an_active_definition_is_changed_by_revoking_and_promoting_anew(world: World) -> None:
    source = procedure(world)
    before = active(world, source)
    assert outcome(lambda: promoted(world, source, instructions=OTHER)) == "promoted.active"
    assert stored(world) == before
    assert promoted(world, source) == before

    revoke(world)
    anew = promoted(world, source, instructions=OTHER)

    assert anew.status is RolloutStatus.DRAFT
    assert anew.events[: len(before.events)] == before.events
    assert (catalogue(world), files(world)) == (set(), {})
    assert outcome(lambda: advance(world, "verified")) == "promoted.evidence"


@pytest.mark.req("ROL-5")
def test_what_is_left_out_stays_as_it_was_and_what_is_blank_takes_its_default(world: World) -> None:
    source = procedure(world)
    first = promoted(world, source, description="Cuts it.", version="2.0.0", allowed_tools=("shell",))
    second = promoted(world, source, instructions=OTHER, version="", allowed_tools=())

    assert first.definition.runtime.allowed_tools == ("shell",)
    assert second.definition.description == "Cuts it."
    assert (second.definition.version, second.definition.runtime.allowed_tools) == ("1.0.0", ())
    assert second.revision == first.revision + 1


@pytest.mark.req("ROL-7")
def test_a_rollback_puts_the_newest_active_words_back_and_mounts_them(either_world: World) -> None:
    world = either_world
    source = procedure(world)
    active(world, source)
    revoke(world)
    second = active(world, source, instructions=OTHER)
    revoke(world)
    promoted(world, source, instructions="A third way.")

    back = roll_back(world, reason="the new one is worse")

    assert (back.status, back.definition) == (RolloutStatus.ACTIVE, second.definition)
    assert back.events[-1].reason == "the new one is worse"
    assert catalogue(world) == {NAME}
    assert OTHER in files(world)[NAME]
    assert world.operator.get_skill(NAME).skill_id == "skl_promoted-cut-a-release"


@pytest.mark.req("ROL-7")
def test_what_never_was_active_has_nothing_to_go_back_to(world: World) -> None:
    verified(world)

    assert outcome(lambda: roll_back(world)) == "promoted.no-snapshot"


@pytest.mark.req("ROL-7")
@pytest.mark.parametrize("act", [revoke, roll_back])
def test_a_reason_that_looks_like_a_secret_is_refused(
    world: World, act: Callable[..., PromotedSkill]
) -> None:
    before = active(world)
    if act is roll_back:
        before = revoke(world)

    told = outcome(lambda: act(world, reason="leaked AKIAIOSFODNN7QWERTYU and so on"))

    assert told == "guard.secret"
    assert stored(world) == before


@pytest.mark.req("ROL-2")
def test_every_act_done_twice_is_done_once(world: World) -> None:
    source = procedure(world)
    world.session(CANARY)
    skill = promoted(world, source)
    run = executed(world, skill)
    later = world.clock.now() + timedelta(minutes=1)
    used = executed(world, skill, kind=ExecutionKind.USE, session=CANARY, at=later)
    acts: list[Callable[[], PromotedSkill]] = [
        lambda: promoted(world, source),
        lambda: record(world, "verification", run),
        lambda: advance(world, "verified"),
        lambda: advance(world, "canary", sessions=(CANARY,)),
        lambda: record(world, "canary", used),
        lambda: advance(world, "active"),
        lambda: revoke(world),
    ]
    for act in acts:
        once = act()
        tables = world.tables()
        assert act() == once
        assert world.tables() == tables


@pytest.mark.req("ROL-13")
def test_a_key_gives_one_effect_also_where_the_skill_has_moved_on(world: World) -> None:
    source = procedure(world)
    asked = ops.PromoteLearning(
        record_id=source.record_id, skill_name=NAME, instructions=STEPS, idempotency_key="once"
    )
    world.operator.promote_learning(asked)
    revoked = revoke(world)

    assert world.operator.promote_learning(asked) == revoked
    with pytest.raises(RunloreError) as told:
        world.operator.promote_learning(replace(asked, instructions=OTHER))
    assert told.value.code == "idempotency.reused"


@pytest.mark.req("ROL-13")
def test_lists_are_paged_by_name_and_narrowed_by_status_and_source(world: World) -> None:
    sources = {name: procedure(world, f"Procedure {name}") for name in ("c", "a", "b")}
    for name, source in sources.items():
        promoted(world, source, skill_name=name)
    revoke(world, "b")

    def names(**fields: Any) -> list[str]:
        page = world.operator.list_promoted(ops.PromotedRequest(**fields))
        found = [skill.name for skill in page.items]
        if page.next_cursor is None:
            return found
        return found + names(**{**fields, "cursor": page.next_cursor})

    assert names() == names(limit=1) == names(limit=2) == ["a", "b", "c"]
    assert names(statuses=frozenset({RolloutStatus.REVOKED})) == ["b"]
    assert names(source_record_id=sources["a"].record_id) == ["a"]
    page = world.operator.list_promoted(ops.PromotedRequest(limit=1))
    assert page.next_cursor not in (None, "a"), "a place is nobody's to make up"
    for cursor in ("", "a", "=", "x" * 5_000, "\ud800"):
        assert outcome(partial(names, cursor=cursor)) == "cursor.format"
    assert outcome(lambda: world.operator.get_promoted("nobody")) == "promoted.not-found"
    long_name = ops.PromotedHistoryRequest(skill_name="x" * 5_000)
    assert outcome(lambda: world.operator.promoted_history(long_name)) == "promoted.not-found"


@pytest.mark.req("ROL-1")
@pytest.mark.parametrize("role", [ops.Role.AGENT, ops.Role.READER])
def test_promoting_and_moving_on_is_the_operators_alone(sqlite_world: World, role: ops.Role) -> None:
    world = sqlite_world
    source = procedure(world)
    skill = in_canary(world, source)
    by = world.caller(role)
    asked = ops.PromoteLearning(record_id=source.record_id, skill_name="mine", instructions=STEPS)
    acts: list[Callable[[], object]] = [
        lambda: by.promote_learning(asked),
        lambda: by.advance_promoted(ops.AdvanceRequest(skill_name=NAME, to=RolloutStatus.DRAFT)),
        lambda: by.revoke_promoted(ops.RevokePromoted(skill_name=NAME)),
        lambda: by.rollback_promoted(ops.RevokePromoted(skill_name=NAME)),
    ]

    assert {outcome(act) for act in acts} == {"role.denied"}
    assert outcome(lambda: by.get_promoted(NAME)) == ("done" if role is ops.Role.READER else "role.denied")
    assert stored(world) == skill
