"""Which tools and skills a persona and a session leave to their agent.

A name passes when every scope lets it pass, so combining scopes can only take away. Two allow lists are
both asked, never merged into one: a merged list that came out empty could be mistaken for "no list".
"""

from collections.abc import Mapping

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue
from runlore.domain.serialization.codec import as_object
from runlore.domain.text.safe_text import matches

PATTERNS_MAX = 500

Patterns = tuple[str, ...]


@JsonForm(omit_default=("allow_tools", "deny_tools", "allow_skills", "deny_skills"))
@dataclass(frozen=True, kw_only=True)
class CapabilityScope:
    """One persona's or session's lists. None is an absent list and allows all; an empty one allows nothing.

    In a pattern `*` stands for any text, also none; every other character for itself.
    """

    allow_tools: Patterns | None = None
    deny_tools: Patterns | None = None
    allow_skills: Patterns | None = None
    deny_skills: Patterns | None = None

    @staticmethod
    def from_json(plain: object, name: str = "") -> "CapabilityScope":
        """Read the lists within their bounds, as people may have written them."""
        return capability_scope_of(as_object(plain, name))

    def allows_tool(self, name: str) -> bool:
        return _allows(name, self.allow_tools, self.deny_tools)

    def allows_skill(self, name: str) -> bool:
        return _allows(name, self.allow_skills, self.deny_skills)


UNRESTRICTED = CapabilityScope()


@dataclass(frozen=True)
class Capabilities:
    """Several scopes at once: allow lists intersect, deny lists unite."""

    scopes: tuple[CapabilityScope, ...] = ()

    def allows_tool(self, name: str) -> bool:
        return all(scope.allows_tool(name) for scope in self.scopes)

    def allows_skill(self, name: str) -> bool:
        return all(scope.allows_skill(name) for scope in self.scopes)

    def merge_for_display(self) -> CapabilityScope:
        """One scope to show to people. It allows nothing that these do not allow.

        It can allow less: what `a*` and `*b` have in common is no pattern of either. Never decide by it.
        """
        return CapabilityScope(
            allow_tools=_common([scope.allow_tools for scope in self.scopes]),
            deny_tools=_unite([scope.deny_tools for scope in self.scopes]),
            allow_skills=_common([scope.allow_skills for scope in self.scopes]),
            deny_skills=_unite([scope.deny_skills for scope in self.scopes]),
        )


def combine(persona: CapabilityScope | None, session: CapabilityScope | None) -> Capabilities:
    """What is left to an agent whose session is bound to a persona; None restricts nothing."""
    return Capabilities(tuple(scope for scope in (persona, session) if scope is not None))


def capability_scope_of(plain: Mapping[str, JsonValue]) -> CapabilityScope:
    """Read the plain form. A null or missing list is absent; unknown fields and other types are refused."""
    for name in plain:
        if name not in _FIELDS:
            raise Invalid(
                f"{name!r} is not a field of a capability scope",
                code="capability.field",
                hint=f"its fields are {', '.join(_FIELDS)}",
            )
    lists = {name: _patterns(name, plain.get(name)) for name in _FIELDS}
    return CapabilityScope(**lists)


def plain_capability_scope(scope: CapabilityScope) -> dict[str, JsonValue]:
    """The plain form, without the absent lists."""
    lists = {name: getattr(scope, name) for name in _FIELDS}
    return {name: list(patterns) for name, patterns in lists.items() if patterns is not None}


_FIELDS = ("allow_tools", "deny_tools", "allow_skills", "deny_skills")


def _allows(name: str, allow: Patterns | None, deny: Patterns | None) -> bool:
    if any(matches(pattern, name) for pattern in deny or ()):
        return False
    return allow is None or any(matches(pattern, name) for pattern in allow)


def _common(lists: list[Patterns | None]) -> Patterns | None:
    """The patterns that every present list covers whole: a star is covered only by a star."""
    present = [patterns for patterns in lists if patterns is not None]
    if not present:
        return None
    listed = dict.fromkeys(pattern for patterns in present for pattern in patterns)
    return tuple(name for name in listed if all(_covers(patterns, name) for patterns in present))


def _covers(patterns: Patterns, pattern: str) -> bool:
    return any(matches(wider, pattern) for wider in patterns)


def _unite(lists: list[Patterns | None]) -> Patterns | None:
    present = [patterns for patterns in lists if patterns is not None]
    return tuple(dict.fromkeys(name for patterns in present for name in patterns)) if present else None


def _patterns(name: str, value: JsonValue) -> Patterns | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise _bad(name, "is not a list")
    if len(value) > PATTERNS_MAX:
        raise _bad(name, f"has {len(value)} patterns, more than {PATTERNS_MAX}")
    patterns = []
    for pattern in value:
        if not isinstance(pattern, str) or not pattern.strip() or pattern != pattern.strip():
            raise _bad(name, f"holds {pattern!r:.80}, which is no name or pattern")
        if len(pattern) > limits.ID_CHARS_MAX:
            raise _bad(name, f"holds a pattern of more than {limits.ID_CHARS_MAX} characters")
        patterns.append(pattern)
    return tuple(patterns)


def _bad(name: str, problem: str) -> Invalid:
    return Invalid(
        f"{name} of the capability scope {problem}",
        code="capability.list",
        hint="give a list of names; * stands for any text, leave the list out to allow all",
    )
