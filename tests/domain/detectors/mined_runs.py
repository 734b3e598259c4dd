"""Sessions as the detectors see them, built of a few words: what was said, what was run, what came of it.

    session(run("build it", failed("npm run build")), run("no, try npm ci first", ok("npm ci")))

Events are numbered as a journal numbers them: the binding is 1, a run is its input, two events for each call,
and its status.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runlore.domain.detectors.mined import MinedRun, Outcome, OutsideRead, Step, UserRequest
from runlore.domain.detectors.mining_commands import step_commands
from runlore.domain.learning.own_words import own_words
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.shell import script_of

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One shell call, before it has a number. `brings` are the sources of what its result read."""

    text: str
    outcome: Outcome
    exit_code: int | None = None
    error: str = ""
    brings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Said:
    """One input of the user and the calls that followed it."""

    request: str | None
    calls: tuple[Call, ...]


def ok(text: str, *, brings: Iterable[str] = ()) -> Call:
    """A call that succeeded."""
    return Call(text=text, outcome=Outcome.SUCCEEDED, exit_code=0, brings=tuple(brings))


def failed(text: str, error: str = "it failed", *, brings: Iterable[str] = ()) -> Call:
    """A call that failed."""
    return Call(text=text, outcome=Outcome.FAILED, exit_code=1, error=error, brings=tuple(brings))


def refused(text: str) -> Call:
    """A call that the user did not allow."""
    return Call(text=text, outcome=Outcome.REFUSED)


def unknown(text: str) -> Call:
    """A call of which nobody can tell what became of it."""
    return Call(text=text, outcome=Outcome.UNKNOWN)


def run(request: str | None, *calls: Call) -> Said:
    """An input and what followed it."""
    return Said(request=request, calls=calls)


def session(
    *runs: Said, name: str = "a", project: str = "acme", agent: str = "claude-code", day: int = 0
) -> tuple[MinedRun, ...]:
    """The runs of one session, in order. `day` says when it was."""
    session_id = SessionId(f"ses_{name}")
    mined: list[MinedRun] = []
    number = 2
    for ordinal, said in enumerate(runs):
        run_id = RunId(f"run_{name}_{ordinal}")
        began = number
        steps: list[Step] = []
        outside: list[OutsideRead] = []
        for call in said.calls:
            number += 1
            steps.append(step_of(call, run_id=run_id, number=number, at=_at(number, day)))
            number += 1
            outside += [OutsideRead(number=number, source=source) for source in call.brings]
        mined.append(
            MinedRun(
                session_id=session_id,
                run_id=run_id,
                agent=agent,
                project=project,
                at=_at(began, day),
                request=request_of(said.request, run_id=run_id, number=began, at=_at(began, day)),
                steps=tuple(steps),
                outside=tuple(outside),
            )
        )
        number += 2
    return tuple(mined)


def request_of(text: str | None, *, run_id: RunId, number: int, at: datetime) -> UserRequest | None:
    """What the user said; of it their own words as everywhere else."""
    if text is None:
        return None
    return UserRequest(run_id=run_id, number=number, at=at, text=text, own=own_words(text))


def step_of(call: Call, *, run_id: RunId, number: int, at: datetime) -> Step:
    """A call with its place."""
    return Step(
        run_id=run_id,
        number=number,
        result_number=number + 1,
        at=at,
        text=call.text,
        outcome=call.outcome,
        exit_code=call.exit_code,
        error=call.error,
        commands=step_commands(script_of(call.text)),
    )


def _at(number: int, day: int) -> datetime:
    return START + timedelta(days=day, seconds=30 * number)
