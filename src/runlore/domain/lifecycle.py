"""The one shape of a state machine: a table of legal moves, walked by tests and printed by docs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from runlore.domain.errors import Conflict
from runlore.domain.lazy import dataclass

StateT = TypeVar("StateT", bound=StrEnum)
MoveT = TypeVar("MoveT", bound=StrEnum)


@dataclass(frozen=True)
class Lifecycle(Generic[StateT, MoveT]):
    """A thing's legal moves. Every pair that is not in the table is a typed conflict, whose code begins with
    the thing's last word, or with a `prefix` of its own.

    `acts` names the moves that somebody can ask for, as they are asked for; others are told to nobody. Where
    it is left out, every move is called by its name.
    """

    thing: str
    table: Mapping[tuple[StateT, MoveT], StateT]
    prefix: str = ""
    acts: Mapping[MoveT, str] | None = None

    @property
    def code(self) -> str:
        return f"{self.prefix or self.thing.rsplit(' ', maxsplit=1)[-1]}.move"

    def allows(self, state: StateT, move: MoveT) -> bool:
        return (state, move) in self.table

    def after(self, state: StateT, move: MoveT, *, name: str) -> StateT:
        """The state that the move leads to; a conflict that names thing, state and move otherwise."""
        if not self.allows(state, move):
            acts = {each: each.value for _, each in self.table} if self.acts is None else self.acts
            legal = ", ".join(acts[m] for (s, m) in self.table if s == state and m in acts) or "nothing"
            raise Conflict(
                f"{self.thing} {name} is {state}; {acts.get(move, move)} is not possible from there",
                code=self.code,
                hint=f"from {state} these moves are possible: {legal}",
            )
        return self.table[(state, move)]
