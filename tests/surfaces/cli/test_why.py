"""What prompts are given, as people see it: contexts, previews, searches, and `why` for a run of the past."""

import re

import pytest

from runlore.domain.run import RunStatus
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.reporting import report, said

pytestmark = pytest.mark.req("SUR-1", "SUR-2")

EDITOR = "Which editor should I use?"


@pytest.fixture
def talking(runlore: Runlore) -> Runlore:
    """One with the session `talk`, a preference, and a run that ended."""
    runlore.json("session", "create", "--id", "talk")
    runlore.prefer("editor", "vim")
    report(runlore, "run-1", "Why does the build fail?", said("The lock file was stale."))
    return runlore


@pytest.mark.req("PRJ-4", "RUN-5")
def test_a_context_shows_what_an_input_may_be_given(talking: Runlore) -> None:
    waiting = talking.propose("tabs", "four wide")
    found = talking.json("session", "context", "talk", EDITOR)

    assert [entry["content"] for entry in found["learned_context"]["entries"]] == ["editor: vim"]
    assert [entry["run_id"] for entry in found["recovered_memory"]["entries"]] == ["run-1"]
    shown = talking.text("session", "context", "talk", EDITOR, columns=120)
    assert shown.startswith("Session talk sees session:talk, workspace\n")
    assert re.search(r"rec_\w+ +preference +workspace +\d+ +editor: vim", shown)
    assert re.search(r"run-1 +completed +\S+ \S+ UTC +Request: Why does the build fail\?\n", shown)
    assert re.search(rf"{waiting} +waiting for review", shown)


@pytest.mark.req("PRJ-4")
def test_a_context_without_anything_says_so(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")

    assert runlore.text("session", "context", "talk").split("\n\n")[1:] == [
        "Learned context\nnothing",
        "Recovered memory\nnothing\n",
    ]


@pytest.mark.req("REC-9")
def test_a_context_of_the_past_is_as_it_was(talking: Runlore) -> None:
    created = talking.json("session", "show", "talk")["created_at"]
    past = talking.json("session", "context", "talk", "--as-of", created)

    assert past["learned_context"]["entries"] == past["recovered_memory"]["entries"] == []
    assert talking.fails("session", "context", "talk", "--as-of", "2001-01-01").exit_code == 5


@pytest.mark.req("RET-6")
def test_a_session_search_finds_learnings_and_runs(talking: Runlore) -> None:
    browsed = talking.json("session", "search", "talk")
    assert {result["kind"] for result in browsed["results"]} == {"learning", "recovered_run"}

    found = talking.json("session", "search", "talk", "stale lock", "--limit", "5")
    assert [result["source_id"] for result in found["results"]] == ["run-1"]
    shown = talking.text("session", "search", "talk", "stale lock", columns=120)
    assert re.search(r"\d+ +recovered_run +run-1 +(yes|no) +", shown)
    nothing, unsearched = talking.text("session", "search", "talk", "zebra").splitlines()
    assert (nothing, "episodic" in unsearched) == ("Nothing matches.", True)


@pytest.mark.req("RET-5")
def test_a_goal_gets_what_planning_should_know(talking: Runlore) -> None:
    found = talking.json("memory", "context", EDITOR)

    assert [hit["summary"] for hit in found["profile"]] == ["editor: vim"]
    shown = talking.text("memory", "context", EDITOR, columns=120)
    assert re.search(r"profile +\d+ +rec_\w+ +workspace +editor: vim", shown)
    assert talking.text("memory", "context", "zebra").startswith("Nothing that a prompt may see")
    assert talking.json("memory", "context", EDITOR, "--session", "talk")["profile"]


@pytest.mark.req("PRJ-4", "RUN-7")
def test_a_preview_shows_the_sections_and_adds_up(talking: Runlore) -> None:
    call = ("session", "preview", "talk", EDITOR, "--model", "claude-sonnet-4-5", "--prompt-tokens", "1000")
    found = talking.json(*call)
    shown = talking.text(*call, columns=120)

    for section in found["sections"]:
        assert section["text"] in shown
    budget = found["budget"]
    spent = budget["reserved_tokens"] + budget["prompt_tokens"] + budget["input_tokens"]
    assert budget["prompt_tokens"] == 1000
    assert budget["room_tokens"] == budget["window_tokens"] - spent
    assert re.search(rf"= room +{budget['room_tokens']:,}\n", shown)
    assert re.search(r"- prompt +1,000 +told by the agent", shown)
    assert re.search(r"rec_\w+ +\d+ +\d+ +\d+ +matches the input", shown)


@pytest.mark.req("RUN-7")
def test_a_model_that_nobody_knows_has_no_window(talking: Runlore) -> None:
    shown = talking.text("session", "preview", "talk", EDITOR, "--model", "zebra-1", columns=120)

    assert "the model's window is not known" in shown
    assert not re.search("^ *window", shown, re.MULTILINE)


@pytest.mark.req("RUN-7", "PRJ-2")
def test_what_has_no_room_is_named_with_its_reason(talking: Runlore) -> None:
    talking.json("policy", "set", "run-memory", "--set", "budget_tokens=1")
    shown = talking.text("session", "preview", "talk", EDITOR, columns=120)

    assert re.search(r"recovered_memory +run-1 +\d+ +no room left in the budget", shown)


@pytest.mark.req("JRN-4")
def test_why_tells_what_a_run_was_given(talking: Runlore) -> None:
    given = report(talking, "run-2", EDITOR, context=True, status=None)
    receipt = talking.json("why", "run-2")
    shown = talking.text("why", "run-2", columns=120)

    assert shown.startswith("Run run-2 of session talk: running\n")
    assert f"asked: {EDITOR}" in shown
    assert re.search(r"run-1 +- +- +\d+ +a recent run of this session", shown)
    assert re.search(r"rec_\w+ +2 +\d+ +\d+ +matches the input", shown)
    assert [section.text for section in given.sections or ()] == [s["text"] for s in sections(receipt)]
    assert "runlore:learned_context" not in shown


@pytest.mark.req("JRN-4", "SUR-10")
def test_why_without_an_id_is_about_the_newest_run(talking: Runlore) -> None:
    report(talking, "run-2", EDITOR, context=True, status=None)

    assert talking.text("why", columns=120) == talking.text("why", "run-2", columns=120)


@pytest.mark.req("JRN-4", "SUR-10")
def test_why_without_any_run_says_so(runlore: Runlore) -> None:
    assert runlore.fails("why").code == "run.not-found"


@pytest.mark.req("JRN-4")
def test_why_tells_the_sections_again_word_for_word(talking: Runlore) -> None:
    given = report(talking, "run-2", EDITOR, context=True, status=None)
    shown = talking.text("why", "run-2", "--sections")

    assert given.sections
    for section in given.sections:
        assert f"{section.name}, exactly as it was\n{section.text}\n" in shown


@pytest.mark.req("JRN-4", "LRN-12")
def test_why_names_what_was_forgotten_since(talking: Runlore) -> None:
    report(talking, "run-2", EDITOR, context=True, status=None)
    talking.json("memory", "forget", "run-1", "--yes")
    shown = talking.text("why", "run-2", "--sections")

    assert "Forgotten since: run-1" in shown
    assert "recovered_memory, as far as it can still be told" in shown
    assert "stale" not in shown


@pytest.mark.req("JRN-4")
def test_why_says_when_a_run_asked_for_nothing_or_got_nothing(talking: Runlore) -> None:
    assert "It was given nothing: it did not ask" in talking.text("why", "run-1")

    talking.json("session", "create", "--id", "empty")
    report(talking, "run-9", "zebra", session="empty", context=True, status=None)
    assert "It was given nothing: nothing that it may see" in talking.text("why", "run-9")


@pytest.mark.req("RUN-1", "RUN-3")
def test_a_failed_run_is_told_as_one_and_without_personal_data(talking: Runlore) -> None:
    report(
        talking, "run-2", "Mail ada@example.org", status=RunStatus.FAILED, error="refused: ada@example.org"
    )

    shown = talking.text("session", "context", "talk", columns=120)
    assert re.search(r"run-2 +failed", shown)
    assert "ada@example.org" not in shown


def sections(receipt: Json) -> list[Json]:
    """The sections of a receipt, told again."""
    return list(receipt["rebuilt"] if "rebuilt" in receipt else receipt["sections"])
