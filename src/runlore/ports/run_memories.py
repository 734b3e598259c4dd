"""Where run memories are kept, outside the journal: files in the state root, or a table that daemons share.

They are derived: a memory that is lost or damaged is skipped, and its pointer goes at the next chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from runlore.domain.run import RunId
from runlore.domain.run_memory import RunMemory


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A memory that is there and cannot be used, or a stranger in its place; `where` names it for a person.

    `run_id` is None where not even that can be told.
    """

    run_id: RunId | None
    where: str
    problem: str


class RunMemories(Protocol):
    """The memories of terminal runs, one each."""

    @property
    def in_store(self) -> bool:
        """Whether they are rows of the store itself, and so come and go with its backups."""
        ...

    def put(self, memory: RunMemory) -> None:
        """Keep a memory, whole or not at all, in place of an earlier one of the same run.

        Shared by several daemons, it is kept only while the run's memory is still owed (`pending`) or stored:
        a writer that was suspended meanwhile must not bring back what was pruned or forgotten.
        """
        ...

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        """The memory of a run; None when there is none."""
        ...

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]:
        """Those of the memories that are there."""
        ...

    def delete(self, run_id: RunId) -> None:
        """Delete a memory; nothing happens when there is none."""
        ...

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """All that is kept, strangers included. Unavailable when the place itself cannot be read."""
        ...

    def discard(self, found: Unreadable) -> None:
        """Take away what cannot be used, links and folders in place of a file included; never what a link
        leads to."""
        ...
