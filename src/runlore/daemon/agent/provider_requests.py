"""The requests of a run that really went to the provider, kept as artifacts without secrets (AGT-6)."""

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime

from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.privacy.redaction import redact_json, redact_text
from runlore.domain.record import JsonValue
from runlore.domain.run import Artifact, ArtifactId, Run
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.text.storable import make_storable
from runlore.flow.provider_requests import FIRST, LAST

_CUT = "[{:,} characters left out]"
# How much of each text is kept where a whole request is too large, tried one after the other.
_KEPT_CHARS = (100_000, 20_000, 4_000, 400)


class SentRequests:
    """The first and the last request of one run. They are noted in any thread, and kept in the run's own."""

    def __init__(self, parts: Parts, run: Run) -> None:
        self._parts = parts
        self._run = run
        self._lock = threading.Lock()
        self._first: str | None = None
        self._last: str | None = None
        self._is_kept = False

    def note(self, body: str) -> None:
        """A request as it went out."""
        with self._lock:
            self._first = body if self._first is None else self._first
            self._last = body

    def first_to_keep(self, at: datetime) -> Artifact | None:
        """The first one, once there is one and until it is kept. It is made outside of any transaction: a
        long conversation is long to clean, and nobody waits with it for the store."""
        with self._lock:
            body = None if self._is_kept else self._first
        return None if body is None else self._artifact(FIRST, body, at)

    def first_is_kept(self) -> None:
        """The first one stands in the store."""
        self._is_kept = True

    def artifacts_to_keep(self, at: datetime) -> tuple[Artifact, ...]:
        """What the run's end has to keep."""
        with self._lock:
            last = self._last
        first = self.first_to_keep(at)
        made = (first, None if last is None else self._artifact(LAST, last, at))
        return tuple(each for each in made if each is not None)

    def _artifact(self, name: str, body: str, at: datetime) -> Artifact:
        return Artifact(
            artifact_id=ArtifactId(self._parts.ids.new("art", at)),
            run_id=self._run.run_id,
            session_id=self._run.session_id,
            name=name,
            text=kept_request(body),
            created_at=at,
        )


def kept_request(body: str, bytes_max: int = limits.ARTIFACT_BYTES_MAX) -> str:
    """A request's body without secrets. Where that is too large for an artifact, long texts in it are cut."""
    try:
        told: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return _truncate(redact_text(make_storable(body)).text, bytes_max)
    clean, _ = redact_json(make_json_storable(told))
    for chars_max in (None, *_KEPT_CHARS):
        small = clean if chars_max is None else _cut(clean, chars_max)
        text = json.dumps(small, ensure_ascii=False, indent=1, default=dict)
        if len(text.encode()) <= bytes_max:
            return text
    return _truncate(text, bytes_max)


def _cut(value: JsonValue, chars_max: int) -> JsonValue:
    if isinstance(value, str):
        left_out = len(value) - chars_max
        return value if left_out <= 0 else value[:chars_max] + _CUT.format(left_out)
    if isinstance(value, Mapping):
        return {name: _cut(item, chars_max) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_cut(item, chars_max) for item in value]
    return value


def _truncate(text: str, bytes_max: int) -> str:
    return text.encode()[:bytes_max].decode(errors="ignore")
