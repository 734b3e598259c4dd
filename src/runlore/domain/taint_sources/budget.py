"""How much of one call and of one run is read: beyond it, that there is more counts as outside."""

from typing import Self

from runlore.domain.taint_sources.kinds import Brings, Outside, OutsideKind, Reading

# One is about a microsecond's work.
CALL_WORK_MAX = 262_144
RUN_WORK_MAX = 1_048_576
_COMMAND = 64
_WORD = 2
_TEXT = 4

MORE_THAN_IS_READ: Reading = (
    "more than is read",
    Outside(kind=OutsideKind.UNKNOWN_TOOL, brings=Brings.TEXT, why="it is too long to be read to its end"),
)


class ReadingBudget:
    """What may still be read. Once something did not fit, it is spent."""

    def __init__(self, work: int) -> None:
        self._all = work
        self._left = work

    @classmethod
    def of_call(cls) -> Self:
        """What one call may cost."""
        return cls(CALL_WORK_MAX)

    @classmethod
    def of_run(cls) -> Self:
        """What all calls of a run may cost."""
        return cls(RUN_WORK_MAX)

    @property
    def used(self) -> int:
        """What was spent."""
        return self._all - self._left

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is read."""
        return self._left <= 0

    def spend(self, work: int) -> bool:
        """Take so much; whether there was as much."""
        self._left -= work
        return self._left >= 0

    def spend_chars(self, chars: int) -> bool:
        """A text that is parsed."""
        return self.spend(chars)

    def spend_command(self, words: int) -> bool:
        """A command that is judged, with so many words."""
        return self.spend(_COMMAND + _WORD * words)

    def spend_text(self) -> bool:
        """A text that is looked at and not parsed."""
        return self.spend(_TEXT)
