"""Capability scopes: what is left when a persona and a session both restrict their agent."""

import itertools
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.capability import (
    PATTERNS_MAX,
    UNRESTRICTED,
    CapabilityScope,
    capability_scope_of,
    combine,
    plain_capability_scope,
)
from runlore.domain.errors import Invalid
from runlore.domain.record import JsonValue

NAMES = ["", *("".join(letters) for size in (1, 2, 3, 4) for letters in itertools.product("ab", repeat=size))]
lists = st.none() | st.lists(st.text(alphabet="ab*", min_size=1, max_size=4), max_size=3).map(tuple)
scopes = st.builds(
    CapabilityScope, allow_tools=lists, deny_tools=lists, allow_skills=lists, deny_skills=lists
)


@cache
def names_of(pattern: str) -> frozenset[str]:
    """Brute force: every name that a pattern stands for, by writing out its stars."""
    if "*" not in pattern:
        return frozenset({pattern})
    written = (pattern.replace("*", filling, 1) for filling in NAMES)
    return frozenset().union(*(names_of(text) for text in written if len(text.replace("*", "")) <= 4))


def names_in(patterns: tuple[str, ...] | None, absent: frozenset[str]) -> frozenset[str]:
    return absent if patterns is None else frozenset().union(*map(names_of, patterns))


EVERY = frozenset(NAMES)
NONE: frozenset[str] = frozenset()


@pytest.mark.req("SCO-4")
@given(scopes, scopes)
def test_allow_lists_intersect_and_deny_lists_unite(
    persona: CapabilityScope, session: CapabilityScope
) -> None:
    tools = names_in(persona.allow_tools, EVERY) & names_in(session.allow_tools, EVERY)
    tools -= names_in(persona.deny_tools, NONE) | names_in(session.deny_tools, NONE)
    skills = names_in(persona.allow_skills, EVERY) & names_in(session.allow_skills, EVERY)
    skills -= names_in(persona.deny_skills, NONE) | names_in(session.deny_skills, NONE)

    both = combine(persona, session)

    assert {name for name in NAMES if both.allows_tool(name)} == tools & EVERY
    assert {name for name in NAMES if both.allows_skill(name)} == skills & EVERY


@pytest.mark.req("SCO-4")
def test_every_short_pattern_stands_for_exactly_its_names() -> None:
    patterns = (
        "".join(letters) for size in (1, 2, 3, 4) for letters in itertools.product("ab*", repeat=size)
    )
    for pattern in patterns:
        scope = CapabilityScope(allow_tools=(pattern,))
        assert {name for name in NAMES if scope.allows_tool(name)} == names_of(pattern) & EVERY, pattern


@pytest.mark.req("SCO-4")
@given(scopes, scopes)
def test_what_is_shown_allows_nothing_more(persona: CapabilityScope, session: CapabilityScope) -> None:
    both = combine(persona, session)
    shown = both.merge_for_display()
    assert all(both.allows_tool(name) for name in NAMES if shown.allows_tool(name))
    assert all(both.allows_skill(name) for name in NAMES if shown.allows_skill(name))


@pytest.mark.req("SCO-4")
@given(scopes)
def test_one_scope_alone_is_shown_as_it_decides(scope: CapabilityScope) -> None:
    shown = combine(scope, None).merge_for_display()
    assert [shown.allows_tool(name) for name in NAMES] == [scope.allows_tool(name) for name in NAMES]


@pytest.mark.req("SCO-4")
def test_two_disjoint_allow_lists_leave_nothing() -> None:
    both = combine(CapabilityScope(allow_tools=("read",)), CapabilityScope(allow_tools=("write",)))
    assert not both.allows_tool("read")
    assert not both.allows_tool("write")
    assert both.merge_for_display().allow_tools == ()
    assert both.merge_for_display().allow_skills is None


@pytest.mark.req("SCO-4")
def test_an_absent_list_allows_all_and_an_empty_one_nothing() -> None:
    assert combine(None, None).allows_tool("anything")
    assert UNRESTRICTED.allows_skill("anything")
    assert not CapabilityScope(allow_tools=()).allows_tool("anything")
    assert CapabilityScope(allow_tools=()).allows_skill("anything")


@pytest.mark.req("SCO-4")
def test_deny_wins_over_allow() -> None:
    scope = CapabilityScope(allow_tools=("*",), deny_tools=("shell*",))
    assert scope.allows_tool("read")
    assert not scope.allows_tool("shell.run")


@pytest.mark.req("SCO-4")
@pytest.mark.parametrize("name", ["axb", "a.b", "a", "ab", "abc", "[ab]", "a+b", "(a", "a\nb"])
def test_only_the_star_is_special(name: str) -> None:
    for pattern in ("a.b", "[ab]", "a?b", "a+b", "(a", "a\nb", "a|b", "^a", "\\a"):
        assert CapabilityScope(allow_tools=(pattern,)).allows_tool(name) == (pattern == name)


@pytest.mark.req("SCO-4")
def test_a_hostile_pattern_is_decided_at_once() -> None:
    scope = CapabilityScope(allow_tools=("*a" * 100 + "b",))
    assert not scope.allows_tool("a" * 100_000)


@pytest.mark.req("SCO-4")
def test_shown_lists_keep_the_narrower_pattern() -> None:
    both = combine(
        CapabilityScope(allow_skills=("deploy-*", "lint"), deny_tools=("rm",)),
        CapabilityScope(allow_skills=("*", "lint"), deny_tools=("rm", "dd")),
    )
    assert both.merge_for_display() == CapabilityScope(
        allow_skills=("deploy-*", "lint"), deny_tools=("rm", "dd")
    )


@pytest.mark.req("SCO-4")
@given(scopes)
def test_the_plain_form_reads_back(scope: CapabilityScope) -> None:
    assert capability_scope_of(plain_capability_scope(scope)) == scope


@pytest.mark.req("SCO-4")
def test_null_is_an_absent_list() -> None:
    assert capability_scope_of({"allow_tools": None}) == UNRESTRICTED
    assert plain_capability_scope(UNRESTRICTED) == {}


@pytest.mark.req("SCO-4")
@pytest.mark.parametrize(
    ("plain", "code", "named"),
    [
        ({"allow_tool": ["x"]}, "capability.field", "allow_tool"),
        ({"allow_tools": "read"}, "capability.list", "allow_tools"),
        ({"deny_tools": {"read": True}}, "capability.list", "deny_tools"),
        ({"allow_skills": [1]}, "capability.list", "allow_skills"),
        ({"deny_skills": [" "]}, "capability.list", "deny_skills"),
        ({"deny_skills": ["x "]}, "capability.list", "deny_skills"),
        ({"allow_tools": ["x" * (limits.ID_CHARS_MAX + 1)]}, "capability.list", "allow_tools"),
        ({"allow_tools": ["x"] * (PATTERNS_MAX + 1)}, "capability.list", "allow_tools"),
    ],
)
def test_a_wrong_plain_form_is_refused_by_name(plain: dict[str, JsonValue], code: str, named: str) -> None:
    with pytest.raises(Invalid, match=named) as refusal:
        capability_scope_of(plain)
    assert refusal.value.code == code
    assert refusal.value.hint
