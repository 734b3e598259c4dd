"""Messages that were typed ahead in Claude Code, while the agent worked.

One that leaves the queue for the turn at work stands in no other line of many transcripts; in others a later
line repeats it. Each is told once.
"""

from typing import Final

from runlore.agents.transcripts.assembly import LinePosition

# So many messages are known at once.
_MESSAGES_MAX: Final = 100


class PromptQueue:
    """The messages that wait, each with the line where it was typed, and those that were told from here."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, LinePosition]] = []
        self._told: list[str] = []

    def enqueue(self, text: str, place: LinePosition) -> None:
        self._waiting = [*self._waiting, (text, place)][-_MESSAGES_MAX:]

    def clear(self) -> None:
        self._waiting = []

    def take(self, text: str) -> tuple[str, LinePosition] | None:
        """The message with these words, else the first that waits."""
        if not self._waiting:
            return None
        taken = next((each for each in self._waiting if each[0] == text), self._waiting[0])
        self._waiting.remove(taken)
        return taken

    def note_told(self, text: str) -> None:
        self._told = [*self._told, text][-_MESSAGES_MAX:]

    def is_told(self, text: str) -> bool:
        """Whether these words of a later line were told before; each counts once."""
        self._waiting = [each for each in self._waiting if each[0] != text]
        if text not in self._told:
            return False
        self._told.remove(text)
        return True
