"""The ranking index kept up with the store: loaded, followed, saved, and rebuilt when in doubt."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from runlore.daemon.search.saved_files import delete_saved, position_of, stamp_of
from runlore.domain.errors import Corrupt, Unavailable
from runlore.domain.search.ranking import RankFilter
from runlore.flow.prompt_context.feeds import RecordFeed
from runlore.flow.prompt_context.scan import RecordScan
from runlore.flow.prompt_context.scope_view import RecordCache, ViewCache
from runlore.flow.prompt_context.search import IndexWanted, SearchSnapshot, catch_up, index_differs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runlore.flow.prompt_context.feeds import Feed
    from runlore.flow.prompt_context.search import Synced
    from runlore.ports.index import Index, Searchable
    from runlore.ports.store import Snapshot, Store, StorePosition

# Applying this many records costs about as much as writing a small snapshot.
SAVE_AFTER_RECORDS = 256
# So many at once are not lost with a process that is killed: following them again takes seconds.
_SAVE_AT_ONCE_RECORDS = 8_192

# So many changes are told to an index in about a second; behind more of them it is made ready beforehand.
_BEHIND_CHANGES = 8_192
_ALL_CHANGES = 2**62
# How often whoever waits for an index looks whether it is being built meanwhile.
_LOOK_S = 0.02

AnswerT = TypeVar("AnswerT")
RECORDS = RecordFeed()


class IndexEngine(Protocol):
    """Where indexes come from. Asked at the first search, not at the start."""

    def empty(self) -> Index: ...

    def load(self, path: str) -> tuple[Index, str] | None:
        """A saved index with its stamp; None when there is none that can be used."""


class IndexSync:
    """One index on one store. The index and the snapshot that answers come from never differ."""

    def __init__(
        self,
        store: Store,
        path: str,
        engine: IndexEngine,
        feed: Feed = RECORDS,
        *,
        scanned_changes_max: int = 0,
    ) -> None:
        """A store that has not seen more changes than `scanned_changes_max` is searched without an index."""
        self.store = store
        self._scanned_changes_max = scanned_changes_max
        self._path = path
        self._engine = engine
        self._feed = feed
        self.lock = threading.Lock()
        self._index: Index | None = None
        self._position: StorePosition | None = None
        self._latest: Synced = frozenset()
        # Told already, and changed by the count all the same: a long transaction holds the position back.
        self._known = 0
        self._unsaved = 0
        self.is_building = False
        self._wake_builder: Callable[[], None] | None = None
        self._kept = RecordCache()
        self._views = ViewCache()

    def answer(
        self, ask: Callable[[SearchSnapshot], AnswerT], *, needs_index: bool = False, has_words: bool = False
    ) -> AnswerT:
        """Answer from one snapshot. The index is caught up with it only where the answer asks for the index.

        While an index far behind is being built, it answers as far as it has come: nobody waits for it. What
        is asked may be asked a second time, so it must not change anything. Words that are looked for in
        scopes with much in them will want the index, so where there is one they get it at once.
        """
        if has_words and self._index is not None and self._views.has_large:
            needs_index = True
        if not needs_index:
            # Taken before the snapshot: what is read there is kept nowhere once something of it is forgotten.
            kept, views = self._kept, self._views
            with contextlib.suppress(IndexWanted), self.store.snapshot() as snapshot:
                return ask(SearchSnapshot(snapshot=snapshot, kept=kept, views=views))
        return answer_together(lambda readings: ask(readings[0]), self)

    def leave_building(self, wake: Callable[[], None] | None) -> None:
        """Leave it to somebody else, who is woken, to build an index that is far behind; with None whoever
        asks does it, and waits."""
        self._wake_builder = wake
        if wake is None:
            self.is_building = False

    def hold(self) -> bool:
        """Take the lock; False where the index is being built, for which nobody waits."""
        while not self.is_building:
            if self.lock.acquire(timeout=_LOOK_S):
                return True
        return False

    def read_with_index(self, snapshot: Snapshot) -> SearchSnapshot:
        """The index as it stands at a snapshot that was taken with our lock held; as far as it has come where
        the rest is left to somebody else."""
        searchable: Searchable | None = self._scan(snapshot)
        if searchable is None:
            index, position = self._start(snapshot)
            # Where nobody else writes, whoever stands at the same place has missed nothing.
            if self.store.is_shared or snapshot.records.position() != position:
                if self._wake_builder is not None and self._is_far_behind(snapshot):
                    self.is_building = True
                    self._wake_builder()
                    return self.read_partly(snapshot)
                index = self._caught_up(snapshot)
            searchable = index.freeze()
        return SearchSnapshot(snapshot=snapshot, kept=self._kept, views=self._views, searchable=searchable)

    def read_partly(self, snapshot: Snapshot) -> SearchSnapshot:
        """The index as far as it has come. Whoever asks says that it is not all."""
        assert self._index is not None, "there is an index while one is being built"
        index = self._index.freeze()
        return SearchSnapshot(
            snapshot=snapshot, kept=self._kept, views=self._views, searchable=index, is_partial=True
        )

    def _scan(self, snapshot: Snapshot) -> RecordScan | None:
        """What is searched in place of an index that is not loaded yet, where there is little to search."""
        if self._index is not None or snapshot.records.position().cursor > self._scanned_changes_max:
            return None
        return RecordScan(change.record for change in self._feed.changes(snapshot, _beginning(snapshot)))

    def is_behind(self) -> bool:
        """Whether the next answer would wait for the index: so much has changed that it does not know of. It
        waits for nobody, so that it can be asked while the index is being built."""
        with self.store.snapshot() as snapshot:
            return self._is_far_behind(snapshot)

    def _is_far_behind(self, snapshot: Snapshot) -> bool:
        cursor = 0 if self._position is None else self._position.cursor
        most = _BEHIND_CHANGES + self._known
        return self._feed.count(snapshot, cursor, most=most) == most

    def build(self) -> None:
        """Load the index or make it anew, and tell it what has changed, before anybody asks."""
        with self.lock, self.store.snapshot() as snapshot:
            self._start(snapshot)
            self.is_building = True
            try:
                self._caught_up(snapshot)
            finally:
                self.is_building = False
            if self._position is not None:
                self._known = self._feed.count(snapshot, self._position.cursor, most=_ALL_CHANGES)

    def catch_up(self) -> None:
        """Tell the index in memory, if there is one, what has changed; so no forgotten word stays in it."""
        with self.lock:
            self._let_go()
            if self._index is not None:
                with self.store.snapshot() as snapshot:
                    self._caught_up(snapshot)

    def rebuild(self) -> None:
        with self.lock, self.store.snapshot() as snapshot:
            self._rebuilt(snapshot)

    def disagreement(self) -> str | None:
        """What the index says that the store does not; None where they agree. Made to be slow and sure."""
        with self.lock, self.store.snapshot() as snapshot:
            index = self._caught_up(snapshot)
            anew = self._engine.empty()
            catch_up(anew, self._feed, snapshot, _beginning(snapshot), latest=frozenset())
            return difference(index, anew, self._feed, snapshot)

    def discard_snapshot(self) -> None:
        """Delete what is saved of the index, before content that it was made from is erased."""
        with self.lock:
            self._discard()

    def close(self) -> None:
        with self.lock:
            if self._unsaved >= SAVE_AFTER_RECORDS:
                self._save()

    def _save(self) -> None:
        if self._index is None or self._position is None:
            return
        # Where it cannot be saved it is rebuilt: nobody's answer was wrong, and no command fails for it.
        with contextlib.suppress(Unavailable, OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._index.save(self._path, stamp_of(self._position))
            self._unsaved = 0

    def _caught_up(self, snapshot: Snapshot) -> Index:
        index, position = self._start(snapshot)
        caught = catch_up(index, self._feed, snapshot, position, latest=self._latest)
        if caught.position.cursor < position.cursor:
            # Somebody has put an earlier database in place of the one that was followed.
            return self._rebuilt(snapshot)
        if caught.position.cursor != position.cursor:
            self._known = 0
        self._position = caught.position
        self._latest = caught.latest
        self._unsaved += caught.told
        if caught.forgot:
            self._let_go()
            self._distrust_file()
        if caught.told >= _SAVE_AT_ONCE_RECORDS:
            self._save()
        return index

    def _start(self, snapshot: Snapshot) -> tuple[Index, StorePosition]:
        """The index, loaded where it is not in memory, and where it stands."""
        if self._index is None or self._position is None:
            self._index, self._position = self._load(snapshot)
            self._latest = frozenset()
        return self._index, self._position

    def _load(self, snapshot: Snapshot) -> tuple[Index, StorePosition]:
        here = snapshot.records.position()
        saved = self._engine.load(self._path)
        if saved is not None:
            index, stamp = saved
            position = position_of(stamp)
            if position and position.cursor <= here.cursor and self.store.is_current(position):
                return index, position
        self._distrust_file()
        return self._engine.empty(), replace(here, cursor=0)

    def _rebuilt(self, snapshot: Snapshot) -> Index:
        self._index, self._position = self._engine.empty(), _beginning(snapshot)
        self._latest = frozenset()
        self._known = 0
        self._let_go()
        self._distrust_file()
        return self._caught_up(snapshot)

    def _let_go(self) -> None:
        """Keep nothing of what was read. Whoever still reads an earlier snapshot keeps it for itself."""
        self._kept, self._views = RecordCache(), ViewCache()

    def _distrust_file(self) -> None:
        """What is saved is unusable, or holds words of what was forgotten: it goes, and is written anew."""
        # Where it cannot be deleted the next start distrusts it again.
        with contextlib.suppress(Unavailable):
            self._discard()

    def _discard(self) -> None:
        self._unsaved = 0 if self._index is None else len(self._index)
        delete_saved(self._path, "index")


def answer_together(ask: Callable[[list[SearchSnapshot]], AnswerT], *followers: IndexSync) -> AnswerT:
    """Answer from one snapshot with the indexes of several followers, each as it stands there."""
    try:
        with _read_together(followers) as readings:
            return ask(readings)
    except Corrupt as error:
        if not index_differs(error):
            raise
    # An index is derived: what it says is never believed over the store.
    for follower in followers:
        follower.rebuild()
    with _read_together(followers) as readings:
        return ask(readings)


@contextlib.contextmanager
def _read_together(followers: Sequence[IndexSync]) -> Iterator[list[SearchSnapshot]]:
    """One snapshot, taken with the locks held, always in this order: no index is ever ahead of it."""
    with contextlib.ExitStack() as opened:
        with contextlib.ExitStack() as held:
            held_by_us = []
            for follower in followers:
                if follower.hold():
                    held.callback(follower.lock.release)
                    held_by_us.append(follower)
            snapshot = opened.enter_context(followers[0].store.snapshot())
            readings = [
                follower.read_with_index(snapshot)
                if follower in held_by_us
                else follower.read_partly(snapshot)
                for follower in followers
            ]
        yield readings


def difference(index: Index, anew: Index, feed: Feed, snapshot: Snapshot) -> str | None:
    """What tells two indexes apart: how much they hold, and how they rank what is stored."""
    told = [change.record for change in feed.changes(snapshot, _beginning(snapshot))]
    step = max(1, len(told) // _COMPARED_RECORDS)
    for record in told[::step]:
        # Only its own state: the index may still hold blank lines of runs that are gone.
        where = RankFilter(
            states=frozenset({record.state}), scopes=frozenset({record.scope}), now=record.created_at
        )
        asked = [each.search(record.summary, where=where, limit=_COMPARED_HITS) for each in (index, anew)]
        if asked[0] != asked[1]:
            return f"ranks {record.record_id} otherwise than what is stored"
    return None


def _beginning(snapshot: Snapshot) -> StorePosition:
    return replace(snapshot.records.position(), cursor=0)


_COMPARED_RECORDS = 200
_COMPARED_HITS = 12
