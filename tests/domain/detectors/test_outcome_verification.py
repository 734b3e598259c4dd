"""What outcomes of commands bear out: the whole call, and of all tests only a run of all of them."""

from datetime import UTC, datetime

import pytest

from runlore.domain.detectors.mining import NumberedTranscriptEvent
from runlore.domain.detectors.outcome_verification import is_borne_out, outcomes_of
from runlore.domain.record import JsonObject
from runlore.domain.runs.journal import EventType

pytestmark = pytest.mark.req("POL-13")

AT = datetime(2026, 1, 1, tzinfo=UTC)


def events(*calls: tuple[str, int], **arguments: bool) -> list[NumberedTranscriptEvent]:
    """The events of shell calls, each with the exit code that was recorded."""
    told: list[tuple[EventType, JsonObject]] = []
    for number, (command, code) in enumerate(calls):
        call_id = f"c{number}"
        given: JsonObject = {"command": command, **arguments}
        told.append((EventType.TOOL_CALL, {"call_id": call_id, "name": "Bash", "arguments": given}))
        told.append((EventType.TOOL_RESULT, {"call_id": call_id, "output": "", "exit_code": code}))
    return [NumberedTranscriptEvent(number, AT, kind, body) for number, (kind, body) in enumerate(told, 1)]


def test_all_tests_are_borne_out_by_a_run_of_all_and_nothing_else() -> None:
    every = ["pytest", "pytest -q -n 2", "uv run pytest", "npm test", "go test ./...", "make test"]
    every += ["make  test > log.txt 2>&1", "python -m pytest 2>&1", "cargo test --workspace"]
    others = [
        "pytest --version",
        "pytest --collect-only",
        "pytest --co",
        "pytest -k nothing",
        "pytest -m fast",
    ]
    others += ["pytest tests/test_one.py", "pytest a.py::test_b", "npm test --help", "npx jest --listTests"]
    others += [
        "! pytest",
        "pytest &",
        "(pytest)",
        "PYTEST_ADDOPTS=--co pytest",
        "make test -n",
        "npm test -v",
    ]
    others += [
        "go test ./one",
        "pytest 2>&1 &",
        "! pytest > log.txt",
        "pytest -h",
        "if pytest; then true; fi",
    ]
    expected = {**dict.fromkeys(every, True), **dict.fromkeys(others, False)}

    found = {
        command: is_borne_out("All the tests pass", outcomes_of(events((command, 0)))) for command in expected
    }

    assert found == expected


def test_a_command_is_borne_out_where_it_is_all_of_its_call_and_was_waited_for() -> None:
    for command in ("! pytest", "pytest &", "(pytest)", "! git status"):
        for claim in ("`pytest` passes", "`git status` works", f"`{command}` passes"):
            assert not is_borne_out(claim, outcomes_of(events((command, 0)))), (command, claim)
    assert is_borne_out("`pytest -k some` passes", outcomes_of(events(("pytest -k some 2>&1", 0))))
    assert not is_borne_out("`pytest` passes", outcomes_of(events(("pytest", 0), run_in_background=True)))


def test_some_tests_that_fail_later_deny_that_all_pass_and_say_nothing_of_all() -> None:
    outcomes = outcomes_of(events(("pytest", 0), ("pytest tests/test_one.py", 1)))

    assert not is_borne_out("All the tests pass", outcomes)
    assert not is_borne_out("All the tests fail", outcomes)
