"""The learning bench: what counts as the same, whose sessions are set aside, and that it fits on others."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bench.learning_failures import TEXTS, read_episodes, suggested
from bench.learning_gold import GoldLine, GoldProcedure, Person
from bench.learning_people import SET_ASIDE, is_set_aside, person_id
from bench.learning_procedures import command_keys, is_same
from bench.learning_statements import STORED, fitted, judge, result_of, without
from runlore.domain.detectors.match import Heuristic
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.suggestion import Score, Suggestion, SuggestionEvidence, Trigger

LASTING = ("Always squash before you merge.", "We never mock our own classes.", "I prefer small commits.")
PASSING = ("Fix the typo please.", "What is next?", "I ran it and it failed.")


def line(text: str, *, is_lasting: bool) -> GoldLine:
    return GoldLine(
        session="file",
        words=frozenset(text.lower().replace(".", "").replace("?", "").split()),
        is_lasting=is_lasting,
        group=text,
        kind="preference",
        scope="user",
        is_sure=True,
    )


def person(name: str = "somebody") -> Person:
    said = [
        UserMessage(session_id=SessionId("s"), run_id=RunId("r"), event_number=number, text=text)
        for number, text in enumerate((*LASTING, *PASSING))
    ]
    gold = [*(line(text, is_lasting=True) for text in LASTING), line(PASSING[0], is_lasting=False)]
    return Person(id=person_id(name), said=said, stems={"s": "file"}, gold=gold)


@pytest.mark.req("CAP-8")
def test_a_sentence_is_the_line_of_its_session_that_it_shares_most_words_with() -> None:
    somebody = person()

    found = somebody.line_of("s", "ok, always squash before you merge")

    assert found is not None
    assert found.group == LASTING[0]
    assert somebody.line_of("another", LASTING[0]) is None
    assert somebody.line_of("s", "squash the branch") is None


@pytest.mark.req("CAP-8")
def test_results_count_what_is_right_and_list_what_the_gold_does_not_know() -> None:
    somebody = person()
    judged = judge(somebody)
    result, unknown = result_of(somebody, judged, STORED)
    somebody.gold.pop(0)
    poorer, more_unknown = result_of(replace(somebody), judged, STORED)

    assert (result.proposed, result.right, result.groups, result.groups_found) == (3, 3, 3, 3)
    assert not unknown
    assert poorer.right == 2
    assert [one.text for one in more_unknown] == [LASTING[0]]


@pytest.mark.req("CAP-8")
def test_weights_come_from_the_people_they_are_fitted_on() -> None:
    somebody = person()
    reversed_gold = person()
    reversed_gold.gold = [replace(each, is_lasting=not each.is_lasting) for each in reversed_gold.gold]

    learned = fitted([(somebody, judge(somebody))] * 20)
    misled = fitted([(reversed_gold, judge(reversed_gold))] * 20)

    assert set(learned) == set(STORED)
    assert learned["rule"] > misled["rule"]
    assert without("refusals")["refusal"] == 0


@pytest.mark.req("CAP-8")
def test_four_people_are_set_aside_and_known_by_digest_alone() -> None:
    assert len(SET_ASIDE) == 4
    assert not is_set_aside(person_id("somebody"))
    assert all(len(one) == 8 and int(one, 16) >= 0 for one in SET_ASIDE)


def suggestion(*commands: str, body: str = "") -> Suggestion:
    evidence = SuggestionEvidence(
        session_id=SessionId("s"), run_id=RunId("r"), event_numbers=(1,), at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return Suggestion(
        name="name",
        description="",
        heuristic=Heuristic.ERROR_RECOVERY if body else Heuristic.MULTI_STEP,
        pattern="pattern",
        commands=commands,
        trigger=Trigger(topic="topic"),
        body=body,
        evidence=(evidence,),
        score=Score(points=50),
    )


@pytest.mark.req("SKL-14")
def test_a_suggestion_is_a_procedure_of_the_gold_by_session_commands_and_error() -> None:
    recipe = GoldProcedure(
        name="release",
        kind="recipe",
        sessions=frozenset({"file"}),
        steps=("make build", "git tag <version>", "git push --tags", "gh release create <version>"),
        error="",
        worth=3,
    )
    fix = replace(
        recipe, kind="fix", steps=("npm install --force",), error="missing peer dependency of react"
    )

    assert command_keys(["cd x && FOO=1 git push -f | tee log", "<look>"]) == {"git push", "tee log"}
    assert is_same(suggestion("make build", "git push --tags"), recipe, ["file"])
    assert not is_same(suggestion("make build", "git push --tags"), recipe, ["elsewhere"])
    assert not is_same(suggestion("make build", "cargo test", "cargo fmt"), recipe, ["file"])
    assert is_same(suggestion("npm install", body="the peer dependency of react is missing"), fix, ["file"])
    assert not is_same(suggestion("npm install", body="no such file"), fix, ["file"])


@pytest.mark.req("SKL-14", "SKL-16")
def test_failures_of_other_trades_are_told_from_those_of_the_moment() -> None:
    episodes = read_episodes(TEXTS)
    fitted = [each for each in episodes if not each.is_aside]
    told = {each.name for each in fitted if suggested(each, sessions=2)}
    assert told.isdisjoint(each.name for each in fitted if not each.is_worth)
    assert 10 * len(told) > 8 * sum(each.is_worth for each in fitted)
