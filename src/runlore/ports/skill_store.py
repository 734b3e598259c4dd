"""The store's collections for skills: what was mined, what is suggested, how far transcripts were read."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.suggestion import StoredSuggestion, SuggestionId, SuggestionState
from runlore.domain.transcript import Position


class MinedRuns(Protocol):
    """What the detectors see of runs. Derived from journals; it goes when a run is forgotten."""

    def put(self, mined: MinedRun) -> None:
        """Keep what was mined of a run, in place of what was kept before."""
        ...

    def find(self, run_id: RunId) -> MinedRun | None:
        """What was mined of a run; None where nothing was."""
        ...

    def of_session(
        self, session_id: SessionId, *, limit: int, before: int | None = None
    ) -> tuple[MinedRun, ...]:
        """The latest runs of a session, oldest first; those that began `before` an event of it."""
        ...

    def sessions(self, *, after: SessionId | None = None, limit: int) -> tuple[SessionId, ...]:
        """The sessions of which anything is mined, by id."""
        ...

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was mined of forgotten runs; those of which nothing is are passed over."""
        ...


class Suggestions(Protocol):
    """Suggested skills, one for each pattern."""

    def get(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """One suggestion; NotFound (`suggestion.not-found`)."""
        ...

    def find(self, *, name: str | None = None, pattern: str | None = None) -> StoredSuggestion | None:
        """The suggestion of a name or of a pattern."""
        ...

    def page(
        self,
        *,
        limit: int,
        after: tuple[int, SuggestionId] | None = None,
        states: frozenset[SuggestionState] | None = None,
        heuristics: frozenset[Heuristic] | None = None,
    ) -> tuple[StoredSuggestion, ...]:
        """The best first (score descending, then id)."""
        ...

    def names(self) -> frozenset[str]:
        """The names that are taken."""
        ...

    def of_runs(self, run_ids: Sequence[RunId]) -> tuple[StoredSuggestion, ...]:
        """The suggestions that were ever seen in any of these runs, by id: also where the evidence of that is
        no longer among the latest, for what was said there may still stand in them."""
        ...

    def count(self) -> dict[SuggestionState, int]:
        """How many there are, by state."""
        ...

    def insert(self, stored: StoredSuggestion) -> None:
        """Write a new one; Conflict (`suggestion.exists`) when its id, its name or its pattern is taken."""
        ...

    def update(self, stored: StoredSuggestion, *, expected_revision: int) -> None:
        """Write its new state; Conflict (`suggestion.moved`) when it has moved, NotFound when it is gone, and
        Conflict (`suggestion.exists`) when its new name or pattern is taken. Runs that it was seen in before
        stay known to `of_runs` until `forget_runs`."""
        ...

    def forget_runs(self, run_ids: Sequence[RunId]) -> None:
        """Note that nothing of these runs stands in any suggestion any more: what was seen in them is deleted
        or written anew by now."""
        ...

    def delete(self, suggestion_ids: Sequence[SuggestionId]) -> None:
        """Delete suggestions whose evidence was forgotten, with their texts."""
        ...


class TranscriptPositions(Protocol):
    """How far transcripts have been read. `source` is a digest: no path of anybody's machine is kept."""

    def get_many(self, sources: Sequence[str]) -> dict[str, Position]:
        """How far these have been read."""
        ...

    def put(
        self, source: str, position: Position, at: datetime, *, session_ids: Collection[SessionId] = ()
    ) -> None:
        """Note how far one has been read, with what was stored of it; `session_ids` are sessions that it
        tells of, beside those which were noted before."""
        ...

    def delete_of_sessions(self, session_ids: Sequence[SessionId]) -> None:
        """Delete the positions in transcripts that tell of forgotten sessions, of these alone or not."""
        ...
