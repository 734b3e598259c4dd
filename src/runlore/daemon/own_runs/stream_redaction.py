"""A text that comes in pieces, told without secrets (LRN-8) also where one is cut in two by the pieces.

The end of what has come is held back until more of it has: so much, or so long, and no longer. What was told
is kept for a while beside what comes, for a secret is known by the name before it.
"""

import time
from collections.abc import Callable

from runlore.domain.guard import SecretFinding, secret_spans

HELD_CHARS = 160
# Looked at only where so much more has come: most pieces are a word.
_DUE_CHARS = 2 * HELD_CHARS
# A word goes on for as long as this at most before it is told all the same.
_WORD_CHARS_MAX = 4_096
# How old the held end may become before its whole words are told, and how long a silence ends it.
AGE_S, SILENCE_S = 0.3, 1.0
_CONTEXT_CHARS = 512
# An armoured key is long, and is told by its first line.
_ARMOUR, _ARMOUR_CHARS_MAX = "-----BEGIN", 8_192


class StreamRedactor:
    """One text, from its first piece on."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        # What has come and is still looked at, how much of it was told, and how much of that as a marker.
        self._known = ""
        self._told = 0
        self._marked = 0
        self._held_since = 0.0
        self._latest_at = 0.0

    @property
    def is_held(self) -> bool:
        return len(self._known) > self._told

    def add(self, piece: str) -> str:
        """Take a piece; what can be told by now."""
        now = self._elapsed()
        if not self.is_held:
            self._held_since = now
        self._latest_at = now
        self._known += piece
        if len(self._known) - self._told > _DUE_CHARS:
            return self._tell(self._boundary(len(self._known) - HELD_CHARS))
        return self.due()

    def due(self) -> str:
        """What has waited long enough."""
        now = self._elapsed()
        if not self.is_held:
            return ""
        if now - self._latest_at >= SILENCE_S:
            return self._tell(len(self._known))
        if now - self._held_since >= AGE_S:
            return self._tell(self._boundary(len(self._known)))
        return ""

    def rest(self) -> str:
        """All that is left; what comes after it is another text."""
        told = self._tell(len(self._known))
        self._known, self._told, self._marked = "", 0, 0
        return told

    def _boundary(self, end: int) -> int:
        """The end of the last whole word before a place; in the middle of a word that has no end."""
        place = max(self._known.rfind(space, self._told, end) for space in " \n\t") + 1
        if place <= 0:
            place = self._told
        is_endless = len(self._known) - place > _WORD_CHARS_MAX
        return max(place, end - HELD_CHARS) if is_endless else place

    def _tell(self, end: int) -> str:
        """The text up to a place without the secrets in it. One that reaches beyond it is told of whole."""
        if end <= self._told:
            return ""
        parts: list[str] = []
        at = self._told
        for span in secret_spans(self._known):
            if span.end <= at:
                continue
            if span.start >= end:
                break
            parts.append(self._known[at : max(at, span.start)])
            # What goes on where a marker was told already needs no second one.
            if span.start >= self._marked:
                parts.append(_marker(span))
            at = self._marked = span.end
        parts.append(self._known[at : max(at, end)])
        self._told = max(at, end)
        self._held_since = self._latest_at
        self._forget()
        return "".join(parts)

    def _forget(self) -> None:
        """Let go of what nothing that comes can belong to."""
        armour = self._known.rfind(_ARMOUR, max(0, self._told - _ARMOUR_CHARS_MAX), self._told)
        gone = max(0, self._told - _CONTEXT_CHARS if armour < 0 else min(armour, self._told - _CONTEXT_CHARS))
        self._known = self._known[gone:]
        self._told -= gone
        self._marked = max(0, self._marked - gone)


def _marker(span: SecretFinding) -> str:
    return f"<redacted:{span.rule}>"
