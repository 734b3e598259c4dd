"""The acts of the learning plane in any order, among all others."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runlore.domain.record import Kind, PublishTier, Record, RecordId, Sensitivity, State
from runlore.domain.records.visibility import hidden_from_planning
from runlore.domain.run import Run
from runlore.domain.scope import Scope
from runlore.ports import operations as ops
from tests.flow.any_sequence import AnySequence, lifetimes, picks, scopes, some_scopes, summaries
from tests.flow.learning_acts import given_run, paged
from tests.world import decision, replayed

kinds = st.sampled_from((Kind.FACT, Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROCEDURE))
tiers = st.sampled_from(PublishTier)
rarely = st.sampled_from((False, False, False, True))
words = st.sampled_from(("codename", "DEPLOY", "atlas", "release", "nowhere"))


class AnyLearning(AnySequence):
    """Candidates, publications, revocations, supersessions, verifications and feedback."""

    runs: tuple[Run, ...] = ()

    @rule(kind=kinds, text=summaries, scope=scopes, life=lifetimes, by_agent=rarely, keyed=st.booleans())
    def create_a_candidate(
        self, text: str, life: int | None, by_agent: bool, keyed: bool, **said: Any
    ) -> None:
        caller = self.world.agent if by_agent else self.world.operator
        self.act(
            lambda more: caller.create_candidate(
                ops.NewCandidate(content=text, **said, expires_at=self.later(life), **more)
            ),
            keyed=keyed,
        )

    @rule(
        pick=picks,
        other=st.none() | picks,
        text=st.none() | summaries,
        scope=st.none() | scopes,
        kind=st.none() | kinds,
        tier=tiers,
        keyed=st.booleans(),
    )
    def publish(self, pick: int, other: int | None, tier: PublishTier, keyed: bool, **edits: Any) -> None:
        asked: dict[str, Any] = {
            "record_id": self.pick(pick, State.CONSTRAINED),
            "content": edits["text"],
            "scope": edits["scope"],
            "kind": edits["kind"],
            "publish_tier": tier,
            "supersedes": None if other is None else self.pick(other, State.ACTIVE),
            "sensitivity": (None, None, Sensitivity.SENSITIVE, Sensitivity.NORMAL)[pick % 4],
            "revalidate_at": self.later(3) if pick % 5 == 0 else None,
            "accept_untrusted": pick % 2 == 0,
            "expected_revision": 7 if pick % 9 == 0 else None,
        }
        done = self.act(
            lambda more: self.world.operator.publish(ops.Publication(**asked, **more)), keyed=keyed
        )
        if done is not None and done.record_id == asked["record_id"]:
            assert (done.state, done.publish_tier) == (State.ACTIVE, tier)
            assert done.scope == (edits["scope"] or done.scope)

    @rule(pick=picks, keyed=st.booleans())
    def revoke(self, pick: int, keyed: bool) -> None:
        record = self.pick(pick, State.ACTIVE)
        self.act(lambda more: self.world.operator.revoke(decision(record, **more)), keyed=keyed)

    @rule(text=words, only=some_scopes, keyed=st.booleans())
    def revoke_what_matches(self, text: str, only: frozenset[Scope], keyed: bool) -> None:
        filters = ops.LearningFilters(text=text, scopes=only)
        wanted = [record.record_id for record in self.published(text, only) if record.state is State.ACTIVE]
        asked = ops.MatchingRevocation(filters=filters, dry_run=True)
        assert [record.record_id for record in self.world.operator.revoke_matching(asked).items] == wanted
        done = self.act(
            lambda more: self.world.operator.revoke_matching(ops.MatchingRevocation(filters=filters, **more)),
            keyed=keyed,
        )
        # The clock may have moved on between the two, and taken some away.
        assert {record.record_id for record in done.items} <= set(wanted)

    @rule(pick=picks, text=summaries, kind=st.none() | kinds, tier=tiers, keyed=st.booleans())
    def supersede(self, pick: int, text: str, kind: Kind | None, tier: PublishTier, keyed: bool) -> None:
        old = self.pick(pick, State.ACTIVE)
        seen = old in self.world.stored() and self.is_seen(self.world.record(old))
        asked: dict[str, Any] = {"record_id": old, "content": text, "kind": kind, "publish_tier": tier}
        done = self.act(
            lambda more: self.world.operator.supersede(
                ops.Supersession(**asked, accept_untrusted=pick % 2 == 0, **more)
            ),
            keyed=keyed,
        )
        if done is not None:
            replaced = self.world.record(old)
            assert (replaced.state, replaced.superseded_by) == (State.SUPERSEDED, done.record_id)
            assert (done.supersedes, done.scope) == (old, replaced.scope)
            assert not seen or self.is_seen(done)

    def is_seen(self, record: Record) -> bool:
        """Whether prompts or plans get it."""
        return hidden_from_planning(record, self.world.clock.now()) is None

    @rule(pick=picks, word=st.booleans(), keyed=st.booleans())
    def verify(self, pick: int, word: bool, keyed: bool) -> None:
        record = self.pick(pick, State.ACTIVE)
        due = self.later(5) if pick % 3 == 0 else None
        asked: dict[str, Any] = {"record_id": record, "on_my_word": word, "revalidate_at": due}
        self.act(lambda more: self.world.operator.verify(ops.VerifyRequest(**asked, **more)), keyed=keyed)

    @rule(text=summaries)
    def give_a_run_what_is_learned(self, text: str) -> None:
        self.runs = (*self.runs, given_run(self.world.agent, text))

    @rule(number=picks, pick=picks, verdict=st.sampled_from(ops.FeedbackVerdict), keyed=st.booleans())
    def judge(self, number: int, pick: int, verdict: ops.FeedbackVerdict, keyed: bool) -> None:
        if not self.runs:
            return
        run = self.runs[number % len(self.runs)]
        given = self.given(run) or [self.pick(pick)]
        asked: dict[str, Any] = {"run_id": run.run_id, "verdict": verdict, "note": "so it was"}
        record = given[pick % len(given)] if pick % 7 else self.pick(pick)
        done = self.act(
            lambda more: self.world.agent.feedback(ops.FeedbackNote(record_id=record, **asked, **more)),
            keyed=keyed,
        )
        assert done is None or record in given

    @rule(text=st.sampled_from(("", "codename", "RELEASE")), only=some_scopes, limit=st.integers(1, 4))
    def list_learnings(self, text: str, only: frozenset[Scope], limit: int) -> None:
        filters = ops.LearningFilters(text=text, scopes=only)
        request = ops.LearningRequest(filters=filters, limit=limit)
        assert paged(self.world.operator.list_learnings, request) == self.published(text, only)

    def published(self, text: str, only: frozenset[Scope]) -> list[Record]:
        """What was once published and holds a text, newest first."""
        shown = [
            record
            for record in replayed(self.told).values()
            if record.published_at is not None
            and text.casefold() in record.summary.casefold()
            and (not only or record.scope in only)
            and not (record.state is State.ACTIVE and record.is_expired(self.now))
        ]
        return sorted(shown, key=lambda record: (record.created_at, record.record_id), reverse=True)

    def given(self, run: Run) -> list[RecordId]:
        """The records that a run was given."""
        receipt = self.world.agent.receipt(run.run_id).receipt
        sections = () if receipt is None else receipt.sections
        return [RecordId(entry.source_id) for section in sections for entry in section.entries]
