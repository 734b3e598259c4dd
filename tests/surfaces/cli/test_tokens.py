"""Tokens on the command line: made once, listed without their secrets, revoked for good."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.domain.timestamps import parse_time
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("OPS-5", "SUR-7")


def test_a_token_is_made_and_its_secret_stands_alone_on_a_line(runlore: Runlore) -> None:
    told, secret, advice = runlore.text(
        "token", "create", "claude-code", "--role", "agent", "--scope", "project:acme"
    ).splitlines()

    assert told == "Made claude-code, an agent, limited to project:acme. Its secret, shown this once:"
    assert re.fullmatch(r"\S{20,}", secret)
    assert "RUNLORE_TOKEN" in advice
    # Kept is its digest alone, and no command shows even that.
    assert secret not in str(runlore.contents())
    (listed,) = runlore.items("token", "list")
    assert (listed["name"], listed["role"], listed["revoked_at"]) == ("claude-code", "agent", None)
    assert listed["scopes"] == [{"kind": "project", "id": "acme"}]
    assert not {"secret", "digest"} & set(listed)


def test_a_token_without_scopes_has_no_limit(runlore: Runlore) -> None:
    made = runlore.json("token", "create", "dashboard", "--role", "reader")

    assert (made["scopes"], made["role"]) == (None, "reader")
    assert re.search(r"dashboard +reader +- +\S+ \S+ UTC +- +all", runlore.text("token", "list"))


def test_a_revoked_token_stays_in_the_list_and_its_name_is_taken(runlore: Runlore) -> None:
    runlore.json("token", "create", "old", "--role", "operator")

    assert runlore.text("token", "revoke", "old") == "Revoked old: its secret opens nothing any more.\n"
    assert runlore.items("token", "list")[0]["revoked_at"]
    assert runlore.fails("token", "create", "old", "--role", "operator").code == "token.exists"


@pytest.mark.req("OPS-7")
def test_a_token_ends_when_it_is_said_to_and_is_rotated(runlore: Runlore, tmp_path: Path) -> None:
    made = runlore.json("token", "create", "ci", "--role", "reader", "--expires", "90d")
    days = (parse_time(made["expires_at"]) - parse_time(made["created_at"])) / timedelta(days=1)
    assert round(days) == 90
    rotated = runlore.json("token", "rotate", "ci", "--grace", "1h", "--expires", "2090-01-31")
    assert rotated["secret"] != made["secret"]
    assert "2090-01-31" in runlore.text("token", "list")
    assert runlore.fails("token", "rotate", "ci", "--grace", "soon").code == "time.duration"
    never = runlore.fails("token", "rotate", "ci", "--expires", "90days")
    assert (never.code, "7d" in never.problem["hint"]) == ("time.format", True)
    assert runlore.fails("token", "rotate", "ci", "--expires", "999999w").code == "time.format"

    told = runlore.text("audit", "--kind", "token", "--since", "1d")
    assert [line.split()[4] for line in told.splitlines()[1:]] == ["create", "rotate"]
    path = tmp_path / "audit.jsonl"
    assert "acts to" in runlore.text("audit", "--export", str(path))
    acts = [json.loads(line)["act"] for line in path.read_text().splitlines()]
    assert acts[-2:] == ["create", "rotate"]
    assert runlore.fails("audit", "--export", str(tmp_path / "none" / "x")).code == "audit.write"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--role", "admin"), "word.unknown"),
        ((), "usage"),
        (("--role", "agent", "--scope", "planet:mars"), "scope.kind"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(
    embedded: Runlore, arguments: tuple[str, ...], code: str
) -> None:
    refused = embedded.fails("token", "create", "claude-code", *arguments)

    assert (refused.code, refused.exit_code) == (code, 2)
    assert embedded.items("token", "list") == []


def test_a_blank_name_is_refused(embedded: Runlore) -> None:
    assert embedded.fails("token", "create", " ", "--role", "agent").code == "token.name"
