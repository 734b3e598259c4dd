"""The text of a skill's file, the same for every surface: in the skill root, as it is given out, and what is
odd about one that is brought in, and about what lies beside it."""

from runlore.flow.skills.library import render_skill, text_of
from runlore.skill_files.front_matter import read_skill
from runlore.skill_files.locations import files_beside

__all__ = ["files_beside", "remarks_on", "render_skill", "text_of"]


def remarks_on(text: str) -> tuple[str, ...]:
    """What is odd about somebody's SKILL.md, in sentences; Invalid where it is none."""
    return read_skill(text).remarks
