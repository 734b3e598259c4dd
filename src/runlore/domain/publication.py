"""What a confirmation would do: which records it replaces, what it repeats, and what stands in its way.

The review list shows this and the confirmation enforces it, so that both always say the same thing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import (
    PROMPT_KINDS,
    JsonObject,
    Layer,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    State,
    VerificationStatus,
)
from runlore.domain.subject import SemanticKey, conflicts
from runlore.domain.taint import inherited
from runlore.domain.visibility import hidden_because

MERGES = frozenset({Proposal.COMPACTION, Proposal.DEDUP})
CONFLICT = "review.conflict"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On which terms a candidate is published. Left alone: by hand, in the active tier.

    No `actor` is whoever acts; no `verification`, `revalidate_at` or `review` (the plain form of
    `automation_review`) leaves what the candidate has; of two times to expire at the earlier one holds.
    """

    tier: PublishTier = PublishTier.ACTIVE
    decision: PolicyDecision = PolicyDecision.MANUAL
    actor: str = ""
    verification: VerificationStatus | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None
    review: JsonObject | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether nobody looks: then nothing is replaced by it."""
        return self.decision is PolicyDecision.AUTOMATIC


BY_HAND = Terms()


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the store holds around a candidate: read once, inside the deciding transaction."""

    same_subject: tuple[Record, ...] = ()
    same_profile_key: tuple[Record, ...] = ()
    sources: tuple[Record, ...] = ()
    missing_sources: tuple[RecordId, ...] = ()
    named: Record | None = None
    missing_named: RecordId | None = None


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Why a confirmation would be refused, and what to do about it."""

    code: str
    sentence: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """What would happen: `supersedes` in order (the first is the record's own link), or a duplicate."""

    supersedes: tuple[Record, ...] = ()
    duplicate_of: Record | None = None
    obstacles: tuple[Obstacle, ...] = ()


def consequences(candidate: Record, around: Surroundings, now: datetime) -> Consequences:
    """What confirming a candidate would do, in these surroundings."""
    wrong = _wrong(candidate, around, now)
    if wrong:
        return Consequences(obstacles=wrong)
    is_merge = candidate.proposal in MERGES
    replaced, obstacles = _merged(candidate, around, now) if is_merge else _replaced(candidate, around)
    visible = [r for r in _neighbours(candidate, around, replaced) if hidden_because(r, now) is None]
    twin = next((r for r in visible if r.semantic_key == candidate.semantic_key), None)
    if twin is None and not is_merge:
        twin = next((r for r in replaced if r != around.named and _repeats(candidate, r, now)), None)
    if twin is not None:
        return Consequences(duplicate_of=twin)
    return Consequences(
        supersedes=replaced,
        obstacles=obstacles + tuple(_clash(candidate, r) for r in visible if _clashes(candidate, r)),
    )


def require(
    candidate: Record, outcome: Consequences, *, terms: Terms = BY_HAND, accept_untrusted: bool
) -> None:
    """Raise the first obstacle as a conflict, or the refusal of untrusted text that nobody accepted."""
    for obstacle in standing(outcome, terms):
        raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    provenance = inherited((candidate.provenance, *(r.provenance for r in outcome.supersedes)))
    if provenance.tainted and not accept_untrusted:
        named = ", ".join(provenance.sources) or "an unnamed source"
        raise Refused(
            f"record {candidate.record_id} comes from outside and nobody has accepted it: {named}",
            code="review.untrusted",
            hint="read it, then confirm again with --accept-untrusted",
        )


def standing(outcome: Consequences, terms: Terms) -> tuple[Obstacle, ...]:
    """What stands in the way on these terms: automation replaces nothing, but what it publishes for later
    (the provisional tier) may contradict what prompts see until somebody raises it."""
    if not terms.is_automatic:
        return outcome.obstacles
    replacing = tuple(_only_by_hand(record) for record in outcome.supersedes[:1])
    if terms.tier is PublishTier.ACTIVE:
        return outcome.obstacles + replacing
    return tuple(each for each in outcome.obstacles if each.code != CONFLICT) + replacing


def confirmed(
    candidate: Record, outcome: Consequences, *, actor: str, now: datetime, terms: Terms = BY_HAND
) -> Record:
    """The candidate's fields as its confirmation leaves them; the move itself is `audit`'s."""
    provenance = inherited((candidate.provenance, *(r.provenance for r in outcome.supersedes)))
    metadata: JsonObject = candidate.metadata
    if candidate.proposal is Proposal.DEDUP:
        metadata = {**metadata, "canonical": True}
    return replace(
        candidate,
        metadata=metadata,
        provenance=provenance.cleared() if provenance.tainted else provenance,
        publish_tier=terms.tier,
        verification_status=terms.verification or candidate.verification_status,
        policy_decision=terms.decision,
        policy_actor=terms.actor or actor,
        automation_review=terms.review or candidate.automation_review,
        supersedes=outcome.supersedes[0].record_id if outcome.supersedes else None,
        published_at=now,
        expires_at=min(filter(None, (candidate.expires_at, terms.expires_at)), default=None),
        revalidate_at=terms.revalidate_at or candidate.revalidate_at,
    )


def restore_obstacle(
    record: Record, around: Surroundings, chain: Iterable[Record], now: datetime
) -> Obstacle | None:
    """Why a superseded record cannot come back: something active replaces it, or it has expired."""
    in_place = next((r for r in chain if r.state is State.ACTIVE), None)
    if in_place is None:
        rivals = around.same_profile_key if record.layer is Layer.PROFILE else around.same_subject
        in_place = next((r for r in rivals if _stands_in(r, record, now)), None)
    if in_place is not None:
        return Obstacle(
            code="restore.replaced",
            sentence=f"record {record.record_id} is replaced by {in_place.record_id}, which is active",
            hint=f"roll {in_place.record_id} back first",
        )
    if record.is_expired(now):
        return Obstacle(
            code="restore.expired",
            sentence=f"record {record.record_id} has expired",
            hint="propose it again with a later expires_at",
        )
    return None


def _wrong(candidate: Record, around: Surroundings, now: datetime) -> tuple[Obstacle, ...]:
    """What no surroundings can make right: a date that has passed, or a record that cannot be replaced."""
    if candidate.is_expired(now):
        return (
            Obstacle(
                code="review.expired",
                sentence=f"record {candidate.record_id} has expired",
                hint="propose it again with a later expires_at",
            ),
        )
    if around.missing_named is not None:
        return (_irreplaceable(candidate, around.missing_named, "is not there"),)
    return () if around.named is None else _named_obstacles(candidate, around.named, now)


def _named_obstacles(candidate: Record, named: Record, now: datetime) -> tuple[Obstacle, ...]:
    if named.state is not State.ACTIVE:
        problem = f"is {named.state}, not active"
    elif named.is_expired(now):
        problem = "has expired"
    elif named.scope != candidate.scope:
        problem = f"is in {named.scope}, not in {candidate.scope}"
    elif named.kind is not candidate.kind and not {named.kind, candidate.kind} <= PROMPT_KINDS:
        problem = f"is a {named.kind}, not a {candidate.kind}"
    else:
        return ()
    return (_irreplaceable(candidate, named.record_id, problem),)


def _irreplaceable(candidate: Record, named: RecordId, problem: str) -> Obstacle:
    return Obstacle(
        code="review.supersedes",
        sentence=f"record {named} cannot be superseded by {candidate.record_id}: it {problem}",
        hint="name an active record of the same scope and kind",
    )


def _only_by_hand(replaced: Record) -> Obstacle:
    return Obstacle(
        code="review.by-hand",
        sentence=f"it would replace {replaced.record_id}, which automation does not do",
        hint="look at both, then confirm it by hand or reject it",
    )


def _merged(
    candidate: Record, around: Surroundings, now: datetime
) -> tuple[tuple[Record, ...], tuple[Obstacle, ...]]:
    gone = [
        *(f"{record_id} is not there" for record_id in around.missing_sources),
        *(f"{r.record_id} is {r.state}" for r in around.sources if r.state is not State.ACTIVE),
        *(f"{r.record_id} has expired" for r in around.sources if r.is_expired(now)),
        *(f"{r.record_id} is in {r.scope}" for r in around.sources if r.scope != candidate.scope),
    ]
    live = tuple(r for r in around.sources if r.state is State.ACTIVE)
    if around.named is not None and around.named.record_id not in {r.record_id for r in live}:
        live = (*live, around.named)
    if not gone:
        return live, ()
    changed = Obstacle(
        code="review.sources",
        sentence=f"the sources of {candidate.record_id} have changed: {'; '.join(gone)}",
        hint="reject it, and create proposals again from what is active now",
    )
    return live, (changed,)


def _replaced(candidate: Record, around: Surroundings) -> tuple[tuple[Record, ...], tuple[Obstacle, ...]]:
    named = around.named
    if candidate.layer is not Layer.PROFILE:
        return (() if named is None else (named,)), ()
    present = around.same_profile_key
    if named is None:
        expected = {candidate.supersedes} if candidate.supersedes else set()
        unchanged = {r.record_id for r in present} == expected
        return present, () if unchanged else (_changed(candidate, present),)
    others = tuple(r for r in present if r.record_id != named.record_id)
    return (named, *others), tuple(_changed(candidate, others) for _ in others[:1])


def _changed(candidate: Record, present: tuple[Record, ...]) -> Obstacle:
    key = candidate.metadata["profile_key"]
    now_active = ", ".join(r.record_id for r in present)
    return Obstacle(
        code="review.changed",
        sentence=f"what is active for {key!r} in {candidate.scope} has changed since {candidate.record_id}"
        f" was proposed: now {now_active or 'nothing'}, then {candidate.supersedes or 'nothing'}",
        hint=f"look at it again, then confirm with --supersedes {now_active}"
        if len(present) == 1
        else "reject this proposal and propose again",
    )


def _neighbours(candidate: Record, around: Surroundings, replaced: tuple[Record, ...]) -> tuple[Record, ...]:
    leaving = {candidate.record_id, *(r.record_id for r in replaced)}
    return tuple(r for r in around.same_subject if r.record_id not in leaving)


def _repeats(candidate: Record, other: Record, now: datetime) -> bool:
    return other.semantic_key == candidate.semantic_key and hidden_because(other, now) is None


def _clashes(candidate: Record, other: Record) -> bool:
    return conflicts(SemanticKey.parse(candidate.semantic_key), SemanticKey.parse(other.semantic_key))


def _clash(candidate: Record, other: Record) -> Obstacle:
    return Obstacle(
        code="review.conflict",
        sentence=f"{candidate.record_id} contradicts {other.record_id}, active in {other.scope}:"
        f" {other.summary!r}",
        hint=f"confirm it with --supersedes {other.record_id}, or reject it",
    )


def _stands_in(rival: Record, record: Record, now: datetime) -> bool:
    """A profile key has one active record; elsewhere only what a confirmation would clash with counts."""
    if rival.record_id == record.record_id:
        return False
    if record.layer is Layer.PROFILE:
        return True
    if hidden_because(rival, now) is not None:
        return False
    ours, theirs = SemanticKey.parse(record.semantic_key), SemanticKey.parse(rival.semantic_key)
    return ours == theirs or conflicts(ours, theirs)
