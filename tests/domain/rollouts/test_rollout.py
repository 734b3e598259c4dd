"""The rollout of promoted skills: every move from every status, and what guards each one."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused, RunloreError
from runlore.domain.record import PublishTier, RecordId, State
from runlore.domain.rollouts import (
    Unproven,
    advance_promoted,
    counting,
    create_promoted,
    in_canary,
    redefine_promoted,
    revoke_promoted,
    roll_back_promoted,
    rollback_target,
    unproven_because,
)
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import erase
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    ADVANCES,
    ROLLOUT,
    Canary,
    PromotedSkill,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
)
from tests.domain.rollouts.rollouts import (
    ACTIVE,
    CANARY,
    DRAFT,
    IN_CANARY,
    REVOKED,
    VERIFIED,
    Walk,
    at_status,
    by,
    draft,
    learning,
    record,
    words,
)

pytestmark = pytest.mark.req("ROL-2")

# Where each move leads from each status, in the order of the statuses; None is nowhere.
MOVES: dict[RolloutMove, tuple[RolloutStatus | None, ...]] = {
    RolloutMove.PROMOTE: (DRAFT, DRAFT, DRAFT, None, DRAFT),
    RolloutMove.RECORD: (DRAFT, VERIFIED, IN_CANARY, None, None),
    RolloutMove.RESTART: (DRAFT, DRAFT, DRAFT, None, None),
    RolloutMove.VERIFY: (VERIFIED, None, None, None, None),
    RolloutMove.TRY: (None, IN_CANARY, IN_CANARY, None, None),
    RolloutMove.ACTIVATE: (None, None, ACTIVE, None, None),
    RolloutMove.REVOKE: (REVOKED, REVOKED, REVOKED, REVOKED, None),
    RolloutMove.ROLL_BACK: (ACTIVE, ACTIVE, ACTIVE, None, ACTIVE),
}
# What stands already where it is to go stays as it is.
UNCHANGED = {
    (DRAFT, RolloutMove.RESTART),
    (VERIFIED, RolloutMove.VERIFY),
    (ACTIVE, RolloutMove.ACTIVATE),
    (REVOKED, RolloutMove.REVOKE),
}
SECRET = "the token is ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8"
OTHER = words("Do something else.")


def made(walk: Walk, move: RolloutMove) -> PromotedSkill:
    """What a move makes of a skill that lacks nothing but the right status."""
    skill, act = walk.skill, by(walk.tick(), reason="because")
    acts: dict[RolloutMove, Callable[[], PromotedSkill]] = {
        RolloutMove.PROMOTE: lambda: redefine_promoted(skill, OTHER, source=learning(), act=act),
        RolloutMove.RECORD: lambda: record(skill, walk.minute, RolloutKind.VERIFICATION),
        RolloutMove.RESTART: lambda: advance_promoted(skill, DRAFT, act=act),
        RolloutMove.VERIFY: lambda: advance_promoted(skill, VERIFIED, act=act),
        RolloutMove.TRY: lambda: advance_promoted(skill, IN_CANARY, act=act, share=7),
        RolloutMove.ACTIVATE: lambda: advance_promoted(skill, ACTIVE, act=act),
        RolloutMove.REVOKE: lambda: revoke_promoted(skill, act),
        RolloutMove.ROLL_BACK: lambda: roll_back_promoted(skill, walk.history, source=learning(), act=act),
    }
    return acts[move]()


def was_active(status: RolloutStatus) -> Walk:
    """One at a status that was active before, with all the evidence that any move asks for."""
    if status in (ACTIVE, REVOKED):
        return at_status(status)
    walk = at_status(REVOKED)
    walk.keep(redefine_promoted(walk.skill, words(), source=learning(), act=by(walk.tick())))
    walk.to(IN_CANARY)
    walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY))
    if status is not IN_CANARY:
        walk.keep(advance_promoted(walk.skill, DRAFT, act=by(walk.tick())))
        walk.keep(record(walk.skill, walk.tick(), RolloutKind.VERIFICATION))
    if status is VERIFIED:
        walk.keep(advance_promoted(walk.skill, VERIFIED, act=by(walk.tick())))
    return walk


@pytest.mark.parametrize(("status", "move"), list(itertools.product(RolloutStatus, RolloutMove)))
def test_every_move_leads_where_the_table_says_with_one_event_or_is_a_conflict(
    status: RolloutStatus, move: RolloutMove
) -> None:
    expected = MOVES[move][list(RolloutStatus).index(status)]
    walk = was_active(status)
    before = walk.skill
    assert before.status is status
    assert ROLLOUT.allows(status, move) is (expected is not None)

    if (status, move) in UNCHANGED:
        assert made(walk, move) is before
    elif expected is not None:
        after = made(walk, move)
        assert (after.status, after.revision) == (expected, before.revision + 1)
        assert after.events[:-1] == before.events
        event = after.events[-1]
        assert (event.move, event.from_status, event.to_status) == (move, status, expected)
        assert (event.fingerprint, event.at) == (after.fingerprint, after.updated_at)
        assert (after.created_at, after.evidence[: len(before.evidence)]) == (
            before.created_at,
            before.evidence,
        )
    else:
        with pytest.raises(Conflict) as refused:
            made(walk, move)
        assert status.value in refused.value.sentence
        assert (ROLLOUT.acts or {})[move] in refused.value.sentence or move is RolloutMove.PROMOTE
        assert refused.value.hint
        assert refused.value.code == ("promoted.active" if move is RolloutMove.PROMOTE else "promoted.move")


def test_a_promotion_begins_with_a_draft_and_its_event() -> None:
    skill = create_promoted(words(), learning(), act=by(3, reason=" it works "))

    [event] = skill.events
    assert (skill.status, skill.revision, skill.evidence) == (DRAFT, 1, ())
    assert (event.move, event.from_status, event.to_status) == (RolloutMove.PROMOTE, None, DRAFT)
    assert (event.actor, event.at, event.reason) == ("ada", by(3).at, "it works")
    assert (skill.created_at, skill.updated_at) == (by(3).at, by(3).at)
    assert skill.source_record_id == learning().record_id


@pytest.mark.req("ROL-5")
@pytest.mark.parametrize("status", [DRAFT, VERIFIED, IN_CANARY, ACTIVE])
def test_the_same_words_once_more_change_nothing(status: RolloutStatus) -> None:
    skill = at_status(status).skill
    same = words(instructions=f"  {words().instructions}\r\n", description=" Releases it. ")

    assert redefine_promoted(skill, same, source=learning(), act=by(90)) is skill


@pytest.mark.req("ROL-5")
@pytest.mark.parametrize("status", [DRAFT, VERIFIED, IN_CANARY])
def test_other_words_begin_again_and_the_evidence_stays_without_counting(status: RolloutStatus) -> None:
    before = at_status(status).skill
    after = redefine_promoted(before, OTHER, source=learning(), act=by(90))

    assert after.status is DRAFT
    assert (after.evidence, counting(after), after.canary) == (before.evidence, (), Canary())
    with pytest.raises(Refused) as refused:
        advance_promoted(after, VERIFIED, act=by(91))
    assert refused.value.code == "promoted.evidence"
    # Nor do results come back with the words that they were seen of.
    again = redefine_promoted(after, words(), source=learning(), act=by(92))
    assert counting(again) == ()


@pytest.mark.req("ROL-3", "ROL-4")
@pytest.mark.parametrize("status", [VERIFIED, IN_CANARY])
def test_a_rollout_that_is_taken_back_to_draft_begins_with_no_success(status: RolloutStatus) -> None:
    walk = at_status(status)
    if status is IN_CANARY:
        walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY))
    early = walk.minute
    back = walk.keep(advance_promoted(walk.skill, DRAFT, act=by(walk.tick())))

    assert (back.evidence[0].success, counting(back), back.canary) == (True, (), Canary())
    with pytest.raises(Refused) as refused:
        advance_promoted(back, VERIFIED, act=by(walk.tick()))
    assert refused.value.code == "promoted.evidence"
    with pytest.raises(Refused) as refused:
        record(back, early - 1, RolloutKind.VERIFICATION)
    assert refused.value.code == "promoted.before"
    assert walk.to(ACTIVE).skill.status is ACTIVE


@pytest.mark.req("ROL-4")
def test_a_canary_that_failed_before_a_rollout_was_taken_back_stays_failed() -> None:
    walk = at_status(IN_CANARY)
    walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY, succeeds=False))
    walk.keep(advance_promoted(walk.skill, DRAFT, act=by(walk.tick())))

    with pytest.raises(Refused) as refused:
        walk.to(ACTIVE)
    assert (refused.value.code, walk.skill.status) == ("promoted.failed", IN_CANARY)


@pytest.mark.req("ROL-5", "ROL-9")
def test_words_that_were_changed_beneath_their_fingerprint_are_proven_by_nothing() -> None:
    walk = at_status(ACTIVE)
    forged = replace(walk.skill, definition=OTHER)
    assert unproven_because(walk.skill) is None
    assert unproven_because(forged) is Unproven.CHANGED

    walk.to(REVOKED)
    history = [(number, replace(each, definition=OTHER)) for number, each in walk.history]
    tried = at_status(IN_CANARY)
    proven = record(tried.skill, tried.tick(), RolloutKind.CANARY)
    acts: list[Callable[[], object]] = [
        lambda: roll_back_promoted(walk.skill, history, source=learning(), act=by(walk.tick())),
        lambda: advance_promoted(replace(proven, definition=OTHER), ACTIVE, act=by(tried.tick())),
    ]
    for act in acts:
        with pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == "promoted.changed"
    assert advance_promoted(proven, ACTIVE, act=by(tried.tick())).status is ACTIVE


@pytest.mark.req("ROL-5")
def test_an_active_one_gets_other_words_only_by_way_of_a_new_draft() -> None:
    walk = at_status(ACTIVE)
    with pytest.raises(Conflict) as refused:
        redefine_promoted(walk.skill, OTHER, source=learning(), act=by(90))
    assert refused.value.code == "promoted.active"
    assert "revoke" in refused.value.hint

    gone = revoke_promoted(walk.skill, by(91, reason="too slow"))
    new = redefine_promoted(gone, OTHER, source=learning(), act=by(92))
    assert (gone.revoked_reason, new.revoked_reason, new.status) == ("too slow", "", DRAFT)
    assert new.events[: len(walk.skill.events)] == walk.skill.events
    assert [event.move for event in new.events[-2:]] == [RolloutMove.REVOKE, RolloutMove.PROMOTE]


@pytest.mark.req("ROL-5")
def test_a_revoked_one_begins_again_with_the_same_words_and_no_successes() -> None:
    gone = at_status(REVOKED).skill
    new = redefine_promoted(gone, words(), source=learning(), act=by(90))

    assert (new.status, new.fingerprint, counting(new)) == (DRAFT, gone.fingerprint, ())


@pytest.mark.req("ROL-5")
def test_another_learning_takes_a_name_only_when_it_was_revoked() -> None:
    other = learning(record_id=RecordId("rec_other"))
    with pytest.raises(Conflict) as refused:
        redefine_promoted(draft(), OTHER, source=other, act=by(9))
    assert refused.value.code == "promoted.exists"

    new = redefine_promoted(at_status(REVOKED).skill, OTHER, source=other, act=by(90))
    assert new.source_record_id == other.record_id


@pytest.mark.req("ROL-3", "ROL-4")
def test_each_step_asks_for_its_evidence() -> None:
    walk = Walk()
    with pytest.raises(Refused, match="verification") as refused:
        advance_promoted(walk.skill, VERIFIED, act=by(9))
    assert refused.value.code == "promoted.evidence"
    walk.to(IN_CANARY)
    with pytest.raises(Refused, match="canary") as refused:
        advance_promoted(walk.skill, ACTIVE, act=by(60))
    assert refused.value.code == "promoted.evidence"
    failed = record(walk.skill, 70, RolloutKind.CANARY, succeeds=False)
    both = record(failed, 80, RolloutKind.CANARY)
    for skill in (failed, both):
        with pytest.raises(Refused, match="failed") as refused:
            advance_promoted(skill, ACTIVE, act=by(90))
        assert refused.value.code == "promoted.failed"


@pytest.mark.req("ROL-4")
def test_a_failed_canary_speaks_against_the_same_words_for_ever() -> None:
    walk = at_status(IN_CANARY)
    failed = record(walk.skill, 30, RolloutKind.CANARY, succeeds=False)
    walk = Walk(
        redefine_promoted(revoke_promoted(failed, by(40)), words(), source=learning(), act=by(41)), minute=50
    )
    walk.to(IN_CANARY)
    walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY))

    with pytest.raises(Refused) as refused:
        advance_promoted(walk.skill, ACTIVE, act=by(walk.tick()))

    assert refused.value.code == "promoted.failed"
    assert unproven_because(walk.skill) is Unproven.FAILED


@pytest.mark.req("ROL-4")
def test_a_canary_needs_somebody_who_sees_it() -> None:
    skill = at_status(VERIFIED).skill
    one = (SessionId("a"),)
    many = tuple(SessionId(str(number)) for number in range(limits.PROMOTED_SESSIONS_MAX + 1))
    for sessions, share, code in (
        (None, None, "promoted.canary"),
        ((), None, "promoted.canary"),
        (None, 0, "promoted.canary"),
        (None, -1, "promoted.share"),
        (one, 101, "promoted.share"),
        ((SessionId(" "),), None, "promoted.canary"),
        ((SessionId("a\0"),), None, "promoted.canary"),
        ((SessionId("a" * (limits.ID_CHARS_MAX + 1)),), None, "promoted.canary"),
        (many, None, "promoted.canary"),
    ):
        with pytest.raises(Invalid) as refused:
            advance_promoted(skill, IN_CANARY, act=by(90), sessions=sessions, share=share)
        assert (refused.value.code, bool(refused.value.hint)) == (code, True)
    for sessions, share in ((one, None), (None, 1), (None, 100), (one, 0), (many[1:], 50)):
        after = advance_promoted(skill, IN_CANARY, act=by(90), sessions=sessions, share=share)
        assert after.canary == Canary(sessions=sessions or (), share=share or 0)


@pytest.mark.req("ROL-4")
def test_a_canary_may_be_shown_to_others_and_keeps_what_nobody_names() -> None:
    skill = at_status(IN_CANARY).skill
    assert skill.canary == Canary(sessions=(CANARY,))
    wider = advance_promoted(skill, IN_CANARY, act=by(90), share=20)
    assert wider.canary == Canary(sessions=(CANARY,), share=20)
    other = advance_promoted(wider, IN_CANARY, act=by(91), sessions=(SessionId("b"), SessionId("b")))
    assert other.canary == Canary(sessions=(SessionId("b"),), share=20)
    for same in (
        advance_promoted(other, IN_CANARY, act=by(92)),
        advance_promoted(other, IN_CANARY, act=by(92), sessions=(SessionId("b"),), share=20),
    ):
        assert same is other
    assert in_canary(other, SessionId("b"))
    for gone in (advance_promoted(other, DRAFT, act=by(93)), revoke_promoted(other, by(93))):
        assert (gone.canary, in_canary(gone, SessionId("b"))) == (Canary(), False)


@pytest.mark.req("ROL-3", "ROL-9")
def test_a_status_alone_opens_no_step() -> None:
    forged = replace(draft(), status=VERIFIED, canary=Canary(share=5))
    with pytest.raises(Refused) as refused:
        advance_promoted(forged, IN_CANARY, act=by(9), share=5)
    assert refused.value.code == "promoted.evidence"
    with pytest.raises(Refused) as refused:
        advance_promoted(replace(forged, status=IN_CANARY), ACTIVE, act=by(9))
    assert refused.value.code == "promoted.evidence"
    # What it holds of an earlier canary keeps nobody from beginning one.
    held = replace(at_status(VERIFIED).skill, canary=Canary(share=5))
    assert advance_promoted(held, IN_CANARY, act=by(90), share=5).status is IN_CANARY


def test_sessions_are_for_a_canary_alone_and_nothing_advances_to_revoked() -> None:
    skill = at_status(VERIFIED).skill
    for to in (DRAFT, VERIFIED, ACTIVE):
        with pytest.raises(Invalid) as refused:
            advance_promoted(skill, to, act=by(90), sessions=())
        assert refused.value.code == "promoted.canary"
    with pytest.raises(Invalid) as refused:
        advance_promoted(skill, REVOKED, act=by(90))
    assert refused.value.code == "promoted.to"
    assert set(ADVANCES) == {DRAFT, VERIFIED, IN_CANARY, ACTIVE}


@pytest.mark.req("ROL-7")
def test_rolling_back_restores_the_newest_active_snapshot_and_loses_no_event() -> None:
    walk = at_status(REVOKED)
    first = next(each for _, each in walk.history if each.status is ACTIVE)
    walk.keep(redefine_promoted(walk.skill, OTHER, source=learning(), act=by(walk.tick())))
    walk.to(ACTIVE)
    second = walk.skill
    walk.to(REVOKED)
    gone = walk.skill

    back = walk.keep(roll_back_promoted(gone, walk.history[::-1], source=learning(), act=by(walk.tick())))

    assert first.fingerprint != second.fingerprint
    assert (back.definition, back.fingerprint, back.canary) == (
        second.definition,
        second.fingerprint,
        second.canary,
    )
    assert (back.status, back.revision, back.revoked_reason) == (ACTIVE, gone.revision + 1, "")
    assert back.events[:-1] == gone.events
    assert back.evidence == gone.evidence
    assert unproven_because(back) is None


@pytest.mark.req("ROL-7")
@pytest.mark.parametrize(
    "source",
    [
        None,
        learning(record_id=RecordId("rec_other")),
        learning(state=State.TOMBSTONED),
        learning(state=State.SUPERSEDED),
        learning(superseded_by=RecordId("rec_next")),
        learning(publish_tier=PublishTier.PROVISIONAL),
        learning(expires_at=by(1).at),
    ],
    ids=["missing", "another", "revoked", "superseded", "being superseded", "provisional", "expired"],
)
def test_nothing_goes_back_to_a_learning_that_no_longer_stands(source: object) -> None:
    walk = at_status(REVOKED)
    with pytest.raises(Refused) as refused:
        roll_back_promoted(walk.skill, walk.history, source=source, act=by(90))  # type: ignore[arg-type]
    assert (refused.value.code, bool(refused.value.hint)) == ("promoted.source", True)


@pytest.mark.req("ROL-7")
def test_what_was_never_active_has_nothing_to_go_back_to() -> None:
    """And no hint leads there: those of other moves say of whom it is one."""
    for walk, hint in (
        (at_status(IN_CANARY), "advance it step by step instead"),
        (at_status(IN_CANARY).to(REVOKED), "promote it again"),
    ):
        with pytest.raises(Conflict) as refused:
            rollback_target(walk.skill, walk.history)
        assert (refused.value.code, refused.value.hint) == ("promoted.no-snapshot", hint)
    with pytest.raises(Conflict) as refused:
        at_status(REVOKED).to(IN_CANARY)
    assert refused.value.hint.endswith(": promote, rollback if it was active before")


@pytest.mark.req("ROL-7", "ROL-4")
def test_nothing_goes_back_to_words_whose_canary_has_failed_since() -> None:
    walk = at_status(REVOKED)
    walk.keep(redefine_promoted(walk.skill, words(), source=learning(), act=by(walk.tick())))
    walk.to(IN_CANARY)
    walk.keep(record(walk.skill, walk.tick(), RolloutKind.CANARY, succeeds=False))

    with pytest.raises(Refused) as refused:
        roll_back_promoted(walk.skill, walk.history, source=learning(), act=by(walk.tick()))
    assert refused.value.code == "promoted.failed"


@pytest.mark.req("ROL-9")
def test_a_snapshot_that_was_active_without_evidence_is_not_taken_up() -> None:
    forged = replace(draft(), status=ACTIVE)
    with pytest.raises(Refused) as refused:
        roll_back_promoted(draft(), [(1, forged)], source=learning(), act=by(9))
    assert refused.value.code == "promoted.evidence"
    assert unproven_because(forged) is Unproven.VERIFICATION


@pytest.mark.req("ROL-7")
def test_a_reason_that_looks_like_a_secret_is_refused_and_never_repeated() -> None:
    walk = at_status(IN_CANARY)
    act = by(90, reason=SECRET)
    back = at_status(REVOKED)
    acts: list[Callable[[], object]] = [
        lambda: create_promoted(words(), learning(), act=act),
        lambda: redefine_promoted(walk.skill, OTHER, source=learning(), act=act),
        lambda: advance_promoted(walk.skill, DRAFT, act=act),
        lambda: revoke_promoted(walk.skill, act),
        lambda: revoke_promoted(back.skill, act),
        lambda: roll_back_promoted(back.skill, back.history, source=learning(), act=act),
    ]
    for each in acts:
        with pytest.raises(Refused) as refused:
            each()
        assert refused.value.code == "guard.secret"
        assert "ghp_" not in refused.value.sentence + refused.value.hint
    for reason in ("x" * (limits.REASON_CHARS_MAX + 1), "half of a pair \ud800", "zero\u200bwidth"):
        with pytest.raises(RunloreError):
            revoke_promoted(walk.skill, by(90, reason=reason))


@pytest.mark.req("ROL-10")
def test_too_much_may_happen_to_one_but_it_can_always_be_revoked() -> None:
    skill = at_status(IN_CANARY).skill
    full = replace(skill, events=(*skill.events, *skill.events[:1] * limits.PROMOTED_EVENTS_MAX))
    acts: list[Callable[[], object]] = [
        lambda: record(full, 90, RolloutKind.CANARY),
        lambda: advance_promoted(full, DRAFT, act=by(90)),
        lambda: redefine_promoted(full, OTHER, source=learning(), act=by(90)),
    ]
    for act in acts:
        with pytest.raises(Refused) as refused:
            act()
        assert refused.value.code == "promoted.full"
    assert revoke_promoted(full, by(90)).status is REVOKED


@pytest.mark.req("LRN-12", "ROL-10")
def test_of_a_forgotten_one_what_happened_stays_and_what_was_said_goes() -> None:
    zebra = words("zebra", description="zebra", when_to_use="zebra", version="zebra", model="zebra")
    source = learning(provenance=replace(learning().provenance, sources=("zebra",)))
    skill = create_promoted(zebra, source, act=by(1, reason="zebra"))
    skill = revoke_promoted(record(skill, 20, RolloutKind.VERIFICATION), by(30, reason="zebra"))

    blank = erase(skill)

    assert "zebra" not in str(blank)
    assert (blank.name, blank.status, blank.revision) == (skill.name, skill.status, skill.revision)
    assert [event.move for event in blank.events] == [event.move for event in skill.events]
    assert [(each.run_id, each.note) for each in blank.evidence] == [(RunId("run_20"), "")]
    assert erase(blank) == blank
    assert redefine_promoted(blank, words(), source=learning(), act=by(40)).status is DRAFT
