"""What nobody sees in a transcript is shown as its code, and flagged: a person reads it first (TNT-4)."""

from dataclasses import replace

import pytest

from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import UserRequest
from runlore.domain.detectors.mined_json import parse_mined, serialize_mined
from runlore.domain.detectors.mining import NumberedTranscriptEvent, mine_run
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from runlore.domain.suspicion.scan import BIDIRECTIONAL
from runlore.domain.text.safe_text import hidden_characters
from tests.domain.suggesting.suggesting_matches import START, failed, match, shown, steps

pytestmark = pytest.mark.req("TNT-4")

SIGNS = ["\u200b", "\u202e", "\u2066", "\ufeff", "\x1b", "\x08", "\U000e0041", "\u00ad"]
WORK = ("npm run pack", "docker push shop", "helm upgrade shop charts", "gh release create v1")


def only(found: Match) -> Suggestion:
    """The one suggestion of a match; nothing hides in what it tells."""
    (suggestion,) = suggestions_of([found])
    told = (suggestion.body, suggestion.description, suggestion.name, *suggestion.commands)
    assert not any(map(hidden_characters, told))
    return suggestion


def assert_flagged(suggestion: Suggestion, sign: str) -> None:
    """That a suggestion waits for a person because of a sign."""
    reason = "bidirectional controls" if sign in BIDIRECTIONAL else "hidden characters"
    assert suggestion.provenance.needs_review
    assert f"content: {reason}" in suggestion.provenance.sources


def test_plain_work_is_not_flagged() -> None:
    suggestion = only(shown(Heuristic.MULTI_STEP, *WORK))

    assert (suggestion.provenance.needs_review, suggestion.provenance.sources) == (False, ())


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("place", range(len(WORK)))
def test_a_sign_in_any_command_flags(sign: str, place: int) -> None:
    calls = [f"{call[:-1]}{sign}{call[-1]}" if index == place else call for index, call in enumerate(WORK)]

    assert_flagged(only(shown(Heuristic.MULTI_STEP, *calls)), sign)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_behind_a_command_or_behind_a_very_long_one_flags(sign: str) -> None:
    noted = f"gh release create v1 # as al{sign}ways"
    long = f"gh release create v1 --notes {'x' * 2_500} && make no{sign}tes"

    assert_flagged(only(shown(Heuristic.MULTI_STEP, *WORK[:3], noted)), sign)
    assert_flagged(only(shown(Heuristic.MULTI_STEP, *WORK[:3], long)), sign)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_in_the_error_flags(sign: str) -> None:
    calls = (failed("pip install request", f"error: no{sign} such package"), "pip install requests")

    assert_flagged(only(shown(Heuristic.ERROR_RECOVERY, *calls)), sign)


@pytest.mark.parametrize(
    ("error", "is_flagged"),
    [
        ("\x1b[31merror\x1b[0m: no such package", False),
        ("\x1b[1;38;5;196merror:\x1b[m no such package", False),
        ("error: \x1b[8mno such package", True),
        ("error: \x1b[2Jno such package", True),
        ("error: \x1b]52;c;AAAA\x07no such package", True),
    ],
)
def test_the_colours_of_an_error_hide_nothing(error: str, is_flagged: bool) -> None:
    calls = (failed("pip install request", error), "pip install requests")

    assert only(shown(Heuristic.ERROR_RECOVERY, *calls)).provenance.needs_review is is_flagged


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_in_the_request_the_asked_name_or_the_project_flags(sign: str) -> None:
    found = match(Heuristic.EXPLICIT_INSTRUCTION, steps(*WORK))
    plain = UserRequest(run_id=RunId("run_a_0"), number=2, at=START, text="save this", own="save this")
    (seen,) = found.occurrences

    assert not only(replace(found, request=plain, asked_name="my-work")).provenance.needs_review
    assert_flagged(only(replace(found, request=replace(plain, text=f"save{sign} this"))), sign)
    assert_flagged(only(replace(found, request=plain, asked_name=f"my{sign}work")), sign)
    for hidden in (replace(seen, project=f"ac{sign}me"), replace(seen, project_name=f"Ac{sign}me")):
        assert_flagged(only(replace(found, occurrences=(hidden,))), sign)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_stored_run_knows_it_too(sign: str) -> None:
    def event(number: int, kind: EventType, **body: JsonValue) -> NumberedTranscriptEvent:
        told: JsonObject = body
        return NumberedTranscriptEvent(number=number, at=START, type=kind, body=told)

    events = [event(2, EventType.INPUT, text="go on")]
    for number, command in enumerate((*WORK, f"helm rollback sh{sign}op"), start=3):
        call_id = f"c{number}"
        events += [
            event(
                2 * number, EventType.TOOL_CALL, call_id=call_id, name="Bash", arguments={"command": command}
            ),
            event(2 * number + 1, EventType.TOOL_RESULT, call_id=call_id, output="fine", exit_code=0),
        ]
    mined = [
        mine_run(
            events,
            session_id=SessionId(f"ses_{name}"),
            run_id=RunId(f"run_{name}"),
            agent="codex",
            project="acme",
        )
        for name in "abcd"
    ]
    for runs in (mined, [parse_mined(serialize_mined(run)) for run in mined]):
        across = CrossSession()
        for run in runs:
            across.add([run])
        (found,) = suggestions_of(across.matches())
        assert_flagged(found, sign)
