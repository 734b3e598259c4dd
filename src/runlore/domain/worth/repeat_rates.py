"""How often people said something again: what is counted, and how it is told."""

from datetime import datetime

from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class RepeatRate:
    """How many requests of a month said again what an earlier session had been told."""

    month: str
    requests: int
    repeated: int


@dataclass(frozen=True, kw_only=True)
class RateChange:
    """The same before and after learning began, which is when the first learning was put to use."""

    began_at: datetime
    requests_before: int = 0
    repeated_before: int = 0
    requests_after: int = 0
    repeated_after: int = 0

    @property
    def sentence(self) -> str:
        before = _share(self.repeated_before, self.requests_before)
        after = _share(self.repeated_after, self.requests_after)
        return f"Learning began on {self.began_at:%Y-%m-%d}. Said again: {before} before, {after} after."


def _share(repeated: int, requests: int) -> str:
    share = f" ({100 * repeated / requests:.0f} of 100)" if requests else ""
    return f"{repeated:,} of {requests:,} request{'' if requests == 1 else 's'}{share}"
