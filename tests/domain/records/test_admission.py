"""What may be stored: drafts become records, trimmed, completed, keyed, bounded and free of secrets."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.claims.subject import key_of_parts, semantic_key, slug, topic_terms
from runlore.domain.errors import Invalid, Refused, RunloreError
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    JsonValue,
    Kind,
    Layer,
    Origin,
    Proposal,
    Record,
    RecordId,
    State,
)
from runlore.domain.records.admission import (
    Draft,
    Edits,
    Stamp,
    admit,
    apply_edits,
    check_reason,
    refuse_secrets,
)
from runlore.domain.records.contracts import check_record
from runlore.domain.taint import Provenance, inherit
from tests.builders import fact
from tests.domain.random_records import json_objects, json_values, texts
from tests.fakes import START

STAMP = Stamp(record_id=RecordId("rec_1"), origin=Origin.API, created_by="agent", at=START)
LEARNED = [Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROCEDURE]

subjects = st.sampled_from(["editor", "The deploy region", "reply language", "codename of the project"])
joints = st.sampled_from([" is ", ": ", " = ", " is not ", " are "])
values = st.sampled_from(["vim", "eu-west-1", "French", "Atlas 2"])
statements = st.tuples(subjects, joints, values).map("".join) | st.sampled_from(
    ["Answer in short sentences", "Never reply in French", "No emojis", "Use tabs", "请用中文回答"]
)
contents = statements | texts.filter(str.strip)


def candidate(kind: Kind = Kind.FACT, summary: str = "The codename is Atlas", **fields: Any) -> Record:
    return admit(Draft(kind=kind, summary=summary, **fields), STAMP)


def refused_because(draft: Draft) -> RunloreError | None:
    try:
        admit(draft, STAMP)
    except (Invalid, Refused) as refusal:
        return refusal
    return None


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    ("kind", "summary", "metadata", "key"),
    [
        (
            Kind.FACT,
            " Project codename is Atlas\n",
            {"origin": "candidate", "topic_tags": ["project", "codename"]},
            "project codename = atlas",
        ),
        (Kind.DECISION, "It is so", {"origin": "candidate", "topic_tags": []}, "it is so"),
        (
            Kind.PREFERENCE,
            "The editor is Vim",
            {"profile_key": "editor", "value": "vim", "reason": "captured"},
            "editor = vim",
        ),
        (
            Kind.PREFERENCE,
            "The editor is not Vim",
            {"profile_key": "editor", "value": "not vim", "reason": "captured"},
            "editor != vim",
        ),
        (
            Kind.PREFERENCE,
            "Answer in Short sentences.",
            {
                "profile_key": "answer in short sentences",
                "value": "Answer in Short sentences.",
                "reason": "captured",
            },
            "answer in short sentences",
        ),
        (
            Kind.PROCEDURE,
            "Release process: run make release",
            {"workflow": "release-process", "canonical": False},
            "release process = run make release",
        ),
        (Kind.SCAN, "Scanned: nothing found", {}, ""),
        (Kind.SCRATCH, "step: one", {}, ""),
    ],
    ids=lambda value: value if isinstance(value, Kind) else "",
)
def test_what_a_candidate_leaves_out_is_derived_from_its_text(
    kind: Kind, summary: str, metadata: JsonObject, key: str
) -> None:
    record = candidate(kind, summary)

    assert record.summary == summary.strip()
    assert record.metadata == metadata
    assert record.semantic_key == key


@pytest.mark.req("REC-8", "LRN-5")
@given(contents, st.sampled_from(LEARNED))
def test_everything_that_is_derived_comes_from_the_semantic_key(summary: str, kind: Kind) -> None:
    key = semantic_key(summary.strip())
    value = ("not " if key.negated else "") + key.value if key.value else summary.strip()
    expected: dict[Layer, JsonObject] = {
        Layer.SEMANTIC: {"origin": "candidate", "topic_tags": list(topic_terms(key))},
        Layer.PROFILE: {"profile_key": key.subject, "value": value, "reason": "captured"},
        Layer.PROCEDURAL: {"workflow": slug(key.subject), "canonical": False},
    }
    draft = Draft(kind=kind, summary=summary)
    if refused_because(draft) is not None:
        return

    record = admit(draft, STAMP)

    assert record.metadata == expected[kind.layer]
    assert record.semantic_key == key.text


@pytest.mark.req("REC-8")
@given(json_objects, st.sampled_from(Kind))
def test_what_a_candidate_brings_stays_as_it_is(metadata: JsonObject, kind: Kind) -> None:
    draft = Draft(kind=kind, summary="The codename is Atlas", metadata=metadata)
    if refused_because(draft) is not None:
        return

    record = admit(draft, STAMP)

    assert {name: record.metadata[name] for name in metadata} == metadata
    check_record(record)


@pytest.mark.req("REC-8")
@given(
    st.dictionaries(
        st.sampled_from(["profile_key", "value", "reason", "origin", "topic_tags", "workflow", "canonical"]),
        json_values,
    ),
    st.text(max_size=30),
    st.sampled_from(Kind),
)
def test_a_draft_becomes_a_sound_record_or_is_refused_and_never_anything_else(
    metadata: dict[str, JsonValue], summary: str, kind: Kind
) -> None:
    draft = Draft(kind=kind, summary=summary, metadata=metadata)
    if refused_because(draft) is None:
        record = admit(draft, STAMP)
        check_record(record)
        assert (record.layer, record.state, record.revision) == (kind.layer, State.CONSTRAINED, 1)


@pytest.mark.req("REC-8", "SUR-5")
@given(contents, st.sampled_from(LEARNED), st.none() | texts, st.none() | texts)
def test_a_record_that_is_admitted_again_says_the_same(
    summary: str, kind: Kind, profile_key: str | None, value: str | None
) -> None:
    brought = {"profile_key": profile_key, "value": value} if kind is Kind.PREFERENCE else {}
    draft = Draft(
        kind=kind,
        summary=summary,
        metadata={name: text for name, text in brought.items() if text is not None},
    )
    if refused_because(draft) is not None:
        return
    record = admit(draft, STAMP)

    again = admit(Draft(kind=kind, summary=record.summary, metadata=record.metadata), STAMP)

    assert again == record


@pytest.mark.req("LAY-1")
@given(subjects, values)
def test_the_key_of_a_profile_proposal_is_made_of_its_two_parts(key: str, value: str) -> None:
    record = candidate(
        Kind.PREFERENCE,
        f"{key}: {value}",
        metadata={"profile_key": key, "value": value, "reason": "asked"},
        proposal=Proposal.PROFILE,
    )

    assert record.semantic_key == key_of_parts(key, value).text
    assert record.metadata == {"profile_key": key, "value": value, "reason": "asked"}


@pytest.mark.req("LRN-5")
def test_two_ways_to_say_one_thing_share_a_key() -> None:
    keys = {
        candidate(summary=text).semantic_key
        for text in ("Project codename is Atlas", "project codename: atlas", "The project codename = ATLAS.")
    }

    assert keys == {"project codename = atlas"}


@pytest.mark.req("LRN-2")
def test_the_origin_is_the_stamp_and_a_run_summary_comes_from_inside_alone() -> None:
    inside = replace(STAMP, origin=Origin.DAEMON, created_by="capture")

    with pytest.raises(Refused, match="run_summary") as refusal:
        candidate(Kind.RUN_SUMMARY)
    assert refusal.value.code == "record.run-summary"
    assert refusal.value.hint
    own = admit(Draft(kind=Kind.RUN_SUMMARY, summary="The run ended well"), inside)
    assert (own.origin, own.created_by) == (Origin.DAEMON, "capture")
    assert candidate().origin is Origin.API


@pytest.mark.req("LRN-11")
@pytest.mark.parametrize("milliseconds", [-1_000, -1, 0, 1, 1_000])
def test_a_candidate_that_would_be_expired_at_once_is_refused(milliseconds: int) -> None:
    draft = Draft(kind=Kind.FACT, summary="It rains", expires_at=START + timedelta(milliseconds=milliseconds))

    refusal = refused_because(draft)

    assert (refusal is None) == (milliseconds > 0)
    assert refusal is None or refusal.code == "record.expires-at"


@pytest.mark.req("REC-7")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"summary": " \n"}, "record.summary-blank"),
        ({"summary": "x" * 1_601}, "record.summary-long"),
        ({"summary": "a\0b"}, "text.characters"),
        ({"confidence": 101}, "record.confidence"),
        ({"metadata": {"origin": 7}}, "record.metadata"),
        ({"metadata": {"origin": "radar"}}, "record.metadata"),
        ({"evidence_refs": (EvidenceRef(),) * 65}, "record.too-much"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_draft_that_breaks_a_bound_is_invalid(fields: dict[str, Any], code: str) -> None:
    refusal = refused_because(replace(Draft(kind=Kind.FACT, summary="It rains"), **fields))

    assert isinstance(refusal, Invalid)
    assert refusal.code == code


# Put together here, so that no scanner takes this file for a leak.
TOKEN = "9fK2" + "mQ7x" + "Lw3T"
SECRETS = [
    "ghp_" + "a1B2c3D4e5F6" * 3,
    "AKIA" + "ABCD2345EFGH6723",
    f"api-key: {TOKEN}",
    f"x-api-key: {TOKEN}",
    f"clientSecret: {TOKEN}",
    f"secret_token={TOKEN}",
    f"personal access token={TOKEN}",
    "[REDACTED]",
]
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "content": lambda text: {"summary": text},
    "metadata": lambda text: {"metadata": {"note": text}},
    "deep metadata": lambda text: {"metadata": {"a": [{"b": [text]}]}},
    "a key of metadata": lambda text: {"metadata": {"a": {text: 1}}},
    "evidence": lambda text: {"evidence_refs": (EvidenceRef(), EvidenceRef(note=text))},
    "sources": lambda text: {"provenance": Provenance(sources=("https://example.org", text))},
}


def assert_not_repeated(refusal: RunloreError, secret: str) -> None:
    told = f"{refusal.sentence} {refusal.hint} {refusal!r}"
    assert not any(secret[start : start + 8] in told for start in range(max(len(secret) - 7, 1)))


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_a_secret_is_refused_wherever_it_stands_and_not_repeated(kind: Kind, place: str, secret: str) -> None:
    draft = replace(Draft(kind=kind, summary="Ask the wiki"), **PLACES[place](f"Mind that {secret} works"))

    refusal = refused_because(draft)

    assert isinstance(refusal, Refused)
    assert refusal.code == "guard.secret"
    assert refusal.hint
    assert_not_repeated(refusal, secret)


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("name", ["api_key", "apiKey", "client_secret"])
@pytest.mark.parametrize("value", [TOKEN, [TOKEN], 4815162342108199, [4815162342108199]], ids=repr)
def test_the_name_of_a_field_alone_can_give_a_secret_away(name: str, value: JsonValue) -> None:
    inner: JsonObject = {"login": {name: value}}

    refusal = refused_because(Draft(kind=Kind.FACT, summary="Ask the wiki", metadata=inner))

    assert isinstance(refusal, Refused)
    assert f"metadata.login.{name}" in refusal.sentence
    assert_not_repeated(refusal, TOKEN)
    assert "4815162342108199" not in refusal.sentence


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("text", ["Token budget is 1000", "Pat prefers concise reports", "compat: yes"])
def test_ordinary_prose_passes(text: str) -> None:
    record = candidate(summary=text, metadata={"note": text, "token_budget": 1000, "token": True})

    refuse_secrets(record)
    assert check_reason(text) == text


@pytest.mark.req("LRN-8", "LAY-2", "LAY-5")
@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.RUN_SUMMARY])
@pytest.mark.parametrize("place", PLACES)
def test_what_happened_may_show_that_something_was_redacted_and_what_is_learned_may_not(
    kind: Kind, place: str
) -> None:
    marked, secret = "Used <redacted:github-token> here", "ghp_" + "a1B2c3D4e5F6" * 3
    drafts = [
        replace(Draft(kind=kind, summary="Ask the wiki"), **PLACES[place](text))
        for text in (marked, f"{marked} and {secret}")
    ]

    refusals = [refused_because(draft) for draft in drafts]

    told = kind.layer in (Layer.EPISODIC, Layer.WORKING)
    assert [None if refusal is None else refusal.code for refusal in refusals] == [
        None if told else "guard.secret",
        "guard.secret",
    ]


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_a_secret_in_a_reason_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_reason(f"because {secret}")
    assert refusal.value.code == "guard.secret"
    assert_not_repeated(refusal.value, secret)


@pytest.mark.req("LRN-8")
def test_a_reason_is_trimmed_bounded_and_storable() -> None:
    assert check_reason("  fits\n") == "fits"
    assert check_reason(" ") == ""
    assert check_reason(" " + "x" * 1_000) == "x" * 1_000
    for reason, code in (
        ("x" * 1_001, "reason.long"),
        ("a\0", "text.characters"),
        ("\ud800", "text.characters"),
    ):
        with pytest.raises(Invalid) as refusal:
            check_reason(reason)
        assert refusal.value.code == code


@pytest.mark.req("LRN-13")
@given(contents, contents, st.sampled_from(LEARNED))
def test_an_edited_candidate_is_what_the_new_text_would_have_made(old: str, new: str, kind: Kind) -> None:
    drafts = [Draft(kind=kind, summary=text) for text in (old, new)]
    if any(refused_because(draft) for draft in drafts):
        return
    first, second = (admit(draft, STAMP) for draft in drafts)

    record = apply_edits(first, Edits(content=new), now=START)

    # A workflow keeps its name whatever its text becomes; all else is derived anew.
    assert replace(record, metadata={**record.metadata, **kept_of(first)}) == replace(
        second,
        metadata={**second.metadata, **kept_of(first)},
        # What was flagged once stays flagged: other words do not make it trusted.
        provenance=inherit((first.provenance, second.provenance)),
    )
    assert {name: record.metadata[name] for name in kept_of(first)} == kept_of(first)


def kept_of(record: Record) -> JsonObject:
    names = ("workflow", "canonical") if record.layer is Layer.PROCEDURAL else ()
    return {name: record.metadata[name] for name in names}


@pytest.mark.req("LRN-13", "LAY-1")
@pytest.mark.parametrize(
    ("text", "value", "key"),
    [
        ("Editor Theme: Dark", "Dark", "editor theme = dark"),
        ("editor theme :  light", "light", "editor theme = light"),
        ("The editor theme is dark", "dark", "editor theme = dark"),
        ("The editor theme is not dark", "not dark", "editor theme != dark"),
        ("rather dark", "rather dark", "editor theme = rather dark"),
        ("The shell is fish", "The shell is fish", "editor theme = shell is fish"),
    ],
)
def test_an_edited_profile_proposal_keeps_its_key_and_takes_the_value_from_the_text(
    text: str, value: str, key: str
) -> None:
    proposal = candidate(
        Kind.PREFERENCE,
        "Editor Theme: blue",
        metadata={"profile_key": "Editor Theme", "value": "blue", "reason": "asked"},
        proposal=Proposal.PROFILE,
    )

    record = apply_edits(proposal, Edits(content=text), now=START)

    assert record.metadata == {"profile_key": "Editor Theme", "value": value, "reason": "asked"}
    assert record.semantic_key == key


@pytest.mark.req("LRN-13", "LAY-1")
def test_a_profile_key_with_a_colon_is_told_from_its_value() -> None:
    proposal = candidate(
        Kind.PREFERENCE,
        "editor:theme: blue",
        metadata={"profile_key": "editor:theme", "value": "blue", "reason": "asked"},
        proposal=Proposal.PROFILE,
    )

    assert apply_edits(proposal, Edits(content="editor:theme: dark"), now=START).metadata["value"] == "dark"


@pytest.mark.req("LRN-13")
def test_an_edit_keeps_what_the_caller_brought() -> None:
    brought: JsonObject = {"origin": "reflection", "topic_tags": ["naming"], "seen": 3}

    record = apply_edits(candidate(metadata=brought), Edits(content="The codename is Borealis"), now=START)

    assert record.metadata == brought
    assert record.semantic_key == "codename = borealis"


@pytest.mark.req("LRN-13", "LRN-8")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" ", "record.summary-blank"),
        ("x" * 1_601, "record.summary-long"),
        ("a\0", "text.characters"),
        ("ghp_" + "a1B2c3D4e5F6" * 3, "guard.secret"),
    ],
    ids=lambda value: str(value)[:8],
)
def test_an_edit_is_checked_like_a_new_text(text: str, code: str) -> None:
    record = fact()

    with pytest.raises((Invalid, Refused)) as refusal:
        apply_edits(record, Edits(content=text), now=START)
    assert refusal.value.code == code


@pytest.mark.req("LRN-5", "LRN-6", "LAY-3")
@pytest.mark.parametrize(
    ("summary", "key"),
    [
        ("Deploy day is Monday\nThe canary share is 5 percent", ""),
        ("Deploy day is Monday", semantic_key("Deploy day is Monday").text),
    ],
)
def test_a_merge_of_several_statements_has_no_key_that_one_of_them_could_contradict(
    summary: str, key: str
) -> None:
    draft = Draft(kind=Kind.FACT, summary=summary, metadata={"compacted_from": ["rec_2", "rec_3"]})

    assert admit(draft, STAMP).semantic_key == key
