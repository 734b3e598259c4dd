"""Provenance: whether a text comes from outside, and what it came from.

It is bound when a record is written, and everything derived inherits it until a person clears it.
"""

from collections.abc import Iterable
from typing import Self

from runlore.domain import limits
from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """`untrusted` says the text is not the user's own; `needs_review` that nobody has cleared it yet."""

    untrusted: bool = False
    needs_review: bool = False
    sources: tuple[str, ...] = ()

    @property
    def tainted(self) -> bool:
        """Whether an operator has to read it before it may reach a prompt."""
        return self.untrusted or self.needs_review

    def clear(self) -> Self:
        """What an operator's acceptance leaves: no flags, and the sources for the audit."""
        return type(self)(sources=self.sources)

    def see_again(self, seen: "Provenance") -> "Provenance":
        """What is seen of the same thing later; what was cleared stays so while nothing else is behind it."""
        is_cleared = bool(self.sources) and not self.tainted
        return self if is_cleared and {*seen.sources} <= {*self.sources} else seen


TRUSTED = Provenance()


def inherit(parents: Iterable[Provenance]) -> Provenance:
    """The provenance of something derived: tainted when any parent is, naming all their sources."""
    parents = tuple(parents)
    sources = dict.fromkeys(source for parent in parents for source in parent.sources)
    return Provenance(
        untrusted=any(parent.untrusted for parent in parents),
        needs_review=any(parent.tainted for parent in parents),
        sources=tuple(sources)[: limits.TAINT_SOURCES_MAX],
    )
