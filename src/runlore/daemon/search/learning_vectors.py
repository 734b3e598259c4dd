"""The vectors of the learnings: made in the background for what is live, and erased with what is not.

They follow the store's changes as the ranking index does. What is superseded, revoked or forgotten is erased
from memory and from the file as soon as it is told of; before anything is forgotten the file goes first, so
that a crash leaves nothing behind. A file of a backend that is not set any more is deleted at the start.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from runlore.daemon.search.embedding_backend import ASIDE_FOR, PRIVATE, sending_now, sending_to
from runlore.daemon.search.query_vector import QueryVector
from runlore.daemon.search.saved_files import delete_saved, position_of, stamp_of
from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import Layer, RecordId, Sensitivity, State
from runlore.flow.prompt_context.search import TOLD_KEPT_MAX
from runlore.ports.embedder import Embedded, EmbeddingFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from runlore.daemon.search.embedding_backend import Backend, BackendState, TextRedaction
    from runlore.domain.record import JsonObject, Record
    from runlore.flow.prompt_context.search import Synced
    from runlore.ports.clock import Clock
    from runlore.ports.embedder import Vector
    from runlore.ports.store import Collections, Snapshot, Store, StorePosition
    from runlore.recall.dense import DenseVectors

# What search and contexts rank by default. Episodes and scratch are found by their words.
EMBEDDED_LAYERS = frozenset({Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC})
# So many new vectors are not lost with a process that is killed.
SAVE_AFTER_VECTORS = 1_024
# What a command without a daemon does on its way out: one lot, within this time.
_ON_LEAVING_S = 1.0
_NONE_YET = "no learning has a vector yet; the daemon makes them, or `runlore jobs work`"


class VectorEngine(Protocol):
    """Where indexes of vectors come from. Asked when one is needed, not at the start."""

    def empty(self, identity: str) -> DenseVectors: ...

    def load(self, path: str, identity: str) -> tuple[DenseVectors, str] | None:
        """A saved index with its stamp; None when there is none that can be used."""


@dataclass(frozen=True, kw_only=True)
class _Text:
    record_id: RecordId
    mark: str
    text: str


class LearningVectors:
    """The vectors of one store's learnings, for one backend; without one it does nothing at all."""

    def __init__(
        self, store: Store, clock: Clock, *, backend: Backend | None, path: str, engine: VectorEngine
    ) -> None:
        self._store = store
        self._clock = clock
        self._backend = backend
        self._path = path
        self._engine = engine
        self._lock = threading.RLock()
        self._vectors: DenseVectors | None = None
        # How far was followed, and up to where nothing waits for a vector.
        self._position: StorePosition | None = None
        self._covered: StorePosition | None = None
        self._latest: Synced = frozenset()
        self._pending: dict[RecordId, None] = {}
        self._aside: dict[RecordId, datetime] = {}
        self._unsaved = 0
        self._lot = limits.EMBEDDING_BATCH_TEXTS
        self._is_stale = False
        self._started_at = self._here() if backend is not None else None
        if backend is None:
            self._distrust_file()

    @property
    def is_configured(self) -> bool:
        return self._backend is not None

    @property
    def stays_here(self) -> bool:
        return self._backend is not None and self._backend.stays_here

    def query(
        self, text: str, *, is_private: bool = False, plainly: bool = False, timeout_s: float | None = None
    ) -> QueryVector:
        """A query as a vector, asked for once, within the backend's time; without one, why: `plainly` without
        what is set about the backend."""
        backend = self._backend
        if backend is None or not text.strip():
            return QueryVector()
        if is_private and not backend.stays_here:
            return QueryVector(remark=PRIVATE)
        # Nobody waits here for the lock while a long list of changes is followed.
        vectors = self._vectors or self._ensure_loaded()
        if not len(vectors):
            return QueryVector(remark=_NONE_YET)
        found = backend.vectors([sending_now(backend, self._store).text(text)], timeout_s)
        if found is None:
            return QueryVector(remark=backend.plain_remark if plainly else backend.remark)
        model = "" if plainly else backend.model
        return QueryVector(vectors, found[0], model=model, unfit=self._query_unfit)

    def step(self, timeout_s: float | None = None) -> bool:
        """Follow the store, and make one lot of vectors; False when there is nothing to do for now."""
        backend = self._backend
        if backend is None:
            return False
        with self._lock:
            self._follow()
            lot = list(self._pending)[: self._lot]
        if not lot or backend.is_resting:
            self._save_if(not lot)
            return False
        with self._store.snapshot() as snapshot:
            texts = self._texts(snapshot, lot)
        made = backend.vectors([each.text for each in texts], timeout_s)
        if made is None:
            self._handle_failure(lot)
            return False
        self._lot = min(self._lot * 2, limits.EMBEDDING_BATCH_TEXTS)
        self._hold(lot, texts, made)
        return True

    def work(self, lots: int) -> int:
        """Make as many lots as wait, up to a number: how many learnings got a vector."""
        if self._backend is None:
            return 0
        before = len(self._ensure_loaded())
        for _ in range(lots):
            if not self.step():
                break
        return max(0, len(self._ensure_loaded()) - before)

    def on_leaving(self) -> None:
        """What a command without a daemon does last, where it has changed or asked anything: one lot."""
        if self._backend is None or (self._vectors is None and self._here() == self._started_at):
            return
        self.step(timeout_s=_ON_LEAVING_S)

    def catch_up(self) -> None:
        """Erase what is not live any more, in memory and in the file."""
        if self._backend is not None:
            with self._lock:
                self._follow()
                self._save_if(True)

    def discard_snapshot(self) -> None:
        """Delete the file before content that it was made from is erased; what it held stays in memory."""
        with self._lock:
            if self._backend is not None:
                self._ensure_loaded()
                self._unsaved += 1
            delete_saved(self._path, "vectors")

    def strangers(self, *, repair: bool) -> int:
        """How many vectors are of nothing that is live: none, unless something went wrong."""
        if self._backend is None:
            return 0
        with self._lock, self._store.snapshot() as snapshot:
            self._follow_to(snapshot)
            vectors = self._ensure_loaded()
            found = [
                key
                for keys in into_batches(list(vectors.marks()), limits.EMBEDDING_BATCH_TEXTS)
                for key in self._not_live(snapshot, keys)
            ]
            if repair and found:
                self._erase(found)
        return len(found)

    def document(self) -> JsonObject:
        backend = self._backend
        if backend is None:
            return {"backend": None}
        with self._lock:
            self._follow()
            learnings: JsonObject = {
                "vectors": len(self._ensure_loaded()),
                "waiting": len(self._pending),
                "set_aside": len(self._aside),
            }
        return {**backend.state().document(), "learnings": learnings}

    def backend_state(self) -> BackendState | None:
        return None if self._backend is None else self._backend.state()

    def close(self) -> None:
        if self._backend is None:
            return
        self._backend.close()
        with self._lock:
            self._save_if(True)

    def _here(self) -> StorePosition:
        with self._store.snapshot() as snapshot:
            return snapshot.records.position()

    def _ensure_loaded(self) -> DenseVectors:
        with self._lock:
            if self._vectors is None or self._is_stale:
                self._load()
            assert self._vectors is not None, "loading gives vectors, if only an empty index"
            return self._vectors

    def _load(self) -> None:
        """What is saved, where it is of this backend and this store; else everything is made anew."""
        assert self._backend is not None, "vectors are of a backend"
        here = self._here()
        saved = None if self._is_stale else self._engine.load(self._path, self._backend.identity)
        if saved is not None:
            vectors, stamp = saved
            position = position_of(stamp)
            if position and position.cursor <= here.cursor and self._store.is_current(position):
                self._vectors = vectors
                self._position = self._covered = position
                with contextlib.suppress(Unavailable):
                    delete_saved(f"{self._path}.", "vectors")
                return
        self._begin_anew(here)

    def _begin_anew(self, here: StorePosition) -> None:
        assert self._backend is not None, "vectors are of a backend"
        self._is_stale = False
        self._vectors = self._engine.empty(self._backend.identity)
        self._position = self._covered = replace(here, cursor=0)
        self._latest = frozenset()
        self._pending.clear()
        self._aside.clear()
        self._distrust_file()

    def _follow(self) -> None:
        self._ensure_loaded()
        with self._store.snapshot() as snapshot:
            self._follow_to(snapshot)

    def _follow_to(self, snapshot: Snapshot) -> None:
        """Look at everything that has changed: what is live waits for a vector, what is not loses its own."""
        vectors, here = self._ensure_loaded(), snapshot.records.position()
        assert self._position is not None, "what is opened has a position"
        if here.cursor < self._position.cursor:
            # Somebody has put an earlier database in place of the one that was followed.
            self._begin_anew(here)
            vectors = self._ensure_loaded()
        gone: list[RecordId] = []
        again: set[tuple[RecordId, int]] = set()
        marks: Mapping[str, str] | None = None
        for record in snapshot.records.changed_since(self._position):
            record_id = record.record_id
            if len(again) < TOLD_KEPT_MAX:
                again.add((record_id, record.revision))
            # What was told the last time may be told again.
            if (record_id, record.revision) in self._latest:
                continue
            if marks is None:
                marks, sending = vectors.marks(), self._sending(snapshot)
            if not self._is_wanted(record):
                self._drop(record_id)
            elif marks.get(record_id) != sending.mark(record.summary):
                self._aside.pop(record_id, None)
                self._pending[record_id] = None
            else:
                continue
            if record_id in marks:
                gone.append(record_id)
        self._position, self._latest = here, frozenset(again)
        self._erase(gone)
        self._take_up_again()

    def _take_up_again(self) -> None:
        """What was set aside is tried again after a while. What nothing waits for is covered."""
        now = self._clock.now()
        for record_id in [each for each, since in self._aside.items() if now - since >= ASIDE_FOR]:
            del self._aside[record_id]
            self._pending[record_id] = None
        if not self._pending and not self._aside:
            self._covered = self._position

    def _may_have(self, record: Record) -> bool:
        """Whether a record may have a vector: live, ranked, and not too sensitive for where it would go."""
        return (
            record.state is State.ACTIVE
            and record.superseded_by is None
            and record.layer in EMBEDDED_LAYERS
            and (record.sensitivity is Sensitivity.NORMAL or self.stays_here)
        )

    def _is_wanted(self, record: Record) -> bool:
        """Whether a record is to have one. What has expired loses it when it is swept."""
        is_expired = record.is_expired(self._clock.now())
        return self._may_have(record) and not is_expired and bool(record.summary.strip())

    def _texts(self, snapshot: Snapshot, record_ids: Sequence[RecordId]) -> list[_Text]:
        """What is live of these, as it is embedded now."""
        sending = self._sending(snapshot)
        return [
            _Text(
                record_id=record.record_id,
                mark=sending.mark(record.summary),
                text=sending.text(record.summary),
            )
            for record in snapshot.records.get_many(record_ids).values()
            if self._is_wanted(record)
        ]

    def _hold(self, lot: Sequence[RecordId], texts: Sequence[_Text], made: Sequence[Vector]) -> None:
        """Hold vectors of what is still as it was when they were asked for; the rest goes on waiting."""
        vectors = dict(zip(texts, made, strict=True))
        with self._lock, self._store.snapshot() as snapshot:
            self._follow_to(snapshot)
            now = {each.record_id: each.mark for each in self._texts(snapshot, lot)}
            fresh = [
                Embedded(key=each.record_id, mark=each.mark, vector=vector)
                for each, vector in vectors.items()
                if each.record_id in self._pending and now.get(each.record_id) == each.mark
            ]
            try:
                self._ensure_loaded().put(fresh)
            except EmbeddingFailure as failure:
                # The model behind the same name has changed: nothing of the old one can be compared.
                self._note(failure)
                self._begin_anew(snapshot.records.position())
                return
            for each in fresh:
                del self._pending[RecordId(each.key)]
            for record_id in lot:
                if record_id not in now:
                    self._pending.pop(record_id, None)
            self._take_up_again()
            self._unsaved += len(fresh)
            self._save_if(self._unsaved >= SAVE_AFTER_VECTORS or not self._pending)

    def _handle_failure(self, lot: Sequence[RecordId]) -> None:
        """Ask for less at once; a text that fails alone is set aside, so that it holds up no other."""
        assert self._backend is not None, "vectors are of a backend"
        is_about_a_text = self._backend.state().is_about_a_text
        with self._lock:
            if len(lot) == 1 and is_about_a_text:
                self._drop(lot[0])
                self._aside[lot[0]] = self._clock.now()
            self._lot = 1 if is_about_a_text else self._lot

    def _drop(self, record_id: RecordId) -> None:
        self._pending.pop(record_id, None)
        self._aside.pop(record_id, None)

    def _erase(self, keys: Sequence[str]) -> None:
        if keys:
            self._ensure_loaded().erase(keys)
            self._unsaved += len(keys)
            self._save_if(True)

    def _save_if(self, is_due: bool) -> None:
        if not is_due or not self._unsaved or self._vectors is None or self._position is None:
            return
        position = self._covered if self._pending or self._aside else self._position
        assert position is not None, "what has a position is covered up to one"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._vectors.save(self._path, stamp_of(position))
            self._unsaved = 0
        except (Unavailable, OSError):
            # What is there may hold what was erased. Vectors can be made again; nobody's answer was wrong.
            self._distrust_file()

    def _distrust_file(self) -> None:
        # Where it cannot be deleted the next start follows from where it stands, and erases it then.
        with contextlib.suppress(Unavailable):
            delete_saved(self._path, "vectors")

    def _not_live(self, snapshot: Snapshot, keys: Sequence[str]) -> list[str]:
        found = snapshot.records.get_many([RecordId(key) for key in keys])
        return [key for key in keys if not (key in found and self._may_have(found[RecordId(key)]))]

    def _sending(self, collections: Collections) -> TextRedaction:
        assert self._backend is not None, "vectors are of a backend"
        return sending_to(self._backend, collections)

    def _query_unfit(self, failure: EmbeddingFailure) -> None:
        """A query's vector does not fit those that are held: they are of another model, and made anew."""
        self._note(failure)
        with self._lock:
            self._is_stale = True

    def _note(self, failure: EmbeddingFailure) -> None:
        assert self._backend is not None, "vectors are of a backend"
        self._backend.note(failure)
