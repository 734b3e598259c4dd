"""A store and a model on which the process dies at one point, and stays dead: every point can be chosen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from runlore.daemon.parts import Parts
from runlore.ports.model import Models, Question, Reply
from runlore.ports.store import Snapshot, Store, Transaction
from tests.flow.dying import Died

# How many of the points a walk goes on by: here some, in the long ring all.
WALKED = pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.soak)])


class Fuse:
    """Counts the points that are passed, and burns out at one of them; never, where none is named."""

    def __init__(self, burns_at: int | None = None) -> None:
        self.passed: list[str] = []
        self._burns_at = burns_at

    def at(self, point: str) -> None:
        """Pass a point, or die there; who is dead does nothing any more."""
        self.passed.append(point)
        if self._burns_at is not None and len(self.passed) > self._burns_at:
            raise Died

    def points(self, step: int) -> list[int]:
        """Points to die at: all of those that were passed, or with a larger step so many-th of the writes.
        To die before a read is to die behind the last write."""
        return [at for at, point in enumerate(self.passed) if step == 1 or point != "before a snapshot"][
            ::step
        ]


class DyingStore:
    """A store that dies before a transaction, inside it before its commit, or right behind that."""

    def __init__(self, real: Store, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction."""
        self._fuse.at("before a transaction")
        with self._real.transaction() as tx:
            yield tx
            self._fuse.at("before a commit")
        self._fuse.at("behind a commit")

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A read transaction."""
        self._fuse.at("before a snapshot")
        with self._real.snapshot() as snapshot:
            yield snapshot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class DyingModels:
    """Models that are asked by a process which dies before the question, or behind the answer."""

    def __init__(self, real: Models, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def ask(self, question: Question) -> Reply:
        """Ask."""
        self._fuse.at("before a question")
        reply = self._real.ask(question)
        self._fuse.at("behind an answer")
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def mortal(parts: Parts, fuse: Fuse) -> Parts:
    """Parts of a process that can die."""
    return replace(
        parts,
        store=DyingStore(parts.store, fuse),
        models=DyingModels(parts.models, fuse),
    )


def dies_at(drive: Callable[[Parts], object], parts: Parts, point: int) -> bool:
    """Whether a process that is driven so dies at a point at all."""
    try:
        drive(mortal(parts, Fuse(point)))
    except Died:
        return True
    return False
