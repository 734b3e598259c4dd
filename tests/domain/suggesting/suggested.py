"""One suggestion, as the heuristics would write it, and an answer that says the same in better words."""

from datetime import UTC, datetime
from typing import Any

from runlore.domain.detectors.match import Heuristic
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
from runlore.domain.taint import Provenance

BODY = """\
## Overview

A procedure of 3 steps: `go vet`, `go test` and `docker compose up -d`. Use it when linting and running tests.

Fill in:

- `<test>`: such as `TestB`, `TestA`
- `<path>`: such as `./pkg/b`, `./pkg/a`

## Step-by-Step

1. `go vet ./...`
2. `go test -run <test> <path>`
3. `docker compose up -d 2>&1 | tee "up.log"`

## Common Pitfalls

- `go test ./pkg/b` failed with exit code 1: `no Go files in pkg/b`

## Verification

`go test -run <test> <path>` should exit with code 0.
"""
SUGGESTION = Suggestion(
    name="procedure-go",
    description="A procedure of 3 steps: `go vet`, `go test` and `docker compose up -d`.",
    heuristic=Heuristic.MULTI_STEP,
    pattern="go vet | go test | docker compose up -d",
    commands=("go vet ./...", "go test -run <test> <path>", 'docker compose up -d 2>&1 | tee "up.log"'),
    trigger=Trigger(topic="go", actions=("lint", "test", "run")),
    body=BODY,
    evidence=(
        SuggestionEvidence(
            session_id=SessionId("ses_of_somebody"),
            run_id=RunId("run_of_somebody"),
            event_numbers=(3, 4, 5),
            at=datetime(2026, 3, 1, 9, 0, 0, 123_000, tzinfo=UTC),
            project="acme",
        ),
    ),
    provenance=Provenance(untrusted=True, needs_review=True, sources=("https://example.com/page",)),
    score=Score(points=66, parts=(ScorePart(reason="the steps worked in a row", points=66),)),
    parameters=(
        Parameter(name="test", examples=("TestB", "TestA")),
        Parameter(name="path", examples=("./pkg/b", "./pkg/a")),
    ),
    times=2,
    sessions=2,
)


STEPS = """\
1. Look for mistakes: `go vet ./...`
2. Run the test in question, `<test>` being its name:

   ```sh
   go test -run TestA ./pkg/a
   ```
3. Start the services with `docker compose up -d 2>&1 | tee "up.log"`.
"""


def better_body(
    *, all_steps: str = STEPS, steps: str = "", pitfalls: str = "", verification: str = ""
) -> str:
    """A good body, with something more in its sections, or other steps."""
    return f"""\
## Overview

Checks the code with `go vet` and runs one test before the services are started.

## Step-by-Step

{all_steps}{steps}

## Common Pitfalls

- A package without Go files fails with `no Go files in pkg/b`.
{pitfalls}

## Verification

`go test -run <test> <path>` should exit with code `0`.
{verification}
"""


def better(**fields: Any) -> dict[str, Any]:
    """A good answer, with other fields where they are given."""
    answer: dict[str, Any] = {
        "name": "check-and-start-services",
        "description": "Checks Go code with `go vet`, runs one test and starts the services.",
        "topic": "go",
        "actions": ["check", "test", "start"],
        "body": better_body(),
    }
    return {**answer, **fields}
