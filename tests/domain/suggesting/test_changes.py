"""What changes something between two steps that the user asked to keep is a step as well: without it the
others do another thing."""

from itertools import product

import pytest

from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.suggesting.suggesting_matches import match, steps

pytestmark = pytest.mark.req("SKL-4")

CHANGES = [
    "cp app.conf /etc/app.conf",
    "mv app.conf conf.d/app.conf",
    "mkdir -p data",
    "ln -s releases/2 current",
    "chmod +x bin/start",
    "install -m 644 app.conf /etc/app.conf",
    "rm -rf /var/cache/app",
    "systemctl daemon-reload",
    "docker network create app-net",
    "docker compose restart db",
    "kubectl config use-context staging",
]
AROUND = [
    ("systemctl stop app", "systemctl start app", "curl -s localhost:8080/health"),
    ("docker compose down", "docker compose up -d", "make check"),
    ("npm ci", "npm run build", "npm test"),
]
LONG = (
    "npm ci",
    "npm run lint",
    "npm run typecheck",
    "npm test",
    "npm run build",
    "npm publish",
    "make docs",
)


def told(*calls: str) -> tuple[str, ...]:
    """The commands of the one procedure that the user asked to keep."""
    (suggestion,) = suggestions_of([match(Heuristic.EXPLICIT_INSTRUCTION, steps(*calls))])
    return suggestion.commands


@pytest.mark.parametrize(("change", "around"), list(product(CHANGES, AROUND)))
def test_a_change_between_two_steps_stays_in_its_place(change: str, around: tuple[str, ...]) -> None:
    first, *others = around

    assert told(first, change, *others) == (first, change, *others)


@pytest.mark.parametrize("place", range(1, len(LONG)))
@pytest.mark.parametrize("change", CHANGES)
def test_so_it_does_in_a_long_row(change: str, place: int) -> None:
    calls = (*LONG[:place], change, *LONG[place:])

    assert told(*calls) == calls


@pytest.mark.parametrize("moment", ["cp /tmp/x1/app.conf app.conf", "mkdir -p /tmp/run-17"])
def test_what_served_the_moment_is_still_left_out(moment: str) -> None:
    first, *others = AROUND[2]

    assert moment not in told(first, moment, *others)
    assert moment not in told(*LONG[:3], moment, *LONG[3:])
