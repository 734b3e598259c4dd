"""What is made at its first use, once for all threads, and let go of at the end."""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from runlore.models.choice import closing_failure


class _Closable(Protocol):
    def close(self) -> None: ...


Made = TypeVar("Made", bound=_Closable)


class Lazy(Generic[Made]):
    """Something that is made when it is first asked for; a ModelFailure once it was closed."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Made | None = None
        self._is_closed = False

    def get(self) -> Made:
        """The one, made now where it is not there yet."""
        with self._lock:
            if self._is_closed:
                raise closing_failure()
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Let go of it; whoever still waits for an answer is told."""
        with self._lock:
            self._is_closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()
