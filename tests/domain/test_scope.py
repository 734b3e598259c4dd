"""Scopes: four kinds, one workspace, and ids that mean what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind

KINDS = ["session", "persona", "project", "workspace"]
# Everything that can be wrong with an id, and much that is right with it.
ids = (
    st.text(max_size=6)
    | st.text(alphabet=" \t\n\u00a0\u2003a:é中", max_size=5)
    | st.text(alphabet="a\0\ud800", max_size=4)
    | st.just("default")
    | st.integers(198, 202).map("x".__mul__)
)


def is_an_id(kind: str, text: str) -> bool:
    """The rule as SPEC.md has it, with what can be stored at all."""
    if kind == "workspace":
        return text == "default"
    storable = "\0" not in text and not any(0xD800 <= ord(character) <= 0xDFFF for character in text)
    return text != "" and not text[0].isspace() and not text[-1].isspace() and len(text) <= 200 and storable


@pytest.mark.req("SCO-1")
def test_there_are_four_kinds_the_narrowest_first() -> None:
    assert [kind.value for kind in ScopeKind] == KINDS


@pytest.mark.req("SCO-1")
@given(st.sampled_from(KINDS), ids)
def test_a_scope_is_read_exactly_when_its_id_is_one(kind: str, text: str) -> None:
    if is_an_id(kind, text):
        scope = Scope.parse(f"{kind}:{text}")
        assert (scope.kind.value, scope.id) == (kind, text)
        assert Scope.parse(str(scope)) == scope
    else:
        with pytest.raises(Invalid, match=r"scope's id|workspace's id") as refusal:
            Scope.parse(f"{kind}:{text}")
        assert refusal.value.code in {"scope.id", "scope.workspace-id"}
        assert refusal.value.hint


@pytest.mark.req("SCO-1")
@given(st.text().filter(lambda text: text.partition(":")[0] not in KINDS))
def test_an_unknown_kind_is_refused_and_the_known_ones_are_named(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Scope.parse(text)

    assert refusal.value.code == "scope.kind"
    assert all(kind in refusal.value.sentence for kind in KINDS)


@pytest.mark.req("SCO-1")
def test_the_workspace_needs_no_id_and_takes_no_other() -> None:
    assert Scope.parse("workspace") == Scope.parse("workspace:default") == WORKSPACE

    with pytest.raises(Invalid, match="always 'default', not 'acme'") as refusal:
        Scope.parse("workspace:acme")
    assert refusal.value.code == "scope.workspace-id"


@pytest.mark.req("SCO-1")
@pytest.mark.parametrize("kind", ["session", "persona", "project"])
def test_no_other_kind_goes_without_an_id(kind: str) -> None:
    for text in (kind, f"{kind}:", f"{kind}: "):
        with pytest.raises(Invalid) as refusal:
            Scope.parse(text)
        assert refusal.value.code == "scope.id"


@pytest.mark.req("SCO-1")
def test_an_id_may_hold_colons() -> None:
    assert Scope.parse("project:github.com:acme/x").id == "github.com:acme/x"
