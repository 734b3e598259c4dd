"""Records: reading them, and taking proposals in."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.daemon.calls.access import (
    may_see,
    narrow_scopes,
    readable_scopes,
    require_writable,
)
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import as_it_was, profile_draft, storable
from runlore.daemon.calls.requests import (
    check_limit,
    check_query,
    cursor_after,
    cut_page,
    list_unsearched,
    read_cursor,
    record_filter,
    search_filter,
    whole_milliseconds,
)
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.daemon.search.query_vector import WORDLESS, remark_on
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.errors import Denied, Invalid
from runlore.domain.lazy import LazyModule
from runlore.domain.record import TRANSITIONS, Kind, Layer, Record, RecordId, State, Transition
from runlore.domain.records.audit import Act, RecordEvent
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot, Transaction

if TYPE_CHECKING:
    from runlore.daemon import candidate_sources, record_history
    from runlore.daemon.runs import contexts
    from runlore.domain.records import admission, radar
    from runlore.flow.pipeline import repeating
    from runlore.flow.record import intake as record_intake
else:
    repeating = LazyModule("runlore.flow.pipeline.repeating")
    candidate_sources = LazyModule("runlore.daemon.candidate_sources")
    record_history = LazyModule("runlore.daemon.record_history")
    contexts = LazyModule("runlore.daemon.runs.contexts")
    record_intake = LazyModule("runlore.flow.record.intake")
    radar = LazyModule("runlore.domain.records.radar")
    admission = LazyModule("runlore.domain.records.admission")


class RecordActs(Bound):
    """Reading records, and proposing them."""

    @operation
    def list_records(self, request: ops.ListRequest) -> ops.Page:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        where = record_filter(
            request.filters, default_states=frozenset({State.ACTIVE}), now=self.parts.clock.now()
        )
        place = read_cursor(request.cursor, RecordId)
        with self.parts.store.snapshot() as snapshot:
            where = replace(
                where, layers=self._layers(where.layers), scopes=self._scopes(snapshot, request.filters)
            )
            if request.filters.as_of is None:
                found = snapshot.records.page(where, limit=limit + 1, before=place)
            else:
                moment = request.filters.as_of
                found = snapshot.records.page_as_of(where, moment, limit=limit + 1, before=place)
        items, cursor = cut_page(found, limit, cursor_after)
        seen = tuple(record for record in items if may_see(self.caller, record))
        return ops.Page(items=seen, next_cursor=cursor)

    @operation
    def get_record(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id, at=as_of)
            if as_of is None:
                return self.require_seen(snapshot.records.get(storable(record_id)), readable)
            return self.require_seen(as_it_was(snapshot.records, storable(record_id), as_of), readable)

    @operation
    def history(self, record_id: RecordId, *, session_id: SessionId | None = None) -> tuple[RecordEvent, ...]:
        """What happened to a record, oldest first, as far as the caller may see it."""
        with self.parts.store.snapshot() as snapshot:
            readable = readable_scopes(snapshot, self.caller, session_id)
            self.require_seen(snapshot.records.get(storable(record_id)), readable)
            events = snapshot.records.events(storable(record_id))
            return record_history.filter_history(snapshot, self.caller, readable, events)

    @operation
    def search(self, request: ops.SearchRequest) -> ops.SearchHits:
        query = check_query(request.query)
        limit = check_limit(request.limit, limits.SEARCH_LIMIT_MAX)
        where = search_filter(request, self.parts.clock.now())
        filters = request.filters
        asked = contexts.near_query(
            self.parts, self.caller, query, filters.session_id, as_of=filters.as_of, timeout_s=None
        )
        if self.caller.role is Role.AGENT or self.caller.scopes is not None or request.filters.session_id:
            with self.parts.store.snapshot() as snapshot:
                where = replace(where, scopes=self._scopes(snapshot, request.filters))
        where = replace(where, layers=self._layers(where.layers))
        found = self.parts.follower.answer(
            lambda reading: (
                reading.with_vectors(asked.vectors).at(filters.as_of).search(query, where=where, limit=limit)
            ),
            needs_index=True,
        )
        hits = tuple(
            ops.SearchHit(record=hit.record, score=hit.score)
            for hit in found
            if may_see(self.caller, hit.record)
        )
        building = self.parts.follower.is_building
        remark = remark_on(query, asked, found_any=bool(hits), is_building=building)
        passed_over = () if hits or remark == WORDLESS else list_unsearched(filters)
        return ops.SearchHits(
            items=hits,
            semantic=asked.semantic,
            embedding_model=asked.model,
            remark=remark,
            unsearched=passed_over,
        )

    @operation
    def states(self) -> tuple[Transition, ...]:
        return TRANSITIONS

    @operation
    def propose_profile(self, proposal: ops.ProfileProposal) -> Record:
        draft = replace(profile_draft(proposal), provenance=self._spoken_provenance(proposal.scope))

        def body(tx: Transaction, act: Act) -> tuple[Record, ...]:
            require_writable(tx, self.caller, proposal.scope)
            return (record_intake.propose_once(tx, self.intake(act), draft),)

        return self.write(reasoned_call("propose_profile", proposal), body)[0]

    @operation
    def add_episode(self, episode: ops.Episode) -> Record:
        self._require_addable(episode)
        draft = admission.Draft(
            kind=episode.kind,
            summary=episode.summary,
            scope=episode.scope,
            metadata=episode.metadata,
            sensitivity=episode.sensitivity,
            provenance=self._spoken_provenance(episode.scope),
            expires_at=whole_milliseconds(episode.expires_at),
        )

        def body(tx: Transaction, act: Act) -> tuple[Record, ...]:
            require_writable(tx, self.caller, episode.scope)
            added = record_intake.append(tx, self.intake(act), [draft])
            repeating.propose_finding(tx, self.parts.ids, added[0], act)
            return added

        call = Call(operation="add_episode", request=episode, key=episode.idempotency_key)
        return self.write(call, body)[0]

    def _require_addable(self, episode: ops.Episode) -> None:
        """What Runlore itself writes of runs, radar and decisions is not for agents to write."""
        episodic = sorted(k for k in Kind if k.layer is Layer.EPISODIC and k is not Kind.RUN_SUMMARY)
        if episode.kind not in episodic:
            raise Invalid(
                f"{episode.kind} is not a kind of episode that can be added",
                code="episode.kind",
                hint=f"use one of: {', '.join(episodic)}",
            )
        if self.caller.role is Role.AGENT and episode.kind is not Kind.EXPERIMENT:
            raise Denied(
                f"{self.caller.actor} has the role agent, and writes no episode of the kind {episode.kind}",
                code="episode.kind",
                hint=f"agents add episodes of the kind {Kind.EXPERIMENT}",
            )
        if episode.metadata.get("origin") == radar.ORIGIN:
            raise Invalid(
                f"the metadata says origin: {radar.ORIGIN}, which marks what radar has written",
                code="episode.origin",
                hint="leave `origin` out, or say where it came from in another word",
            )

    def _spoken_provenance(self, scope: Scope) -> Provenance:
        with self.parts.store.snapshot() as snapshot:
            return candidate_sources.spoken_provenance(snapshot, self.caller, scope)

    def _scopes(self, snapshot: Snapshot, filters: ops.Filters) -> frozenset[Scope] | None:
        readable = readable_scopes(snapshot, self.caller, filters.session_id, at=filters.as_of)
        return narrow_scopes(filters.scopes, readable)

    def _layers(self, asked: frozenset[Layer] | None) -> frozenset[Layer]:
        """Scratch belongs to its own run: only an operator who asks for the layer is shown that of others."""
        if asked is None or self.caller.role is not Role.OPERATOR:
            return (asked or frozenset(Layer)) - {Layer.WORKING}
        return asked
