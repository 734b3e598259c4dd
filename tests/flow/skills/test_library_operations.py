"""The operations on skills: one effect however often they are called, clear errors, a line for each act."""

from collections.abc import Callable
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Conflict, Denied, Invalid, NotFound, Refused, RunloreError
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillEventKind, SkillOrigin, SkillState
from runlore.domain.skills.skill_curation import CurationId
from runlore.domain.suggestion import SuggestionState
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.flow.skill_shelf import brought_in, files, put_by_hand, rows, saved, skill_text, two_alike
from tests.flow.telling import suggested, suggestion
from tests.world import AGENT, World

pytestmark = pytest.mark.req("SKL-8")
KEY = "b2f6a0"
TALK = SessionId("talk")
TAINTED = Provenance(untrusted=True, needs_review=True, sources=("https://example.org/page",))
Make = Callable[[World], Callable[[], object]]


def _save(world: World) -> Callable[[], object]:
    suggested(world, "release")
    return lambda: world.operator.save_skill(ops.SaveSkill(suggestion="release", idempotency_key=KEY))


def _import(world: World) -> Callable[[], object]:
    asked = ops.ImportSkill(text=skill_text("brought"), source="elsewhere", idempotency_key=KEY)
    return lambda: world.operator.import_skill(asked)


def _promote(world: World) -> Callable[[], object]:
    brought_in(world, "brought")
    asked = ops.AcceptSkill(name="brought", force=True, reason="I have read it", idempotency_key=KEY)
    return lambda: world.operator.accept_skill(asked)


def _curate(world: World) -> Callable[[], object]:
    two_alike(world)
    return lambda: world.operator.curate_skills(ops.CurateRequest(apply=True, idempotency_key=KEY))


def _delete(world: World) -> Callable[[], object]:
    saved(world, "release")
    return lambda: world.operator.delete_skill("release")


def _restore(world: World) -> Callable[[], object]:
    saved(world, "release")
    world.operator.delete_skill("release")
    return lambda: world.operator.restore_skill("release")


def _reset(world: World) -> Callable[[], object]:
    suggested(world, "release", state=SuggestionState.SKIPPED)

    def call() -> object:
        world.operator.reset_skips()
        return world.operator.get_suggestion("release")

    return call


ACTS: dict[str, Make] = {
    "save": _save,
    "import": _import,
    "promote": _promote,
    "curate": _curate,
    "delete": _delete,
    "restore": _restore,
    "reset": _reset,
}


@pytest.mark.req("OPS-3")
@pytest.mark.parametrize("act", ACTS)
def test_the_same_call_again_changes_nothing_and_answers_the_same(world: World, act: str) -> None:
    call = ACTS[act](world)
    first = call()
    after, on_disk = world.tables(), files(world)
    world.clock.advance(seconds=5)

    assert call() == first

    assert world.tables() == after
    assert files(world) == on_disk == rows(world)


@pytest.mark.parametrize("act", ["save", "import", "promote", "curate"])
def test_a_key_is_good_for_one_call(sqlite_world: World, act: str) -> None:
    world = sqlite_world
    ACTS[act](world)()
    with pytest.raises(Conflict) as problem:
        world.operator.save_skill(ops.SaveSkill(suggestion="another", idempotency_key=KEY))
    assert problem.value.code == "idempotency.reused"


@pytest.mark.parametrize("act", ["save", "import", "promote"])
def test_a_repeated_call_writes_the_file_that_the_first_one_could_not(sqlite_world: World, act: str) -> None:
    world = sqlite_world
    call = ACTS[act](world)
    call()
    (path,) = (world.root / "skills").glob("*/SKILL.md")
    path.unlink()

    call()

    assert files(world) == rows(world)


ERRORS: dict[str, tuple[type[RunloreError], str, Callable[[Application], object]]] = {
    "an unknown skill": (NotFound, "skill.not-found", lambda each: each.get_skill("nobody")),
    "no name at all": (NotFound, "skill.not-found", lambda each: each.get_skill("")),
    "a name that no database keeps": (NotFound, "skill.not-found", lambda each: each.get_skill("a\0b")),
    "an unknown one to delete": (NotFound, "skill.not-found", lambda each: each.delete_skill("nobody")),
    "an unknown one to restore": (NotFound, "skill.not-found", lambda each: each.restore_skill("nobody")),
    "an unknown suggestion": (
        NotFound,
        "suggestion.not-found",
        lambda each: each.save_skill(ops.SaveSkill(suggestion="nobody")),
    ),
    "an unknown one to reset": (NotFound, "suggestion.not-found", lambda each: each.reset_skips("nobody")),
    "an unknown curation": (
        NotFound,
        "curation.not-found",
        lambda each: each.undo_curation(CurationId("nobody")),
    ),
    "nothing to undo": (NotFound, "curation.not-found", lambda each: each.undo_curation(None)),
    "a tainted suggestion": (
        Refused,
        "skill.tainted",
        lambda each: each.save_skill(ops.SaveSkill(suggestion="from-outside")),
    ),
    "a bad name to save under": (
        Invalid,
        "skill.name",
        lambda each: each.save_skill(ops.SaveSkill(suggestion="fine", name="../etc")),
    ),
    "a taken name": (
        Conflict,
        "skill.exists",
        lambda each: each.save_skill(ops.SaveSkill(suggestion="fine", name="brought")),
    ),
    "a tainted skill without force": (
        Refused,
        "skill.tainted",
        lambda each: each.accept_skill(ops.AcceptSkill(name="brought")),
    ),
    "a tainted skill to use": (
        Refused,
        "skill.tainted",
        lambda each: each.use_skill(ops.UseSkill(name="brought")),
    ),
    "a text that is no skill": (
        Invalid,
        "skill.document",
        lambda each: each.import_skill(ops.ImportSkill(text="hello", source="elsewhere")),
    ),
    "no source": (
        Invalid,
        "skill.source",
        lambda each: each.import_skill(ops.ImportSkill(text=skill_text("new"), source=" ")),
    ),
    "too many at once": (
        Invalid,
        "limit.range",
        lambda each: each.list_skills(ops.SkillsRequest(limit=0)),
    ),
    "somebody else's cursor": (
        Invalid,
        "cursor.format",
        lambda each: each.list_skills(ops.SkillsRequest(cursor="!")),
    ),
    "a cursor that is no number": (
        Invalid,
        "cursor.format",
        lambda each: each.skill_log(ops.SkillLogRequest(cursor="-1")),
    ),
    "a blank query": (Invalid, "query.blank", lambda each: each.match_skills(ops.MatchRequest(query=" "))),
}


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("case", ERRORS)
def test_what_cannot_be_done_is_told_with_a_hint_and_changes_nothing(sqlite_world: World, case: str) -> None:
    world = sqlite_world
    brought_in(world, "brought")
    suggested(world, "fine")
    suggested(world, "from-outside", suggestion=suggestion("from-outside", provenance=TAINTED))
    kind, code, call = ERRORS[case]
    before, on_disk = world.tables(), files(world)

    with pytest.raises(kind) as problem:
        call(world.operator)

    assert problem.value.code == code
    assert problem.value.hint
    assert world.tables() == before
    assert files(world) == on_disk


@pytest.mark.req("TNT-2")
def test_a_tainted_suggestion_is_saved_by_whoever_has_read_it(sqlite_world: World) -> None:
    world = sqlite_world
    suggested(world, "from-outside", suggestion=suggestion("from-outside", provenance=TAINTED))

    skill = world.operator.save_skill(ops.SaveSkill(suggestion="from-outside", accept_untrusted=True))

    assert skill.is_usable
    assert skill.provenance.sources == TAINTED.sources


def test_skills_are_listed_by_name_in_pages_that_lose_none(world: World) -> None:
    made = [saved(world, name) for name in ("charlie", "alpha")]
    made += [brought_in(world, name) for name in ("delta", "bravo")]
    put_by_hand(world, "echo")
    world.operator.delete_skill("charlie")

    def walk(**fields: Any) -> list[str]:
        found: list[Skill] = []
        cursor = None
        while True:
            page = world.operator.list_skills(ops.SkillsRequest(limit=2, cursor=cursor, **fields))
            assert len(page.items) <= 2
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return [skill.name for skill in found]

    assert walk() == ["alpha", "bravo", "delta", "echo"]
    assert walk(states=frozenset(SkillState)) == ["alpha", "bravo", "charlie", "delta", "echo"]
    assert walk(states=frozenset({SkillState.DELETED})) == ["charlie"]
    assert walk(origins=frozenset({SkillOrigin.IMPORTED})) == ["bravo", "delta"]
    assert world.operator.get_skill(made[0].skill_id).state is SkillState.DELETED


def test_the_log_tells_every_act_in_pages_the_newest_first(world: World) -> None:
    saved(world, "release")
    brought_in(world, "brought", promoted=True)
    world.operator.delete_skill("release")
    world.operator.restore_skill("release")

    def walk(name: str | None, limit: int) -> list[SkillEventKind]:
        found: list[SkillEventKind] = []
        cursor = None
        while True:
            request = ops.SkillLogRequest(name=name, limit=limit, cursor=cursor)
            page = world.operator.skill_log(request)
            found += [event.kind for event in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return found

    whole = [
        SkillEventKind.RESTORED,
        SkillEventKind.DELETED,
        SkillEventKind.ACCEPTED,
        SkillEventKind.IMPORTED,
        SkillEventKind.SAVED,
    ]
    of_release = [SkillEventKind.RESTORED, SkillEventKind.DELETED, SkillEventKind.SAVED]
    for limit in (1, 2, 50):
        assert walk(None, limit) == whole
        assert walk("release", limit) == of_release
    assert walk(world.operator.get_skill("release").skill_id, 2) == of_release


@pytest.mark.req("SKL-9")
def test_curation_is_told_done_and_undone_with_the_files(world: World) -> None:
    two_alike(world)
    before = rows(world)

    told = world.operator.curate_skills(ops.CurateRequest())
    assert len(told.actions) == 1
    assert rows(world) == before == files(world)

    done = world.operator.curate_skills(ops.CurateRequest(apply=True))
    assert done.curation is not None
    assert files(world) == rows(world)
    assert len(rows(world)) == 1
    assert [each.curation_id for each in world.operator.list_curations()] == [done.curation.curation_id]

    undone = world.operator.undo_curation(None)
    assert undone.undone_by == "operator"
    assert files(world) == rows(world) == before
    assert world.operator.undo_curation(done.curation.curation_id) == undone


@pytest.mark.req("SKL-11")
def test_a_use_is_counted_once_a_run_and_settled_when_it_ends(world: World) -> None:
    saved(world, "release")
    world.agent.create_session(ops.NewSession(session_id=TALK))
    world.agent.open_run(ops.NewRun(session_id=TALK, request="Release it", run_id=RunId("r1")))
    asked = ops.UseSkill(name="release", run_id=RunId("r1"))

    assert world.agent.use_skill(asked).usage.times == 1
    assert world.agent.use_skill(asked).usage.times == 1
    world.agent.finish_run(ops.RunEnd(run_id=RunId("r1"), status=RunStatus.COMPLETED))

    usage = world.operator.get_skill("release").usage
    assert (usage.times, usage.succeeded, usage.failed) == (1, 1, 0)
    assert world.operator.use_skill(ops.UseSkill(name="release")).usage.times == 1


@pytest.mark.req("CAP-7")
def test_nothing_is_counted_in_a_private_session(sqlite_world: World) -> None:
    world = sqlite_world
    saved(world, "release")
    world.agent.create_session(ops.NewSession(session_id=TALK, private=True))
    run = world.agent.open_run(ops.NewRun(session_id=TALK, request="Release it")).run.run_id
    before = world.tables()

    assert world.agent.use_skill(ops.UseSkill(name="release", run_id=run)).name == "release"

    assert world.tables() == before


def test_another_agents_run_opens_nothing(sqlite_world: World) -> None:
    world = sqlite_world
    saved(world, "release")
    world.agent.create_session(ops.NewSession(session_id=TALK))
    world.agent.open_run(ops.NewRun(session_id=TALK, request="Release it", run_id=RunId("r1")))
    stranger = Application(world.parts, ops.Caller(actor="stranger", role=AGENT.role))

    with pytest.raises(NotFound) as problem:
        stranger.use_skill(ops.UseSkill(name="release", run_id=RunId("r1")))
    assert problem.value.code == "run.not-found"
    with pytest.raises(NotFound):
        stranger.use_skill(ops.UseSkill(name="release", session_id=TALK))


@pytest.mark.req("TNT-2")
def test_an_agent_reads_no_skill_that_nobody_has_vouched_for(sqlite_world: World) -> None:
    world = sqlite_world
    brought_in(world, "brought")
    world.agent.create_session(ops.NewSession(session_id=TALK))
    for call in (
        lambda: world.agent.get_skill("brought"),
        lambda: world.agent.list_skills(ops.SkillsRequest()),
        lambda: world.agent.skill_log(ops.SkillLogRequest()),
    ):
        with pytest.raises(Denied):
            call()
    assert world.agent.session_skills(TALK) == ()
    with pytest.raises(Refused) as problem:
        world.agent.use_skill(ops.UseSkill(name="brought", session_id=TALK))
    # Where it comes from is a stranger's word too.
    assert "example.org" not in f"{problem.value.sentence} {problem.value.hint}"
