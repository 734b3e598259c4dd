"""Every hint fits the surface through which it comes: over HTTP none names a command or an option."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.api.app import create_app
from runlore.api.calls import ApiRoute
from runlore.api.hints import ROUTES, hint_over_http

pytestmark = pytest.mark.req("SUR-7")

SOURCE = Path(__file__).parents[2] / "src" / "runlore"
# Where a daemon is set up, started or asked by a client: nothing of it comes over HTTP.
BEFORE_HTTP = (
    "cli",
    "client",
    "config",
    "storage/sqlite/files.py",
    "daemon/sockets.py",
    "daemon/mounting.py",
)
# What is done on the machine of the daemon, by whoever looks after it, is told as it is done there.
ON_ITS_MACHINE = ("runlore learn", "runlore skill mount")
WORDS = re.compile(r"--[a-z]|`(?:runlore|memory|skill|session|token|learning) |\brunlore [a-z]")


def hints() -> Iterator[tuple[str, str]]:
    """Every hint of the source, with where it stands; what is put into it reads as an id."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(BEFORE_HTTP):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.keyword) and node.arg == "hint":
                    yield from ((f"{name}:{node.value.lineno}", text) for text in texts(node.value))


def texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "rec_1" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))


def test_no_hint_names_a_command_or_an_option_over_http() -> None:
    found = list(hints())
    assert len(found) > 300
    told = {where: hint_over_http(hint) for where, hint in found if not any(map(hint.count, ON_ITS_MACHINE))}

    assert {where: hint for where, hint in told.items() if WORDS.search(hint)} == {}


def test_every_route_that_a_hint_names_is_one() -> None:
    served = {
        f"{method} {route.path}"
        for route in create_app().routes
        if isinstance(route, ApiRoute)
        for method in route.methods or ()
    }

    assert {route.replace("{act}", "revoke") for route in ROUTES.values()} <= served


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("`runlore session list` shows the ids", "GET /v1/sessions shows the ids"),
        (
            "confirm it with --supersedes rec_1, or reject it",
            'confirm it with "supersedes": rec_1, or reject it',
        ),
        ("say so with --accept-untrusted", 'say so with "accept_untrusted": true'),
        ("stop it: runlore session run cancel run_1", "stop it: POST /v1/runs/run_1/cancel"),
        ("`runlore doctor --repair` rebuilds it", 'POST /v1/doctor with "repair": true rebuilds it'),
        ("`runlore skill rollout revoke it` ends it", "POST /v1/learning-skills/it/revoke ends it"),
        ("use another id, or leave it out", "use another id, or leave it out"),
    ],
)
def test_a_command_is_told_as_its_route_and_an_option_as_its_field(hint: str, told: str) -> None:
    assert hint_over_http(hint) == told
