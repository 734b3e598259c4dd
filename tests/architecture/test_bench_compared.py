"""The comparison with other memories: what is asked has an answer, and the page says how it was made."""

import json
from pathlib import Path

import pytest

from bench import compared, compared_with

pytestmark = pytest.mark.req("PRF-6")


def test_each_question_has_its_answer_among_the_texts_and_no_text_stands_twice() -> None:
    corpus = compared.made_up(1_000)

    assert len(set(corpus["texts"])) == 1_000
    assert len(corpus["questions"]) == compared.QUESTIONS
    for query, (wanted,) in corpus["questions"]:
        asked_of = [word for word in query.split() if word[0].isupper() and len(word) > 1]
        assert all(word in corpus["texts"][wanted] for word in asked_of), query


@pytest.mark.parametrize("name", ["runlore", "fts5"])
def test_a_memory_is_filled_asked_and_looked_through(name: str, tmp_path: Path) -> None:
    corpus = compared.made_up(300)
    memory = compared_with.MEMORIES[name](str(tmp_path / name))

    filled = compared_with.fill(memory, corpus["texts"])
    memory = compared_with.MEMORIES[name](str(tmp_path / name))
    told = compared_with.ask(memory, corpus)

    assert filled["added"] == 300
    assert memory.texts() == set(corpus["texts"])
    assert told["recall_10"] == 1.0
    assert json.dumps(told)


def test_the_page_holds_the_figures_between_its_marks_and_names_the_command() -> None:
    page = compared.PAGE.read_text(encoding="utf-8")

    assert "make bench ONLY=compared" in page
    assert [page.count(mark) for mark in compared.MARKS] == [1, 1]
    assert all(f"| {name} |" in page for name in compared.NAMES.values())
