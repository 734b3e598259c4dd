"""Compaction and dedup: what merges, what never does, and that nothing is lost on the way."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.claims.subject import conflicts, semantic_key
from runlore.domain.record import JsonObject, Kind, Record, RecordId, Sensitivity, State, StateReason
from runlore.domain.records.contracts import check_metadata, check_summary
from runlore.domain.records.curation import GENERIC_RECORDS_MIN, Basis, Merge, compactions, dedups
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import TRUSTED, Provenance, inherit

START = datetime(2026, 11, 15, tzinfo=UTC)
WEB = Scope(ScopeKind.PROJECT, "web")
UNTRUSTED = Provenance(untrusted=True, needs_review=True, sources=("https://x.example",))


def record(
    number: int,
    text: str,
    *,
    kind: Kind = Kind.FACT,
    tags: tuple[str, ...] = (),
    workflow: str = "deploy",
    scope: Scope = WORKSPACE,
    state: State = State.ACTIVE,
    confidence: int = 80,
    provenance: Provenance = TRUSTED,
    sensitivity: Sensitivity = Sensitivity.NORMAL,
    expires_at: datetime | None = None,
) -> Record:
    metadata: JsonObject = {"origin": "candidate", "topic_tags": list(tags)}
    if kind is Kind.PROCEDURE:
        metadata = {"workflow": workflow, "canonical": False}
    return Record(
        record_id=RecordId(f"rec-{number:05}"),
        layer=kind.layer,
        kind=kind,
        state=state,
        state_reason=StateReason.REVOKED if state is State.TOMBSTONED else None,
        scope=scope,
        summary=text,
        metadata=metadata,
        confidence=confidence,
        provenance=provenance,
        sensitivity=sensitivity,
        semantic_key=semantic_key(text).text,
        expires_at=expires_at,
        created_by="test",
        created_at=START + timedelta(minutes=number),
    )


def procedure(
    number: int, text: str = "Run make deploy", *, workflow: str = "deploy", confidence: int = 80
) -> Record:
    return record(number, text, kind=Kind.PROCEDURE, workflow=workflow, confidence=confidence)


def ids(merge: Merge) -> list[int]:
    return [int(source.removeprefix("rec-")) for source in merge.sources]


ALIKE = [
    ("The codename is Atlas", (), "codename: atlas", (), Basis.SUMMARY),
    ("Wheels are cached in the build volume nightly", (), "Build volume wheels cached", (), Basis.TEXT),
    ("Redis evicts by age", ("redis", "cache"), "The Redis port is 6379", ("cache", "Redis"), Basis.TOPICS),
    ("Deploys run from main", ("deploy",), "Deploys run at noon", ("deploy",), Basis.TOPICS),
    ("缓存服务器每天重启", ("缓存",), "缓存服务器每周备份", ("缓存",), Basis.TOPICS),
]
NOT_ALIKE = [
    ("An agent that plans trips", ("agent",), "Agent for reading mail", ("agent",)),
    ("Plans trips", ("agent", "travel"), "Reads mail", ("agent", "travel")),
    (
        "Deploys run on Friday",
        ("deploys", "run", "friday"),
        "Deploys run on Monday",
        ("deploys", "run", "monday"),
    ),
    ("Staging database is Postgres 15", ("staging", "db"), "Staging database is MySQL 8", ("staging", "db")),
    ("We cache wheels in the build volume", (), "We do not cache wheels in the build volume", ()),
    ("We cache wheels in the build volume", (), "We never cache wheels in the build volumes nightly", ()),
    ("Alpha beta", (), "Gamma delta", ()),
    ("Alpha beta", (), "Beta alpha", ()),
    ("Deploys run from main", (), "Deploys run at noon", ()),
    (
        "Deploys run from the main branch after green checks with signed tags",
        ("deploy",),
        "Rollbacks run by hand on weekends under supervision of two people",
        ("deploy",),
    ),
]


@pytest.mark.req("LAY-3")
@pytest.mark.parametrize(("one", "one_tags", "other", "other_tags", "basis"), ALIKE)
def test_records_that_share_topics_or_text_would_merge(
    one: str, one_tags: tuple[str, ...], other: str, other_tags: tuple[str, ...], basis: Basis
) -> None:
    (merge,) = compactions([record(2, other, tags=other_tags), record(1, one, tags=one_tags)])
    assert ids(merge) == [1, 2]
    assert merge.basis is basis
    assert merge.shared


@pytest.mark.req("LAY-3")
@pytest.mark.parametrize(("one", "one_tags", "other", "other_tags"), NOT_ALIKE)
def test_a_common_tag_a_contradiction_or_the_other_polarity_does_not_merge(
    one: str, one_tags: tuple[str, ...], other: str, other_tags: tuple[str, ...]
) -> None:
    assert compactions([record(1, one, tags=one_tags), record(2, other, tags=other_tags)]) == ()


@pytest.mark.req("LAY-3")
def test_only_active_semantic_records_of_one_scope_and_kind_merge() -> None:
    text = "The codename is Atlas"
    records = [
        record(1, text),
        record(2, text, scope=WEB),
        record(3, text, kind=Kind.DECISION),
        record(4, text, state=State.CONSTRAINED),
        record(5, text, state=State.SUPERSEDED),
        record(6, text, state=State.TOMBSTONED),
        record(7, text, kind=Kind.PREFERENCE),
        record(8, text, kind=Kind.PREFERENCE),
        procedure(9, text),
        procedure(10, text),
        record(11, text, expires_at=START + timedelta(days=300)),
    ]
    assert compactions(records) == ()
    assert compactions([records[0], records[0]]) == ()


@pytest.mark.req("LAY-3")
def test_a_compaction_says_what_its_sources_say_and_names_them() -> None:
    (merge,) = compactions(
        [
            record(1, "Staging database is Postgres 15", tags=("staging", "database"), confidence=90),
            record(2, "Staging database host is db1", tags=("staging", "database", "host"), confidence=70),
            record(3, "staging DATABASE host: db1.", tags=("staging", "database", "host")),
        ]
    )
    assert merge.summary == "Staging database is Postgres 15\nStaging database host is db1"
    assert merge.metadata == {
        "origin": "compaction",
        "topic_tags": ["database", "host", "staging"],
        "compacted_from": ["rec-00001", "rec-00002", "rec-00003"],
    }
    assert (merge.kind, merge.scope, merge.confidence, merge.variants) == (Kind.FACT, WORKSPACE, 70, ())
    assert merge.shared == ("database", "staging")


@pytest.mark.req("LAY-3")
def test_what_expires_merges_with_what_expires_and_the_first_date_counts() -> None:
    soon, late = START + timedelta(days=1), START + timedelta(days=9)
    text = "The codename is Atlas"
    (merge,) = compactions(
        [record(1, text, expires_at=late), record(2, text, expires_at=soon), record(3, text)]
    )
    assert ids(merge) == [1, 2]
    assert merge.expires_at == soon


@pytest.mark.req("TNT-3")
@pytest.mark.parametrize("tainted", [1, 2])
def test_a_merge_of_something_tainted_is_tainted(tainted: int) -> None:
    facts = [
        record(n, "The codename is Atlas", provenance=UNTRUSTED if n == tainted else TRUSTED) for n in (1, 2)
    ]
    procedures = [
        record(n, "Run it", kind=Kind.PROCEDURE, provenance=UNTRUSTED if n == tainted else TRUSTED)
        for n in (1, 2)
    ]
    for (merge,) in (compactions(facts), dedups(procedures)):
        assert merge.provenance.tainted
        assert merge.provenance == inherit([UNTRUSTED, TRUSTED])


@pytest.mark.req("LAY-3", "LAY-4", "LRN-15")
def test_what_is_sensitive_merges_with_nothing_that_prompts_get() -> None:
    for kind, merges_of in ((Kind.FACT, compactions), (Kind.PROCEDURE, dedups)):
        plain, secret, other = (
            record(n, "The codename is Atlas", kind=kind, sensitivity=sensitivity)
            for n, sensitivity in enumerate((*Sensitivity, Sensitivity.SENSITIVE))
        )
        assert merges_of([plain, secret]) == ()
        (merge,) = merges_of([plain, secret, other])
        assert (merge.sources, merge.sensitivity) == (
            (secret.record_id, other.record_id),
            Sensitivity.SENSITIVE,
        )


@pytest.mark.req("LAY-3", "LAY-4")
@pytest.mark.parametrize("kind", [Kind.FACT, Kind.PROCEDURE])
def test_a_set_of_sources_is_known_again_until_it_changes(kind: Kind) -> None:
    merges_of = compactions if kind is Kind.FACT else dedups
    one, two, three = (record(n, "The codename is Atlas", kind=kind) for n in (1, 2, 3))
    reworded = record(2, "codename: Atlas", kind=kind)

    digest = merges_of([one, two])[0].digest

    assert merges_of([two, one])[0].digest == digest
    assert merges_of([one, two, three])[0].digest != digest
    assert merges_of([one, reworded])[0].digest != digest


@pytest.mark.req("LAY-4")
def test_another_canonical_text_is_still_the_same_set() -> None:
    once, later = (
        dedups([procedure(1, confidence=one), procedure(2, confidence=two)])[0]
        for one, two in ((80, 70), (70, 80))
    )
    assert once.sources == later.sources[::-1]
    assert once.digest == later.digest


@pytest.mark.req("LAY-3")
def test_a_record_joins_the_group_that_it_is_most_alike_to() -> None:
    (merge,) = compactions(
        [
            record(1, "Deploys run from main", tags=("deploy",)),
            record(2, "Backups run from cron nightly", tags=("backup",)),
            record(3, "Backups run from cron at night, deploys", tags=("deploy", "backup")),
        ]
    )
    assert ids(merge) == [2, 3]


@pytest.mark.req("LAY-3")
def test_a_group_too_large_for_one_summary_becomes_several() -> None:
    texts = [f"Wheels cached build volume nightly {'x' * 600} {letter * 3}" for letter in "abcde"]
    merges = compactions([record(n, text) for n, text in enumerate(texts)])
    assert [ids(merge) for merge in merges] == [[0, 1], [2, 3]]
    assert all(len(merge.summary) <= limits.SUMMARY_CHARS_MAX for merge in merges)


@pytest.mark.req("LAY-3")
def test_many_equal_records_merge_in_groups_of_bounded_size() -> None:
    count = 2 * limits.COMPACTION_SOURCES_MAX + 1
    merges = compactions([record(n, "The codename is Atlas") for n in range(count)])
    assert [len(merge.sources) for merge in merges] == [limits.COMPACTION_SOURCES_MAX] * 2


@pytest.mark.req("LAY-3")
def test_what_very_many_records_have_in_common_brings_none_of_them_together() -> None:
    def common(number: int) -> Record:
        return record(number, f"Agent memory number{number}", tags=("agent", "memory"))

    assert compactions([common(n) for n in range(GENERIC_RECORDS_MIN)]) != ()
    assert compactions([common(n) for n in range(GENERIC_RECORDS_MIN + 1)]) == ()


@pytest.mark.req("LAY-3")
def test_ten_thousand_records_are_grouped_without_comparing_all_pairs() -> None:
    topics = [f"service{n}" for n in range(2_000)]
    records = [
        record(n, f"The {topic} {aspect} number{n} agent", tags=("agent", topic))
        for n, (aspect, topic) in enumerate(
            itertools.product(("port", "host", "owner", "log", "disk"), topics)
        )
    ]
    merges = compactions(records)
    assert len(merges) == len(topics)
    assert all(len(merge.sources) == 5 for merge in merges)


WORDS = [
    "cache",
    "redis",
    "port",
    "is",
    "not",
    "host",
    "agent",
    "wheel",
    "build",
    "never",
    "slow",
    "6379",
    ":",
]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
tag_lists = st.lists(st.sampled_from(["agent", "redis", "Cache", "build"]), max_size=3, unique=True).map(
    tuple
)
record_sets = st.lists(
    st.tuples(
        texts, tag_lists, st.sampled_from([WORKSPACE, WEB]), st.sampled_from([Kind.FACT, Kind.DECISION])
    ),
    max_size=14,
).map(
    lambda rows: [
        record(n, text, tags=tags, scope=scope, kind=kind) for n, (text, tags, scope, kind) in enumerate(rows)
    ]
)


@pytest.mark.req("LAY-3")
@given(record_sets)
def test_no_record_is_in_two_merges_and_no_text_is_lost(records: list[Record]) -> None:
    by_id = {source.record_id: source for source in records}
    merges = compactions(records)
    every = [source for merge in merges for source in merge.sources]
    assert len(every) == len(set(every))
    for merge in merges:
        sources = [by_id[source] for source in merge.sources]
        assert len(sources) >= 2
        assert {(source.scope, source.kind) for source in sources} == {(merge.scope, merge.kind)}
        keys = [semantic_key(source.summary) for source in sources]
        assert not any(conflicts(one, other) for one, other in itertools.combinations(keys, 2))
        lines = merge.summary.split("\n")
        assert [semantic_key(line) for line in lines] == list(dict.fromkeys(keys))
        assert set(lines) <= {source.summary for source in sources}
        check_summary(merge.summary)
        check_metadata(merge.kind.layer, merge.metadata)


@pytest.mark.req("LAY-3")
@given(record_sets, st.randoms(use_true_random=False))
def test_the_order_of_reading_does_not_matter(records: list[Record], random: object) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert compactions(shuffled) == compactions(records)


@pytest.mark.req("LAY-3")
def test_tags_that_do_not_fit_into_metadata_are_left_out_rarest_first() -> None:
    def tags(number: int) -> tuple[str, ...]:
        return ("common", *(f"{number}-{n}-{'x' * 90}" for n in range(200)))

    (merge,) = compactions([record(n, "The codename is Atlas", tags=tags(n)) for n in range(3)])
    check_metadata(merge.kind.layer, merge.metadata)
    kept = merge.metadata["topic_tags"]
    assert isinstance(kept, list)
    assert "common" in kept
    assert kept == sorted(kept)


@pytest.mark.req("LAY-4")
def test_dedup_groups_by_workflow_and_keeps_the_most_confident_text() -> None:
    (merge,) = dedups(
        [
            procedure(1, "Run make deploy", confidence=70),
            procedure(3, "Run make ship", workflow="Deploy ", confidence=90),
            procedure(2, "Run make release", confidence=90),
            procedure(4, "run make release.", confidence=60),
            procedure(5, "Run make lint", workflow="lint"),
        ]
    )
    assert ids(merge) == [2, 3, 1, 4]
    assert merge.summary == "Run make release"
    assert [int(variant.removeprefix("rec-")) for variant in merge.variants] == [3, 1]
    assert merge.metadata == {
        "workflow": "deploy",
        "canonical": False,
        "compacted_from": ["rec-00002", "rec-00003", "rec-00001", "rec-00004"],
    }
    assert (merge.kind, merge.confidence, merge.basis) == (Kind.PROCEDURE, 90, Basis.WORKFLOW)
    assert merge.shared == ("deploy",)
    check_metadata(merge.kind.layer, merge.metadata)


@pytest.mark.req("LAY-4")
def test_the_id_decides_between_equally_confident_and_equally_old_procedures() -> None:
    twins = [procedure(1, "Run make deploy"), procedure(1, "Run make ship")]
    renamed = [
        Record(**{**vars(twin), "record_id": RecordId(name)}) for twin, name in zip(twins, "ba", strict=True)
    ]
    assert dedups(renamed)[0].sources == ("a", "b")
    assert dedups(renamed[::-1]) == dedups(renamed)


@pytest.mark.req("LAY-4")
def test_dedup_takes_active_procedures_of_one_scope_with_a_workflow() -> None:
    records = [
        procedure(1),
        record(2, "Run make deploy", kind=Kind.PROCEDURE, scope=WEB),
        record(3, "Run make deploy", kind=Kind.PROCEDURE, state=State.SUPERSEDED),
        procedure(4, workflow=" "),
        procedure(5, workflow=" "),
        record(6, "Run make deploy"),
    ]
    assert dedups(records) == ()
    assert dedups([records[0], records[0]]) == ()


@pytest.mark.req("LAY-4")
def test_a_workflow_written_on_every_run_is_deduplicated_in_bounded_groups() -> None:
    records = [procedure(n, confidence=n % 50) for n in range(2 * limits.COMPACTION_SOURCES_MAX + 1)]
    merges = dedups(records)
    assert [len(merge.sources) for merge in merges] == [limits.COMPACTION_SOURCES_MAX] * 2
    assert merges[0].confidence == 49
