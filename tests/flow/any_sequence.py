"""A machine that does operations on records in any order, and checks the store after each.

At every step records are the replay of their events, what is refused has changed nothing, what was said to be
kept is kept, and every list and search, now or as of any earlier moment, equals what all events give.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from runlore.config.settings import Settings
from runlore.daemon.boot import boot
from runlore.domain.errors import NotFound, RunloreError
from runlore.domain.record import Layer, Record, RecordId, State, StateReason
from runlore.domain.records.audit import RecordEvent, erase_event
from runlore.domain.records.radar import Finding
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports import operations as ops
from tests.flow import reference
from tests.world import World, as_of, decision, found, inconsistencies, replayed

ACME = Scope(ScopeKind.PROJECT, "acme")
SUMMARIES = (
    "The deploy tool uses canary releases",
    "The deploy tool uses canary releases with a pause",
    "The deploy tool never uses canary releases",
    "The codename is Atlas",
    "Codename: Borealis",
    "用户喜欢深色主题",
    "Run the tests, then tag the release",
)
QUERIES = ("canary release", "codename atlas", "the editor", "深色", "Editor: vim", "radar scan")
TAGS = ((), ("deploy",), ("deploy", "canary"))

scopes = st.sampled_from((WORKSPACE, ACME))
summaries = st.sampled_from(SUMMARIES)
picks = st.integers(0, 99)
lifetimes = st.sampled_from((None, None, None, 1, 3, 2_000))
some_states = st.sampled_from(
    (frozenset[State](), frozenset({State.CONSTRAINED}), frozenset({State.SUPERSEDED}), frozenset(State))
)
some_layers = st.sampled_from((frozenset[Layer](), frozenset({Layer.PROFILE}), frozenset(Layer)))
some_scopes = st.sampled_from((frozenset[Scope](), frozenset({ACME}), frozenset({ACME, WORKSPACE})))
filters = st.builds(ops.Filters, states=some_states, layers=some_layers, scopes=some_scopes)


class AnySequence(RuleBasedStateMachine):
    """The operations in any order, on any record, asked for by anybody who may."""

    make: Callable[[], World]
    foreign: str

    @initialize(is_empty=st.sampled_from((False, False, False, True)))
    def begin(self, is_empty: bool) -> None:
        self.world = self.make()
        self.told: dict[RecordId, tuple[RecordEvent, ...]] = {}
        self.moments = [self.world.clock.now()]
        self.number = 0
        if not is_empty:
            self.settle()

    def settle(self) -> None:
        """Something for every act to act on."""
        world = self.world
        world.profile("editor", "vim", expires_at=self.later(2_000))
        self.let_time_pass(1)
        world.profile("editor", "emacs")
        world.propose("shell", "zsh")
        for summary in SUMMARIES[:2]:
            world.fact(summary, topic_tags=TAGS[2])
        for summary in SUMMARIES[5:]:
            world.procedure(summary, "release")
        self.let_time_pass(1)
        world.proposals()
        found(world.agent, SUMMARIES[3])

    def teardown(self) -> None:
        if hasattr(self, "world"):
            assert inconsistencies(self.world.settings) == []
            self.world.close()
            shutil.rmtree(self.world.root, ignore_errors=True)

    @rule(
        key=st.sampled_from(("editor", "Editor", "shell")),
        value=st.sampled_from(("vim", "emacs", "zsh")),
        scope=scopes,
        life=lifetimes,
        keyed=st.booleans(),
    )
    def propose(self, key: str, value: str, scope: Scope, life: int | None, keyed: bool) -> None:
        self.act(
            lambda more: self.world.propose(key, value, scope=scope, expires_at=self.later(life), **more),
            keyed=keyed,
        )

    @rule(summary=summaries, life=lifetimes)
    def append_an_episode(self, summary: str, life: int | None) -> None:
        self.act(lambda more: self.world.episode(summary, expires_at=self.later(life), **more))

    @rule(
        chosen=st.lists(summaries, min_size=1, max_size=3),
        tags=st.sampled_from(TAGS),
        scope=scopes,
        by_agent=st.booleans(),
    )
    def take_findings(self, chosen: list[str], tags: tuple[str, ...], scope: Scope, by_agent: bool) -> None:
        caller = self.world.agent if by_agent else self.world.operator
        findings = tuple(
            Finding(
                summary=summary,
                repo_slug="acme/tools",
                source_handle="acme",
                source_url="https://example.org/acme",
                topic_tags=tags,
            )
            for summary in chosen
        )
        self.act(lambda more: caller.radar_add(ops.Findings(findings=findings, scope=scope, **more)))

    @rule(pick=picks, workflow=st.sampled_from(("release", None)), accept=st.booleans(), keyed=st.booleans())
    def adopt(self, pick: int, workflow: str | None, accept: bool, keyed: bool) -> None:
        record = self.pick(pick, State.CONSTRAINED, State.ACTIVE, layer=Layer.SEMANTIC)
        request = ops.AdoptRequest(finding_id=record, workflow=workflow, accept_untrusted=accept)
        self.act(lambda more: self.world.operator.radar_adopt(replace(request, **more)), keyed=keyed)

    @rule(pick=picks)
    def undo_an_adoption(self, pick: int) -> None:
        record = self.pick(pick, State.ACTIVE, layer=Layer.SEMANTIC)
        self.act(lambda more: self.world.operator.radar_undo(decision(record, **more)))

    @rule(create=st.booleans(), keyed=st.booleans(), only=some_scopes)
    def compact(self, create: bool, keyed: bool, only: frozenset[Scope]) -> None:
        request = ops.MergeRequest(create_proposals=create, scopes=only)
        self.act(lambda more: self.world.operator.compact(replace(request, **more)), keyed=keyed)

    @rule(keyed=st.booleans())
    def dedup(self, keyed: bool) -> None:
        request = ops.MergeRequest(create_proposals=True)
        self.act(lambda more: self.world.operator.dedup(replace(request, **more)), keyed=keyed)

    @rule(pick=picks)
    def confirm_what_is_trusted(self, pick: int) -> None:
        record = self.pick(pick, State.CONSTRAINED)
        self.act(lambda more: self.world.confirm(record, **more))

    @rule(pick=picks, keyed=st.booleans())
    def confirm_what_was_read(self, pick: int, keyed: bool) -> None:
        record = self.pick(pick, State.CONSTRAINED)
        self.act(lambda more: self.world.confirm(record, accept_untrusted=True, **more), keyed=keyed)

    @rule(
        pick=picks,
        other=st.none() | picks,
        text=st.none() | summaries,
        stale=st.sampled_from((False, False, True)),
        keyed=st.booleans(),
    )
    def confirm(self, pick: int, other: int | None, text: str | None, stale: bool, keyed: bool) -> None:
        record = self.pick(pick, State.CONSTRAINED)
        wanted = decision(
            record,
            summary=text,
            supersedes=None if other is None else self.pick(other, State.ACTIVE),
            expected_revision=7 if stale else None,
            accept_untrusted=pick % 2 == 0,
        )
        self.act(lambda more: self.world.operator.confirm(replace(wanted, **more)), keyed=keyed)

    @rule(pick=picks)
    def reject(self, pick: int) -> None:
        record = self.pick(pick, State.CONSTRAINED)
        self.act(lambda more: self.world.reject(record, reason="not so", **more))

    @rule(pick=picks, restore=st.booleans(), keyed=st.booleans())
    def roll_back(self, pick: int, restore: bool, keyed: bool) -> None:
        record = self.pick(pick, State.ACTIVE)
        self.act(lambda more: self.world.rollback(record, restore_sources=restore, **more), keyed=keyed)

    @rule(pick=picks)
    def restore(self, pick: int) -> None:
        record = self.pick(pick, State.SUPERSEDED)
        self.act(lambda more: self.world.restore(record, **more))

    @rule(pick=picks, keyed=st.booleans())
    def forget(self, pick: int, keyed: bool) -> None:
        record = self.pick(pick)
        would = (
            _ids(self.world.operator.forget(decision(record), dry_run=True)) if record in self.told else ()
        )
        done = self.act(lambda more: self.world.forget(record, **more), keyed=keyed)
        assert done is None or _ids(done) == would

    @rule(milliseconds=st.sampled_from((1, 2, 3, 5, 2_000, 86_400_000)))
    def let_time_pass(self, milliseconds: int) -> None:
        self.moments.append(self.world.clock.advance(milliseconds=milliseconds))

    @rule()
    def sweep(self) -> None:
        boot(self.world.parts)
        assert not any(record.is_expired(self.now) for record in self.live())

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @rule()
    def import_a_stranger(self) -> None:
        self.act(lambda _: self.world.operator.import_records(self.foreign))

    @rule()
    def export_and_import(self) -> None:
        path = self.world.operator.export().path
        before = self.world.tables()
        back = self.world.operator.import_records(path) if self.told else None
        assert back is None or (back.count, back.skipped) == (0, {"already here": len(self.told)})
        assert self.world.tables() == before
        twin = World(Settings(state_root=str(self.world.root / "twin")))
        try:
            assert twin.operator.import_records(path).count == len(self.told)
            assert twin.histories() == self.world.histories()
            assert twin.stored() == self.world.stored()
        finally:
            twin.close()
            shutil.rmtree(twin.root)

    @rule(asked=filters, at=picks, limit=st.integers(1, 5))
    def list_as_of(self, asked: ops.Filters, at: int, limit: int) -> None:
        moment = self.moment(at)
        records = as_of(self.told, moment)
        wanted = reference.listed(records, asked, moment)
        request = ops.ListRequest(filters=replace(asked, as_of=moment), limit=limit)
        assert self.paged(request) == wanted

    @rule(asked=filters, limit=st.integers(1, 5))
    def list_now(self, asked: ops.Filters, limit: int) -> None:
        wanted = reference.listed(replayed(self.told).values(), asked, self.now)
        assert self.paged(ops.ListRequest(filters=asked, limit=limit)) == wanted

    @rule(
        query=st.sampled_from(QUERIES) | summaries,
        asked=filters,
        at=st.none() | picks,
        stale=st.booleans(),
    )
    def search(self, query: str, asked: ops.Filters, at: int | None, stale: bool) -> None:
        moment = None if at is None else self.moment(at)
        records = replayed(self.told).values() if moment is None else as_of(self.told, moment)
        request = ops.SearchRequest(query=query, filters=replace(asked, as_of=moment), include_stale=stale)
        hits = self.world.operator.search(request)
        wanted = reference.ranked(records, request, moment or self.now)[: request.limit]
        assert [(hit.record, hit.score.total) for hit in hits.items] == wanted

    @rule(at=picks)
    def get_as_of(self, at: int) -> None:
        moment = self.moment(at)
        then = {record.record_id: record for record in as_of(self.told, moment)}
        for record_id in self.told:
            try:
                assert self.world.operator.get_record(record_id, as_of=moment) == then[record_id]
            except NotFound:
                assert record_id not in then

    @rule()
    def look_at_the_inbox(self) -> None:
        page = self.world.operator.review_list(ops.ReviewRequest(limit=500))
        waiting = ops.Filters(states=frozenset({State.CONSTRAINED}))
        records = list(replayed(self.told).values())
        wanted = reference.listed(records, waiting, self.now)
        assert [item.record for item in page.items] == [*reference.due(records, self.now), *wanted]

    @invariant()
    def every_record_is_the_replay_of_its_events(self) -> None:
        if not hasattr(self, "world"):
            return
        histories = self.world.histories()
        for record_id, events in self.told.items():
            kept = histories[record_id][: len(events)]
            assert kept == events or kept == tuple(erase_event(event) for event in events)
        self.told = histories
        records = self.world.stored()
        assert records == replayed(histories)
        assert reference.breaches(records, self.now) == []
        for record in records.values():
            if record.state_reason is StateReason.FORGOTTEN:
                assert all(event.changes.get("summary", "") == "" for event in histories[record.record_id])

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    def act(self, do: Callable[[dict[str, Any]], Any], *, keyed: bool = False) -> Any:
        """Do it; what is refused has changed nothing, and the same call with a key has one effect."""
        self.number += 1
        self.moments.append(self.world.clock.advance(milliseconds=self.number % 2))
        more: dict[str, Any] = {"idempotency_key": f"key {self.number}"} if keyed else {}
        before = self.world.tables()
        try:
            done = do(more)
        except RunloreError:
            assert self.world.tables() == before
            return None
        if keyed:
            after = self.world.tables()
            assert do(more) == done
            assert self.world.tables() == after
        return done

    def later(self, milliseconds: int | None) -> datetime | None:
        return None if milliseconds is None else self.now + timedelta(milliseconds=milliseconds + 1)

    def live(self) -> list[Record]:
        return [record for record in self.world.stored().values() if record.state in reference.LIVE]

    def pick(self, number: int, *states: State, layer: Layer | None = None) -> RecordId:
        """One of the records, as a rule one that the act is for, now and then one that it is not for."""
        records = list(replayed(self.told).values())
        fitting = [r for r in records if r.state in states and (layer is None or r.layer is layer)]
        chosen = fitting if fitting and number % 8 else records
        return chosen[number % len(chosen)].record_id if chosen else RecordId("rec_nothing")

    def moment(self, number: int) -> datetime:
        """One of the moments at which something happened, or a little before."""
        return self.moments[number % len(self.moments)] - timedelta(milliseconds=number % 3 == 0)

    def paged(self, request: ops.ListRequest) -> list[Record]:
        """A whole list, page by page."""
        records: list[Record] = []
        while True:
            page = self.world.operator.list_records(request)
            assert len(page.items) <= request.limit
            records.extend(page.items)
            if page.next_cursor is None:
                return records
            request = replace(request, cursor=page.next_cursor)


def _ids(answer: ops.ForgetAnswer) -> tuple[RecordId, ...]:
    return tuple(record.record_id for record in answer.records)
