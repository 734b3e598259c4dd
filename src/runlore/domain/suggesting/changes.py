"""What changed between two commands, word by word."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from runlore.domain.suggesting.markdown import code_span

WORDS_MAX = 200
CHANGES_MAX = 6


def changed_words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The words that were replaced, added or taken away: what stood there, and what stands there now."""
    return tuple(_changed(before.split()[:WORDS_MAX], after.split()[:WORDS_MAX]))


def word_changes(before: str, after: str) -> str:
    """The same in words; empty where nothing differs."""
    told = []
    for old, new in changed_words(before, after)[:CHANGES_MAX]:
        if old and new:
            told.append(f"{code_span(old)} became {code_span(new)}")
        else:
            told.append(f"{code_span(new)} was added" if new else f"{code_span(old)} was taken away")
    return ", ".join(told)


def _changed(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind != "equal":
            yield " ".join(old[old_from:old_to]), " ".join(new[new_from:new_to])
