"""The text of a skill's file, the same for every surface: in the skill root, as it is given out, and what is
odd about one that is brought in, about the one in the root, and about what lies beside it."""

from runlore.domain.errors import RunloreError
from runlore.flow.skills.library import given_text, text_of
from runlore.skill_files.beside import files_beside
from runlore.skill_files.reading import read_skill
from runlore.skill_files.root import SkillRoot

__all__ = ["files_beside", "given_text", "refusal_of", "remarks_on", "text_of"]


def remarks_on(text: str) -> tuple[str, ...]:
    """What is odd about somebody's SKILL.md, in sentences; Invalid where it is none."""
    return read_skill(text).remarks


def refusal_of(state_root: str, name: str) -> str:
    """Why the file of a skill in the skill root is not read; empty where it is, or where there is none."""
    try:
        found = SkillRoot(state_root).find(name)
    except RunloreError as error:
        return error.sentence
    return "" if found is None else found.problem
