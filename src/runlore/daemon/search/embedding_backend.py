"""An embedding backend that nobody depends on: asked while it answers, and left in peace while it does not.

Whoever asks has vectors, or None and a remark. After failures in a row the backend is not asked for a while,
so that a server that is down costs a search nothing; then one question tries whether it is back.

Texts go to it as they are where it is on this machine, and else without secrets, and without personal data
unless the policy says that these may be told.
"""

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Self

from runlore.config.providers import is_loopback
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonObject
from runlore.domain.timestamps import format_time
from runlore.flow.policies import current_run_memory
from runlore.models.embedding import open_embedder
from runlore.ports.clock import Clock
from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingFailure, EmbeddingProvider, Vector
from runlore.ports.store import Collections, Store

# So many failures in a row, and the backend has a rest.
FAILURES_MAX = 3
# Failures that may be about one text.
_ABOUT_A_TEXT = frozenset({"embedding.answer", "embedding.failed", "embedding.timeout"})
# Failures that only somebody's doing can end.
_LASTING = frozenset({"embedding.key", "embedding.missing"})
# For how long a text is left out that a backend does not take.
ASIDE_FOR = timedelta(hours=1)
_REST = timedelta(seconds=30)
_REST_MAX = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class BackendState:
    """How a backend fares. `resting_until` is set while it is not asked; `code` is of the last failure.
    One that was never asked by this process has not failed, and has not answered either."""

    identity: str
    stays_here: bool
    failures: int = 0
    code: str = ""
    remark: str = ""
    hint: str = ""
    resting_until: datetime | None = None
    was_asked: bool = False

    @property
    def is_working(self) -> bool:
        return not self.failures

    @property
    def is_about_a_text(self) -> bool:
        """Whether what failed last may be for one of the texts; other failures are the backend's."""
        return self.code in _ABOUT_A_TEXT

    @property
    def plain_remark(self) -> str:
        """What failed, told without anything of the settings."""
        return f"the embedding backend failed ({self.code})" if self.failures else ""

    def document(self) -> JsonObject:
        resting = None if self.resting_until is None else format_time(self.resting_until)
        return {
            "backend": self.identity,
            "stays_here": self.stays_here,
            "failures": self.failures,
            "remark": self.remark or None,
            "resting_until": resting,
        }


class Backend:
    """One embedder behind a breaker, for any number of threads at once. `model` is what people call it.

    `stays_here` says that what is sent does not leave this machine; unless told, it is not believed.
    """

    def __init__(
        self,
        embedder: Embedder,
        clock: Clock,
        *,
        model: str = "",
        stays_here: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        self.model = model
        self._embedder = embedder
        self._clock = clock
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._is_trying = False
        self._state = BackendState(identity=embedder.identity, stays_here=stays_here)

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def stays_here(self) -> bool:
        return self._state.stays_here

    @property
    def remark(self) -> str:
        """Why there were no vectors the last time; empty while it answers."""
        return self._state.remark

    @property
    def plain_remark(self) -> str:
        """The same for agents: without addresses, models and names of variables."""
        return self._state.plain_remark

    @property
    def is_resting(self) -> bool:
        with self._lock:
            until = self._state.resting_until
            return until is not None and (self._is_trying or self._clock.now() < until)

    def state(self) -> BackendState:
        return self._state

    def vectors(self, texts: Sequence[str], timeout_s: float | None = None) -> tuple[Vector, ...] | None:
        """One vector of length 1 for each text; None where there are none, and `remark` says why.

        The time of the settings counts, or `timeout_s` where that is less. A blank text is never asked about.
        """
        if not all(text.strip() for text in texts):
            return None
        if not texts:
            return ()
        if not self._may_ask():
            return None
        try:
            times = [each for each in (timeout_s, self._timeout_s) if each is not None]
            found = self._embedder.embed(texts, timeout_s=min(times, default=None))
        except EmbeddingFailure as failure:
            self._note_failure(failure)
            return None
        except BaseException:
            with self._lock:
                self._is_trying = False
            raise
        with self._lock:
            self._is_trying = False
            self._state = BackendState(identity=self.identity, stays_here=self.stays_here, was_asked=True)
        return found

    def for_background(self) -> Self:
        """The same backend for work beside the turns: it has the time that it is asked with, and its failures
        are its own."""
        return type(self)(self._embedder, self._clock, model=self.model, stays_here=self.stays_here)

    def note(self, failure: EmbeddingFailure) -> None:
        self._note_failure(failure)

    def close(self) -> None:
        self._embedder.close()

    def _may_ask(self) -> bool:
        """Whether to ask now. After a rest one question goes first, alone."""
        with self._lock:
            until = self._state.resting_until
            if until is None:
                return True
            if self._is_trying or self._clock.now() < until:
                return False
            self._is_trying = True
            return True

    def _note_failure(self, failure: EmbeddingFailure) -> None:
        with self._lock:
            self._is_trying = False
            failures = self._state.failures + 1
            resting_until = None
            if failures >= FAILURES_MAX or failure.code in _LASTING:
                beyond = min(max(failures - FAILURES_MAX, 0), 16)
                resting_until = self._clock.now() + min(_REST * 2**beyond, _REST_MAX)
            self._state = BackendState(
                identity=self.identity,
                stays_here=self.stays_here,
                failures=failures,
                code=failure.code,
                remark=failure.sentence,
                hint=failure.hint,
                resting_until=resting_until,
                was_asked=True,
            )


def open_backend(setting: EmbeddingBackend | None, clock: Clock) -> Backend | None:
    """The backend as it is set; None where none is. Nothing is asked or read yet."""
    if setting is None:
        return None
    stays_here = setting.provider is EmbeddingProvider.LOCAL or is_loopback(setting.base_url)
    return Backend(
        open_embedder(setting),
        clock,
        model=setting.model,
        stays_here=stays_here,
        timeout_s=setting.timeout_s,
    )


PRIVATE = "what is asked in a private session is not sent to an embedding backend beyond this machine"


@dataclass(frozen=True, kw_only=True)
class TextRedaction:
    """What becomes of a text on its way. `hides_personal` is false where nothing leaves this machine."""

    stays_here: bool
    hides_personal: bool

    def text(self, text: str) -> str:
        return text if self.stays_here else redact_text(text, personal=self.hides_personal).text

    def mark(self, text: str) -> str:
        """What a vector of a text is marked with: another text, or another way to send it, has another."""
        return self.mark_digest(digest_of(text))

    def mark_digest(self, digest: str) -> str:
        return f"{digest} redacted" if self.hides_personal else digest


def digest_of(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def sending_to(backend: Backend, collections: Collections) -> TextRedaction:
    """How texts go to a backend, by the policy as it is."""
    hides_personal = not backend.stays_here and current_run_memory(collections).redact_pii
    return TextRedaction(stays_here=backend.stays_here, hides_personal=hides_personal)


def sending_now(backend: Backend, store: Store) -> TextRedaction:
    """The same where no snapshot is open; nothing is read where nothing leaves this machine."""
    if backend.stays_here:
        return TextRedaction(stays_here=True, hides_personal=False)
    with store.snapshot() as snapshot:
        return sending_to(backend, snapshot)
