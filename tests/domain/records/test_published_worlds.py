"""Whatever people propose, confirm, roll back and restore: what prompts may see never contradicts itself."""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain.claims.contradictions import Surroundings
from runlore.domain.claims.subject import SemanticKey
from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import (
    Kind,
    Layer,
    Move,
    Origin,
    Proposal,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.records.admission import Draft, Stamp, admit
from runlore.domain.records.audit import RecordChange, RecordEvent, apply_record_move, create_record, replay
from runlore.domain.records.contracts import check_record
from runlore.domain.records.publication import (
    MERGES,
    apply_confirmation,
    consequences,
    require,
    restore_obstacle,
)
from runlore.domain.records.visibility import hidden_because
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import TRUSTED, Provenance, inherit
from tests.builders import ACME, act
from tests.fakes import START

WEB = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))
KINDS = [Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE]
texts = st.sampled_from(
    [
        *(
            "The codename is Atlas",
            "codename: atlas",
            "The codename is Borealis",
            "The codename is not Atlas",
        ),
        *("Reply in French", "Never reply in French", "The region = eu", "Region: us"),
    ]
)
numbers = st.integers(0, 99)


class PublishedWorlds(RuleBasedStateMachine):
    """A store in a dictionary, moved by the domain's rules alone."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.numbers = itertools.count(1)
        self.records: dict[RecordId, Record] = {}
        self.events: dict[RecordId, list[RecordEvent]] = {}
        self.untrusted: set[RecordId] = set()
        self.accepted: set[RecordId] = set()

    @rule(
        kind=st.sampled_from(KINDS), text=texts, tainted=st.booleans(), sensitive=st.booleans(), days=numbers
    )
    def propose(self, kind: Kind, text: str, tainted: bool, sensitive: bool, days: int) -> None:
        self.add(
            Draft(
                kind=kind,
                summary=text,
                scope=ACME if days % 5 else WORKSPACE,
                sensitivity=Sensitivity.SENSITIVE if sensitive and days % 2 else Sensitivity.NORMAL,
                provenance=WEB if tainted and days % 3 == 0 else TRUSTED,
                expires_at=self.now + timedelta(days=days) if 0 < days < 10 else None,
            )
        )

    @rule(choice=numbers, text=texts)
    def propose_a_merge(self, choice: int, text: str) -> None:
        active = self.in_state(State.ACTIVE)
        groups = [
            group
            for kind in (Kind.FACT, Kind.PROCEDURE)
            for scope in (ACME, WORKSPACE)
            if len(group := [r for r in active if r.kind is kind and r.scope == scope]) > 1
        ]
        if not groups:
            return
        group = groups[choice % len(groups)]
        self.add(
            Draft(
                kind=group[0].kind,
                summary=text,
                scope=group[0].scope,
                provenance=inherit(r.provenance for r in group),
                source=Source(record_ids=tuple(r.record_id for r in group)),
                proposal=Proposal.COMPACTION if group[0].kind is Kind.FACT else Proposal.DEDUP,
            )
        )

    @precondition(lambda self: self.in_state(State.CONSTRAINED))
    @rule(choice=numbers, other=st.none() | numbers, accept=st.booleans())
    def confirm(self, choice: int, other: int | None, accept: bool) -> None:
        waiting = self.in_state(State.CONSTRAINED)
        candidate = waiting[choice % len(waiting)]
        everything = list(self.records.values())
        named = None if other is None else everything[other % len(everything)]
        outcome = consequences(candidate, self.around(candidate, named), self.now)
        if outcome.duplicate_of is not None:
            repeated = replace(candidate, duplicate_of=outcome.duplicate_of.record_id)
            self.write(apply_record_move(candidate, Move.DUPLICATE, act(at=self.now), after=repeated))
            return
        try:
            require(candidate, outcome, accept_untrusted=accept)
        except (Conflict, Refused):
            return
        if accept:
            self.accepted.add(candidate.record_id)
        if any(r.record_id in self.untrusted - self.accepted for r in outcome.supersedes):
            self.untrusted.add(candidate.record_id)
        after = apply_confirmation(candidate, outcome, actor="operator", now=self.now)
        for old in outcome.supersedes:
            link = replace(old, superseded_by=candidate.record_id)
            self.write(apply_record_move(old, Move.SUPERSEDE, act(at=self.now), after=link))
        self.write(apply_record_move(candidate, Move.CONFIRM, act(at=self.now), after=after))

    @precondition(lambda self: self.in_state(State.ACTIVE))
    @rule(choice=numbers, back=st.booleans())
    def roll_back(self, choice: int, back: bool) -> None:
        active = self.in_state(State.ACTIVE)
        gone = active[choice % len(active)]
        self.write(apply_record_move(gone, Move.ROLLBACK, act(at=self.now)))
        for old in self.in_state(State.SUPERSEDED):
            if back and old.superseded_by == gone.record_id:
                self.restore(old)

    @precondition(lambda self: self.in_state(State.SUPERSEDED))
    @rule(choice=numbers)
    def restore_one(self, choice: int) -> None:
        superseded = self.in_state(State.SUPERSEDED)
        self.restore(superseded[choice % len(superseded)])

    @rule(days=st.integers(1, 4))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)

    @invariant()
    def no_two_visible_records_say_the_same_or_contradict_each_other(self) -> None:
        subjects = Counter(
            (r.scope, r.kind, SemanticKey.parse(r.semantic_key).subject) for r in self.visible()
        )

        assert [subject for subject, count in subjects.items() if count > 1] == []

    @invariant()
    def a_profile_key_has_one_active_record(self) -> None:
        places = Counter((r.scope, place(r)) for r in self.in_state(State.ACTIVE) if r.layer is Layer.PROFILE)

        assert [key for key, count in places.items() if count > 1] == []

    @invariant()
    def nothing_untrusted_is_visible_that_nobody_accepted(self) -> None:
        assert not {r.record_id for r in self.visible()} & (self.untrusted - self.accepted)

    @invariant()
    def what_was_replaced_says_by_what_and_every_record_equals_its_history(self) -> None:
        assert all(r.superseded_by in self.records for r in self.in_state(State.SUPERSEDED))
        assert all(
            r.duplicate_of in self.records for r in self.records.values() if r.state_reason == "duplicate"
        )
        assert all(replay(self.events[key]) == record for key, record in self.records.items())

    def visible(self) -> list[Record]:
        return [r for r in self.records.values() if hidden_because(r, self.now) is None]

    def in_state(self, state: State) -> list[Record]:
        return [r for r in self.records.values() if r.state is state]

    def around(self, record: Record, named: Record | None = None) -> Surroundings:
        subject = SemanticKey.parse(record.semantic_key).subject
        like = [r for r in self.in_state(State.ACTIVE) if r.scope == record.scope and r.kind is record.kind]
        sources = record.source.record_ids if record.proposal in MERGES else ()
        return Surroundings(
            same_subject=tuple(r for r in like if SemanticKey.parse(r.semantic_key).subject == subject),
            same_profile_key=tuple(
                r for r in like if record.layer is Layer.PROFILE and place(r) == place(record)
            ),
            sources=tuple(self.records[each] for each in sources),
            named=named,
        )

    def add(self, draft: Draft) -> None:
        record_id = RecordId(f"rec_{next(self.numbers)}")
        stamp = Stamp(record_id=record_id, origin=Origin.API, created_by="agent", at=self.now)
        record = admit(draft, stamp)
        holders = self.around(record).same_profile_key
        record = replace(record, supersedes=holders[0].record_id if holders else None)
        if record.provenance.tainted:
            self.untrusted.add(record_id)
        self.write(create_record(record, Move.PROPOSE, act(at=self.now)))

    def restore(self, record: Record) -> None:
        chain = [record]
        while chain[-1].superseded_by is not None:
            chain.append(self.records[chain[-1].superseded_by])
        if restore_obstacle(record, self.around(record), chain[1:], self.now) is None:
            back = replace(record, superseded_by=None)
            self.write(apply_record_move(record, Move.RESTORE, act(at=self.now), after=back))

    def write(self, change: RecordChange) -> None:
        check_record(change.record)
        self.records[change.record.record_id] = change.record
        self.events.setdefault(change.record.record_id, []).append(change.event)


def place(record: Record) -> str:
    return str(record.metadata["profile_key"]).casefold()


@pytest.mark.req("LRN-5", "LRN-6", "LAY-1", "LAY-3", "LAY-4", "TNT-3", "REC-4", "REC-6")
@pytest.mark.parametrize("examples", [15, pytest.param(3_000, marks=pytest.mark.soak)])
def test_what_prompts_may_see_never_contradicts_itself_and_was_accepted(examples: int) -> None:
    run_state_machine_as_test(
        PublishedWorlds, settings=settings(max_examples=examples, stateful_step_count=30)
    )
