"""The tools of one run, for tests: what they are given, and a call that is checked as the loop checks it."""

from collections.abc import Mapping
from threading import Event
from typing import Any

from runlore.agents.tools.context import ToolContext
from runlore.agents.tools.toolbox import TOOLS, toolbox
from runlore.domain.agent.agent_profile import AgentProfile
from runlore.domain.agent.conversation import ToolCall
from runlore.domain.capability import Capabilities
from runlore.domain.run import Run
from runlore.domain.serialization.json_schema import breach
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill
from runlore.ports import operations as ops
from runlore.ports.runner import Tool, ToolOutcome
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import Workspace
from tests.agents.acting import LIMITS
from tests.world import World

EVERYTHING = AgentProfile(name="test", instructions="Be brief.", tools=tuple(TOOLS), limits=LIMITS)


def no_fork(skill: Skill, arguments: str, call: ToolCall, stop: Stop) -> ToolOutcome:
    """Nothing is ever forked."""
    raise AssertionError(f"{skill.name} was forked")


def given(world: World, run: Run | None = None, **fields: Any) -> ToolContext:
    """What the tools of an agent's run are given; without one, a run is opened."""
    opened = run or running(world)
    return ToolContext(
        **{
            "operations": world.agent,
            "run_id": opened.run_id,
            "session_id": opened.session_id,
            "limits": LIMITS,
            "fork": no_fork,
            **fields,
        }
    )


def running(world: World, session_id: str = "task", request: str = "Work on it", **fields: Any) -> Run:
    """A run of the agent's own session."""
    session = world.agent.create_session(ops.NewSession(session_id=SessionId(session_id), **fields))
    return world.agent.open_run(ops.NewRun(session_id=session.session_id, request=request)).run


def tool(name: str, made: ToolContext) -> Tool:
    """One tool."""
    (found,) = [each for each in toolbox(EVERYTHING, Capabilities(), made) if each.spec.name == name]
    return found


def use(
    made: Tool, arguments: Mapping[str, Any], call_id: str = "c1", stop: Stop | None = None
) -> ToolOutcome:
    """Call a tool with arguments that its schema lets pass."""
    assert breach(dict(arguments), made.spec.parameters) is None
    call = ToolCall(call_id=call_id, name=made.spec.name, arguments=dict(arguments))
    return made.call(call, stop or Event())


def workplace(world: World, workspace: Workspace, **fields: Any) -> ToolContext:
    """The same with a working folder."""
    return given(world, workspace=workspace, **fields)
