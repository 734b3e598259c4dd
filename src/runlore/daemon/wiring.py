"""Picks the implementations: the only place that knows which store, index, models, clock and ids are used."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from runlore.config.settings import read_settings
from runlore.daemon.agents_folder import local_operator
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_on_leaving, finish_earlier_learning, finish_learning
from runlore.daemon.boot import boot, seed_skills_policy
from runlore.daemon.clock import Readings, SystemClock, TimeOrderedIds, read_clock_note
from runlore.daemon.own_runs.service import AgentService
from runlore.daemon.parts import Backlog, Parts
from runlore.daemon.private_runs import PrivateRuns
from runlore.daemon.search.embedding_backend import open_backend
from runlore.daemon.search.index_sync import IndexSync
from runlore.daemon.search.learning_vectors import LearningVectors
from runlore.daemon.search.saved_files import delete_file
from runlore.daemon.skills.library import LibraryParts, SkillLibrary
from runlore.daemon.skills.mount_notes import MountNotes
from runlore.daemon.transcript_watch import TranscriptWatch
from runlore.domain.access import Caller
from runlore.domain.errors import RunloreError, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.domain.run import ProcessId
from runlore.flow.prompt_context.feeds import RunFeed
from runlore.models.configured import ConfiguredChat, ConfiguredModels
from runlore.models.model_choice import ModelChoice
from runlore.skill_files.root import SkillRoot
from runlore.storage.open import open_run_memories, open_store
from runlore.storage.sqlite.files import prepare_state_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from runlore.config.settings import Settings
    from runlore.daemon.parts import SkillTrial
    from runlore.daemon.skills import mounting
    from runlore.domain.run import RunId
    from runlore.domain.skill import SkillDocument, SkillId
    from runlore.ports.clock import Clock
    from runlore.ports.ids import Ids
    from runlore.ports.index import Index, SkillSearch
    from runlore.ports.operations import NewInput, Operations, RunView
    from runlore.ports.store import Store
    from runlore.ports.workspaces import Workspace, Workspaces, Worktree
    from runlore.recall.dense import DenseVectors
else:
    mounting = LazyModule("runlore.daemon.skills.mounting")

INDEX_FOLDER = "index"
INDEX_NAME = os.path.join(INDEX_FOLDER, "recall.snapshot")
RUN_INDEX_NAME = os.path.join(INDEX_FOLDER, "runs.snapshot")
WORDS_NAME = os.path.join(INDEX_FOLDER, "skills.words")
# So many skills that were read anew are worth a file.
_SAVED_FROM = 8
# Where programs of agents are asked as models: nothing that happens there is learned.
PROGRAMS_FOLDER = "programs"
VECTORS_NAME = os.path.join(INDEX_FOLDER, "learnings.vectors")
# So many records a command looks at one by one in the time that numpy takes to load.
_SCANNED_CHANGES_MAX = 200
# How long a command without a daemon makes vectors for the next one, where it has matched skills.


class RecallEngine:
    """The ranking index. It brings numpy, which most commands never need, so it is loaded when asked for."""

    def empty(self) -> Index:
        from runlore.recall import RankingIndex

        return RankingIndex()

    def load(self, path: str) -> tuple[Index, str] | None:
        from runlore.recall import load_index

        return load_index(path)


class DenseEngine:
    """The vectors of learnings, which bring numpy too."""

    def empty(self, identity: str) -> DenseVectors:
        from runlore.recall import DenseVectors

        return DenseVectors(identity)

    def load(self, path: str, identity: str) -> tuple[DenseVectors, str] | None:
        from runlore.recall import load_stamped

        return load_stamped(path, identity)


class SkillIndexEngine:
    """The indexes of skills, which bring numpy too; what was read of skills is kept in a file."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def index(
        self, skills: Iterable[tuple[SkillId, SkillDocument]], before: SkillSearch | None
    ) -> SkillSearch:
        from runlore.recall.skills import SkillIndex, load_skill_words

        return SkillIndex(
            skills, before=before if isinstance(before, SkillIndex) else load_skill_words(self._path or "")
        )

    def save(self, index: SkillSearch) -> None:
        from runlore.recall.skills import SkillIndex

        if self._path and isinstance(index, SkillIndex) and index.read_anew >= _SAVED_FROM:
            index.save(self._path)

    def discard(self) -> None:
        if self._path:
            delete_file(self._path)

    def vectors(self, identity: str, path: str | None) -> DenseVectors:
        from runlore.recall.dense import DenseVectors, load_vectors

        loaded = None if path is None else load_vectors(path, identity)
        return loaded or DenseVectors(identity)


class LazyWorkspaces:
    """The working folders of agents, which most commands never need."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def confinement(self) -> str:
        return self._local().confinement

    def open(self, folder: str) -> Workspace:
        return self._local().open(folder)

    def worktree(self, folder: str, skill_name: str, call_id: str) -> AbstractContextManager[Worktree]:
        return self._local().worktree(folder, skill_name, call_id)

    def sweep(self, folder: str, *, is_alive: Callable[[str], bool]) -> tuple[str, ...]:
        return self._local().sweep(folder, is_alive=is_alive)

    def _local(self) -> Workspaces:
        from runlore.agents.workspace.worktrees import LocalWorkspaces

        agent, state_root = self._settings.agent, self._settings.state_root
        return LocalWorkspaces(
            readable=agent.readable, kept_out=[state_root], local_sockets=agent.local_sockets
        )


class OwnAgent:
    """Runlore's own agent with its tools, which most commands never need."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._parts = parts
        self._caller = caller

    def begin(self, request: NewInput) -> RunView:
        from runlore.daemon.agent.run_starter import RunStarter

        return RunStarter(self._parts, self._caller).start(request)

    def begin_trial(self, trial: SkillTrial) -> RunId:
        from runlore.daemon.agent.children import Children

        return Children(parts=self._parts, caller=self._caller).begin_trial(trial)


def open_parts(
    settings: Settings,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    scanned_changes_max: int = 0,
) -> Parts:
    """Open the store and everything around it, and do what a start has to do. A store that has not seen more
    changes than `scanned_changes_max` is searched without an index."""
    # With a database elsewhere too: exports, the saved index and notes lie here, for nobody else to read.
    prepare_state_root(settings.state_root)
    store = open_store(database_url=settings.database_url, state_root=settings.state_root)
    try:
        parts = _parts(
            settings,
            store,
            clock or system_clock(settings.state_root, store),
            ids or TimeOrderedIds(),
            scanned_changes_max=scanned_changes_max,
        )
        parts.note_clock()
        # On a full disk, or beside a long writer, the next start does it.
        with suppress(Unavailable):
            seed_skills_policy(store, settings.skills, parts.clock.now())
        boot(parts)
    except BaseException:
        store.close()
        raise
    return parts


def _parts(settings: Settings, store: Store, clock: Clock, ids: Ids, *, scanned_changes_max: int) -> Parts:
    run_memories = open_run_memories(store=store, state_root=settings.state_root)
    root = settings.state_root
    process_id = ProcessId(ids.new("proc", clock.now()))
    return Parts(
        store=store,
        follower=IndexSync(
            store,
            os.path.join(root, INDEX_NAME),
            RecallEngine(),
            scanned_changes_max=scanned_changes_max,
        ),
        run_follower=IndexSync(
            store, os.path.join(root, RUN_INDEX_NAME), RecallEngine(), RunFeed(run_memories)
        ),
        run_memories=run_memories,
        clock=clock,
        ids=ids,
        state_root=root,
        process_id=process_id,
        private_runs=PrivateRuns(),
        models=ConfiguredModels(_choice(settings), programs_folder=os.path.join(root, PROGRAMS_FOLDER)),
        meaning=LearningVectors(
            store,
            clock,
            backend=open_backend(settings.embedding.shared, clock),
            path=os.path.join(root, VECTORS_NAME),
            engine=DenseEngine(),
        ),
        library=_library(settings, store, clock, ids),
        chat=ConfiguredChat(_choice(settings)),
        workspaces=LazyWorkspaces(settings),
        agent=AgentService(store, clock, process_id),
        agent_settings=settings.agent,
        watch=TranscriptWatch(root, clock.elapsed_s),
        backlog=Backlog(),
        beginning=OwnAgent,
        bound=Application,
    )


def _choice(settings: Settings) -> ModelChoice:
    def is_set_by_now(model: str) -> bool:
        with suppress(RunloreError):
            now = read_settings(home=settings.state_root, environment=os.environ)
            wanted = model or now.agent.model or now.models.default
            return bool(ModelChoice(default=wanted, providers=now.models.providers).find())
        return False

    return ModelChoice(
        default=settings.models.default,
        providers=settings.models.providers,
        is_set_by_now=is_set_by_now,
    )


def system_clock(state_root: str, store: Store, **clocks: Callable[[], Any]) -> SystemClock:
    """The machine's clock, which knows what earlier processes have noted, or else the latest moment that
    anything is stamped with."""
    before = read_clock_note(state_root)
    if before is None:
        with store.snapshot() as snapshot:
            latest = snapshot.counters.newest_at()
        before = None if latest is None else Readings(certain_at=latest)
    return SystemClock(before, **clocks)


def _library(settings: Settings, store: Store, clock: Clock, ids: Ids) -> SkillLibrary:
    return SkillLibrary(
        LibraryParts(
            store=store,
            files=SkillRoot(settings.state_root),
            engine=SkillIndexEngine(os.path.join(settings.state_root, WORDS_NAME)),
            clock=clock,
            ids=ids,
            folder=os.path.join(settings.state_root, INDEX_FOLDER),
            backend=open_backend(settings.embedding.skills, clock),
        )
    )


@contextmanager
def open_embedded(
    settings: Settings,
    *,
    mounts_follow: bool = True,
    works_last: bool = True,
    learns_s: float | None = None,
) -> Iterator[Operations]:
    """The operations on the state root, without a daemon, under its lock.

    Nobody else does the background work then: what needs no model is done last, as far as a moment goes; not
    where it is opened again soon, by who waits between two questions (`works_last`). With `learns_s` a model
    is asked too where skills are learned: for what earlier commands left beside this one, and last for what
    this one found, for about so long.
    """
    parts = open_parts(settings, scanned_changes_max=_SCANNED_CHANGES_MAX)
    try:
        if learns_s is not None and parts.models.is_configured:
            finish_earlier_learning(parts)
        yield Application(parts, local_operator(settings.state_root))
        # Nobody follows them any more, and what they did is remembered with the rest.
        parts.agent.close()
        if not works_last:
            return
        with suppress(Unavailable):
            if learns_s and parts.models.is_configured:
                finish_learning(parts, within_s=learns_s)
            do_on_leaving(parts)
            parts.meaning.on_leaving()
            parts.library.embed_on_leaving()
            parts.library.save_on_leaving()
        if mounts_follow:
            with suppress(RunloreError):
                if MountNotes(parts.state_root).all():
                    mounting.MountFollower(parts.store, parts.state_root).catch_up()
    finally:
        parts.close()
