"""A promoted skill as an Agent Skills document: what its file says, and the row of the catalogue."""

from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.skills.rollout import Definition, PromotedSkill
from runlore.domain.skills.skill_saving import AUTHOR

SOURCE, FINGERPRINT = "runlore-source-record", "runlore-fingerprint"
CONTEXT, PROFILE, BLOCKED = "runlore-context", "runlore-agent-profile", "runlore-blocked-tools"
PROVIDER, MODEL, FALLBACK = "runlore-provider", "runlore-model", "runlore-fallback-model"


def document_of(skill: PromotedSkill) -> SkillDocument:
    """The document: the same value for the same definition and source, whatever happened to the skill."""
    definition, runtime = skill.definition, skill.definition.runtime
    told = {
        SOURCE: skill.source_record_id,
        FINGERPRINT: skill.fingerprint,
        CONTEXT: runtime.context.value,
        PROFILE: runtime.agent_profile,
        BLOCKED: " ".join(runtime.blocked_tools),
        PROVIDER: runtime.provider,
        MODEL: runtime.model,
        FALLBACK: runtime.fallback_model,
    }
    return SkillDocument(
        name=definition.name,
        description=describe_definition(definition),
        body=f"{definition.instructions.strip()}\n",
        version=definition.version,
        author=AUTHOR,
        quality=Quality.PROMOTED,
        allowed_tools=" ".join(runtime.allowed_tools),
        # In the order that they are stored in: the same document is the same file.
        metadata={key: told[key] for key in sorted(told) if told[key]},
    )


def describe_definition(definition: Definition) -> str:
    """What the document says of when to use it stands in its description: it is all that agents choose by."""
    return f"{definition.description} {definition.when_to_use}".strip()
