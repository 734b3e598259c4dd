"""Records: reading them, and taking proposals in."""

from dataclasses import replace
from datetime import datetime

from runlore.daemon.access import narrowed, readable_scopes, require_reach, require_visible
from runlore.daemon.acts import Call
from runlore.daemon.lookups import (
    as_it_was,
    next_cursor,
    profile_draft,
    storable,
)
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.requests import (
    checked_limit,
    checked_query,
    place_of,
    record_filter,
    search_filter,
    whole_milliseconds,
)
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.admission import Draft
from runlore.domain.audit import RecordEvent
from runlore.domain.errors import Invalid
from runlore.domain.record import TRANSITIONS, Kind, Layer, Record, RecordId, State, Transition
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.flow.record.intake import append, propose
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot


class RecordActs(Bound):
    """Reading records, and proposing them."""

    @operation
    def list_records(self, request: ops.ListRequest) -> ops.Page:
        """Records by filter, newest first."""
        limit = checked_limit(request.limit, limits.LIST_LIMIT_MAX)
        where = record_filter(
            request.filters, default_states=frozenset({State.ACTIVE}), now=self.parts.clock.now()
        )
        place = place_of(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            where = replace(
                where, layers=self._layers(where.layers), scopes=self._scopes(snapshot, request.filters)
            )
            if request.filters.as_of is None:
                found = snapshot.records.page(where, limit=limit + 1, before=place)
            else:
                moment = request.filters.as_of
                found = snapshot.records.page_as_of(where, moment, limit=limit + 1, before=place)
        return ops.Page(items=found[:limit], next_cursor=next_cursor(found, limit))

    @operation
    def get_record(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One record, now or as it was."""
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id, at=as_of)
            if as_of is None:
                return require_visible(snapshot.records.get(storable(record_id)), readable)
            return require_visible(as_it_was(snapshot.records, storable(record_id), as_of), readable)

    @operation
    def history(self, record_id: RecordId, *, session_id: SessionId | None = None) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id)
            require_visible(snapshot.records.get(storable(record_id)), readable)
            return snapshot.records.events(storable(record_id))

    @operation
    def search(self, request: ops.SearchRequest) -> tuple[ops.SearchHit, ...]:
        """The best matches of a query."""
        query = checked_query(request.query)
        limit = checked_limit(request.limit, limits.SEARCH_LIMIT_MAX)
        where = search_filter(request, self.parts.clock.now())
        if self.caller.role is Role.AGENT or self.caller.scopes is not None or request.filters.session_id:
            with self.parts.store.snapshot() as snapshot:
                where = replace(where, scopes=self._scopes(snapshot, request.filters))
        found = self.parts.follower.search(
            query,
            where=replace(where, layers=self._layers(where.layers)),
            limit=limit,
            as_of=request.filters.as_of,
        )
        return tuple(ops.SearchHit(record=hit.record, score=hit.score) for hit in found)

    @operation
    def states(self) -> tuple[Transition, ...]:
        """The table of legal moves."""
        return TRANSITIONS

    @operation
    def propose_profile(self, proposal: ops.ProfileProposal) -> Record:
        """A candidate for the profile."""
        require_reach(self.caller, [proposal.scope])
        draft = profile_draft(proposal)
        return self.write(
            Call(
                operation="propose_profile",
                request=proposal,
                key=proposal.idempotency_key,
                reason=proposal.reason,
            ),
            lambda tx, act: propose(tx, self.intake(act), [draft]),
        )[0]

    @operation
    def add_episode(self, episode: ops.Episode) -> Record:
        """An appended episode."""
        if episode.kind.layer is not Layer.EPISODIC or episode.kind is Kind.RUN_SUMMARY:
            episodic = sorted(k for k in Kind if k.layer is Layer.EPISODIC and k is not Kind.RUN_SUMMARY)
            raise Invalid(
                f"{episode.kind} is not a kind of episode that can be added",
                code="episode.kind",
                hint=f"use one of: {', '.join(episodic)}",
            )
        require_reach(self.caller, [episode.scope])
        draft = Draft(
            kind=episode.kind,
            summary=episode.summary,
            scope=episode.scope,
            metadata=episode.metadata,
            sensitivity=episode.sensitivity,
            expires_at=whole_milliseconds(episode.expires_at),
        )
        return self.write(
            Call(operation="add_episode", request=episode, key=episode.idempotency_key),
            lambda tx, act: append(tx, self.intake(act), [draft]),
        )[0]

    def _scopes(self, snapshot: Snapshot, filters: ops.Filters) -> frozenset[Scope] | None:
        readable = readable_scopes(snapshot, self.caller, filters.session_id, at=filters.as_of)
        return narrowed(filters.scopes, readable)

    def _layers(self, asked: frozenset[Layer] | None) -> frozenset[Layer]:
        """Scratch belongs to its own run: others see it only where a person asks for the layer by name."""
        if asked is None or self.caller.role is Role.AGENT:
            return (asked or frozenset(Layer)) - {Layer.WORKING}
        return asked
