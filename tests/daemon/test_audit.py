"""Who may call for how long, and what was done by whom."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.operations.access import follow_audit
from runlore.daemon.process.tokens import operator_secret, token_book
from runlore.daemon.token_file import read_secret
from runlore.domain.access import Role
from runlore.domain.audit_feed import AuditEvent, AuditKind
from runlore.domain.errors import Conflict, Denied, Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.records.audit import Act
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate
from tests.world import World

pytestmark = pytest.mark.req("OPS-7")


def code_of(world: World, secret: str) -> str:
    """What a secret is refused with; empty where it is good. A book of its own remembers nothing."""
    try:
        token_book(world.parts).authenticate(secret)
    except Denied as denied:
        return denied.code
    return ""


def test_a_token_opens_nothing_from_its_end_on_even_where_it_was_remembered(world: World) -> None:
    now, book = world.clock.now(), token_book(world.parts)
    with pytest.raises(Invalid) as past:
        world.operator.create_token(ops.NewToken(name="ci", role=Role.READER, expires_at=now))
    assert past.value.code == "token.expires"
    ends_at = now + timedelta(hours=1)
    made = world.operator.create_token(ops.NewToken(name="ci", role=Role.READER, expires_at=ends_at))
    assert made.token.expires_at == ends_at
    assert book.authenticate(made.secret).actor == "ci"

    world.clock.advance(seconds=3_600)
    assert book.authenticate_from_cache(made.secret) is None
    with pytest.raises(Denied) as ended:
        book.authenticate(made.secret)
    assert ended.value.code == "token.expired"
    with pytest.raises(Invalid):
        world.operator.rotate_token(ops.TokenRotation(name="ci"))
    later = world.operator.rotate_token(
        ops.TokenRotation(name="ci", expires_at=world.clock.now() + timedelta(days=1))
    )
    assert code_of(world, later.secret) == ""


def test_a_rotated_token_has_a_new_secret_and_the_old_one_ends_when_it_was_said_to(world: World) -> None:
    first = world.operator.create_token(ops.NewToken(name="ci", role=Role.AGENT))
    second = world.operator.rotate_token(ops.TokenRotation(name="ci", grace_s=60))
    assert (second.token.token_id, second.token.name) == (first.token.token_id, "ci")
    assert [code_of(world, each.secret) for each in (first, second)] == ["", ""]
    world.clock.advance(seconds=60)
    assert [code_of(world, each.secret) for each in (first, second)] == ["token.rotated", ""]

    third = world.operator.rotate_token(ops.TokenRotation(name=first.token.token_id))
    codes = ["token.unknown", "token.rotated", ""]
    assert [code_of(world, each.secret) for each in (first, second, third)] == codes
    assert second.secret not in repr(world.tables())
    world.operator.revoke_token("ci")
    assert [code_of(world, each.secret) for each in (second, third)] == ["token.revoked"] * 2
    with pytest.raises(Conflict) as revoked:
        world.operator.rotate_token(ops.TokenRotation(name="ci"))
    assert revoked.value.code == "token.revoked"


def test_of_two_who_rotate_at_once_one_is_told(world: World) -> None:
    made = world.operator.create_token(ops.NewToken(name="ci", role=Role.AGENT))
    world.operator.rotate_token(ops.TokenRotation(name="ci"))
    act = Act(actor="ada", at=world.clock.now())
    with pytest.raises(Conflict) as moved, world.parts.store.transaction() as tx:
        tx.tokens.rotate(replace(made.token, digest="x"), made.token.digest, act)
    assert moved.value.code == "token.moved"


def test_the_operators_own_secret_stays_in_its_file_when_it_is_rotated(world: World) -> None:
    before = operator_secret(world.parts)
    made = world.operator.rotate_token(ops.TokenRotation(name="operator"))
    assert read_secret(world.parts.state_root) == made.secret != before
    assert operator_secret(world.parts) == made.secret
    assert code_of(world, before) == "token.rotated"


def history(world: World, **asked: object) -> list[AuditEvent]:
    """The whole feed, page by page."""
    request = ops.AuditRequest(**{"limit": 2, **asked})  # type: ignore[arg-type]
    return list(paginate(world.operator.list_audit, request))


def do_something_of_everything(world: World) -> list[tuple[str, str, str]]:
    """What the feed has to say of it, without ids."""
    record = world.propose("editor", "vim")
    world.confirm(record)
    session = world.session("talk")
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RETENTION, policy={"artifact_days": 7}))
    world.operator.create_token(ops.NewToken(name="ci", role=Role.AGENT))
    world.operator.rotate_token(ops.TokenRotation(name="ci"))
    world.operator.revoke_token("ci")
    return [
        ("binding", session.session_id, "bind"),
        ("policy", "retention", "put"),
        ("record", record.record_id, "propose"),
        ("record", record.record_id, "confirm"),
        ("token", "ci", "create"),
        ("token", "ci", "rotate"),
        ("token", "ci", "revoke"),
    ]


def test_the_feed_tells_every_act_once_in_order_however_it_is_paged(world: World) -> None:
    expected = do_something_of_everything(world)
    world.clock.advance(seconds=3_600)
    other = world.propose("shell", "fish")
    found = history(world)
    assert [(each.kind, each.subject, each.act) for each in found] == [
        *expected,
        ("record", other.record_id, "propose"),
    ]
    assert len({each.id for each in found}) == len(found)
    assert [each.place for each in found] == sorted(each.place for each in found)
    assert {each.actor for each in found if each.kind is not AuditKind.BINDING} == {"operator"}
    assert [each.act for each in history(world, kinds=frozenset({AuditKind.TOKEN}))] == [
        "create",
        "rotate",
        "revoke",
    ]
    assert [each.subject for each in history(world, since=world.clock.now())] == [other.record_id]
    for cursor in ("x", "5:record:1", "5:planet:1:x", "5:record:x:y"):
        with pytest.raises(Invalid):
            world.operator.list_audit(ops.AuditRequest(cursor=cursor))
    with pytest.raises(Denied):
        world.caller(Role.READER).list_audit(ops.AuditRequest())


def test_what_is_forgotten_leaves_no_words_in_the_feed(world: World) -> None:
    record = world.propose("editor", "vim", reason="because Zanzibar said so")
    world.forget(record)
    assert "Zanzibar" not in repr(history(world))


def test_whoever_follows_is_told_of_each_act_once_and_of_late_ones_too(world: World) -> None:
    """Given an act whose transaction ends after that of a later one, it is told when it is there."""
    early = world.clock.now()
    request = ops.AuditRequest(since=early)
    told = follow_audit(world.operator.list_audit, request, beat_s=0.001)
    world.clock.advance(seconds=30)
    late = world.propose("editor", "vim")
    assert heard(told) == [late.record_id]
    world.clock.advance(seconds=-20)
    earlier = world.propose("shell", "fish")
    assert heard(told) == [earlier.record_id]
    assert heard(told) == []


def heard(told: Iterator[AuditEvent | None]) -> list[str]:
    """The subjects that are told until there are none for a beat."""
    subjects = []
    while (event := next(told)) is not None:
        subjects.append(event.subject)
    return subjects
