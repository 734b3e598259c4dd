"""Looks at one text: what it hides, and what it says to whom."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol, cast

import re2

from runlore.domain.suspicion.rules import MANNER_RULES, RULES, RULES_ELSEWHERE, Suspicion
from runlore.domain.suspicion.views import decode_views, views_of
from runlore.domain.text.safe_text import hidden_characters

# Signs that reorder a line: marks, embeddings, overrides, isolates.
BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def suspicions(text: str, *, is_own: bool = False) -> tuple[str, ...]:
    """Why a person should read a text before it is used, in words; nothing where all seems well. In the
    user's own words a rule on how the agent answers is theirs to give."""
    found = {*_find_hidden(text), *_match_rules(views_of(text), is_own=is_own)}
    if any(_match_rules(decode_views(text), is_own=False)):
        found.add(Suspicion.ENCODED)
    return tuple(reason.value for reason in Suspicion if reason in found)


def hiding(text: str) -> tuple[str, ...]:
    """Those of the same reasons that are about characters which nobody sees, or which reorder others."""
    return tuple(reason.value for reason in _find_hidden(text))


def _find_hidden(text: str) -> Iterator[Suspicion]:
    hidden = hidden_characters(text)
    if hidden & BIDIRECTIONAL:
        yield Suspicion.BIDIRECTIONAL
    if hidden - BIDIRECTIONAL:
        yield Suspicion.HIDDEN


def _match_rules(views: Iterable[str], *, is_own: bool) -> set[Suspicion]:
    found: set[Suspicion] = set()
    for view in views:
        data = view.encode("utf-8", "replace")
        found.update(reason for reason in RULES if reason not in found and _has(reason, data, is_own=is_own))
    return found


def _has(reason: Suspicion, data: bytes, *, is_own: bool) -> bool:
    patterns = _compile_rules(reason) if is_own else (*_compile_rules(reason), *_manner(reason))
    return any(pattern.search(data) for pattern in patterns)


class _Pattern(Protocol):
    def search(self, data: bytes, /) -> object | None: ...


@cache
def _compile_rules(reason: Suspicion) -> tuple[_Pattern, ...]:
    return _compile((*RULES[reason], *(RULES_ELSEWHERE if reason is Suspicion.OVERRIDE else ())))


@cache
def _manner(reason: Suspicion) -> tuple[_Pattern, ...]:
    return _compile(MANNER_RULES.get(reason, ()))


def _compile(written: Iterable[str]) -> tuple[_Pattern, ...]:
    options = re2.Options()
    options.log_errors = False
    return tuple(cast("_Pattern", re2.compile(pattern.encode(), options)) for pattern in written)
