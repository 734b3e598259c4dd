"""The instructions of a run: the profile's words, where it works, the skills that fit, and what is
remembered, exactly as any agent is given it.
"""

import json
from collections.abc import Iterable, Sequence

from runlore.agents.tools.skills import fence_skill
from runlore.domain.agent.agent_profile import AgentProfile
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolSpec
from runlore.domain.prompts.projection import Section
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.skill import Skill
from runlore.domain.text.safe_text import escape
from runlore.ports.operations import FittingSkills

_SKILLS = (
    "These skills may fit the task: written procedures of this place. Open one with `use_skill` before you"
    " work by it; the person's words come first."
)


def instructions_of(
    profile: AgentProfile, *, folder: str, skills: FittingSkills | None, sections: Iterable[Section]
) -> str:
    """The whole instructions, one part below the other."""
    parts = [profile.instructions, _place(folder), *_skills(skills), *(section.text for section in sections)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def prompt_tokens(instructions: str, tools: Sequence[ToolSpec], history: Iterable[Message]) -> int:
    """What a prompt costs without the input and without what is remembered, about."""
    schemas = json.dumps(
        [[spec.name, spec.description, spec.parameters] for spec in tools], default=dict, ensure_ascii=False
    )
    return estimate(instructions) + estimate(schemas) + sum(estimate(_text(message)) for message in history)


def _place(folder: str) -> str:
    if not folder:
        return "There is no working folder: neither files nor commands can be used."
    return f"The working folder is {escape(folder)}; paths are told relative to it."


def _skills(skills: FittingSkills | None) -> list[str]:
    """Those that are always there with their words, the others by name: whoever opens one is counted."""
    if skills is None:
        return []
    always = [fence_skill(each.skill) for each in skills.items if each.match.auto_load]
    lazy = [_skill_line(each.skill) for each in skills.items if not each.match.auto_load]
    return [*always, *(["\n".join([_SKILLS, *lazy])] if lazy else [])]


def _skill_line(skill: Skill) -> str:
    return f"- {skill.name}: {escape(skill.document.description)}"


def _text(message: Message) -> str:
    if isinstance(message, ToolAnswered):
        return message.output
    calls = message.calls if isinstance(message, AssistantSaid) else ()
    return message.text + "".join(str(call.arguments) for call in calls)
