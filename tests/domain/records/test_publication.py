"""What a confirmation would do, over generated surroundings, against the rules written down a second time."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.claims.contradictions import Surroundings
from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import (
    Kind,
    Layer,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.records.publication import (
    Consequences,
    PublishTerms,
    apply_confirmation,
    consequences,
    require,
    restore_obstacle,
)
from runlore.domain.records.visibility import hidden_because, hidden_from_planning
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import TRUSTED, Provenance, inherit
from tests.builders import ACME, fact, preference, procedure, published
from tests.domain.random_records import provenances
from tests.examples import scaled
from tests.fakes import START

NOW = START + timedelta(days=1)
MISSING = RecordId("rec_missing")
WEB = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))


class Said(NamedTuple):
    """What a record says, known without reading its text."""

    subject: str
    value: str
    negated: bool


@dataclass(frozen=True)
class World:
    """Records, and what each of them says."""

    records: tuple[Record, ...]
    said: dict[RecordId, Said]

    def around(self, record: Record, named: Record | None = None) -> Surroundings:
        """What a store would find, by looking at everything."""
        wanted = record.source.record_ids
        found = {r.record_id: r for r in self.records}
        return Surroundings(
            same_subject=tuple(r for r in self.like(record) if self.about(r) == self.about(record)),
            same_profile_key=tuple(self.of_the_same_place(record)),
            sources=tuple(found[each] for each in wanted if each in found),
            missing_sources=tuple(each for each in wanted if each not in found),
            named=named,
        )

    def like(self, record: Record) -> list[Record]:
        """The active records of its scope and kind."""
        return [
            r
            for r in self.records
            if r.state is State.ACTIVE and r.scope == record.scope and r.kind is record.kind
        ]

    def of_the_same_place(self, record: Record) -> list[Record]:
        return [r for r in self.like(record) if record.layer is Layer.PROFILE and place(r) == place(record)]

    def about(self, record: Record) -> str:
        return self.said[record.record_id].subject

    def disagree(self, one: Record, other: Record) -> bool:
        """Another value for the same subject, or the same one denied; what is not so leaves open what is."""
        ours, theirs = self.said[one.record_id], self.said[other.record_id]
        if ours.subject != theirs.subject:
            return False
        if ours.value == theirs.value:
            return ours.negated != theirs.negated
        return not (ours.negated or theirs.negated)

    def collide(self, one: Record, other: Record) -> bool:
        return self.said[one.record_id] == self.said[other.record_id] or self.disagree(one, other)


def place(record: Record) -> str:
    return str(record.metadata["profile_key"]).casefold()


def is_visible(record: Record) -> bool:
    return hidden_because(record, NOW) is None


subjects = st.sampled_from(["codename", "region"])
sayings = st.builds(Said, subjects, st.sampled_from(["atlas", "borealis"]), st.booleans())
# What else a record may be: most of these keep it out of prompts.
traits: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        *[{}] * 5,
        {"sensitivity": Sensitivity.SENSITIVE},
        {"publish_tier": PublishTier.PROVISIONAL},
        {"verification_status": VerificationStatus.FAILED},
        {"provenance": WEB},
        {"expires_at": NOW},
        {"expires_at": NOW + timedelta(milliseconds=1)},
        {"state": State.SUPERSEDED, "superseded_by": MISSING},
        {"state": State.TOMBSTONED, "state_reason": StateReason.REVOKED},
        {"state": State.CONSTRAINED},
    ]
)


traits_of_candidates: list[dict[str, Any]] = [
    {"sensitivity": Sensitivity.SENSITIVE},
    {"verification_status": VerificationStatus.FAILED},
    {"provenance": WEB},
]


def saying(said: Said, kind: Kind, key: str, **fields: Any) -> Record:
    """A record of a kind that says something; a preference does so under a key of its own spelling."""
    value = f"{'not ' if said.negated else ''}{said.value}"
    if kind is Kind.PREFERENCE:
        return preference(key, value, **fields)
    if kind is Kind.PROCEDURE:
        return procedure(f"The {said.subject} is {value}", **fields)
    return replace(fact(f"The {said.subject} is {value}", **fields), kind=kind)


@st.composite
def spoken(draw: st.DrawFn) -> tuple[Said, Record]:
    said = draw(sayings)
    kind = draw(st.sampled_from([Kind.FACT, Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROCEDURE]))
    key = draw(st.sampled_from([said.subject, said.subject.title(), f"the {said.subject}"]))
    return said, saying(said, kind, key, scope=draw(st.sampled_from([ACME, ACME, WORKSPACE])))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    drawn = [
        (said, replace(published(record), **draw(traits)))
        for said, record in draw(st.lists(spoken(), max_size=6))
    ]
    return World(tuple(r for _, r in drawn), {r.record_id: said for said, r in drawn})


@dataclass(frozen=True)
class Case:
    """A candidate in its world, and the record that the operator names as replaced, if any."""

    world: World
    candidate: Record
    named: Record | None
    terms: PublishTerms

    @property
    def outcome(self) -> Consequences:
        around = self.world.around(self.candidate, self.named)
        return consequences(self.candidate, around, NOW, terms=self.terms)


@st.composite
def cases(draw: st.DrawFn, *, merges: bool = False) -> Case:
    world = draw(worlds())
    said, candidate = draw(spoken())
    ids = [r.record_id for r in world.records]
    changes: dict[str, Any] = {
        "expires_at": draw(st.sampled_from([None, None, None, NOW, NOW + timedelta(milliseconds=1)])),
        **draw(st.sampled_from([{}, {}, {}, *traits_of_candidates])),
    }
    if candidate.layer is Layer.PROFILE:
        changes["supersedes"] = draw(st.sampled_from([None, *ids]))
    if merges:
        changes["proposal"] = draw(st.sampled_from([Proposal.COMPACTION, Proposal.DEDUP]))
        wanted = draw(st.lists(st.sampled_from([*ids, MISSING]), unique=True, max_size=3))
        changes["source"] = Source(record_ids=tuple(wanted))
    candidate = replace(candidate, **changes)
    named = draw(st.sampled_from([None, None, *world.records]))
    terms = PublishTerms(tier=draw(st.sampled_from([PublishTier.ACTIVE] * 3 + [PublishTier.PROVISIONAL])))
    return Case(World(world.records, {**world.said, candidate.record_id: said}), candidate, named, terms)


def expected_codes(case: Case, leaving: Sequence[Record]) -> set[str]:
    """Why a confirmation is refused, rule by rule."""
    candidate, world, named = case.candidate, case.world, case.named
    if candidate.expires_at is not None and candidate.expires_at <= NOW:
        return {"review.expired"}
    if named is not None and not is_replaceable(named, candidate):
        return {"review.supersedes"}
    codes = set()
    beside = [r for r in world.like(candidate) if is_visible(r) and r not in leaving]
    if any(world.disagree(r, candidate) for r in beside):
        codes.add("review.conflict")
    would_hide = (
        candidate.sensitivity is Sensitivity.SENSITIVE
        or candidate.verification_status is VerificationStatus.FAILED
        or case.terms.tier is PublishTier.PROVISIONAL
    )
    is_merge = candidate.proposal in (Proposal.COMPACTION, Proposal.DEDUP)
    lost = [r for r in leaving if hidden_from_planning(r, NOW) is None]
    until = None if is_merge else candidate.expires_at
    ends_first = until is not None and any(r.expires_at is None or until < r.expires_at for r in lost)
    if ends_first or (would_hide and lost):
        codes.add("review.hides")
    if is_merge:
        live = {r.record_id for r in world.records if is_live(r) and r.scope == candidate.scope}
        if not live.issuperset(candidate.source.record_ids):
            codes.add("review.sources")
    elif candidate.layer is Layer.PROFILE:
        held = {r.record_id for r in world.of_the_same_place(candidate)}
        known = {candidate.supersedes} - {None} if named is None else held & {named.record_id}
        if held != known:
            codes.add("review.changed")
    return codes


def is_live(record: Record) -> bool:
    return record.state is State.ACTIVE and (record.expires_at is None or record.expires_at > NOW)


def is_replaceable(named: Record, candidate: Record) -> bool:
    kinds = {named.kind, candidate.kind}
    same_sort = len(kinds) == 1 or Kind.PROCEDURE not in kinds
    return is_live(named) and named.scope == candidate.scope and same_sort


def expected_to_leave(case: Case) -> list[Record]:
    named = [] if case.named is None else [case.named]
    if case.candidate.proposal is not None:
        wanted = case.candidate.source.record_ids
        sources = [r for r in case.world.records if r.record_id in wanted and r.state is State.ACTIVE]
        return [*sources, *(r for r in named if r not in sources)]
    others = case.world.of_the_same_place(case.candidate)
    return [*named, *(r for r in others if r not in named)]


def expected_twins(case: Case) -> list[Record]:
    """The visible records that say the same, apart from what is replaced on purpose."""
    on_purpose = expected_to_leave(case) if case.candidate.proposal else [case.named]
    said = case.world.said
    return [
        r
        for r in case.world.like(case.candidate)
        if is_visible(r) and said[r.record_id] == said[case.candidate.record_id] and r not in on_purpose
    ]


def assert_as_expected(case: Case) -> None:
    outcome = case.outcome
    leaving = expected_to_leave(case)
    codes = expected_codes(case, leaving)
    twins = expected_twins(case)
    if codes & {"review.expired", "review.supersedes"}:
        assert {obstacle.code for obstacle in outcome.obstacles} == codes
        assert outcome.duplicate_of is None
    elif twins:
        assert outcome.duplicate_of in twins
        assert not outcome.supersedes
        assert not outcome.obstacles
    else:
        assert outcome.duplicate_of is None
        assert {obstacle.code for obstacle in outcome.obstacles} == codes
        assert {r.record_id for r in outcome.supersedes} == {r.record_id for r in leaving}


@pytest.mark.req("LRN-5", "LRN-6", "LRN-7", "LRN-15", "LAY-1")
@settings(max_examples=scaled(150))
@given(cases())
def test_a_confirmation_repeats_replaces_or_is_refused_as_the_rules_say(case: Case) -> None:
    assert_as_expected(case)


@pytest.mark.req("LAY-3", "LAY-4", "LRN-5", "LRN-6", "LRN-15")
@settings(max_examples=scaled(100))
@given(cases(merges=True))
def test_a_merge_replaces_its_sources_and_is_refused_when_they_have_changed(case: Case) -> None:
    assert_as_expected(case)


@pytest.mark.req("LRN-6", "TNT-3")
@settings(max_examples=scaled(75))
@given(cases(), provenances, st.booleans())
def test_the_first_obstacle_is_a_conflict_and_untrusted_text_waits_to_be_accepted(
    case: Case, provenance: Provenance, accept: bool
) -> None:
    outcome = case.outcome
    candidate = replace(case.candidate, provenance=provenance)
    inherits_taint = provenance.tainted or any(r.provenance.tainted for r in outcome.supersedes)

    if outcome.obstacles:
        with pytest.raises(Conflict) as conflict:
            require(candidate, outcome, accept_untrusted=accept)
        assert (conflict.value.code, conflict.value.sentence) == (
            *(outcome.obstacles[0].code, outcome.obstacles[0].sentence),
        )
    elif inherits_taint and not accept:
        with pytest.raises(Refused) as refusal:
            require(candidate, outcome, accept_untrusted=False)
        assert refusal.value.code == "review.untrusted"
        assert all(source in refusal.value.sentence for source in provenance.sources)
        assert "--accept-untrusted" in refusal.value.hint
    else:
        require(candidate, outcome, accept_untrusted=accept)


@pytest.mark.req("TNT-3", "REC-4", "LAY-4")
@given(provenances, st.lists(provenances, max_size=3), st.sampled_from([None, *Proposal]))
def test_a_confirmed_record_is_published_by_hand_linked_and_cleared(
    own: Provenance, replaced: list[Provenance], proposal: Proposal | None
) -> None:
    candidate = procedure(provenance=own, proposal=proposal, supersedes=MISSING)
    sources = tuple(published(procedure(), provenance=provenance) for provenance in replaced)

    record = apply_confirmation(candidate, Consequences(supersedes=sources), actor="pat", now=NOW)

    assert (record.publish_tier, record.policy_decision) == (PublishTier.ACTIVE, PolicyDecision.MANUAL)
    assert (record.policy_actor, record.published_at) == ("pat", NOW)
    assert record.supersedes == (sources[0].record_id if sources else None)
    assert record.metadata["canonical"] == (proposal is Proposal.DEDUP)
    assert not record.provenance.tainted
    assert set(record.provenance.sources) == set(inherit([own, *replaced]).sources)
    assert (record.summary, record.semantic_key, record.state) == (
        *(candidate.summary, candidate.semantic_key, candidate.state),
    )


@pytest.mark.req("TNT-3")
def test_what_replaces_something_untrusted_waits_as_well_and_names_where_it_came_from() -> None:
    old = published(fact("The codename is Atlas"), provenance=WEB)
    new = fact("The codename is Borealis")
    outcome = consequences(new, Surroundings(same_subject=(old,), named=old), NOW)

    with pytest.raises(Refused, match=r"https://example\.org"):
        require(new, outcome, accept_untrusted=False)
    require(new, outcome, accept_untrusted=True)
    assert apply_confirmation(new, outcome, actor="pat", now=NOW).provenance == WEB.clear()


@pytest.mark.req("LRN-6")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The codename is Atlas", "The codename is Borealis"),
        ("The codename is Atlas", "codename: not atlas"),
        ("Reply in French", "Never reply in French"),
    ],
)
def test_a_contradiction_is_refused_until_the_replaced_record_is_named(first: str, second: str) -> None:
    old, new = published(fact(first)), fact(second)
    around = Surroundings(same_subject=(old,))

    (obstacle,) = consequences(new, around, NOW).obstacles
    assert obstacle.code == "review.conflict"
    assert old.record_id in obstacle.sentence
    assert f"--supersedes {old.record_id}" in obstacle.hint

    assert consequences(new, replace(around, named=old), NOW) == Consequences(supersedes=(old,))


@pytest.mark.req("LAY-1")
def test_a_profile_proposal_replaces_what_it_saw_and_is_refused_when_that_has_changed() -> None:
    seen, newer = published(preference("editor", "vim")), published(preference("Editor", "nano"))
    proposal = preference("editor", "emacs", supersedes=seen.record_id, proposal=Proposal.PROFILE)

    unchanged = consequences(proposal, Surroundings(same_profile_key=(seen,)), NOW)
    changed = consequences(proposal, Surroundings(same_profile_key=(newer,)), NOW)
    gone = consequences(proposal, Surroundings(), NOW)
    looked_again = consequences(proposal, Surroundings(same_profile_key=(newer,), named=newer), NOW)
    looked_aside = consequences(proposal, Surroundings(same_profile_key=(newer,), named=seen), NOW)

    assert unchanged == Consequences(supersedes=(seen,))
    assert [obstacle.code for obstacle in changed.obstacles] == ["review.changed"]
    assert f"--supersedes {newer.record_id}" in changed.obstacles[0].hint
    assert [obstacle.code for obstacle in gone.obstacles] == ["review.changed"]
    assert looked_again == Consequences(supersedes=(newer,))
    assert [obstacle.code for obstacle in looked_aside.obstacles] == ["review.changed"]


@pytest.mark.req("LRN-6")
def test_an_edited_merge_cannot_slip_past_a_contradiction() -> None:
    sources = tuple(published(fact(text)) for text in ("The port is 80", "The port number: 80"))
    rival = published(fact("The codename is Atlas"))
    merge = fact(
        "The codename is Borealis",
        proposal=Proposal.COMPACTION,
        source=Source(record_ids=tuple(r.record_id for r in sources)),
    )

    outcome = consequences(merge, Surroundings(same_subject=(rival,), sources=sources), NOW)

    assert [obstacle.code for obstacle in outcome.obstacles] == ["review.conflict"]


@pytest.mark.req("LAY-3", "LAY-4", "LAY-1", "LRN-11")
@settings(max_examples=scaled(125))
@given(
    worlds(),
    spoken(),
    st.lists(st.sampled_from(State), max_size=3),
    st.sampled_from([None, None, NOW, NOW + timedelta(milliseconds=1)]),
)
def test_a_replaced_record_comes_back_when_nothing_active_replaces_it(
    world: World, drawn: tuple[Said, Record], chain_states: list[State], expires_at: datetime | None
) -> None:
    said, like = drawn
    record = replace(like, state=State.SUPERSEDED, superseded_by=MISSING, expires_at=expires_at)
    world = World((*world.records, record), {**world.said, record.record_id: said})
    chain = [replace(fact(), state=state) for state in chain_states]
    if record.layer is Layer.PROFILE:
        in_place = world.of_the_same_place(record)
    else:
        in_place = [r for r in world.like(record) if is_visible(r) and world.collide(r, record)]

    obstacle = restore_obstacle(record, world.around(record), iter(chain), NOW)

    if State.ACTIVE in chain_states or in_place:
        blocking = [*(r for r in chain if r.state is State.ACTIVE), *in_place]
        assert obstacle is not None
        assert obstacle.code == "restore.replaced"
        assert any(r.record_id in obstacle.sentence and r.record_id in obstacle.hint for r in blocking)
    elif expires_at == NOW:
        assert obstacle is not None
        assert obstacle.code == "restore.expired"
    else:
        assert obstacle is None


@pytest.mark.req("LAY-4")
def test_all_duplicates_of_a_workflow_can_come_back_side_by_side() -> None:
    first, second = (
        replace(published(procedure(text)), state=State.SUPERSEDED, superseded_by=MISSING)
        for text in ("Release process: run make", "Release process: tag, then build")
    )
    back = replace(first, state=State.ACTIVE, superseded_by=None)

    assert restore_obstacle(second, Surroundings(same_subject=(back,)), [], NOW) is None


@pytest.mark.req("LRN-6", "LAY-1", "LAY-3")
def test_every_obstacle_names_the_candidate_and_says_what_to_do() -> None:
    named_states: list[dict[str, Any]] = [
        {"state": State.CONSTRAINED},
        {"scope": WORKSPACE},
        {"expires_at": NOW},
    ]
    new = fact("The codename is Borealis")
    named = [replace(published(fact()), **change) for change in named_states]
    named.append(published(procedure()))
    old = published(fact())
    merge = replace(new, proposal=Proposal.COMPACTION, source=Source(record_ids=(old.record_id, MISSING)))
    gone = replace(old, state=State.TOMBSTONED)
    outcomes = [
        *(consequences(new, Surroundings(named=each), NOW) for each in named),
        consequences(replace(new, expires_at=NOW), Surroundings(), NOW),
        consequences(new, Surroundings(same_subject=(old,)), NOW),
        consequences(merge, Surroundings(sources=(gone,), missing_sources=(MISSING,)), NOW),
    ]

    obstacles = list(itertools.chain.from_iterable(outcome.obstacles for outcome in outcomes))

    assert len(obstacles) == len(outcomes)
    assert all(new.record_id in obstacle.sentence and obstacle.hint for obstacle in obstacles)
    assert MISSING in obstacles[-1].sentence
    assert gone.record_id in obstacles[-1].sentence


@pytest.mark.req("LAY-3")
def test_a_trusted_merge_of_live_sources_replaces_them_all_the_first_by_its_own_link() -> None:
    sources = tuple(published(fact(text)) for text in ("The port is 80", "Port: 80", "The port = 80"))
    merge = fact(
        "The port is 80",
        proposal=Proposal.COMPACTION,
        source=Source(record_ids=tuple(r.record_id for r in sources)),
    )

    outcome = consequences(merge, Surroundings(same_subject=sources, sources=sources), NOW)
    require(merge, outcome, accept_untrusted=False)
    record = apply_confirmation(merge, outcome, actor="pat", now=NOW)

    assert outcome.supersedes == sources
    assert record.supersedes == sources[0].record_id
    assert record.provenance == TRUSTED
