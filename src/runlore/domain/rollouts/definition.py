"""What may be promoted (ROL-1): the learning that it comes from, and the words that it gets.

A definition is checked whole before anything is stored. What is wrong with it is Invalid; what it says
against a rule is Refused. No message repeats a text that may be a secret.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.guard.entry import without_secret
from runlore.domain.lazy import LazyModule
from runlore.domain.record import Kind, PublishTier, Record, State
from runlore.domain.scope import ScopeKind
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.skills.rollout import (
    VERIFICATION_PROFILE,
    Definition,
    PromotedSkill,
    Runtime,
    SkillContext,
)
from runlore.domain.skills.skill_saving import AUTHOR
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.taint import Provenance
from runlore.domain.text.safe_text import hidden_characters, is_storable

if TYPE_CHECKING:
    from runlore.domain import suspicion
else:
    suspicion = LazyModule("runlore.domain.suspicion")

DEFAULT_DESCRIPTION = "Works through a reviewed procedure of this workspace in a child agent of its own."
_TOOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}\Z")
_SOURCES_TOLD = 5


def check_source(record: Record, now: datetime) -> None:
    """Raise Refused where a learning cannot be promoted: `promoted.kind`, `.scope`, `.state`, `.expired`,
    `.tier`."""
    name = f"learning {record.record_id}"
    if record.kind is not Kind.PROCEDURE:
        raise Refused(
            f"{name} is a {record.kind}; only a procedure can be promoted",
            code="promoted.kind",
            hint="publish what is to be done as a learning of kind procedure, and promote that",
        )
    if record.scope.kind is not ScopeKind.WORKSPACE:
        raise Refused(
            f"{name} belongs to {record.scope.kind} scope; only one of the workspace can be promoted",
            code="promoted.scope",
            hint="publish it for the workspace: a skill is seen in all of it",
        )
    if record.state is not State.ACTIVE or record.superseded_by is not None:
        raise Refused(
            f"{name} is {record.state}; only an active one can be promoted",
            code="promoted.state",
            hint="confirm it first, or promote the one that replaces it",
        )
    if record.is_expired(now):
        raise Refused(
            f"{name} has expired",
            code="promoted.expired",
            hint="publish it again without an end, or with a later one",
        )
    if record.publish_tier is not PublishTier.ACTIVE:
        raise Refused(
            f"{name} is published in the {record.publish_tier or 'missing'} tier; the active one is needed",
            code="promoted.tier",
            hint="raise it to the active tier first",
        )


def accept_provenance(record: Record, *, accept_untrusted: bool) -> Provenance:
    """What a promoted skill inherits: cleared by the operator's word; Refused (`promoted.tainted`) without it
    where the learning is tainted."""
    provenance = record.provenance
    if provenance.tainted and not accept_untrusted:
        named = ", ".join(provenance.sources[:_SOURCES_TOLD]) or "an unnamed source"
        raise Refused(
            f"learning {record.record_id} has words from outside in it: {named}",
            code="promoted.tainted",
            hint="read it, and where it is sound say so with --accept-untrusted",
        )
    return provenance.clear()


def normalize_definition(definition: Definition) -> Definition:
    """A definition as it is kept: trimmed, with one kind of line end, and defaults for what is blank."""
    runtime = definition.runtime
    return Definition(
        name=definition.name,
        description=definition.description.strip() or DEFAULT_DESCRIPTION,
        instructions=definition.instructions.replace("\r\n", "\n").strip(),
        when_to_use=definition.when_to_use.strip(),
        version=definition.version.strip() or Definition.version,
        runtime=replace(
            runtime,
            agent_profile=runtime.agent_profile.strip() or VERIFICATION_PROFILE,
            allowed_tools=tuple(dict.fromkeys(tool.strip() for tool in runtime.allowed_tools)),
            blocked_tools=tuple(dict.fromkeys(tool.strip() for tool in runtime.blocked_tools)),
            provider=runtime.provider.strip(),
            model=runtime.model.strip(),
            fallback_model=runtime.fallback_model.strip(),
        ),
    )


def check_definition(definition: Definition, *, accept_suspicious: bool = False) -> None:
    """Raise what is wrong with a definition that `normalize_definition` has made.

    Text that seems to speak to the agent against its rules is Refused (`promoted.suspicious`) unless a
    person has read and accepted it; characters that nobody sees (`promoted.hidden`) and secrets
    (`guard.secret`) always are.
    """
    if not is_valid_name(definition.name) or is_reserved(definition.name):
        raise Invalid(
            f"a skill cannot be called {definition.name!r:.80}",
            code="promoted.name",
            hint="use 1 to 64 small letters a-z, digits and single hyphens between them",
        )
    if not definition.instructions:
        raise Invalid(
            f"promoted skill {definition.name} has no instructions",
            code="promoted.instructions",
            hint="say step by step what is to be done",
        )
    _check_runtime(definition.runtime)
    texts = tuple(_texts(definition))
    for what, text, chars_max, is_one_line in texts:
        _check_text(what, text, chars_max, is_one_line=is_one_line)
    if len(describe_definition(definition)) > limits.SKILL_DESCRIPTION_CHARS_MAX:
        raise _too_long("its description with when to use it", limits.SKILL_DESCRIPTION_CHARS_MAX)
    # The short ones by themselves too: what stands before one might make it look harmless.
    for text in (*(text for _, text, _, is_one_line in texts if is_one_line), _join_texts(texts)):
        without_secret("the promoted skill", text)
    if definition.runtime.provider and not definition.runtime.model:
        raise Invalid(
            "a provider is named, and no model of it",
            code="promoted.model",
            hint="name the model too, or leave the provider out",
        )
    if not accept_suspicious:
        _check_suspicion(definition, [text for _, text, _, _ in texts])


def check_rollout_reason(reason: str) -> str:
    """A reason as it is kept, trimmed; Refused where it looks like it holds a secret (ROL-7)."""
    text = reason.strip()
    _check_text("the reason", text, limits.REASON_CHARS_MAX, is_one_line=False)
    return without_secret("the reason", text)


def _check_runtime(runtime: Runtime) -> None:
    if runtime.context is not SkillContext.FORK:
        raise Refused(
            "a promoted skill runs in a child agent, never in the conversation that uses it",
            code="promoted.inline",
            hint="leave the context out, or say fork",
        )
    if runtime.agent_profile != VERIFICATION_PROFILE:
        raise Refused(
            f"a promoted skill runs with the profile {VERIFICATION_PROFILE}, and no other",
            code="promoted.profile",
            hint=f"leave the profile out, or say {VERIFICATION_PROFILE}",
        )
    tools = (*runtime.allowed_tools, *runtime.blocked_tools)
    if any(_TOOL.match(tool) is None for tool in tools):
        raise Invalid(
            "the name of a tool has letters, digits and _ . : / - alone, 128 at most",
            code="promoted.tools",
            hint="name each tool as the agent's list of tools does",
        )
    if max(len(runtime.allowed_tools), len(runtime.blocked_tools)) > limits.PROMOTED_TOOLS_MAX:
        raise Invalid(
            f"more than {limits.PROMOTED_TOOLS_MAX} tools are named",
            code="promoted.tools",
            hint="name those alone that the procedure needs",
        )
    if both := sorted(set(runtime.allowed_tools) & set(runtime.blocked_tools)):
        raise Invalid(
            f"the tool {both[0]} is both allowed and blocked",
            code="promoted.tools",
            hint="name it in one of the lists",
        )


def _texts(definition: Definition) -> Iterator[tuple[str, str, int, bool]]:
    """Every text with what it is called, how long it may be, and whether it is one line."""
    runtime = definition.runtime
    yield "its name", definition.name, limits.SKILL_NAME_CHARS_MAX, True
    yield "its description", definition.description, limits.SKILL_DESCRIPTION_CHARS_MAX, True
    yield "its words on when to use it", definition.when_to_use, limits.SKILL_DESCRIPTION_CHARS_MAX, True
    yield "its version", definition.version, limits.MODEL_CHARS_MAX, True
    # The document ends it with a line break.
    yield "its instructions", definition.instructions, limits.SKILL_BODY_CHARS_MAX - 1, False
    yield "its list of tools", " ".join(runtime.allowed_tools), limits.SKILL_FIELD_CHARS_MAX, True
    yield "its list of blocked tools", " ".join(runtime.blocked_tools), limits.SKILL_FIELD_CHARS_MAX, True
    yield "its provider", runtime.provider, limits.MODEL_CHARS_MAX, True
    yield "its model", runtime.model, limits.MODEL_CHARS_MAX, True
    yield "its fallback model", runtime.fallback_model, limits.MODEL_CHARS_MAX, True


def _check_text(what: str, text: str, chars_max: int, *, is_one_line: bool) -> None:
    if len(text) > chars_max:
        raise _too_long(what, chars_max)
    if not is_storable(text):
        raise Invalid(
            f"there is a character in {what} that no file or database can keep",
            code="promoted.text",
            hint="remove NUL characters and halves of surrogate pairs",
        )
    if is_one_line and len(text.splitlines()) > 1:
        raise Invalid(f"{what} may have one line alone", code="promoted.text", hint="say it in one line")
    if hidden_characters(text):
        raise Refused(
            f"there are characters in {what} that nobody sees, or that reorder others",
            code="promoted.hidden",
            hint="write it anew without them",
        )


def _join_texts(texts: tuple[tuple[str, str, int, bool], ...]) -> str:
    return "\n".join(text for _, text, _, _ in texts)


def _check_suspicion(definition: Definition, texts: list[str]) -> None:
    found = dict.fromkeys(reason for text in texts for reason in suspicion.suspicions(text))
    if found:
        raise Refused(
            f"promoted skill {definition.name} has text that a person should read first: {', '.join(found)}",
            code="promoted.suspicious",
            hint="read it, and where it is sound say so with --accept-untrusted",
        )


def _too_long(what: str, chars_max: int) -> Invalid:
    return Invalid(
        f"there are more than {chars_max:,} characters in {what}",
        code="promoted.size",
        hint="make it shorter",
    )


SOURCE, FINGERPRINT = "runlore-source-record", "runlore-fingerprint"
CONTEXT, PROFILE, BLOCKED = "runlore-context", "runlore-agent-profile", "runlore-blocked-tools"
PROVIDER, MODEL, FALLBACK = "runlore-provider", "runlore-model", "runlore-fallback-model"


def document_of(skill: PromotedSkill) -> SkillDocument:
    """The document: the same value for the same definition and source, whatever happened to the skill."""
    definition, runtime = skill.definition, skill.definition.runtime
    fields = {
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
        metadata={key: fields[key] for key in sorted(fields) if fields[key]},
    )


def describe_definition(definition: Definition) -> str:
    """What the document says of when to use it stands in its description: it is all that agents choose by."""
    return f"{definition.description} {definition.when_to_use}".strip()
