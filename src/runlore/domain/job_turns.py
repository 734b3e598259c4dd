"""Whose turn it is among kinds of work, so that no kind waits until another has nothing left.

Without turns the oldest job would be done first: under load those who begin something new are always ahead
of those who end it.
"""

from runlore.domain.job import JobKind

# One capture brings several candidates, and each of them is reviewed.
SHARES = {JobKind.REVIEW: 4}


class Turns:
    """The turns of one worker."""

    def __init__(self) -> None:
        self._used = dict.fromkeys(JobKind, 0.0)

    def order(self, kinds: frozenset[JobKind]) -> tuple[frozenset[JobKind], ...]:
        """The kinds one by one, that one first which has had the least of its share."""
        return tuple(frozenset({kind}) for kind in sorted(kinds, key=lambda kind: (self._used[kind], kind)))

    def take(self, kind: JobKind) -> None:
        """One job of a kind is done. A kind that had none to do saves up one turn, and no more."""
        self._used[kind] += 1 / SHARES.get(kind, 1)
        least = self._used[kind] - 1
        self._used = {name: max(used, least) for name, used in self._used.items()}
