"""Records: lists, searches, proposals, and the context of a task."""

from datetime import datetime

from runlore.client.remote.calls import Asked, Remote, path_of, repeated, time_or_none
from runlore.daemon import answers
from runlore.domain.audit import RecordEvent
from runlore.domain.record import Record, RecordId, Transition
from runlore.domain.session import SessionId
from runlore.ports import operations as ops


class RemoteRecords(Remote):
    """Reading records, and proposing them."""

    def list_records(self, request: ops.ListRequest) -> ops.Page:
        """Records by filter, newest first."""
        asked = [*_filters(request.filters), ("limit", request.limit), ("cursor", request.cursor)]
        return answers.read(ops.Page, self.read(path_of("memory", "records"), asked))

    def get_record(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One record, now or as it was."""
        asked: list[tuple[str, Asked]] = [("as_of", as_of), ("session_id", session_id)]
        return answers.read(Record, self.read(path_of("memory", "records", record_id), asked))

    def history(self, record_id: RecordId, *, session_id: SessionId | None = None) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""
        path = path_of("memory", "records", record_id, "history")
        return answers.read_list(RecordEvent, self.read(path, [("session_id", session_id)]))

    def search(self, request: ops.SearchRequest) -> ops.SearchHits:
        """The best matches of a query."""
        asked: list[tuple[str, Asked]] = [
            ("query", request.query),
            *_filters(request.filters),
            ("include_stale", request.include_stale or None),
            ("limit", request.limit),
        ]
        return answers.read(ops.SearchHits, self.read(path_of("memory", "search"), asked))

    def goal_context(self, request: ops.GoalRequest) -> ops.GoalContext:
        """The top profile, procedural and semantic records for a goal."""
        asked: list[tuple[str, Asked]] = [
            ("goal", request.goal),
            ("session_id", request.session_id),
            ("limit", request.limit),
            ("as_of", request.as_of),
        ]
        return answers.read(ops.GoalContext, self.read(path_of("memory", "context"), asked))

    def states(self) -> tuple[Transition, ...]:
        """The table of legal moves."""
        return answers.read_list(Transition, self.read(path_of("memory", "states")))

    def propose_profile(self, proposal: ops.ProfileProposal) -> Record:
        """A candidate for the profile."""
        body = {
            "key": proposal.key,
            "value": proposal.value,
            "reason": proposal.reason,
            "scope": str(proposal.scope),
            "sensitivity": proposal.sensitivity.value,
            "confidence": proposal.confidence,
            "expires_at": time_or_none(proposal.expires_at),
        }
        path = path_of("memory", "profile-proposals")
        return answers.read(Record, self.act(path, body, key=proposal.idempotency_key))

    def add_episode(self, episode: ops.Episode) -> Record:
        """An appended episode."""
        body = {
            "kind": episode.kind.value,
            "summary": episode.summary,
            "scope": str(episode.scope),
            "metadata": episode.metadata,
            "sensitivity": episode.sensitivity.value,
            "expires_at": time_or_none(episode.expires_at),
        }
        path = path_of("memory", "episodes")
        return answers.read(Record, self.act(path, body, key=episode.idempotency_key))


def _filters(filters: ops.Filters) -> list[tuple[str, Asked]]:
    return [
        *repeated("layer", filters.layers),
        *repeated("kind", filters.kinds),
        *repeated("state", filters.states),
        *repeated("scope", filters.scopes),
        ("as_of", filters.as_of),
        ("session_id", filters.session_id),
    ]
