"""What a session is bound to, and what it sees."""

import pytest
from hypothesis import given

from runlore.domain import limits
from runlore.domain.capability import UNRESTRICTED, CapabilityScope
from runlore.domain.errors import Invalid
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import UNBOUND, Binding, PersonaId, SessionId, bind, visible_scopes
from tests.storage.run_values import bindings, session

pytestmark = pytest.mark.req("SCO-2")


def test_a_session_sees_itself_its_persona_its_projects_and_the_workspace_in_that_order() -> None:
    binding = Binding(persona_id=PersonaId("ada"), project_ids=("web", "api"))

    assert [str(scope) for scope in visible_scopes(SessionId("s"), binding)] == [
        *("session:s", "persona:ada", "project:web", "project:api", "workspace:default")
    ]
    assert visible_scopes(SessionId("s"), UNBOUND) == (Scope(ScopeKind.SESSION, "s"), WORKSPACE)


@given(binding=bindings)
def test_it_sees_nothing_else_and_nothing_twice(binding: Binding) -> None:
    seen = visible_scopes(SessionId("s"), binding)
    kinds = list(ScopeKind)

    assert len(seen) == len(set(seen)) == 2 + (binding.persona_id is not None) + len(binding.project_ids)
    assert [kinds.index(scope.kind) for scope in seen] == sorted(kinds.index(scope.kind) for scope in seen)
    assert (seen[0].id, seen[-1]) == ("s", WORKSPACE)
    assert session("s", binding=binding).visible_scopes() == seen


@pytest.mark.req("SCO-3")
def test_what_it_saw_is_told_with_a_past_binding() -> None:
    now = session("s", binding=Binding(project_ids=("web",)))

    assert now.visible_scopes(UNBOUND) == (now.scope, WORKSPACE)
    assert Scope(ScopeKind.PROJECT, "web") in now.visible_scopes()


def test_projects_are_linked_once_each_in_their_order() -> None:
    binding = bind(UNBOUND, persona_id=None, project_ids=("b", "a", "b"), capability_scope=UNRESTRICTED)

    assert binding.project_ids == ("b", "a")
    most = [f"p{number}" for number in range(limits.SESSION_PROJECTS_MAX)]
    assert bind(
        UNBOUND, persona_id=None, project_ids=most, capability_scope=UNRESTRICTED
    ).project_ids == tuple(most)


def test_binding_again_replaces_the_whole_binding() -> None:
    scope = CapabilityScope(deny_tools=("rm",))
    first = bind(UNBOUND, persona_id=PersonaId("ada"), project_ids=("a",), capability_scope=scope)

    assert first == Binding(persona_id=PersonaId("ada"), project_ids=("a",), capability_scope=scope)
    assert bind(first, persona_id=None, project_ids=(), capability_scope=UNRESTRICTED) == UNBOUND


@pytest.mark.parametrize("name", ["", " ", " a", "a\n", "x" * 201, "a\0", "\ud800"])
def test_ids_that_name_nothing_are_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        bind(UNBOUND, persona_id=PersonaId(name), project_ids=(), capability_scope=UNRESTRICTED)
    assert refused.value.code == "scope.id"
    with pytest.raises(Invalid) as refused:
        bind(UNBOUND, persona_id=None, project_ids=("a", name), capability_scope=UNRESTRICTED)
    assert refused.value.code == "scope.id"


def test_more_projects_than_a_session_can_have_are_refused() -> None:
    many = [f"p{number}" for number in range(limits.SESSION_PROJECTS_MAX + 1)]
    with pytest.raises(Invalid) as refused:
        bind(UNBOUND, persona_id=None, project_ids=many, capability_scope=UNRESTRICTED)

    assert refused.value.code == "session.projects"
