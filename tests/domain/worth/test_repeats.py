"""What people say again: the same wish in several sessions, and nothing that only looks like it."""

from datetime import UTC, datetime, timedelta

import pytest

from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.worth.repeats import Repeats, find_repeats

pytestmark = pytest.mark.req("VAL-1")
BEGAN = datetime(2026, 3, 20, tzinfo=UTC)


def repeats(*said: tuple[str, int, str]) -> Repeats:
    """What is found of messages: the session, the day, and the words."""
    messages = [
        UserMessage(session_id=SessionId(session), run_id=RunId(f"run-{number}"), event_number=1, text=text)
        for number, (session, _, text) in enumerate(said)
    ]
    times = {RunId(f"run-{number}"): BEGAN + timedelta(days=day) for number, (_, day, _) in enumerate(said)}
    return find_repeats(messages, times)


OTHERS = (
    ("a", 0, "Fix the parser of dates"),
    ("b", 5, "Why does the upload hang?"),
    ("c", 20, "Rename the flag to verbose"),
)


def test_a_wish_of_several_sessions_is_told_with_its_sessions_and_dates() -> None:
    found = repeats(
        *OTHERS,
        ("a", 1, "Please always make small commits"),
        ("b", 6, "And again: small commits please"),
        ("c", 40, "I prefer small commits"),
    )
    [item] = [each for each in found.items if "small commits" in each.text]
    assert item.session_ids == ("a", "b", "c")
    assert item.text == "I prefer small commits"
    assert (item.first_at, item.last_at) == (BEGAN + timedelta(days=1), BEGAN + timedelta(days=40))
    assert [(rate.month, rate.requests, rate.repeated) for rate in found.rates] == [
        ("2026-03", 4, 1),
        ("2026-04", 2, 1),
    ]


def test_copies_pasted_prompts_and_a_change_of_mind_are_no_repeats() -> None:
    wish = "Please make small commits"
    assert repeats(("a", 1, wish), ("fork of a", 1, wish)).items == ()
    prompt = f"{wish}. " + "Look at the whole change as its toughest reviewer would. " * 6
    assert repeats(("a", 1, prompt), ("b", 9, prompt)).items == ()
    assert repeats(("a", 1, wish), ("a", 2, wish)).items == ()
    minds = repeats(("a", 1, "Please make small commits"), ("b", 2, "Don't make small commits"))
    assert minds.items == ()
    for before, after in (
        ("Please use tabs for indentation", "Please use spaces for indentation"),
        ("Always wrap comments at 80 columns", "Always wrap comments at 120 columns"),
        ("Always use npm to install packages", "Always use pnpm to install packages"),
        ("Always write commit messages in English", "Always write commit messages in German"),
    ):
        assert repeats(("a", 1, before), ("b", 2, after)).items == (), after
        [item] = repeats(("a", 1, before), ("b", 2, after), ("c", 3, after)).items
        assert item.session_ids == ("b", "c"), "the new wish was said again"
    assert repeats().rates == ()


def test_a_number_that_only_numbers_something_makes_no_other_wish() -> None:
    for before, after in (
        ("2. Please always answer in German", "4. Please always answer in German"),
        ("Please always squash the commits of PR 12", "Please always squash the commits of PR 31"),
        ("Always link the ticket #7 in commits", "Always link the ticket #9 in commits"),
        ("Please always keep docs/v1 up to date (ABC-12)", "Please always keep docs/v1 up to date (ABC-90)"),
    ):
        [item] = repeats(("a", 1, before), ("b", 2, after)).items
        assert item.session_ids == ("a", "b"), after
    for before, after in (
        ("Please always use Python 3.11", "Please always use Python 3.12"),
        ("Always keep the coverage above 80%", "Always keep the coverage above 90%"),
        ("Please always wait for 10ms between calls", "Please always wait for 250ms between calls"),
        ("Always wrap comments at `80` columns.", "Always wrap comments at `100` columns."),
    ):
        assert repeats(("a", 1, before), ("b", 2, after)).items == (), after
