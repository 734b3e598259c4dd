"""Which learnings an input is given, and what counts as asking for memory."""

import itertools
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.prompts.memory_request import PHRASES, asks_for_memory
from runlore.domain.prompts.selection import (
    Candidate,
    content_score,
    entry_of,
    filter_eligible,
    hidden_among,
    order_candidates,
    query_of,
)
from runlore.domain.record import PublishTier, Record, RecordId, Sensitivity, State
from runlore.domain.records.visibility import Hidden, hidden_because, hidden_from_planning
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import Collection, analyse_query, score_of
from tests.builders import fact, preference, procedure, published
from tests.fakes import START

SESSION, PROJECT = Scope(ScopeKind.SESSION, "s1"), Scope(ScopeKind.PROJECT, "acme")
SCOPES = (SESSION, PROJECT, WORKSPACE)

ASKING = [
    "What do you remember about the deploy?",
    "what do you   still remember about us",
    "Use durable memory for this one.",
    "Please USE YOUR MEMORY.",
    "Recall what we decided about the database",
    "What have you learned about this repository?",
    "Was weißt du noch über das Projekt?",
    "Woran erinnerst du dich?",
    "Que te souviens-tu de notre projet ?",
    "De quoi te souviens-tu ?",
    "Qu\u2019as-tu retenu de la dernière fois ?",
    "Utilise ta mémoire durable",
    "¿Qué recuerdas de ayer?",
    "Cosa ricordi del progetto?",
    "O que você lembra?",
    "你还记得我们的决定吗",
    "何を覚えていますか",
    "무엇을 기억하고 있어?",
    "Что ты помнишь о проекте?",
]
NOT_ASKING = [
    "How does machine learning work?",
    "Explain deep learning and memory networks",
    "How much RAM does this use? The memory is full.",
    "There is a memory leak in the parser, find it",
    "The recall of the classifier is 0.8",
    "Remember to run the tests",
    "I remember that this was fast",
    "Does Redis use memory for this?",
    "A product recall was announced",
    "Wie viel Arbeitsspeicher braucht maschinelles Lernen?",
    "Combien de mémoire vive faut-il ?",
    "La memoria RAM está llena",
    "内存不够了",
    "",
    "   ",
]


@pytest.mark.req("PRJ-1")
@pytest.mark.parametrize("text", ASKING)
def test_an_input_that_asks_for_memory_is_recognised(text: str) -> None:
    assert asks_for_memory(text)
    assert asks_for_memory(f"Hello there.\n\n{text}")


@pytest.mark.req("PRJ-1")
@pytest.mark.parametrize("text", NOT_ASKING)
def test_a_question_about_learning_or_ram_is_no_such_request(text: str) -> None:
    assert not asks_for_memory(text)


@pytest.mark.req("PRJ-1")
def test_every_phrase_of_the_table_counts_in_any_case_and_between_words_alone() -> None:
    for language, phrases in PHRASES.items():
        for phrase in phrases:
            plain = phrase.replace("nuestr*", "nuestra").replace(" * ", " ")
            assert asks_for_memory(f"So: {plain.upper()}!"), phrase
            if language == "en":
                assert not asks_for_memory(f"x{plain}x"), phrase


@pytest.mark.req("PRJ-1")
def test_a_request_is_found_at_either_end_of_a_very_long_input() -> None:
    filler = "lorem ipsum " * 100_000
    assert asks_for_memory(f"What do you remember? {filler}")
    assert asks_for_memory(f"{filler} What do you remember?")
    assert not asks_for_memory(filler)


@pytest.mark.req("PRJ-1")
@given(words=st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=3_000))
def test_a_query_holds_the_two_ends_of_an_input_in_whole_words(words: list[str]) -> None:
    query = query_of(" ".join(words))

    kept = query.split()
    assert len(query) <= 8_001
    assert set(kept) <= set(words)
    assert len(kept) == len(words) or (len(query) > 7_900 and "\n" in query)
    assert (kept[0], kept[-1]) == (words[0], words[-1])


@pytest.mark.req("PRJ-1")
def test_a_long_input_without_spaces_is_cut_all_the_same() -> None:
    assert len(query_of("用" * 1_000_000)) == 8_001


@pytest.mark.req("PRJ-1")
def test_only_content_is_scored() -> None:
    record = published(fact("The codename is Atlas", metadata={"origin": "x", "topic_tags": ["rocket"]}))
    collection = Collection(size=9, newest_at_ms=0, document_frequency={"rocket": 1, "codenam": 1})
    by_tag = score_of(record, analyse_query("rocket"), collection)
    by_content = score_of(record, analyse_query("codename"), collection)

    assert by_tag is not None
    assert by_content is not None
    assert content_score(by_tag) == 0
    assert content_score(by_content) > 0
    assert content_score(by_content) < by_content.total


@pytest.mark.req("PRJ-1", "SCO-2")
@given(
    candidates=st.lists(
        st.tuples(st.sampled_from(SCOPES), st.integers(0, 2), st.integers(0, 3)), max_size=12
    ),
    order=st.randoms(use_true_random=False),
)
def test_the_order_is_score_then_scope_then_publication_then_id(
    candidates: list[tuple[Scope, int, int]], order: Random
) -> None:
    made = [
        Candidate(
            record=published(
                fact(scope=scope, record_id=RecordId(f"rec_{number}")),
                published_at=START + timedelta(hours=age),
            ),
            score=score,
        )
        for number, (scope, score, age) in enumerate(candidates)
    ]
    shuffled = list(made)
    order.shuffle(shuffled)

    found = order_candidates(shuffled, SCOPES)

    for before, after in itertools.pairwise(found):
        keys = [
            (
                -(each.score or 0),
                SCOPES.index(each.record.scope),
                -each.record.published_at.timestamp(),  # type: ignore[union-attr]
                each.record.record_id,
            )
            for each in (before, after)
        ]
        assert keys[0] < keys[1]
    assert sorted(each.record.record_id for each in found) == sorted(each.record.record_id for each in made)


@pytest.mark.req("PRJ-1", "LRN-4")
def test_what_a_prompt_may_not_see_is_told_with_its_reason() -> None:
    seen = published(fact("Atlas"))
    records = {
        Hidden.SENSITIVE: published(fact("Atlas", sensitivity=Sensitivity.SENSITIVE)),
        Hidden.PROVISIONAL: published(fact("Atlas"), publish_tier=PublishTier.PROVISIONAL),
        Hidden.EXPIRED: published(fact("Atlas"), expires_at=START),
        Hidden.KIND: published(procedure("Atlas")),
        Hidden.CONSTRAINED: fact("Atlas"),
        Hidden.TOMBSTONED: replace(published(fact("Atlas")), state=State.TOMBSTONED),
    }

    everything = [seen, *records.values()]

    assert hidden_among(everything, START) == {record.record_id: why for why, record in records.items()}
    assert [each.record for each in filter_eligible(map(_candidate, everything), START)] == [seen]


@pytest.mark.req("PRJ-1", "LRN-4")
def test_a_record_that_another_says_it_supersedes_is_left_out_before_the_link_is_written_back() -> None:
    old = published(preference())
    new = published(preference(value="emacs"), supersedes=old.record_id)

    assert hidden_among([old, new], START) == {old.record_id: Hidden.SHADOWED}
    assert [each.record for each in filter_eligible(map(_candidate, [old, new]), START)] == [new]


@pytest.mark.req("LRN-15")
@pytest.mark.parametrize(
    "unseen",
    [
        {"state": State.CONSTRAINED},
        {"state": State.TOMBSTONED},
        {"publish_tier": PublishTier.PROVISIONAL},
        {"sensitivity": Sensitivity.SENSITIVE},
        {"expires_at": START},
    ],
    ids=str,
)
def test_what_is_not_seen_itself_takes_nothing_out(unseen: dict[str, Any]) -> None:
    old = published(preference())
    new = replace(published(preference(value="emacs"), supersedes=old.record_id), **unseen)

    assert hidden_among([old, new], START).keys() == {new.record_id}
    assert [each.record for each in filter_eligible(map(_candidate, [old, new]), START)] == [old]


@pytest.mark.req("RET-5", "LRN-4")
def test_planning_sees_what_prompts_see_and_approved_procedures() -> None:
    steps = published(procedure())
    provisional = published(procedure(), publish_tier=PublishTier.PROVISIONAL)

    assert hidden_because(steps, START) is Hidden.KIND
    assert hidden_from_planning(steps, START) is None
    assert hidden_from_planning(provisional, START) is Hidden.PROVISIONAL
    assert hidden_from_planning(published(fact()), START) is None
    assert hidden_from_planning(fact(), START) is Hidden.CONSTRAINED


@pytest.mark.req("PRJ-1")
def test_an_entry_tells_id_revision_kind_scope_content_and_score() -> None:
    record = published(fact("Atlas"))

    entry = entry_of(Candidate(record=record, score=12))

    assert (entry.record_id, entry.revision, entry.kind) == (record.record_id, record.revision, record.kind)
    assert (entry.scope, entry.content, entry.score) == (record.scope, "Atlas", 12)


def _candidate(record: Record) -> Candidate:
    return Candidate(record=record)
