"""What detectors find, built of commands: each call is mined as a run's would be.

match(Heuristic.MULTI_STEP, steps("npm install", "npm test"))
match(Heuristic.ERROR_RECOVERY, steps(failed("pip install request", "no such thing"), "pip install requests"))
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.detectors.mined import Step, UserRequest
from runlore.domain.detectors.mining import NumberedTranscriptEvent, mine_run
from runlore.domain.record import JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FIRST_STEP = 3


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A call that failed with an error."""

    text: str
    error: str
    exit_code: int = 1


def failed(text: str, error: str = "error: it failed", exit_code: int = 1) -> Failed:
    """A call that failed."""
    return Failed(text=text, error=error, exit_code=exit_code)


def steps(*calls: str | Failed, session: str = "a", day: int = 0, after: int = 0) -> tuple[Step, ...]:
    """The shell calls of one run, mined; `after` says how many events come before."""
    began = START + timedelta(days=day)
    events = [
        NumberedTranscriptEvent(number=after + 2, at=began, type=EventType.INPUT, body={"text": "go on"})
    ]
    for index, call in enumerate(calls):
        number = after + FIRST_STEP + 2 * index
        text = call if isinstance(call, str) else call.text
        result: dict[str, JsonValue] = (
            {"output": "fine", "exit_code": 0}
            if isinstance(call, str)
            else {"output": call.error, "exit_code": call.exit_code}
        )
        at = began + timedelta(seconds=number)
        call_id = f"call_{number}"
        called: dict[str, JsonValue] = {"call_id": call_id, "name": "Bash", "arguments": {"command": text}}
        events.append(NumberedTranscriptEvent(number=number, at=at, type=EventType.TOOL_CALL, body=called))
        events.append(
            NumberedTranscriptEvent(
                number=number + 1, at=at, type=EventType.TOOL_RESULT, body={"call_id": call_id, **result}
            )
        )
    mined = mine_run(
        events,
        session_id=SessionId(f"ses_{session}"),
        run_id=RunId(f"run_{session}_{after}"),
        agent="claude-code",
        project="acme",
    )
    return mined.steps


def occurrence(
    found: tuple[Step, ...], *, provenance: Provenance = TRUSTED, project: str = "acme"
) -> Occurrence:
    """One time that a pattern was seen."""
    run_id = found[0].run_id
    session_id = SessionId(run_id.rpartition("_")[0].replace("run_", "ses_"))
    return Occurrence(
        session_id=session_id, run_id=run_id, project=project, steps=found, provenance=provenance
    )


def match(
    heuristic: Heuristic,
    *seen: tuple[Step, ...] | Occurrence,
    asked_name: str = "",
    pattern: str = "",
) -> Match:
    """A pattern that was seen these times; its own is made of the forms of the first of them."""
    occurrences = tuple(each if isinstance(each, Occurrence) else occurrence(each) for each in seen)
    forms = " | ".join(step.form for step in occurrences[0].steps)
    return Match(
        heuristic=heuristic,
        pattern=pattern or f"{heuristic.value}: {forms}",
        occurrences=occurrences,
        asked_name=asked_name,
    )


def shown(heuristic: Heuristic, *calls: str | Failed, pattern: str = "", asked_name: str = "") -> Match:
    """A pattern that three sessions show with the same calls."""
    seen = (steps(*calls, session=name, day=day) for day, name in enumerate("abc"))
    return match(heuristic, *seen, pattern=pattern, asked_name=asked_name)


def said(found: Match, words: str) -> Match:
    """A match with what the user said of it."""
    (step, *_) = found.occurrences[0].steps
    request = UserRequest(run_id=step.run_id, number=2, at=step.at, text=words, own=words)
    return replace(found, request=request)
