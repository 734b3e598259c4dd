"""What the file says of the skills policy: a beginning, until somebody changes the policy itself (SKL-12)."""

from typing import TYPE_CHECKING

from runlore.domain.errors import Invalid
from runlore.domain.record import JsonObject
from runlore.domain.skills_policy import skills_policy

if TYPE_CHECKING:
    from runlore.config.file import ConfigFile


def read_skills(file: "ConfigFile | None", path: str) -> JsonObject:
    """The fields that the file has, as a document of the policy; Invalid names one that is wrong."""
    if file is None:
        return {}
    document: JsonObject = file.skills.model_dump(
        exclude={"embedding"}, exclude_none=True, exclude_defaults=True
    )
    try:
        skills_policy(document)
    except Invalid as error:
        raise Invalid(
            f"[skills] in {path}: {error.sentence}", code="settings.skills", hint=error.hint
        ) from None
    return document
