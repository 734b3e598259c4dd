"""The parts of one Runlore, as wiring picked them."""

from dataclasses import dataclass

from runlore.daemon.follower import Follower
from runlore.daemon.meaning import LearningVectors
from runlore.daemon.private_runs import PrivateRuns
from runlore.daemon.skill_library import SkillLibrary
from runlore.domain.projection import ModelFamily
from runlore.domain.run import ProcessId
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.model import Models
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Store


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What wiring picked for one Runlore."""

    store: Store
    follower: Follower
    run_follower: Follower
    run_memories: RunMemories
    clock: Clock
    ids: Ids
    state_root: str
    process_id: ProcessId
    families: tuple[ModelFamily, ...]
    private_runs: PrivateRuns
    models: Models
    meaning: LearningVectors
    library: SkillLibrary

    def close(self) -> None:
        """Save what is derived, then let the models and the store go."""
        try:
            self.models.close()
            self.library.close()
            self.meaning.close()
            self.follower.close()
            self.run_follower.close()
        finally:
            self.store.close()
