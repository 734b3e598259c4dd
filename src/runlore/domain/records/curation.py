"""Which active records would merge: semantic ones that say related things, procedures of one workflow.

It proposes and changes nothing. Each record is in at most one merge, and no text is lost: a summary holds
the distinct texts of its sources in full, and a group that would not fit is two groups. Statements that
contradict each other, or differ in polarity, are left to a person and never put side by side here.

Two semantic records of one scope and kind are alike when one of these holds, the leader of a group being
its oldest record. A tag alone is not enough: any two findings are about "agent".

    summary   they have the same semantic key
    text      three fifths of their terms are shared, at least three
    topics    two thirds of their tags are shared, at least two, and one term of their texts
    topics    a tag is shared, a quarter of their terms, and of these one that is no word of a shared tag
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.claims.subject import SemanticKey, conflicts, semantic_key
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Kind, Layer, Record, RecordId, Sensitivity, State
from runlore.domain.scope import Scope
from runlore.domain.taint import Provenance, inherit
from runlore.domain.text.analysis import fold_text, tokenize

SHARED_SHOWN_MAX = 12
TAGS_BYTES_MAX = limits.METADATA_BYTES_MAX // 2
# A feature of more records than this says nothing of any two of them; it is not followed.
GENERIC_RECORDS_MIN = 100
# Enough to find what is alike, few enough to keep ten thousand records a matter of seconds.
FEATURES_FOLLOWED_MAX = 24
CANDIDATES_MAX = 24


class Basis(StrEnum):
    """What the sources of a merge have in common."""

    SUMMARY = "summary"
    TEXT = "text"
    TOPICS = "topics"
    WORKFLOW = "workflow"


@dataclass(frozen=True, kw_only=True)
class Merge:
    """A proposal in the making. The first source is the one that `supersedes` names.

    `variants` are the sources whose text is not in the summary, to be shown beside it: only a dedup has
    any. `digest` is equal for an equal set of sources with equal texts, so that a set that was turned down
    is known again, and is another one as soon as anything changed.
    """

    scope: Scope
    kind: Kind
    sources: tuple[RecordId, ...]
    variants: tuple[RecordId, ...] = ()
    summary: str
    metadata: JsonObject
    confidence: int
    provenance: Provenance
    sensitivity: Sensitivity
    expires_at: datetime | None
    digest: str
    basis: Basis
    shared: tuple[str, ...]


def compactions(records: Sequence[Record]) -> tuple[Merge, ...]:
    """The merges of active semantic records, within one scope and kind, oldest first.

    What expires merges only with what expires, and the summary expires with the first of its sources: no
    text outlives its date, and no lasting text is lost to another's. Nor is one that prompts get lost to a
    sensitive one: those merge among themselves.
    """
    parts: dict[tuple[Scope, Kind, Sensitivity, bool], list[_Member]] = defaultdict(list)
    for record in sorted(_active(records, Layer.SEMANTIC), key=_age):
        part = (record.scope, record.kind, record.sensitivity, record.expires_at is None)
        parts[part].append(_member(record))
    groups = (group for part in sorted(parts) for group in _group_members(parts[part]))
    return tuple(_compaction(group) for group in groups if len(group.members) > 1)


def dedups(records: Sequence[Record]) -> tuple[Merge, ...]:
    """The merges of active procedures of one scope and workflow.

    The canonical text is that of the most confident record, then the oldest, then the first id. Procedures
    are not joined: two half-right lists of steps do not make a right one. Those with other words are named
    in `variants`, and stay readable as superseded records. What expires merges only with what expires.
    """
    workflows: dict[tuple[Scope, str, Sensitivity, bool], list[Record]] = defaultdict(list)
    for record in _active(records, Layer.PROCEDURAL):
        workflow = record.metadata.get("workflow")
        if isinstance(workflow, str) and workflow.strip():
            part = (record.scope, fold_text(workflow), record.sensitivity, record.expires_at is None)
            workflows[part].append(record)
    merges = []
    for part in sorted(workflows):
        ranked = sorted(workflows[part], key=lambda record: (-record.confidence, *_age(record)))
        merges += [
            _dedup(chunk) for chunk in into_batches(ranked, limits.COMPACTION_SOURCES_MAX) if len(chunk) > 1
        ]
    return tuple(merges)


@dataclass(frozen=True, kw_only=True)
class _Member:
    """A record with what it is compared by."""

    record: Record
    key: SemanticKey
    tags: frozenset[str]
    terms: frozenset[str]

    @property
    def features(self) -> Iterator[tuple[str, str]]:
        yield from (("tag", tag) for tag in self.tags)
        yield from (("term", term) for term in self.terms)


def _member(record: Record) -> _Member:
    stored = SemanticKey.parse(record.semantic_key) if record.semantic_key else semantic_key(record.summary)
    return _Member(
        record=record,
        key=stored,
        tags=frozenset(fold_text(tag) for tag in _tags(record)),
        terms=frozenset(tokenize(record.summary)),
    )


@dataclass(kw_only=True)
class _Group:
    """Members that may become one; it grows while records are read, oldest first."""

    leader: _Member
    members: list[_Member] = field(default_factory=list)
    texts: dict[SemanticKey, str] = field(default_factory=dict)
    bases: set[Basis] = field(default_factory=set)

    def takes(self, member: _Member) -> bool:
        """Whether there is room for its text, and nothing here that it contradicts."""
        if (
            len(self.members) >= limits.COMPACTION_SOURCES_MAX
            or self.leader.key.negated != member.key.negated
        ):
            return False
        if any(conflicts(key, member.key) for key in self.texts):
            return False
        texts = {member.key: member.record.summary, **self.texts}
        return len("\n".join(texts.values())) <= limits.SUMMARY_CHARS_MAX

    def add(self, member: _Member, basis: Basis | None) -> None:
        """Take it in; `basis` says why, and is missing for the leader."""
        self.members.append(member)
        self.texts.setdefault(member.key, member.record.summary)
        if basis is not None:
            self.bases.add(basis)


def _group_members(members: Sequence[_Member]) -> list[_Group]:
    """Each member with the leader that it is most alike to, or as a leader itself. No pair is tried twice."""
    frequency = Counter(feature for member in members for feature in member.features)
    groups: list[_Group] = []
    led: dict[tuple[str, str], list[int]] = defaultdict(list)
    of_key: dict[SemanticKey, int] = {}
    for member in members:
        rare = _pick_rarest(member, frequency)
        tried = _likely(rare, led)
        if member.key in of_key:
            tried.insert(0, of_key[member.key])
        at, basis = _find_group(member, groups, tried)
        if at is None:
            at = len(groups)
            groups.append(_Group(leader=member))
            for feature in rare:
                led[feature].append(at)
        groups[at].add(member, basis)
        of_key[member.key] = at
    return groups


def _pick_rarest(member: _Member, frequency: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """The member's rarest features that another record has too."""
    kept = [feature for feature in member.features if 1 < frequency[feature] <= GENERIC_RECORDS_MIN]
    return sorted(kept, key=lambda feature: (frequency[feature], feature))[:FEATURES_FOLLOWED_MAX]


def _likely(features: Iterable[tuple[str, str]], led: dict[tuple[str, str], list[int]]) -> list[int]:
    """The groups whose leaders share most of these features, the oldest first among equals."""
    votes = Counter(at for feature in features for at in led.get(feature, ()))
    return sorted(votes, key=lambda at: (-votes[at], at))[:CANDIDATES_MAX]


def _find_group(
    member: _Member, groups: Sequence[_Group], tried: Iterable[int]
) -> tuple[int | None, Basis | None]:
    for at in tried:
        group = groups[at]
        basis = Basis.SUMMARY if member.key in group.texts else _alike(group.leader, member)
        if basis is not None and group.takes(member):
            return at, basis
    return None, None


def _alike(leader: _Member, member: _Member) -> Basis | None:
    """Why two records belong together, or None: the rule at the top of this file."""
    terms, all_terms = leader.terms & member.terms, len(leader.terms | member.terms)
    tags, all_tags = leader.tags & member.tags, len(leader.tags | member.tags)
    if len(terms) >= 3 and 5 * len(terms) >= 3 * all_terms:
        return Basis.TEXT
    if len(tags) >= 2 and 3 * len(tags) >= 2 * all_tags and terms:
        return Basis.TOPICS
    beyond = terms - {term for tag in tags for term in tokenize(tag)}
    if tags and beyond and 4 * len(terms) >= all_terms:
        return Basis.TOPICS
    return None


def _compaction(group: _Group) -> Merge:
    sources = [member.record for member in group.members]
    basis = next(basis for basis in (Basis.TOPICS, Basis.TEXT, Basis.SUMMARY) if basis in group.bases)
    expiries = [record.expires_at for record in sources if record.expires_at is not None]
    return Merge(
        scope=sources[0].scope,
        kind=sources[0].kind,
        sources=tuple(record.record_id for record in sources),
        summary="\n".join(group.texts.values()),
        metadata={
            "origin": "compaction",
            "topic_tags": _unite_tags(sources),
            "compacted_from": [record.record_id for record in sources],
        },
        confidence=min(record.confidence for record in sources),
        provenance=inherit(record.provenance for record in sources),
        sensitivity=_sensitivity(sources),
        expires_at=min(expiries, default=None),
        digest=_digest(sources),
        basis=basis,
        shared=_list_shared(group, basis),
    )


def _list_shared(group: _Group, basis: Basis) -> tuple[str, ...]:
    """What the leader has in common with the others, the most common first."""
    of_topics = basis is Basis.TOPICS
    own = group.leader.tags if of_topics else group.leader.terms
    others = (member.tags if of_topics else member.terms for member in group.members[1:])
    counts = Counter(name for names in others for name in own & names)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))[:SHARED_SHOWN_MAX]


def _dedup(sources: Sequence[Record]) -> Merge:
    canonical = sources[0]
    key = semantic_key(canonical.summary)
    workflow = str(canonical.metadata["workflow"]).strip()
    return Merge(
        scope=canonical.scope,
        kind=canonical.kind,
        sources=tuple(record.record_id for record in sources),
        variants=tuple(record.record_id for record in sources if semantic_key(record.summary) != key),
        summary=canonical.summary,
        metadata={
            "workflow": workflow,
            "canonical": False,
            "compacted_from": [record.record_id for record in sources],
        },
        confidence=canonical.confidence,
        provenance=inherit(record.provenance for record in sources),
        sensitivity=_sensitivity(sources),
        expires_at=canonical.expires_at,
        digest=_digest(sources),
        basis=Basis.WORKFLOW,
        shared=(workflow,),
    )


def _active(records: Iterable[Record], layer: Layer) -> Iterable[Record]:
    """The active records of a layer, each once: nothing is a duplicate of itself."""
    kept = {r.record_id: r for r in records if r.state is State.ACTIVE and r.layer is layer}
    return kept.values()


def _age(record: Record) -> tuple[datetime, RecordId]:
    return record.created_at, record.record_id


def _tags(record: Record) -> list[str]:
    tags = record.metadata.get("topic_tags")
    listed = tags if isinstance(tags, list | tuple) else ()
    return [tag for tag in listed if isinstance(tag, str) and tag.strip()]


def _unite_tags(sources: Sequence[Record]) -> list[str]:
    """All tags, sorted; where they would not fit into metadata, those of most sources."""
    counts = Counter(tag for record in sources for tag in dict.fromkeys(_tags(record)))
    kept, room = [], TAGS_BYTES_MAX
    for tag in sorted(counts, key=lambda tag: (-counts[tag], tag)):
        room -= len(tag.encode(errors="surrogatepass"))
        if room < 0:
            break
        kept.append(tag)
    return sorted(kept)


def _sensitivity(sources: Iterable[Record]) -> Sensitivity:
    sensitive = any(record.sensitivity is Sensitivity.SENSITIVE for record in sources)
    return Sensitivity.SENSITIVE if sensitive else Sensitivity.NORMAL


def _digest(sources: Iterable[Record]) -> str:
    texts = sorted([record.record_id, record.summary] for record in sources)
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
