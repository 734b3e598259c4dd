"""Run memories on which something happens in the middle of a write: a death, a full disk, another daemon."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from runlore.daemon.app import Application
from runlore.daemon.background.maintenance import BOOT
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.record import Kind
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.job import JobKind, JobState
from runlore.ports.run_memories import MemoryTerms, RunMemories, Unreadable
from tests.world import OPERATOR, World


class Died(Exception):
    """The process is gone: nothing behind this line happens."""


class Watched:
    """Run memories on which something happens before or behind a write or a deletion."""

    def __init__(self, real: RunMemories, moment: str, happens: Callable[[], None]) -> None:
        self._real = real
        self._moment = moment
        self._happens = happens

    @property
    def in_store(self) -> bool:
        """Whether they are rows of the store itself."""
        return self._real.in_store

    def put(self, memory: RunMemory, owed: MemoryTerms | None = None) -> None:
        """Keep a memory."""
        self._at("before put")
        self._real.put(memory, owed)
        self._at("behind put")

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        """Note a receipt."""
        self._real.note_captures(states)

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        """The memory of a run."""
        return self._real.get(run_id)

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]:
        """Those of the memories that are there."""
        found = self._real.get_many(run_ids)
        self._at("behind get_many")
        return found

    def delete(self, run_id: RunId) -> None:
        """Delete a memory."""
        self._at("before delete")
        self._real.delete(run_id)
        self._at("behind delete")

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """All that is kept."""
        yield from self._real.everything()
        self._at("behind everything")

    def fingerprint(self) -> str:
        """Which memories there are."""
        return self._real.fingerprint()

    def discard(self, found: Unreadable) -> bool:
        """Take away what cannot be used."""
        self._at("before discard")
        taken = self._real.discard(found)
        self._at("behind discard")
        return taken

    def _at(self, moment: str) -> None:
        if moment == self._moment:
            self._moment = ""
            self._happens()


def dies() -> None:
    """The end of the process."""
    raise Died


def watched(world: World, moment: str, happens: Callable[[], None]) -> Application:
    """The operator's operations, with something happening at a moment."""
    memories = Watched(world.parts.run_memories, moment, happens)
    return Application(replace(world.parts, run_memories=memories), OPERATOR)


def assert_remembered_once(world: World, run: Run, *, of: int = 1) -> None:
    """One memory, one pointer, one episode, nothing left to do but what capture makes of it."""
    with world.parts.store.snapshot() as snapshot:
        jobs = snapshot.jobs.list(frozenset(JobState), limit=10)
        kept = [found.run_id for found in world.parts.run_memories.everything()]
    left = {job.kind for job in jobs if job.subject != BOOT}
    assert left <= {JobKind.CAPTURE, JobKind.REVIEW}
    assert kept.count(run.run_id) == 1
    assert len(kept) == of
    assert world.pointers().count(run.run_id) == 1
    episodes = [record for record in world.stored().values() if record.kind in (Kind.RUN, Kind.FAILURE)]
    assert [episode.source.run_id for episode in episodes].count(run.run_id) == 1
    assert world.operator.get_run(run.run_id).run.memory is MemoryState.STORED
    assert world.counters()["run_memory.stored_total"] == of
