"""Being asked to stop: what work that takes long looks at while it goes on."""

from typing import Protocol


class Stop(Protocol):
    """Set once, by anybody, and never unset. A `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for so many seconds; whether it is."""
