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
    rules, meanings = _compile_rules()
    matched = {number for view in views for number in rules.Match(view.encode("utf-8", "replace")) or ()}
    found = (meanings[number] for number in matched)
    return {reason for reason, is_manner in found if not (is_own and is_manner)}


class _Rules(Protocol):
    def Match(self, data: bytes, /) -> list[int] | None: ...  # noqa: N802


@cache
def _compile_rules() -> tuple[_Rules, list[tuple[Suspicion, bool]]]:
    """All rules, and what each of them means: its reason, and whether it is about how the agent answers.

    They are looked for together: a rule is tried only on a text with the words that it cannot do without.
    """
    options = re2.Options()
    options.log_errors = False
    rules, meanings = re2.Filter(), list[tuple[Suspicion, bool]]()
    for reason, written in RULES.items():
        elsewhere = RULES_ELSEWHERE if reason is Suspicion.OVERRIDE else ()
        manner = MANNER_RULES.get(reason, ())
        for pattern in (*written, *elsewhere, *manner):
            rules.Add(pattern.encode(), options)
        meanings += [(reason, False)] * len((*written, *elsewhere)) + [(reason, True)] * len(manner)
    rules.Compile()
    return cast("_Rules", rules), meanings
