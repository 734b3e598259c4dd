"""The parts of one Runlore, as wiring picked them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from runlore.daemon.calls.idempotency import Call
from runlore.daemon.clock import SystemClock, write_clock_note
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.session import Session
from runlore.ports.model import ModelFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from runlore.config import model_families
    from runlore.config.settings import AgentSettings
    from runlore.daemon.own_runs.service import AgentService
    from runlore.daemon.private_runs import PrivateRuns
    from runlore.daemon.search.index_sync import IndexSync
    from runlore.daemon.search.learning_vectors import LearningVectors
    from runlore.daemon.skills.library import SkillLibrary
    from runlore.daemon.transcript_watch import TranscriptWatch
    from runlore.domain.access import Caller
    from runlore.domain.prompts.projection import ModelFamily
    from runlore.domain.run import ProcessId, RunId
    from runlore.ports.chat import Chat
    from runlore.ports.clock import Clock
    from runlore.ports.ids import Ids
    from runlore.ports.model import Models
    from runlore.ports.operations import NewInput, Operations, RunView
    from runlore.ports.run_memories import RunMemories
    from runlore.ports.store import Store
    from runlore.ports.workspaces import Workspaces
else:
    model_families = LazyModule("runlore.config.model_families")


@dataclass(frozen=True, kw_only=True)
class SkillTrial:
    """A promoted skill to be tried once: with which words, by which call, where and for whom.

    It is for a `session`, or in `own`, one that is made for it.
    """

    name: str
    arguments: str
    call: Call
    folder: str
    session: Session | None = None
    own: Session | None = None


class Beginning(Protocol):
    """Begins runs that this process works, for one caller."""

    def begin(self, request: NewInput) -> RunView:
        """Open the run of an input, and begin to work it."""

    def begin_trial(self, trial: SkillTrial) -> RunId:
        """Begin a trial of a promoted skill; the run that executes it."""


class Backlog:
    """Runs that wait to be looked at. While they become more, whoever ends one waits a little, so that no
    review starves; what was there before, such as an import, makes nobody wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._least: int | None = None
        self._is_growing = False

    def note(self, waiting: int | None) -> None:
        """How many wait behind a step of the work; None where it keeps up."""
        with self._changed:
            known = [number for number in (self._least, waiting) if number is not None]
            self._least = min(known) if waiting is not None else None
            self._is_growing = waiting is not None and waiting > min(known) + limits.BACKLOG_GROWTH_MAX
            self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_growing, limits.BACKLOG_WAIT_S)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What wiring picked for one Runlore."""

    store: Store
    follower: IndexSync
    run_follower: IndexSync
    run_memories: RunMemories
    clock: Clock
    ids: Ids
    state_root: str
    process_id: ProcessId
    private_runs: PrivateRuns
    models: Models
    meaning: LearningVectors
    library: SkillLibrary
    chat: Chat
    workspaces: Workspaces
    agent: AgentService
    agent_settings: AgentSettings
    watch: TranscriptWatch
    backlog: Backlog
    beginning: Callable[[Parts, Caller], Beginning]
    bound: Callable[[Parts, Caller], Operations]

    @property
    def is_alone(self) -> bool:
        """Whether nobody else shares the database: the embedded one has no other writer under its lock."""
        return self.store.description().get("engine") == "sqlite"

    @property
    def families(self) -> tuple[ModelFamily, ...]:
        return model_families.load_families()

    def operations(self, caller: Caller) -> Operations:
        return self.bound(self, caller)

    @property
    def followers(self) -> tuple[IndexSync, IndexSync]:
        """The indexes that searches wait for."""
        return self.follower, self.run_follower

    def note_clock(self) -> None:
        """Note for the next process what this one has read of the machine's clock, if it reads that one."""
        if isinstance(self.clock, SystemClock):
            write_clock_note(self.state_root, self.clock.readings())

    def close(self) -> None:
        """End the runs of this process, save what is derived, then let the models and the store go."""
        try:
            self.agent.close()
            self.chat.close()
            self.models.close()
            self.library.close()
            self.meaning.close()
            for follower in self.followers:
                follower.close()
        finally:
            self.store.close()


def resolved_model(parts: Parts, named: str) -> str:
    """The whole name of a model. Invalid where the caller names one that is not set up here; ModelFailure
    where the configured one cannot be asked, or there is no key."""
    try:
        return parts.chat.resolve(named or parts.agent_settings.model)
    except ModelFailure as failure:
        if not named or failure.code != "model.unknown":
            raise
        raise Invalid(failure.sentence, code="model.unknown", hint=failure.hint) from None
