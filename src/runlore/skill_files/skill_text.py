"""The text of a SKILL.md, read leniently into its document."""

from runlore.domain.errors import Invalid
from runlore.domain.skill_document import document_from_front
from runlore.ports.skill_files import ReadSkill
from runlore.skill_files.front_matter import front_matter_of


def read_skill(text: str, *, folder: str = "") -> ReadSkill:
    """Read a skill of a folder; Invalid (`skill.document`, `skill.size`) where it is none."""
    front = front_matter_of(text)
    try:
        parsed = document_from_front(front.fields, front.body, folder)
    except Invalid as error:
        if not front.problem:
            raise
        # What is missing may stand in the line that is broken.
        sentence = f"{error.sentence}, and its front matter is not YAML: {front.problem}"
        raise Invalid(
            sentence, code="skill.document", hint="mend that line, or put its text into quotes"
        ) from None
    return ReadSkill(
        document=parsed.document,
        text=text,
        remarks=(*front.remarks, *parsed.remarks),
        provenance=parsed.provenance,
    )
