"""Policies with their revisions, tokens, the capture switch, and what `status` says of all that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.access import hash_secret
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.policies.policy import PolicyName, check_policy
from runlore.domain.record import JsonObject
from runlore.domain.runs.job import JobId, JobKind
from runlore.ports import operations as ops
from tests.world import World

RUN_MEMORY = PolicyName.RUN_MEMORY


def _put(world: World, policy: JsonObject, **fields: int | str) -> int:
    change = ops.PolicyChange(name=RUN_MEMORY, policy=policy, **fields)  # type: ignore[arg-type]
    return world.operator.put_policy(change).revision


@pytest.mark.req("POL-6", "RUN-8")
def test_a_policy_is_put_whole_and_every_revision_stays(world: World) -> None:
    assert world.operator.get_policy(RUN_MEMORY).revision == 0

    assert _put(world, {"retention_days": 7, "max_prompt_entries": 2}) == 1
    world.clock.advance(seconds=1)
    assert _put(world, {"retention_days": 9}) == 2

    history = world.operator.policy_history(RUN_MEMORY)
    assert [revision.revision for revision in history] == [2, 1]
    assert history[0].policy == check_policy(RUN_MEMORY, {"retention_days": 9})
    assert history[0].updated_at == world.clock.now()
    assert history[0].actor == "operator"
    assert world.operator.get_policy(RUN_MEMORY) == history[0]
    assert world.operator.get_policy(PolicyName.RETENTION).revision == 0


@pytest.mark.req("POL-6")
def test_a_stale_revision_is_a_conflict_and_nothing_is_written(world: World) -> None:
    _put(world, {"retention_days": 7})
    before = world.tables()

    with pytest.raises(Conflict, match="at revision 1, not 0"):
        _put(world, {"retention_days": 8}, expected_revision=0)

    assert world.tables() == before
    assert _put(world, {"retention_days": 8}, expected_revision=1) == 2


@pytest.mark.req("POL-6", "POL-5")
def test_nothing_of_a_refused_policy_takes_effect(world: World) -> None:
    _put(world, {"retention_days": 7})
    before = world.tables()
    for bad in ({"retention_days": 0}, {"retention_days": 5, "keep": True}, {"enabled": "yes"}):
        with pytest.raises(Invalid) as refused:
            _put(world, bad)
        assert refused.value.code == "policy.field"
    assert world.tables() == before


@pytest.mark.req("POL-6")
def test_a_rollback_is_a_new_revision_with_an_old_text(world: World) -> None:
    _put(world, {"retention_days": 7})
    _put(world, {"retention_days": 8})
    _put(world, {"retention_days": 9})

    def rolled(to_revision: int | None) -> tuple[int, object]:
        back = world.operator.rollback_policy(ops.PolicyRollback(name=RUN_MEMORY, to_revision=to_revision))
        return back.revision, back.policy["retention_days"]

    assert rolled(None) == (4, 8)
    assert rolled(1) == (5, 7)
    assert rolled(0) == (6, 30)
    with pytest.raises(NotFound, match="no revision 40"):
        rolled(40)


@pytest.mark.req("POL-6")
def test_a_keyed_policy_is_put_once(world: World) -> None:
    first = _put(world, {"retention_days": 7}, idempotency_key="k")
    assert _put(world, {"retention_days": 7}, idempotency_key="k") == first == 1
    assert len(world.operator.policy_history(RUN_MEMORY)) == 1
    with pytest.raises(Conflict, match="another call"):
        _put(world, {"retention_days": 8}, idempotency_key="k")


@pytest.mark.req("RUN-8", "OPS-6")
def test_a_changed_policy_queues_one_maintenance(world: World) -> None:
    _put(world, {"retention_days": 7})
    _put(world, {"retention_days": 8})
    assert [job.kind for job in world.operator.list_jobs()] == [JobKind.MAINTAIN]


@pytest.mark.req("OPS-5")
def test_the_secret_of_a_token_is_told_once_and_never_stored(world: World) -> None:
    made = world.operator.create_token(ops.NewToken(name="claude-code", role=ops.Role.AGENT))

    assert made.token.digest == hash_secret(made.secret)
    assert len(made.secret) >= 40
    assert made.secret not in repr(world.tables())
    assert world.files_with(made.secret) == []
    assert world.operator.list_tokens() == (made.token,)
    assert made.token.caller().actor == "claude-code"


@pytest.mark.req("OPS-5")
def test_a_name_is_never_given_twice_so_no_history_changes_its_author(world: World) -> None:
    world.operator.create_token(ops.NewToken(name="claude-code", role=ops.Role.AGENT))
    world.operator.revoke_token("claude-code")
    for role in ops.Role:
        with pytest.raises(Conflict):
            world.operator.create_token(ops.NewToken(name="claude-code", role=role))
    for name in ("operator", "daemon", "  ", "a\nb", "x" * 300):
        with pytest.raises(Invalid):
            world.operator.create_token(ops.NewToken(name=name, role=ops.Role.OPERATOR))


@pytest.mark.req("OPS-5")
def test_revoking_is_for_good_and_the_first_time_counts(world: World) -> None:
    token = world.operator.create_token(ops.NewToken(name="ci", role=ops.Role.READER)).token
    first = world.operator.revoke_token("ci")
    world.clock.advance(days=1)

    assert world.operator.revoke_token(token.token_id) == first
    assert first.revoked_at is not None
    for name in ("nobody", "a\0b", "x" * 5_000):
        with pytest.raises(NotFound):
            world.operator.revoke_token(name)


@pytest.mark.req("CAP-7")
def test_capture_is_paused_and_resumed_and_says_since_when(world: World) -> None:
    assert world.operator.capture_status() == ops.CaptureStatus(paused=False)
    paused = world.operator.pause_capture()
    world.clock.advance(days=1)

    assert world.operator.pause_capture() == paused == world.operator.capture_status()
    assert paused.paused
    assert paused.by == "operator"
    assert not world.operator.resume_capture().paused
    assert world.operator.status().sections["capture"] == {"paused": False}


@pytest.mark.req("POL-10", "OPS-1")
def test_only_a_dead_job_is_tried_again(world: World) -> None:
    _put(world, {"retention_days": 7})
    job = world.operator.list_jobs()[0]
    assert world.operator.retry_job(job.job_id) == job, "it is tried anyway"
    with pytest.raises(NotFound):
        world.operator.retry_job(JobId("job_nowhere"))


@pytest.mark.req("OPS-1")
def test_status_names_every_counter_of_run_memory(world: World) -> None:
    section = world.operator.status().sections["run_memory"]
    assert isinstance(section, dict)
    assert set(section["metrics"]) == {
        "stored_total",
        "injected_total",
        "skipped_unreadable_total",
        "pruned_ttl_total",
        "pruned_overflow_total",
        "pruned_orphan_total",
        "redacted_fields_total",
        "prompt_limit_omitted_total",
    }


@pytest.mark.req("OPS-5")
@given(secret=st.text(max_size=80))
def test_a_digest_is_of_any_text(secret: str) -> None:
    assert len(hash_secret(secret)) == 64
