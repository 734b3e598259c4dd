"""Vectors of skills: made once for each skill by the configured backend, beside the turns; one more a turn.

A vector is made of a skill's name and description. A skill that has none yet, or whose text the backend does
not take, competes by its words alone.
"""

import contextlib
import os
import threading
import weakref
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.daemon.search.embedding_backend import (
    ASIDE_FOR,
    PRIVATE,
    Backend,
    BackendState,
    TextRedaction,
    sending_now,
)
from runlore.daemon.search.saved_files import delete_file
from runlore.daemon.skills.skill_cache import ActiveSkills, SkillEngine, embedded_text
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue
from runlore.domain.search.ranking import Similarities
from runlore.domain.skill import SkillId
from runlore.domain.timestamps import format_time
from runlore.ports.clock import Clock
from runlore.ports.embedder import Embedded, EmbeddingFailure, Vector
from runlore.ports.store import Store

if TYPE_CHECKING:
    from runlore.recall.dense import DenseVectors

# How many skills are sent at once, and for how long that may take beside the turns.
BATCH = 64
CORPUS_S = 30.0
# What is saved at the latest after so many new vectors.
_SAVED_AFTER = 512


# Of each skill without a vector that fits it, in order, the mark of the one that it is to have.
_Gaps = Mapping[SkillId, str]


@dataclass(frozen=True, kw_only=True)
class _Told:
    """The gaps of a shelf, as they were told at one state of the vectors."""

    shelf: weakref.ref[ActiveSkills]
    sending: TextRedaction
    changes: int
    gaps: _Gaps


class NotReady(Exception):
    """Vectors cannot take part in this turn; its text says why, as a clause. `plain` says it to agents, who
    are told nothing of the settings."""

    def __init__(self, why: str, *, plain: str = "") -> None:
        super().__init__(why)
        self.plain = plain or why


class SkillVectors:
    """The vectors of one Runlore's skills, for many threads."""

    def __init__(
        self, backend: Backend, engine: SkillEngine, path: str, *, store: Store, clock: Clock
    ) -> None:
        self._backend = backend
        # What becomes of the skills' own texts takes nothing from the turns, neither time nor trust.
        self._corpus = backend.for_background()
        self._engine = engine
        self._path = path
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._dense: DenseVectors | None = None
        self._changes = 0
        self._told: _Told | None = None
        self._erasures = 0
        # One thread at a time makes vectors, and one saves them: a file is never older than the one before.
        self._making = threading.Lock()
        self._saving = threading.Lock()
        self._unsaved = 0
        self._lot = BATCH
        self._aside: dict[SkillId, tuple[str, datetime]] = {}

    @property
    def stays_here(self) -> bool:
        """Whether what is sent to the backend does not leave this machine."""
        return self._backend.stays_here

    def similar(
        self,
        query: str,
        shelf: ActiveSkills,
        *,
        limit: int,
        allowed: Collection[SkillId],
        also: Collection[str],
        is_private: bool = False,
    ) -> Similarities:
        """How near the allowed skills are to a query, of those that have a vector; NotReady where words have
        to decide alone."""
        if is_private and not self.stays_here:
            raise NotReady(PRIVATE)
        sending = sending_now(self._backend, self._store)
        gaps = self._gaps(shelf, sending)
        searched = [key for key in allowed if key not in gaps] if gaps else allowed
        if not searched:
            raise _not_ready(f"the vectors of {len(gaps)} skills are still to be made", self._corpus.state())
        found = self._backend.vectors([sending.text(query)])
        if not found:
            raise _not_ready("the embedding backend gave none", self._backend.state())
        try:
            return self._vectors().search(found[0], limit=limit, allowed=searched, also=also)
        except EmbeddingFailure as failure:
            self._unfit(self._backend, failure)
            raise NotReady(failure.sentence) from failure

    def make_some(self, shelf: ActiveSkills, *, within_s: float = CORPUS_S) -> bool:
        """Make the vectors of some skills that have none; whether there are more to make now.

        What is gone is erased, here and in the file. A failure is noted, and nothing is raised.
        """
        if not self._making.acquire(blocking=False):
            return False
        try:
            self._erase_gone(shelf)
            sending = sending_now(self._corpus, self._store)
            lot = dict(list(self._waiting(shelf, sending).items())[: self._lot])
            is_well = (
                bool(lot) and not self._corpus.is_resting and self._embed_lot(shelf, sending, lot, within_s)
            )
            has_more = is_well and bool(self._waiting(shelf, sending))
            if self._unsaved and (not has_more or self._unsaved >= _SAVED_AFTER):
                self._save()
            return has_more
        finally:
            self._making.release()

    def erase_all_but(self, shelf: ActiveSkills) -> None:
        """Let go of the vectors of all other skills, in memory and in the file, also of those which are being
        made at this moment."""
        with self._lock:
            self._erasures += 1
        self._erase_gone(shelf)
        if self._unsaved:
            self._save()

    def discard(self) -> None:
        """Delete the file before something that it was made of is forgotten. What is left of it is in memory
        until `erase_all_but` has written it anew."""
        self._vectors()
        with self._saving:
            if delete_file(self._path):
                self._unsaved += 1

    def describe(self, shelf: ActiveSkills) -> dict[str, JsonValue]:
        missing = len(self._gaps(shelf, sending_now(self._backend, self._store)))
        return {
            "configured": True,
            **self.state().document(),
            "embedded": len(shelf.usable) - missing,
            "missing": missing,
            "set_aside": len(self._aside),
        }

    def state(self) -> BackendState:
        """How the backend fares: with the turns, and else with the skills' own texts."""
        asked = self._backend.state()
        return self._corpus.state() if asked.is_working else asked

    def close(self) -> None:
        """Let the backend go, whoever waits for it is told; then save what was made."""
        self._backend.close()
        if self._dense is not None and self._unsaved:
            self._save()

    def _embed_lot(self, shelf: ActiveSkills, sending: TextRedaction, lot: _Gaps, within_s: float) -> bool:
        """Have the vectors of a lot made; whether to go on at once."""
        with self._lock:
            erasures = self._erasures
        texts = [sending.text(embedded_text(shelf.usable[key])) for key in lot]
        vectors = self._corpus.vectors(texts, within_s)
        if vectors is None:
            return self._handle_failure(lot)
        self._lot = min(self._lot * 2, BATCH)
        return self._put(lot, vectors, erasures)

    def _put(self, lot: _Gaps, vectors: Sequence[Vector], erasures: int) -> bool:
        things = [
            Embedded(key=key, mark=mark, vector=vector)
            for (key, mark), vector in zip(lot.items(), vectors, strict=True)
        ]
        held = self._vectors()
        try:
            with self._lock:
                # Something was forgotten meanwhile, perhaps of these: they are made again from what is left.
                if erasures == self._erasures:
                    held.put(things)
                    self._unsaved += len(things)
                    self._changes += 1
        except EmbeddingFailure as failure:
            self._unfit(self._corpus, failure)
            return False
        return True

    def _handle_failure(self, lot: _Gaps) -> bool:
        """Ask for less at once; a text that fails alone is set aside, so that it holds up no other."""
        if not self._corpus.state().is_about_a_text:
            return False
        if len(lot) == 1:
            self._aside.update((key, (mark, self._clock.now())) for key, mark in lot.items())
        self._lot = 1
        return not self._corpus.is_resting

    def _waiting(self, shelf: ActiveSkills, sending: TextRedaction) -> _Gaps:
        """The gaps that can be filled now: what was set aside is tried again after a while, or as another
        text."""
        gaps, now = self._gaps(shelf, sending), self._clock.now()
        self._aside = {
            key: (mark, since)
            for key, (mark, since) in self._aside.items()
            if gaps.get(key) == mark and now - since < ASIDE_FOR
        }
        return {key: mark for key, mark in gaps.items() if key not in self._aside} if self._aside else gaps

    def _gaps(self, shelf: ActiveSkills, sending: TextRedaction) -> _Gaps:
        """Told once for each shelf, until vectors come or go."""
        with self._lock:
            told, changes = self._told, self._changes
        if told and (told.sending, told.changes) == (sending, changes) and told.shelf() is shelf:
            return told.gaps
        marks = self._vectors().marks()
        wanted = ((key, sending.mark_digest(digest)) for key, digest in shelf.digests.items())
        gaps = {key: mark for key, mark in wanted if marks.get(key) != mark}
        with self._lock:
            self._told = _Told(shelf=weakref.ref(shelf), sending=sending, changes=changes, gaps=gaps)
        return gaps

    def _erase_gone(self, shelf: ActiveSkills) -> None:
        held = self._vectors()
        gone = held.marks().keys() - shelf.usable.keys()
        if gone:
            held.erase(gone)
            with self._lock:
                self._changes += 1
            self._save()

    def _unfit(self, backend: Backend, failure: EmbeddingFailure) -> None:
        """The model behind the address is another one by now: what was made by the old one is of no use."""
        backend.note(failure)
        with self._lock:
            self._dense = self._engine.vectors(self._backend.identity, None)
            self._changes += 1

    def _vectors(self) -> "DenseVectors":
        with self._lock:
            if self._dense is None:
                self._dense = self._engine.vectors(self._backend.identity, self._path)
            return self._dense

    def _save(self) -> None:
        # Where it cannot be saved the vectors are made again by the next process.
        with self._saving, contextlib.suppress(Unavailable, OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._vectors().save(self._path)
            self._unsaved = 0


def _not_ready(why: str, state: BackendState) -> NotReady:
    """With what a backend has to say for itself."""
    if state.is_working:
        return NotReady(why)
    until = state.resting_until
    resting = "" if until is None else f"; it is left alone until {format_time(until)}"
    return NotReady(f"{why}{resting}: {state.remark}", plain=f"{why}{resting}: {state.plain_remark}")
