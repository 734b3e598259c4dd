"""Findings made by hand: what the report and the tables are shown with."""

from datetime import UTC, date, datetime, timedelta

from runlore.daemon.mining.findings import AgentRead, Day, Example, LearnFindings, ReadingSummary, Unread
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import Outcome, Step
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    Suggestion,
    SuggestionEvidence,
    Trigger,
)
from runlore.domain.taint import TRUSTED, Provenance

MADE_AT = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
FIRST_DAY = date(2026, 10, 1)
BODY = """# Release the package

## Overview

Build the wheel, check it, and tag the release. Seen **four** times in `atlas`.

## Step-by-Step

1. `make build VERSION=<version>`
2. `make check`
3. `git tag <version>`

## Common Pitfalls

- The tag is made before the checks have passed.
- `twine` refuses a version that exists.

## Verification

| command | what it shows |
| --- | --- |
| `git describe` | the new tag |
| `ls dist \\| wc -l` | two files |

```sh
make check
```
"""
OUTSIDE = Provenance(untrusted=True, needs_review=True, sources=("https://example.org/howto",))


def suggestion(
    name: str = "procedure-release",
    *,
    heuristic: Heuristic = Heuristic.CROSS_SESSION,
    provenance: Provenance = TRUSTED,
    commands: tuple[str, ...] = ("make build VERSION=<version>", "make check", "git tag <version>"),
    body: str = BODY,
    description: str = "Build, check and tag a release of the package.",
) -> Suggestion:
    """One suggestion, seen four times in three sessions."""
    return Suggestion(
        name=name,
        description=description,
        heuristic=heuristic,
        pattern=f"{heuristic.value}:{name}",
        commands=commands,
        trigger=Trigger(topic="make", actions=("build", "check", "tag")),
        body=body,
        evidence=tuple(
            SuggestionEvidence(
                session_id=SessionId(f"ses_{number}"),
                run_id=RunId(f"run_{number}"),
                event_numbers=(4, 6, 8),
                at=MADE_AT - timedelta(days=9 - number),
                project="github.com/acme/atlas",
            )
            for number in range(3)
        ),
        provenance=provenance,
        score=Score(
            points=78,
            parts=(
                ScorePart(reason="seen in 3 sessions", points=48),
                ScorePart(reason="every step worked", points=35),
                ScorePart(reason="the paths differ each time", points=-5),
            ),
        ),
        parameters=(Parameter(name="version", examples=("1.4.0", "1.5.0")),),
        times=4,
        sessions=3,
    )


def example() -> Example:
    """One time that it was seen: a step that failed, and one that worked."""
    return Example(
        agent="claude-code",
        session_id=SessionId("ses_2"),
        run_id=RunId("run_2"),
        project="github.com/acme/atlas",
        at=MADE_AT,
        request="Release 1.5.0 please, and tell me when it is tagged.",
        steps=(
            _step(4, "make build VERSION=1.5.0", Outcome.FAILED, error="error: the tree is not clean"),
            _step(6, "git stash && make build VERSION=1.5.0", Outcome.SUCCEEDED),
            _step(8, "git tag 1.5.0", Outcome.UNKNOWN),
        ),
    )


def findings() -> LearnFindings:
    """Six weeks of two agents, with four suggestions, one of them from outside."""
    first = suggestion()
    others = (
        suggestion("error-pip", heuristic=Heuristic.ERROR_RECOVERY, provenance=OUTSIDE),
        suggestion("user-correction-build", heuristic=Heuristic.USER_CORRECTION),
        suggestion("repeated-docker-build", heuristic=Heuristic.REPEATED_ACTION),
    )
    return LearnFindings(
        reading=ReadingSummary(
            agents=(
                AgentRead(agent="claude-code", files=12, lines=8_400, bytes=9_000_000, sessions=12, runs=96),
                AgentRead(
                    agent="codex",
                    files=5,
                    lines=3_210,
                    bytes=4_000_000,
                    sessions=4,
                    runs=31,
                    skipped={"not JSON": 3, "an unknown type": 9},
                ),
            ),
            unread=(
                Unread(path="/srv/ada/.cursor/chat.db", problem="no reader knows it", looks_like="cursor"),
            ),
        ),
        days=tuple(_day(number) for number in range(45) if number % 7 < 5),
        suggestions=(first, *others),
        examples={first.pattern: example()},
    )


def _day(number: int) -> Day:
    commands = 20 + (number * 37) % 61
    return Day(
        day=FIRST_DAY + timedelta(days=number),
        commands=commands,
        failures=commands * (number % 5) // 20,
        repeats=commands * min(number, 40) // 60,
        by_agent={"claude-code": commands * 2 // 3, "codex": commands - commands * 2 // 3},
    )


def _step(number: int, text: str, outcome: Outcome, error: str = "") -> Step:
    return Step(
        run_id=RunId("run_2"),
        number=number,
        result_number=number + 1,
        at=MADE_AT,
        text=text,
        outcome=outcome,
        exit_code=2 if outcome is Outcome.FAILED else None,
        error=error,
    )
