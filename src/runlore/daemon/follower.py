"""The ranking index kept up with the store: loaded, followed, saved, and rebuilt when in doubt."""

import contextlib
import os
import threading
from dataclasses import replace
from datetime import datetime
from typing import Protocol, cast

import orjson

from runlore.domain.errors import Corrupt, Unavailable
from runlore.domain.ranking import RankFilter
from runlore.flow.project.search import Found, catch_up, search
from runlore.ports.index import Index
from runlore.ports.store import Position, Records, Store

# Applying this many records costs about as much as writing a small snapshot.
SAVE_AFTER_RECORDS = 256


class IndexEngine(Protocol):
    """Where indexes come from. Asked at the first search, not at the start."""

    def empty(self) -> Index:
        """A new index without records."""
        ...

    def load(self, path: str) -> tuple[Index, str] | None:
        """A saved index with its stamp; None when there is none that can be used."""
        ...


class Follower:
    """One index on one store. The index and the snapshot that answers come from never differ."""

    def __init__(self, store: Store, path: str, engine: IndexEngine) -> None:
        self._store = store
        self._path = path
        self._engine = engine
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._position: Position | None = None
        self._unsaved = 0

    def search(
        self, query: str, *, where: RankFilter, limit: int, as_of: datetime | None
    ) -> tuple[Found, ...]:
        """Rank a query over what is stored at this moment."""
        with self._lock, self._store.snapshot() as snapshot:
            index = self._caught_up(snapshot.records)
            try:
                return search(index, snapshot.records, query, where=where, limit=limit, as_of=as_of)
            except Corrupt:
                # The index is derived: what it says is never believed over the store.
                index = self._rebuilt(snapshot.records)
                return search(index, snapshot.records, query, where=where, limit=limit, as_of=as_of)

    def catch_up(self) -> None:
        """Tell the index in memory, if there is one, what has changed; so no forgotten word stays in it."""
        with self._lock:
            if self._index is not None:
                with self._store.snapshot() as snapshot:
                    self._caught_up(snapshot.records)

    def discard_snapshot(self) -> None:
        """Delete what is saved of the index, before content that it was made from is erased."""
        with self._lock:
            self._discard()

    def close(self) -> None:
        """Save when enough has changed to be worth it."""
        with self._lock:
            if self._index is None or self._position is None or self._unsaved < SAVE_AFTER_RECORDS:
                return
            # Where it cannot be saved it is rebuilt: nobody's answer was wrong, and no command fails for it.
            with contextlib.suppress(Unavailable, OSError):
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                self._index.save(self._path, _stamp(self._position))
                self._unsaved = 0

    def _caught_up(self, records: Records) -> Index:
        if self._index is None or self._position is None:
            self._index, self._position = self._loaded(records)
        caught = catch_up(self._index, records, self._position)
        if caught.position.cursor < self._position.cursor:
            # Somebody has put an earlier database in place of the one that was followed.
            return self._rebuilt(records)
        self._position = caught.position
        self._unsaved += caught.told
        if caught.forgot:
            self._distrust_file()
        return self._index

    def _loaded(self, records: Records) -> tuple[Index, Position]:
        here = records.position()
        saved = self._engine.load(self._path)
        if saved is not None:
            index, stamp = saved
            position = _position(stamp)
            if position and position.cursor <= here.cursor and self._store.is_current(position):
                return index, position
        self._distrust_file()
        return self._engine.empty(), replace(here, cursor=0)

    def _rebuilt(self, records: Records) -> Index:
        self._index, self._position = self._engine.empty(), replace(records.position(), cursor=0)
        self._distrust_file()
        return self._caught_up(records)

    def _distrust_file(self) -> None:
        """What is saved is unusable, or holds words of what was forgotten: it goes, and is written anew."""
        # Where it cannot be deleted the next start distrusts it again.
        with contextlib.suppress(Unavailable):
            self._discard()

    def _discard(self) -> None:
        self._unsaved = 0 if self._index is None else len(self._index)
        folder, name = os.path.split(self._path)
        try:
            # A crash while saving leaves a second file beside the first.
            found = [each for each in os.listdir(folder) if each.startswith(name)]
            for each in found:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, each))
            if found:
                _sync(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unavailable(
                f"the saved index under {folder} cannot be deleted: {error.strerror}",
                code="index.discard",
                hint="make the folder writable; nothing was changed",
            ) from error


def _sync(folder: str) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _stamp(position: Position) -> str:
    fields = {"store": position.store_id, "cursor": position.cursor, "witness": position.witness}
    return orjson.dumps(fields).decode()


def _position(stamp: str) -> Position | None:
    try:
        fields = cast("dict[str, str | int]", orjson.loads(stamp))
        return Position(
            store_id=str(fields["store"]), cursor=int(fields["cursor"]), witness=str(fields["witness"])
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
