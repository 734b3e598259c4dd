"""Which tools a run has: those of its profile that its session allows and that there is something for."""

from collections.abc import Callable, Mapping

from runlore.agents.tools import ask, files, memory, shell, skills
from runlore.agents.tools.context import ToolContext
from runlore.domain.agent.agent_profile import AgentProfile
from runlore.domain.capability import Capabilities
from runlore.ports.runner import Tool

TOOLS: Mapping[str, Callable[[ToolContext], Tool | None]] = {
    shell.NAME: shell.shell,
    files.READ: files.read_file,
    files.WRITE: files.write_file,
    files.EDIT: files.edit_file,
    skills.LIST: skills.list_skills,
    skills.USE: skills.use_skill,
    memory.SEARCH: memory.memory_search,
    memory.PROPOSE: memory.propose_learning,
    memory.SCRATCH: memory.scratch,
    ask.NAME: ask.ask_user,
}


def toolbox(profile: AgentProfile, capabilities: Capabilities, given: ToolContext) -> tuple[Tool, ...]:
    """The tools, in the profile's order (SCO-4). Without a workspace those that touch files are not there
    (AGT-4), and nobody is asked by an agent that does not ask."""
    names = (name for name in profile.tools if capabilities.allows_tool(name))
    made = (TOOLS[name](given) for name in names if profile.asks or name != ask.NAME)
    return tuple(tool for tool in made if tool is not None)
