"""A thread-safe lazy value: created at its first use, closed at the end."""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from runlore.models.model_choice import closing_failure


class _Closable(Protocol):
    def close(self) -> None: ...


Made = TypeVar("Made", bound=_Closable)


class Lazy(Generic[Made]):
    """Creates its value at the first `get`; after `close`, `get` raises ModelFailure."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Made | None = None
        self._is_closed = False

    def get(self) -> Made:
        with self._lock:
            if self._is_closed:
                raise closing_failure()
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Close the value where there is one; what is under way in it fails."""
        with self._lock:
            self._is_closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()
