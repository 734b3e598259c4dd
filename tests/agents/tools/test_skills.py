"""Tools of skills: which there are, the words of one in a fence, and a promoted one that is worked by."""

from threading import Event
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from runlore.agents.tools.skills import fence_skill
from runlore.domain.agent.conversation import ToolCall
from runlore.domain.errors import RunloreError
from runlore.domain.run import RunStatus
from runlore.domain.skill import Skill, SkillDocument, SkillId, SkillOrigin
from runlore.ports import operations as ops
from runlore.ports.runner import ToolOutcome
from tests.agents.tools.tooling import given, running, tool, use
from tests.fakes import START
from tests.flow.rolling import active
from tests.flow.saved_skills import PLAN, offered
from tests.world import World

pytestmark = pytest.mark.req("AGT-1")


def saved(world: World, name: str, **fields: Any) -> Skill:
    """A skill of the library."""
    offered(world, name, **fields)
    return world.operator.save_skill(ops.SaveSkill(suggestion=name))


def test_the_skills_of_the_session_are_listed_by_name_and_words(world: World) -> None:
    listing = tool("list_skills", given(world))
    assert use(listing, {}).output == "there are no skills"

    deploy, plan = saved(world, "deploy-app"), saved(world, "plan-terraform", commands=PLAN)

    lines = [f"{skill.name}: {skill.document.description}" for skill in (deploy, plan)]
    assert use(listing, {}).output.split("\n") == lines
    assert use(listing, {"words": "TERRAFORM plan"}).output == lines[1]
    assert use(listing, {"words": "zebra"}).output == "there is no such skill"


@pytest.mark.req("SCO-4")
def test_a_skill_that_the_session_may_not_use_is_neither_listed_nor_opened(world: World) -> None:
    saved(world, "deploy-app")
    saved(world, "plan-terraform", commands=PLAN)
    run = running(world)
    change = ops.SessionChange(session_id=run.session_id, capability_scope={"deny_skills": ["deploy*"]})
    world.operator.change_session(change)
    made = given(world, run)

    assert use(tool("list_skills", made), {}).output.startswith("plan-terraform: ")
    with pytest.raises(RunloreError) as caught:
        use(tool("use_skill", made), {"name": "deploy-app"})
    assert caught.value.code == "skill.denied"


@pytest.mark.req("SKL-11")
def test_a_skill_is_given_as_a_text_and_its_use_is_counted_with_the_runs_outcome(world: World) -> None:
    skill = saved(world, "deploy-app")
    run = running(world)
    opening = tool("use_skill", given(world, run))

    first, second = (use(opening, {"name": "deploy-app"}, call_id=each) for each in ("c1", "c2"))

    assert first == second
    assert skill.document.body.rstrip() in first.output
    assert (first.is_error, first.source) == (False, "")
    world.agent.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    usage = world.operator.get_skill("deploy-app").usage
    assert (usage.times, usage.succeeded) == (1, 1)


def test_an_unknown_skill_is_an_answer_that_says_so(world: World) -> None:
    with pytest.raises(RunloreError) as caught:
        use(tool("use_skill", given(world)), {"name": "nothing"})

    assert caught.value.code == "skill.not-found"


@pytest.mark.req("ROL-3")
def test_a_promoted_skill_is_worked_by_and_its_words_are_not_given(world: World) -> None:
    active(world, skill_name="deploy-app")
    seen: list[tuple[str, str, str, Event]] = []

    def fork(asked: Skill, arguments: str, call: ToolCall, stop: Event) -> ToolOutcome:
        seen.append((asked.name, arguments, call.call_id, stop))
        return ToolOutcome(output="it was deployed", source="runlore://runs/run_9")

    stop = Event()
    opening = tool("use_skill", given(world, fork=fork))

    outcome = use(opening, {"name": "deploy-app", "arguments": "to staging"}, call_id="c5", stop=stop)

    assert outcome == ToolOutcome(output="it was deployed", source="runlore://runs/run_9")
    assert seen == [("deploy-app", "to staging", "c5", stop)]


PIECES = st.lists(
    st.sampled_from(["`", "```", "````", "~~~", "\n", "text", "\t", "\u202e", "markdown"]), max_size=30
)


@given_any(body=PIECES.map("".join))
def test_no_text_of_a_skill_closes_its_own_fence(body: str) -> None:
    skill = Skill(
        skill_id=SkillId("skl_1"),
        document=SkillDocument(name="a-skill", description="Does \u202eit", body=body),
        origin=SkillOrigin.WRITTEN,
        created_at=START,
        updated_at=START,
    )

    lines = fence_skill(skill).split("\n")

    opening = next(at for at, line in enumerate(lines) if line.startswith("```"))
    fence = lines[opening].removesuffix("markdown")
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    inside = lines[opening + 1 : -1]
    assert not any(fence in line for line in inside)
    assert "\u202e" not in "\n".join(lines)
    assert "\n".join(inside).replace("\\u202e", "\u202e") == body.rstrip()
