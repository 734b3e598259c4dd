"""Skills: which there are for this session, and the words of one of them.

A promoted skill is not read but worked by, in a child agent. Every other one is given as a text in a fence
that its own text cannot close.
"""

import re

from runlore.agents.tools.context import RunTool, ToolContext, object_schema, text_argument, text_schema
from runlore.domain import limits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.domain.skill import Skill, SkillOrigin
from runlore.domain.text.safe_text import escape
from runlore.ports.operations import UseSkill
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop

LIST, USE = "list_skills", "use_skill"
_ARGUMENTS_CHARS_MAX = 20_000
_LISTED_MAX = 200
_FENCE = re.compile(r"`{3,}")


def list_skills(given: ToolContext) -> RunTool:
    spec = ToolSpec(
        name=LIST,
        description="List the skills that you may use: written procedures for tasks of this place.",
        parameters=object_schema(
            {"words": text_schema("Only those whose name or description has all of these.", chars_max=200)},
            optional=("words",),
        ),
    )

    def call(call: ToolCall, _stop: Stop) -> ToolOutcome:
        words = text_argument(call.arguments, "words").lower().split()
        skills = [skill for skill in given.operations.session_skills(given.session_id) if _has(skill, words)]
        if not skills:
            return ToolOutcome(output="there is no such skill" if words else "there are no skills")
        lines = [f"{skill.name}: {escape(skill.told_description)}" for skill in skills[:_LISTED_MAX]]
        if len(skills) > _LISTED_MAX:
            lines.append(f"({len(skills) - _LISTED_MAX} more: ask with words)")
        return ToolOutcome(output="\n".join(lines))

    return RunTool(spec, call)


def use_skill(given: ToolContext) -> RunTool:
    """Opens a skill, which counts its use, and works by a promoted one."""
    spec = ToolSpec(
        name=USE,
        description=(
            "Use a skill by its name. Most are given to you to follow. A promoted one is worked through"
            " by another agent in a copy of the working folder, with the arguments as its task, and its"
            " final answer comes back."
        ),
        parameters=object_schema(
            {
                "name": text_schema("The skill's name.", chars_max=limits.SKILL_NAME_CHARS_MAX),
                "arguments": text_schema(
                    "What the skill should be applied to, in words.",
                    chars_min=0,
                    chars_max=_ARGUMENTS_CHARS_MAX,
                ),
            },
            optional=("arguments",),
        ),
    )

    def call(call: ToolCall, stop: Stop) -> ToolOutcome:
        """Its text, or what the child agent came to."""
        name = text_argument(call.arguments, "name")
        skill = given.operations.use_skill(UseSkill(name=name, run_id=given.run_id))
        if skill.origin is SkillOrigin.PROMOTED:
            return given.fork(skill, text_argument(call.arguments, "arguments"), call, stop)
        return ToolOutcome(output=fence_skill(skill))

    return RunTool(spec, call)


def fence_skill(skill: Skill) -> str:
    """A skill's words between two lines that none of its own can be taken for."""
    parts = skill.document.body.split("\t")
    body = "\t".join(escape(part, keep_newlines=True) for part in parts)
    longest = max((len(found[0]) for found in _FENCE.finditer(body)), default=2)
    fence = "`" * (longest + 1)
    return (
        f"The skill {skill.name}: {escape(skill.told_description)}\n"
        "Follow it where it fits; the person's words come first.\n"
        f"{fence}markdown\n{body.rstrip()}\n{fence}"
    )


def _has(skill: Skill, words: list[str]) -> bool:
    told = f"{skill.name} {skill.document.description}".lower()
    return all(word in told for word in words)
