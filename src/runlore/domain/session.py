"""The session: one conversation with an agent, bound to one persona at most and linked to any projects.

What it sees follows from its bindings. A binding is an event of its journal, so what a session saw at any
moment can be told from the events.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import NewType

from runlore.domain import limits
from runlore.domain.capability import (
    UNRESTRICTED,
    CapabilityScope,
    capability_scope_of,
    plain_capability_scope,
)
from runlore.domain.errors import Invalid
from runlore.domain.guard.entry import without_secret
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind

SessionId = NewType("SessionId", str)
PersonaId = NewType("PersonaId", str)


@dataclass(frozen=True, kw_only=True)
class Binding:
    """What a session is bound to: who speaks in it, what it is about, what is left to its agent."""

    persona_id: PersonaId | None = None
    project_ids: tuple[str, ...] = ()
    capability_scope: CapabilityScope = UNRESTRICTED


UNBOUND = Binding()


@JsonForm(
    flat=("binding",),
    omit={"ended_by": None},
    derived={"stored": "stored"},
    first=("session_id", "title", "persona_id", "project_ids", "agent", "private", "working_folder"),
)
@dataclass(frozen=True, kw_only=True)
class Session:
    """One conversation. `next_number` is the number that the next event of its journal gets."""

    session_id: SessionId
    title: str = ""
    agent: str | None = None
    private: bool = False
    working_folder: str | None = None
    binding: Binding = UNBOUND
    created_by: str
    created_at: datetime
    active_at: datetime
    ended_at: datetime | None = None
    # Kept for deciding who may open it again; no answer tells it.
    ended_by: str | None = field(default=None, compare=False)
    forgotten_at: datetime | None = None
    next_number: int = 1
    checkpoint_number: int | None = None
    revision: int = 1

    @property
    def stored(self) -> bool:
        """Whether anything that is said in it is stored."""
        return not self.private

    @property
    def scope(self) -> Scope:
        return Scope(ScopeKind.SESSION, self.session_id)

    def visible_scopes(self, binding: Binding | None = None) -> tuple[Scope, ...]:
        """What the session sees, in order of priority; with a past binding, what it saw then."""
        return visible_scopes(self.session_id, binding or self.binding)


def learned_scope(session: Session, *, imported: bool) -> Scope:
    """Where what a session teaches belongs: to itself. One that was brought in has ended, and nobody sees
    what lies in its scope: to its project, and to the workspace where none is known."""
    if not imported:
        return session.scope
    projects = session.binding.project_ids
    return Scope(ScopeKind.PROJECT, projects[0]) if projects else WORKSPACE


@dataclass(frozen=True, kw_only=True)
class Persona:
    """Who an agent is when it speaks. `capture` off stores nothing of the sessions bound to it."""

    persona_id: PersonaId
    name: str = ""
    capability_scope: CapabilityScope = UNRESTRICTED
    capture: bool = True
    updated_at: datetime
    revision: int = 1


def visible_scopes(session_id: SessionId, binding: Binding) -> tuple[Scope, ...]:
    """The session, its persona, its projects, the workspace. Nothing else, through any surface."""
    persona = () if binding.persona_id is None else (Scope(ScopeKind.PERSONA, binding.persona_id),)
    projects = tuple(Scope(ScopeKind.PROJECT, project) for project in binding.project_ids)
    return (Scope(ScopeKind.SESSION, session_id), *persona, *projects, WORKSPACE)


def bind(
    binding: Binding,
    *,
    persona_id: PersonaId | None,
    project_ids: Iterable[str],
    capability_scope: CapabilityScope,
) -> Binding:
    """Another binding, its ids checked, and what is new in it free of secrets.

    Projects keep their order and stand once.
    """
    after = rebind(binding, persona_id=persona_id, project_ids=project_ids, capability_scope=capability_scope)
    if persona_id is not None and persona_id != binding.persona_id:
        without_secret("the persona's id", persona_id)
    for project in after.project_ids:
        if project not in binding.project_ids:
            without_secret("a project's id", project)
    if capability_scope != binding.capability_scope:
        refuse_secret_patterns(capability_scope)
    return after


def refuse_secret_patterns(scope: CapabilityScope) -> None:
    """Refuse a capability scope that holds a secret among its names and patterns."""
    lists = (scope.allow_tools, scope.deny_tools, scope.allow_skills, scope.deny_skills)
    for pattern in (pattern for patterns in lists for pattern in patterns or ()):
        without_secret("a pattern of the capability scope", pattern)


def rebind(
    binding: Binding,
    *,
    persona_id: PersonaId | None,
    project_ids: Iterable[str],
    capability_scope: CapabilityScope,
) -> Binding:
    """As `bind`, for what is stored already: a guard that has learned more must not make it unreadable."""
    projects = tuple(dict.fromkeys(project_ids))
    if len(projects) > limits.SESSION_PROJECTS_MAX:
        raise Invalid(
            f"a session is linked to {len(projects)} projects, more than {limits.SESSION_PROJECTS_MAX}",
            code="session.projects",
            hint="link the projects that the conversation is about",
        )
    if persona_id is not None:
        Scope(ScopeKind.PERSONA, persona_id)
    for project in projects:
        Scope(ScopeKind.PROJECT, project)
    return replace(binding, persona_id=persona_id, project_ids=projects, capability_scope=capability_scope)


def plain_binding(binding: Binding) -> dict[str, JsonValue]:
    """The plain form: the body of a `binding` event."""
    return {
        "persona_id": binding.persona_id,
        "project_ids": list(binding.project_ids),
        "capability_scope": plain_capability_scope(binding.capability_scope),
    }


def binding_of(plain: Mapping[str, JsonValue]) -> Binding:
    """Read the plain form; Invalid when it is not one. An event that was emptied binds to nothing."""
    persona_id, projects = plain.get("persona_id"), plain.get("project_ids") or ()
    scope = plain.get("capability_scope") or {}
    if (
        not set(plain) <= _BINDING_FIELDS
        or not isinstance(persona_id, str | None)
        or not isinstance(projects, list | tuple)
        or not isinstance(scope, Mapping)
    ):
        raise _no_binding()
    names = [project for project in projects if isinstance(project, str)]
    if len(names) < len(projects):
        raise _no_binding()
    return Binding(
        persona_id=None if persona_id is None else PersonaId(persona_id),
        project_ids=tuple(names),
        capability_scope=capability_scope_of(scope),
    )


_BINDING_FIELDS = frozenset({"persona_id", "project_ids", "capability_scope"})


def _no_binding() -> Invalid:
    return Invalid(
        "a binding is not a persona, a list of projects and a capability scope",
        code="session.binding",
        hint="write it as persona_id, project_ids and capability_scope",
    )
