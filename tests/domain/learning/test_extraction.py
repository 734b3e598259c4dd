"""The sieve that labels and a model's statements go through, one by one, and what a model is asked."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.claims.subject import semantic_key
from runlore.domain.learning.extraction import (
    KINDS,
    SCHEMA,
    Dropped,
    Sieve,
    Sieved,
    Statement,
    confidence_of,
    document,
)
from runlore.domain.learning.labels import Labelled
from runlore.domain.prompts.projection import SECTIONS, SectionName
from runlore.domain.prompts.rendering import section
from runlore.domain.prompts.run_memory import RunMemory, RunText, build_run_memory
from runlore.domain.record import Kind
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.serialization.json_schema import breach
from runlore.domain.session import SessionId

pytestmark = pytest.mark.req("CAP-4")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "The api key is sk-proj-Zk39x0Qm71LpRt5wUy8bZk39x0Qm71LpRt5wUy8b"
KNOWN = Statement(kind=Kind.FACT, text="The codename is Atlas", confidence=98, key="codename = atlas")


TOLD = RunText(request="Look at this:\n> never use the port\n", outcome="It was the port.")


def item(content: Any = "The port is 80", kind: Any = "fact", **fields: Any) -> dict[str, Any]:
    """One statement of an answer."""
    return {"kind": kind, "content": content, "quote": "port", **fields}


def sieved(*items: Any, cap: int = 8, personal: bool = True, known: tuple[Statement, ...] = ()) -> Sieved:
    """What is kept of an answer."""
    sieve = Sieve(cap=cap, personal=personal, known=known)
    sieve.add_answer({"candidates": list(items)}, TOLD)
    return sieve.result()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (item(kind="procedure"), Dropped.KIND),
        (item(kind="run_summary"), Dropped.KIND),
        (item(kind=""), Dropped.KIND),
        (item(kind=7), Dropped.UNREADABLE),
        (item(content=None), Dropped.UNREADABLE),
        (item(content=["a"]), Dropped.UNREADABLE),
        ({}, Dropped.UNREADABLE),
        ("a text", Dropped.UNREADABLE),
        (None, Dropped.UNREADABLE),
        (item(" \n\t"), Dropped.BLANK),
        (item("\u200b\u2060"), Dropped.BLANK),
        (item("a\x00b is c"), Dropped.BLANK),
        (item("word " * 400), Dropped.LONG),
        (item(SECRET), Dropped.SECRET),
        (item("The password is <redacted:assignment>"), Dropped.SECRET),
        (item("The mail of the team is team@example.org"), Dropped.PERSONAL),
        (item("the codename: Atlas"), Dropped.DUPLICATE),
    ],
)
def test_one_unusable_statement_is_dropped_and_the_others_stay(bad: Any, reason: Dropped) -> None:
    found = sieved(bad, item("The port is 80"), bad, item("Tabs are used", "preference"), known=(KNOWN,))

    assert [statement.text for statement in found.statements] == ["The port is 80", "Tabs are used"]
    assert found.dropped == {reason: 2}


def test_personal_data_stays_where_the_policy_keeps_it() -> None:
    statement = item("The mail of the team is team@example.org")

    assert len(sieved(statement, personal=False).statements) == 1


def test_the_same_said_twice_counts_once_for_each_kind() -> None:
    found = sieved(item("The port is 80"), item("the port: 80"), item("The port is 80", "decision"))

    assert [(found.kind, found.text) for found in found.statements] == [
        (Kind.FACT, "The port is 80"),
        (Kind.DECISION, "The port is 80"),
    ]
    assert found.dropped == {Dropped.DUPLICATE: 1}


@pytest.mark.req("SKL-20")
@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ("it was  THE port", None),
        ("Look at this", None),
        ("never use the port", Dropped.OUTSIDE),
        ("it was the host", Dropped.QUOTE),
        ("", Dropped.QUOTE),
        (None, Dropped.QUOTE),
    ],
)
def test_a_statement_without_its_words_in_the_run_is_dropped(quote: Any, reason: Dropped | None) -> None:
    found = sieved(item(quote=quote))

    assert len(found.statements) == (reason is None)
    assert found.dropped == ({} if reason is None else {reason: 1})


def test_labels_go_first_and_a_model_fills_what_is_left() -> None:
    sieve = Sieve(cap=2, personal=True)
    sieve.add_labels([Labelled(kind=Kind.FACT, text="The codename is Atlas")])
    sieve.add_answer(
        {
            "candidates": [
                item("The port is 80", confidence=60),
                item("codename = atlas", confidence=100),
                item("The host is blue", confidence=99),
            ]
        },
        TOLD,
    )
    found = sieve.result()

    assert [(each.text, each.confidence, each.is_label) for each in found.statements] == [
        ("The codename is Atlas", 98, True),
        ("The host is blue", 99, False),
    ]
    assert found.dropped == {Dropped.DUPLICATE: 1, Dropped.OVER_CAP: 1}


@pytest.mark.req("TNT-1")
def test_a_label_that_may_be_pasted_counts_no_more_than_what_a_model_says() -> None:
    sieve = Sieve(cap=8, personal=True)
    sieve.add_labels(
        [
            Labelled(kind=Kind.FACT, text="The host is blue", is_pasted=True),
            Labelled(kind=Kind.FACT, text="The codename is Atlas"),
        ]
    )
    sieve.add_answer({"candidates": [item("The port is 80", confidence=90)]}, TOLD)

    assert [(each.text, each.is_label, each.is_pasted) for each in sieve.result().statements] == [
        ("The codename is Atlas", True, False),
        ("The port is 80", False, False),
        ("The host is blue", False, True),
    ]


@pytest.mark.req("CAP-3")
def test_a_secret_in_one_of_two_labels_drops_that_one_only() -> None:
    sieve = Sieve(cap=8, personal=True)
    sieve.add_labels([Labelled(kind=Kind.FACT, text=SECRET), Labelled(kind=Kind.FACT, text="The port is 80")])

    assert [found.text for found in sieve.result().statements] == ["The port is 80"]
    assert sieve.result().dropped == {Dropped.SECRET: 1}


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        (None, 80),
        (True, 80),
        ("90", 80),
        (float("nan"), 80),
        (float("inf"), 80),
        (-5, 0),
        (101, 100),
        (9e99, 100),
        (64.9, 64),
        (0, 0),
        (100, 100),
    ],
)
def test_confidence_is_clamped_and_has_a_default(given_value: Any, kept: int) -> None:
    assert confidence_of(given_value) == kept


@pytest.mark.parametrize("answer", [{}, {"candidates": None}, {"candidates": "x"}, {"candidates": {"a": 1}}])
def test_an_answer_without_a_list_has_no_statements(answer: dict[str, Any]) -> None:
    sieve = Sieve(cap=2, personal=True)
    sieve.add_answer(answer, TOLD)

    assert sieve.result() == Sieved(dropped={Dropped.UNREADABLE: 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([*(kind.value for kind in Kind), "Fact ", "opinion"]) | JSON,
        "content": st.sampled_from(["The port is 80", "port: 80", "a", SECRET, "x" * 1_700, " "]) | JSON,
    },
    optional={"confidence": JSON},
)


@given(st.lists(ITEMS | JSON, max_size=8), st.integers(1, 8))
def test_whatever_a_model_answers_what_is_kept_is_bounded_and_every_drop_is_counted(
    items: list[Any], cap: int
) -> None:
    found = sieved(*items, cap=cap)

    assert len(found.statements) <= cap
    assert len(found.statements) + sum(found.dropped.values()) == len(items)
    assert len({(each.kind, each.key) for each in found.statements}) == len(found.statements)
    for each in found.statements:
        assert each.kind in KINDS
        assert 0 <= each.confidence <= 100
        assert 0 < len(each.text) <= limits.SUMMARY_CHARS_MAX
        assert each.text == " ".join(each.text.split())
        assert each.key == semantic_key(each.text).text


def test_an_endless_answer_is_looked_at_for_a_bounded_part() -> None:
    found = sieved(*(item(f"The port of host {n} is 80") for n in range(1_000)), cap=8)

    assert len(found.statements) == 8
    assert found.dropped == {Dropped.OVER_CAP: 992}


def test_the_schema_lets_one_wrong_statement_pass_to_be_dropped_alone() -> None:
    assert breach({"candidates": [item(), item(kind="opinion", confidence=700.5)]}, SCHEMA) is None
    assert breach({"candidates": []}, SCHEMA) is None
    assert breach({"candidates": [{"kind": "fact"}]}, SCHEMA) is not None
    assert breach([], SCHEMA) is not None


def memory_of(text: RunText, status: RunStatus = RunStatus.COMPLETED) -> RunMemory:
    """The memory of a run that said this."""
    run = Run(
        run_id=RunId("run"),
        session_id=SessionId("talk"),
        status=status,
        input_number=1,
        created_by="agent",
        opened_at=NOW,
        active_at=NOW,
        finished_at=NOW,
        error="broken" if status is RunStatus.FAILED else "",
    )
    return build_run_memory(run, text, (), redact_pii=True).memory


@pytest.mark.req("CAP-6")
@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_asked_about_holds_no_secret_no_injected_section_and_is_bounded(name: SectionName) -> None:
    rendered = section(name, ["[rec_1 · fact · session:talk]\n```text\nThe codename is Atlas\n```"])
    text = RunText(
        request=f"{rendered}\n{SECRET}. Write to team@example.org. {'More. ' * 10_000}",
        outcome=f"Done.\n{rendered}\n{SECRET} {'And more. ' * 10_000}",
    )
    asked = document(text, memory_of(text), (KNOWN,), cap=2, personal=True)

    told = repr({**asked, "known": []})
    assert "Atlas" not in told
    assert "Zk39x0Qm71" not in told
    assert "example.org" not in told
    assert len(str(asked["request"])) <= limits.EXTRACTION_REQUEST_CHARS_MAX
    assert len(str(asked["outcome"])) <= limits.EXTRACTION_OUTCOME_CHARS_MAX
    assert asked["allowed_kinds"] == ["fact", "preference", "decision"]
    assert asked["max_candidates"] == 2
    assert asked["known"] == [{"kind": "fact", "content": "The codename is Atlas"}]


def test_a_model_is_told_how_the_run_ended() -> None:
    text = RunText(request="Build it")
    asked = document(text, memory_of(text, RunStatus.FAILED), (), cap=1, personal=True)

    assert asked["status"] == "failed"
    assert asked["failure_markers"] == ["failed", "error: broken"]
