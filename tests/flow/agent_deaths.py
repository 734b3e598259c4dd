"""Runlore's own agent on a process that dies at any point: at a transaction, at the model, at a command."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from runlore.daemon.app import Application
from runlore.daemon.own_runs.service import AgentService
from runlore.domain.errors import Unavailable
from runlore.domain.run import ProcessId
from runlore.ports.chat import Chat, ChatListener, ChatReply, ChatTurn
from runlore.ports.stopping import Stop
from runlore.ports.store import Snapshot, Store, Transaction
from runlore.ports.workspaces import ShellResult, Workspace, Workspaces
from tests.flow.kill_points import DyingStore, Fuse
from tests.world import OPERATOR, World


class DyingChat:
    """Models that are asked by a process which dies before a turn, or behind it."""

    def __init__(self, real: Chat, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def say(self, turn: ChatTurn, listening: ChatListener, stop: Stop) -> ChatReply:
        """One turn."""
        self._fuse.at("before a turn")
        said = self._real.say(turn, listening, stop)
        self._fuse.at("behind a turn")
        return said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class DyingFolders:
    """Working folders in which the process dies before a command, or behind it."""

    def __init__(self, real: Workspaces, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def open(self, folder: str) -> Any:
        """A folder."""
        return _DyingFolder(self._real.open(folder), self._fuse)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _DyingFolder:
    def __init__(self, real: Workspace, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def run(self, command: str, **fields: Any) -> ShellResult:
        self._fuse.at("before a command")
        result = self._real.run(command, **fields)
        self._fuse.at("behind a command")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def mortal_operator(world: World, fuse: Fuse) -> Application:
    """The operator's operations on a process that can die, with threads of its own."""
    store = DyingStore(world.parts.store, fuse)
    return _operator(
        world,
        store,
        chat=DyingChat(world.parts.chat, fuse),
        workspaces=DyingFolders(world.parts.workspaces, fuse),
    )


class FullStore:
    """A store whose disk is full for a while."""

    def __init__(self, real: Store, is_full: Callable[[], bool]) -> None:
        self._real = real
        self._is_full = is_full

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction, where there is room."""
        if self._is_full():
            raise Unavailable("the disk is full", code="store.disk-full", hint="make room")
        with self._real.transaction() as tx:
            yield tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Once:
    """A disk that is full for one write, once it is told to be."""

    def __init__(self) -> None:
        self.is_armed = False

    def __call__(self) -> bool:
        """Whether it is full now."""
        was_armed, self.is_armed = self.is_armed, False
        return was_armed


class Unreadable:
    """A store that cannot be read for a few times."""

    def __init__(self, real: Store) -> None:
        self._real = real
        self._left = 0
        self.has_failed = threading.Event()

    def fails(self, times: int) -> None:
        """Fail so many times from now on."""
        self._left = times

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """What is stored, where it can be read."""
        if self._left:
            self._left -= 1
            if not self._left:
                self.has_failed.set()
            raise Unavailable("the database does not answer", code="store.busy", hint="try again")
        with self._real.snapshot() as snapshot:
            yield snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def operator_with(world: World, store: Any) -> Application:
    """The operator's operations on another store, with threads of its own."""
    return _operator(world, store)


def operator_on(world: World, is_full: Callable[[], bool]) -> Application:
    """The operator's operations, on a disk that is full while told so."""
    return _operator(world, FullStore(world.parts.store, is_full))


def _operator(world: World, store: Any, **parts: Any) -> Application:
    process_id = ProcessId(world.ids.new("proc", world.clock.now()))
    agent = AgentService(store, world.clock, process_id)
    given = replace(world.parts, store=store, agent=agent, process_id=process_id, **parts)
    return Application(given, OPERATOR)
