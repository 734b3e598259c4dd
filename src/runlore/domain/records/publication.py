"""What a confirmation would do: which records it replaces, what it repeats, and what stands in its way.

The review list shows this and the confirmation enforces it, so that both always say the same thing.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.claims.contradictions import Surroundings, contradicts, find_contradictions, neighbours
from runlore.domain.errors import Conflict, Refused
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import (
    PROMPT_KINDS,
    STANDING_KINDS,
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
from runlore.domain.records.contracts import check_standing
from runlore.domain.records.visibility import Hidden, hidden_because, leaves_empty
from runlore.domain.taint import inherit

MERGES = frozenset({Proposal.COMPACTION, Proposal.DEDUP})
CONFLICT = "review.conflict"


@dataclass(frozen=True, kw_only=True)
class PublishTerms:
    """On which terms a candidate is published. Left alone: by hand, in the active tier.

    No `actor` is whoever acts; no `verification`, `revalidate_at` or `review` (the plain form of
    `automation_review`) leaves what the candidate has; of two times to expire at the earlier one holds.
    `both_hold` names what it seems to contradict and stands beside. Where nothing is said of `standing`, it
    stands if what it replaces does.
    """

    tier: PublishTier = PublishTier.ACTIVE
    decision: PolicyDecision = PolicyDecision.MANUAL
    actor: str = ""
    verification: VerificationStatus | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None
    review: JsonObject | None = None
    both_hold: tuple[RecordId, ...] = ()
    standing: bool | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether nobody looks: then nothing is replaced by it."""
        return self.decision is PolicyDecision.AUTOMATIC


BY_HAND = PublishTerms()


@JsonForm(rename={"sentence": "detail"})
@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Why a confirmation would be refused, and what to do about it."""

    code: str
    sentence: str
    hint: str


@JsonForm(flat=("obstacle",), derived={"record_id": "record_id"}, first=("record_id",), last=("record",))
@dataclass(frozen=True, kw_only=True)
class BlockedRecord:
    """A record that cannot come back, and why."""

    record: Record
    obstacle: Obstacle

    @property
    def record_id(self) -> RecordId:
        return self.record.record_id


@JsonForm(
    rename={"supersedes": "would_supersede", "duplicate_of": "would_duplicate_record"},
    derived={"would_duplicate": "would_duplicate"},
    first=("would_supersede", "would_duplicate"),
    # The record's own field of this name stands beside it in a review.
    omit={"both_hold": ()},
)
@dataclass(frozen=True, kw_only=True)
class Consequences:
    """What would happen: `supersedes` in order (the first is the record's own link), or a duplicate.

    `both_hold` is what it would stand beside by the reviewer's word.
    """

    supersedes: tuple[Record, ...] = ()
    both_hold: tuple[Record, ...] = ()
    duplicate_of: Record | None = None
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def would_duplicate(self) -> RecordId | None:
        return None if self.duplicate_of is None else self.duplicate_of.record_id


def consequences(
    candidate: Record, around: Surroundings, now: datetime, *, terms: PublishTerms = BY_HAND
) -> Consequences:
    wrong = _wrong(candidate, around, now)
    if wrong:
        return Consequences(obstacles=wrong)
    is_merge = candidate.proposal in MERGES
    replaced, obstacles = (
        _check_merge(candidate, around, now) if is_merge else _find_replaced(candidate, around)
    )
    beside = _neighbours(candidate, around, replaced)
    visible = [r for r in beside if hidden_because(r, now) is None]
    twin = next((r for r in visible if r.semantic_key == candidate.semantic_key), None)
    if twin is None and not is_merge:
        twin = next((r for r in replaced if r != around.named and _repeats(candidate, r, now)), None)
    if twin is not None:
        return Consequences(duplicate_of=twin)
    contrary = tuple(r for r in beside if contradicts(candidate, r))
    agreed = tuple(r for r in contrary if r.record_id in terms.both_hold or _is_known(r, around))
    clashing = (r for r in contrary if r in visible and r.record_id not in {*terms.both_hold, *around.agreed})
    outcome = Consequences(supersedes=replaced, both_hold=agreed)
    obstacles += tuple(_clash(candidate, r, replaced) for r in clashing)
    obstacles += _find_misnamed(candidate, outcome, terms)
    return replace(outcome, obstacles=obstacles + _find_emptying(candidate, outcome, terms, now))


def require(
    candidate: Record, outcome: Consequences, *, terms: PublishTerms = BY_HAND, accept_untrusted: bool
) -> None:
    """Raise the first obstacle as a conflict, or the refusal of untrusted text that nobody accepted."""
    if terms.standing:
        check_standing(candidate)
    for obstacle in find_obstacles(outcome, terms):
        raise Conflict(obstacle.sentence, code=obstacle.code, hint=obstacle.hint)
    provenance = inherit((candidate.provenance, *(r.provenance for r in outcome.supersedes)))
    if provenance.tainted and not accept_untrusted:
        named = ", ".join(provenance.sources) or "an unnamed source"
        raise Refused(
            f"{candidate.record_id} comes from outside and nobody has accepted it: {named}",
            code="review.untrusted",
            hint="read it, then confirm again with --accept-untrusted",
        )


def find_obstacles(outcome: Consequences, terms: PublishTerms) -> tuple[Obstacle, ...]:
    """What stands in the way on these terms: automation replaces nothing, but what it publishes for later
    (the provisional tier) may contradict what prompts see until somebody raises it."""
    if not terms.is_automatic:
        return outcome.obstacles
    replacing = tuple(_only_by_hand(record) for record in outcome.supersedes[:1])
    if terms.tier is PublishTier.ACTIVE:
        return outcome.obstacles + replacing
    return tuple(each for each in outcome.obstacles if each.code != CONFLICT) + replacing


def apply_confirmation(
    candidate: Record, outcome: Consequences, *, actor: str, now: datetime, terms: PublishTerms = BY_HAND
) -> Record:
    """The candidate's fields as its confirmation leaves them; the move itself is `audit`'s."""
    provenance = inherit((candidate.provenance, *(r.provenance for r in outcome.supersedes)))
    follows_rule = candidate.kind in STANDING_KINDS and any(r.standing for r in outcome.supersedes)
    metadata: JsonObject = candidate.metadata
    if candidate.proposal is Proposal.DEDUP:
        metadata = {**metadata, "canonical": True}
    return replace(
        candidate,
        metadata=metadata,
        provenance=provenance.clear() if provenance.tainted else provenance,
        publish_tier=terms.tier,
        verification_status=terms.verification or candidate.verification_status,
        policy_decision=terms.decision,
        policy_actor=terms.actor or actor,
        automation_review=terms.review or candidate.automation_review,
        supersedes=outcome.supersedes[0].record_id if outcome.supersedes else None,
        both_hold=tuple(r.record_id for r in outcome.both_hold),
        standing=follows_rule if terms.standing is None else terms.standing,
        published_at=now,
        expires_at=min(filter(None, (candidate.expires_at, terms.expires_at)), default=None),
        # Who confirms it has seen what was in doubt.
        revalidate_at=terms.revalidate_at or (None if candidate.doubt else candidate.revalidate_at),
    )


def restore_obstacle(
    record: Record, around: Surroundings, chain: Iterable[Record], now: datetime
) -> Obstacle | None:
    """Why a superseded record cannot come back: something active replaces it, or it has expired."""
    in_place = next((r for r in chain if r.state is State.ACTIVE), None)
    if in_place is None:
        rivals = around.same_profile_key if record.layer is Layer.PROFILE else around.same_subject
        in_place = next((r for r in rivals if _stands_in(r, record, around, now)), None)
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


def raise_obstacles(
    record: Record, around: Surroundings, now: datetime, *, both_hold: Collection[RecordId] = ()
) -> tuple[Obstacle, ...]:
    """What prompts see already in the place of a learning that is to be raised to the active tier."""
    twins = (other for other in neighbours(record, around) if other.semantic_key == record.semantic_key)
    others = (*twins, *(r for r in find_contradictions(record, around) if r.record_id not in both_hold))
    return tuple(
        Obstacle(
            code=CONFLICT,
            sentence=f"{record.record_id} cannot be raised beside {other.record_id}, active in {other.scope}:"
            f" {other.summary!r}",
            hint=f"revoke one of the two, or verify it with --both-hold {other.record_id} where both hold",
        )
        for other in others
        if hidden_because(other, now) is None
    )


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


def _find_emptying(
    candidate: Record, outcome: Consequences, terms: PublishTerms, now: datetime
) -> tuple[Obstacle, ...]:
    """The obstacle of a replacement that would hide what it replaces, and not be seen itself."""
    after = replace(
        apply_confirmation(candidate, outcome, actor=terms.actor, now=now, terms=terms), state=State.ACTIVE
    )
    # What merges others expires with the first of them (`curation`), and lasting ones only merge with such.
    lasting = replace(after, expires_at=None) if candidate.proposal in MERGES else after
    hiding = ((old, leaves_empty(lasting, old, now)) for old in outcome.supersedes)
    return tuple(_emptying(candidate, old, reason) for old, reason in hiding if reason is not None)[:1]


def _emptying(candidate: Record, old: Record, reason: Hidden) -> Obstacle:
    why = "expires earlier" if reason is Hidden.EXPIRED else f"is hidden ({reason})"
    return Obstacle(
        code="review.hides",
        sentence=f"{candidate.record_id} would replace {old.record_id}, and prompts would get neither:"
        f" the new one {why}",
        hint=_UNHIDE.get(reason, f"publish it beside {old.record_id}, or reject it"),
    )


_UNHIDE = {
    Hidden.PROVISIONAL: "publish it in the active tier; the provisional tier replaces nothing",
    Hidden.SENSITIVE: "publish it as normal; to have prompts get neither, revoke the old one",
    Hidden.EXPIRED: "propose it without expires_at; with revalidate_at it stays, and you are asked again",
    Hidden.FAILED: "its runs say the opposite: change its text to what holds, or reject it",
}


def _find_misnamed(candidate: Record, outcome: Consequences, terms: PublishTerms) -> tuple[Obstacle, ...]:
    known = {r.record_id for r in outcome.both_hold}
    replaced = {r.record_id for r in outcome.supersedes}
    return tuple(
        not_asked(candidate, named, "would replace" if named in replaced else "does not contradict")
        for named in terms.both_hold
        if named not in known
    )


def not_asked(record: Record, named: RecordId, why: str) -> Obstacle:
    """The obstacle of a word that both hold where that is no question."""
    return Obstacle(
        code="review.both-hold",
        sentence=f"{record.record_id} {why} {named}, so nobody asks whether both hold",
        hint="name records of its scope and kind that it contradicts and does not replace; a preference"
        " replaces what has its profile_key",
    )


def _only_by_hand(replaced: Record) -> Obstacle:
    return Obstacle(
        code="review.by-hand",
        sentence=f"it would replace {replaced.record_id}, which automation does not do",
        hint="look at both, then confirm it by hand or reject it",
    )


def _check_merge(
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


def _find_replaced(
    candidate: Record, around: Surroundings
) -> tuple[tuple[Record, ...], tuple[Obstacle, ...]]:
    named = around.named
    if candidate.layer is not Layer.PROFILE:
        return (() if named is None else (named,)), ()
    present = around.same_profile_key
    if named is None:
        expected = {candidate.supersedes} if candidate.supersedes else set()
        unchanged = {r.record_id for r in present} == expected
        return present, () if unchanged else (_changed_obstacle(candidate, present),)
    others = tuple(r for r in present if r.record_id != named.record_id)
    return (named, *others), tuple(_changed_obstacle(candidate, others) for _ in others[:1])


def _changed_obstacle(candidate: Record, present: tuple[Record, ...]) -> Obstacle:
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


def _is_known(record: Record, around: Surroundings) -> bool:
    """Whether a reviewer's earlier answer is noted on a record again, for as long as there is room."""
    return record.record_id in around.agreed and len(record.both_hold) < limits.BOTH_HOLD_MAX


def _neighbours(candidate: Record, around: Surroundings, replaced: tuple[Record, ...]) -> tuple[Record, ...]:
    leaving = {candidate.record_id, *(r.record_id for r in replaced)}
    return tuple(r for r in around.same_subject if r.record_id not in leaving)


def _repeats(candidate: Record, other: Record, now: datetime) -> bool:
    return other.semantic_key == candidate.semantic_key and hidden_because(other, now) is None


def _clash(candidate: Record, other: Record, replaced: tuple[Record, ...]) -> Obstacle:
    hint = (
        f"confirm it in the active tier with --supersedes {other.record_id} where it replaces that one,"
        f" with --both-hold {other.record_id} where both hold, or reject it"
    )
    if replaced:  # one record is named as replaced already, and there is no naming a second
        hint = (
            f"revoke {other.record_id} first where this replaces that one too,"
            f" or do it again with --both-hold {other.record_id} where both hold"
        )
    return Obstacle(
        code=CONFLICT,
        sentence=f"{candidate.record_id} contradicts {other.record_id}, active in {other.scope}:"
        f" {other.summary!r}",
        hint=hint,
    )


def _stands_in(rival: Record, record: Record, around: Surroundings, now: datetime) -> bool:
    """A profile key has one active record; elsewhere only what a confirmation would clash with counts."""
    if rival.record_id == record.record_id:
        return False
    if record.layer is Layer.PROFILE:
        return True
    if hidden_because(rival, now) is not None:
        return False
    if record.semantic_key == rival.semantic_key:
        return True
    return rival.record_id not in around.agreed and contradicts(record, rival)
