"""Callers and tokens: what a token reaches, and which names it can have."""

import pytest

from runlore.domain.access import AccessToken, Caller, Role, TokenId, check_token_name
from runlore.domain.errors import Invalid
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from tests.fakes import START

pytestmark = pytest.mark.req("OPS-5")

ACME, OTHER = Scope(ScopeKind.PROJECT, "acme"), Scope(ScopeKind.PROJECT, "other")


def test_the_roles_are_those_of_the_specification() -> None:
    assert [role.value for role in Role] == ["reader", "agent", "operator"]


@pytest.mark.parametrize("role", Role)
def test_a_caller_without_scopes_reaches_all_and_one_with_scopes_those_alone(role: Role) -> None:
    everywhere = Caller(actor="ada", role=role)
    limited = Caller(actor="ada", role=role, scopes=frozenset({ACME}))
    nowhere = Caller(actor="ada", role=role, scopes=frozenset())

    assert all(everywhere.reaches(scope) for scope in (ACME, OTHER, WORKSPACE))
    assert [limited.reaches(scope) for scope in (ACME, OTHER, WORKSPACE)] == [True, False, False]
    assert not any(nowhere.reaches(scope) for scope in (ACME, OTHER, WORKSPACE))


def test_who_calls_with_a_token_has_its_name_role_and_scopes() -> None:
    token = AccessToken(
        token_id=TokenId("tok_1"),
        name="claude",
        role=Role.AGENT,
        scopes=frozenset({ACME}),
        digest="0" * 64,
        created_at=START,
        created_by="operator",
    )

    assert token.caller() == Caller(actor="claude", role=Role.AGENT, scopes=frozenset({ACME}))


@pytest.mark.parametrize("name", ["claude-code", "Ада", "a b", "x" * 200])
def test_a_name_is_taken_without_outer_space(name: str) -> None:
    assert check_token_name(f"  {name}\n") == name


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 201, "a\0b", "a\nb", "\ud800", "a\u200bb", "\x1b[31m", "a\u202eb"]
)
def test_a_name_that_cannot_stand_in_a_table_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_token_name(name)

    assert refused.value.code == "token.name"
    assert refused.value.hint
