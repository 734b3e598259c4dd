"""Skills that speak of a repository say where they are given what of it is there no longer, and wait for a
person as their procedure (VAL-5)."""

from pathlib import Path

import pytest

from runlore.agents.tools.skills import fence_skill
from runlore.config.settings import Settings
from runlore.daemon.agent.run_opening import _skill_line
from runlore.daemon.skills.mounting import MountFollower, MountManager, usable_skills
from runlore.domain.agent.conversation import ToolCall, UserSaid
from runlore.domain.record import Record
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillOrigin
from runlore.flow.skills.library import render_skill
from runlore.mcp.tools import BY_NAME
from runlore.ports import operations as ops
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop
from tests.agents.tools.tooling import given, tool, use
from tests.builders import fact
from tests.daemon.test_folder_staleness import PROJECT, Repository, bind, look
from tests.flow.child_scene import MARKER, Scene, scene
from tests.flow.learnings import TALK, learn
from tests.flow.rolling import NAME, active, procedure
from tests.flow.saved_skills import offered
from tests.world import World

pytestmark = pytest.mark.req("VAL-5")

BODY = "1. Read docs/api\n2. Run `make check`\n"


@pytest.fixture
def repository(world: World, tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "work" / "acme")
    made.commit(docs__api="The API\n", Makefile="check:\n\ttrue\n")
    bind(world, made, session_id=SessionId("at acme"))
    world.session(TALK)
    return made


def promoted_skill(world: World) -> None:
    active(world, instructions=BODY)


def saved_skill(world: World) -> None:
    stored = offered(world, NAME, body=BODY)
    world.operator.save_skill(ops.SaveSkill(suggestion=stored.suggestion.name))


def written_skill(world: World) -> None:
    folder = Path(world.parts.state_root) / "skills" / NAME
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {NAME}\ndescription: How we release\n---\n\n{BODY}")
    assert world.operator.get_skill(NAME).origin is SkillOrigin.WRITTEN


def ways_given(world: World) -> dict[str, str]:
    """What each place says where the skill is given."""
    session = world.operator.session_skills(TALK)
    [listed] = world.operator.list_skills(ops.SkillsRequest()).items
    opened = world.operator.use_skill(ops.UseSkill(name=NAME, session_id=TALK))
    [matched] = world.operator.match_skills(ops.MatchRequest(query=f"{NAME} release")).items
    return {
        "list": listed.doubt,
        "view": world.operator.get_skill(NAME).doubt,
        "a session's": session[0].doubt,
        "a tool's list": BY_NAME["list_skills"].call(world.operator, {"session_id": TALK})[1],
        "a tool's text": BY_NAME["use_skill"].call(world.operator, {"name": NAME, "session_id": TALK})[1],
        "opened": render_skill(opened),
        "the own agent's": fence_skill(opened),
        "the own agent's prompt": _skill_line(matched.skill),
        "what its tool gives": _given_by_its_tool(world),
    }


def _given_by_its_tool(world: World) -> str:
    """What the own agent reads, or what goes to the child that works by a promoted skill."""

    def fork(skill: Skill, _arguments: str, _call: ToolCall, _stop: Stop) -> ToolOutcome:
        return ToolOutcome(output=skill.doubt)

    opening = tool("use_skill", given(world, fork=fork))
    return use(opening, {"name": NAME, "arguments": "to staging"}).output


@pytest.mark.parametrize("made", [promoted_skill, saved_skill, written_skill])
def test_a_skill_whose_words_are_gone_says_so_where_it_is_given_and_waits(
    world: World, repository: Repository, tmp_path: Path, made: object
) -> None:
    made(world)  # type: ignore[operator]
    mounts = MountManager(world.parts.state_root)
    mounts.mount([str(tmp_path / "copies")], usable_skills(world.operator))
    follower = MountFollower(world.parts.store, world.parts.state_root)
    copy = tmp_path / "copies" / NAME / "SKILL.md"
    assert look(world) == []
    follower.catch_up()
    first = repository.git("rev-parse", "HEAD")
    assert not any("may no longer hold" in told for told in ways_given(world).values())
    repository.commit(docs__api=None)
    look(world)

    told = f"may no longer hold: docs/api is gone, last seen true at {first[:7]}, 1 commit ago"
    for place, text in ways_given(world).items():
        assert told in text, place
    follower.catch_up()
    assert told in copy.read_text(), "agents elsewhere read the copy"
    in_root = Path(world.parts.state_root) / "skills" / NAME / "SKILL.md"
    assert told not in in_root.read_text(), "the skill itself stays as it is"
    [item] = [
        each for each in world.operator.inbox(ops.InboxRequest()).items if "docs/api is gone" in each.why
    ]
    assert item.why.endswith(f"last seen true at {first[:7]}, 1 commit ago")

    # Whoever keeps it is not asked the same again, and nobody is told any more.
    if ops.InboxAct.CONFIRM in item.acts:
        world.operator.confirm(ops.Decision(record_id=item.id))  # type: ignore[arg-type]
    else:
        world.operator.verify(ops.VerifyRequest(record_id=item.id, on_my_word=True))  # type: ignore[arg-type]
    look(world)
    assert "docs/api" not in str(world.operator.inbox(ops.InboxRequest()).items)
    assert not any("may no longer hold" in text for text in ways_given(world).values())
    follower.catch_up()
    assert told not in copy.read_text()


def test_the_doctor_names_the_skill(world: World, repository: Repository) -> None:
    written_skill(world)
    look(world)
    repository.commit(docs__api=None)
    found = [
        each.detail for each in world.operator.doctor(repair=False).findings if each.check == "still true"
    ]
    assert found == [f"skill {NAME}: docs/api is gone"]
    # What is there again is doubted no more.
    look(world)
    repository.commit(docs__api="Again\n")
    look(world)
    assert not any("may no longer hold" in text for text in ways_given(world).values())


def test_a_procedure_is_doubted_for_what_its_skill_does_not_say_too(
    world: World, repository: Repository
) -> None:
    source = procedure(world, "Release: as docs/api tells, then tag")
    active(world, source, instructions="1. Run `make check`\n")
    look(world)
    repository.commit(docs__api=None)
    [(waiting, why)] = look(world)
    assert (waiting, why.partition(",")[0]) == (source.record_id, "docs/api is gone")
    assert world.operator.get_skill(NAME).doubt == "", "what it says still holds"


def said_everywhere(world: World, text: str) -> Record:
    return learn(world, fact(text, scope=WORKSPACE, created_at=world.clock.now()))


def test_what_is_said_of_everywhere_is_gone_where_no_bound_folder_has_it(
    world: World, repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "work" / "other")
    other.commit(Makefile="check:\n\ttrue\n")
    bind(world, other, session_id=SessionId("elsewhere"), project="other")
    learning = said_everywhere(world, "Everything is checked by `make check`")
    assert look(world) == []
    repository.commit(Makefile="test:\n\ttrue\n")
    assert look(world) == [], "the other one has it"
    other.commit(Makefile="test:\n\ttrue\n")
    [(waiting, why)] = look(world)
    assert waiting == learning.record_id
    assert why.startswith("make check is no longer a task")


def test_two_folders_of_a_project_do_not_take_back_what_the_other_says(
    world: World, repository: Repository, tmp_path: Path
) -> None:
    second = Repository(tmp_path / "work" / "site")
    second.commit(pages__first="A page\n")
    bind(world, second, session_id=SessionId("site"))
    scope = Scope(ScopeKind.PROJECT, PROJECT)
    # One of each, so that it is no matter which folder is looked at last.
    learnings = [
        learn(world, fact(text, scope=scope, created_at=world.clock.now()))
        for text in ("The API is told in docs/api", "The site begins with pages/first")
    ]
    look(world)
    repository.commit(docs__api=None)
    second.commit(pages__first=None)
    assert len(look(world)) == 2
    histories = [world.operator.history(each.record_id) for each in learnings]
    assert len(look(world)) == 2
    assert [world.operator.history(each.record_id) for each in learnings] == histories


@pytest.mark.parametrize("is_everywhere", [True, False])
def test_the_child_that_works_by_a_promoted_skill_hears_it(tmp_path: Path, *, is_everywhere: bool) -> None:
    """A real run, in a canary too: what its model is told of its task."""
    made = Repository(tmp_path / "work" / "acme")
    made.commit(docs__api="The API\n")
    with scene(Settings(state_root=str(tmp_path / "home")), made.top) as stage:
        stage.promoted(instructions=f"1. Read docs/api\n2. Report {MARKER}.")
        if is_everywhere:
            stage.active()
        else:
            stage.shown("another", "a third")
        bind(stage.world, made, session_id=SessionId("at acme"))
        look(stage.world)
        stage.used("another")
        assert "may no longer hold" not in _task_of(stage)
        made.commit(docs__api=None)
        look(stage.world)
        stage.used("a third")
        assert "\nThe skill may no longer hold: docs/api is gone, last seen true at " in _task_of(stage)


def _task_of(stage: Scene) -> str:
    [told] = {each.text for each in stage.cast.heard["child"][-1].conversation if isinstance(each, UserSaid)}
    return told
