"""Where run memories are kept, outside the journal: files in the state root, or a table that daemons share.

They are derived: a memory that is lost or damaged is skipped, and its pointer goes at the next chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runlore.domain.prompts.run_memory import CaptureState, RunMemory
    from runlore.domain.run import RunId
    from runlore.domain.runs.job import Job


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A memory that is there and cannot be used, or a stranger in its place; `where` names it for a person.

    `run_id` is None where not even that can be told.
    """

    run_id: RunId | None
    where: str
    problem: str


@dataclass(frozen=True, kw_only=True)
class MemoryTerms:
    """What a memory was made under: the policy's revision, and the job of whoever holds one."""

    policy_revision: int
    job: Job | None


class RunMemories(Protocol):
    """The memories of terminal runs, one each."""

    @property
    def in_store(self) -> bool:
        """Whether they are rows of the store itself, and so come and go with its backups."""

    def put(self, memory: RunMemory, owed: MemoryTerms | None = None) -> None:
        """Keep a memory, whole or not at all, in place of an earlier one of the same run.

        It is kept only while the run's memory is `pending`, and with `owed` only while the policy is at that
        revision and the job is still its holder's; else nothing happens. A writer that was suspended
        meanwhile must not replace what another has stored, nor bring back what was pruned or forgotten.

        Files take the memory of a run that the store does not know yet too: a restore writes them first.
        """

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        """Note receipts in the memories that are there and readable. They are copies: what the store says of
        a capture counts."""

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        """The memory of a run; None when there is none."""

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]: ...

    def delete(self, run_id: RunId) -> None: ...

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """All that is kept, strangers included. Unavailable when the place itself cannot be read."""

    def fingerprint(self) -> str:
        """Something that is another one once a memory has come or gone behind the store's back; Unavailable
        when the place itself cannot be read."""

    def discard(self, found: Unreadable) -> bool:
        """Take away what cannot be used, links and folders in place of a file included; never what a link
        leads to. False where it is not there any more: gone, or a good memory has taken its place."""
