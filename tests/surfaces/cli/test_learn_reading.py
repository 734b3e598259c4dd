"""`runlore learn --enhance`: a model on this machine, behind a real protocol, reads what was said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import KEY, KEY_VARIABLE, ModelServer, fails, model_server
from tests.surfaces.agent_runs import config
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import write_session

pytestmark = [pytest.mark.req("SKL-20"), pytest.mark.req("POL-12")]

STATEMENT: dict[str, Any] = {
    "message": 1,
    "quote": "reply to each review comment in its own thread",
    "statement": "Reply to each review comment in its own thread.",
    "kind": "preference",
    "scope": "user",
    "confidence": 90,
}
MADE_UP = {**STATEMENT, "quote": "never test anything", "statement": "Never test anything."}
ANSWER = {"statements": [STATEMENT, MADE_UP], "procedures": []}


@pytest.fixture
def sessions(clean_home: Path) -> Path:
    folder = clean_home / ".claude" / "projects" / "-srv-atlas"
    asked = "Look at the reviews, and reply to each review comment in its own thread"
    write_session(folder, "one", [(asked, [("gh pr view 7", "open", 0)])])
    return folder


def configure(embedded: Runlore, server: ModelServer) -> None:
    embedded.home.mkdir(parents=True, exist_ok=True)
    (embedded.home / "config.toml").write_text(config(server), encoding="utf-8")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(ANSWER) as running:
        yield running


def test_a_model_reads_once_and_people_see_what_it_takes_before_and_after(
    embedded: Runlore, sessions: Path, server: ModelServer
) -> None:
    configure(embedded, server)

    first = embedded.text("learn", "--enhance")
    second = embedded.json("learn", "--enhance")

    assert "is asked about 1 message of 1 session: 1 request, about" in first
    assert "Today's budget leaves 500 calls" in first
    assert "read it in 1 request (120 tokens in, 30 out): 1 statement and 0 procedures." in first
    assert "1 for a quote that is not there" in first
    assert second["reading"]["requests"] == 0
    assert len(_readings(server)) == 1
    waiting = embedded.json("memory", "review", "list")
    assert STATEMENT["statement"] in str(waiting)
    assert MADE_UP["statement"] not in str(waiting)


def test_the_requests_in_the_files_are_those_that_go_out(
    embedded: Runlore, sessions: Path, server: ModelServer, tmp_path: Path
) -> None:
    configure(embedded, server)
    folder = tmp_path / "requests"

    told = embedded.json("learn", "--enhance", "--show-requests", str(folder))

    assert (told["reading"]["requests"], told["reading"]["folder"]) == (1, str(folder))
    assert server.requests == []
    body = json.loads((folder / "request-001.json").read_text())
    embedded.json("learn", "--enhance")
    [received] = _readings(server)
    assert received.instructions.startswith(body["messages"][0]["content"])
    document = body["messages"][1]["content"].removeprefix("<data>\n").removesuffix("\n</data>")
    assert received.document == json.loads(document)
    assert "procedures" in json.dumps(body["response_format"])


def test_what_fails_says_so_and_the_same_command_goes_on(embedded: Runlore, sessions: Path) -> None:
    with model_server(fails(500), ANSWER) as server:
        configure(embedded, server)

        broken = embedded.text("learn", "--enhance")
        mended = embedded.json("learn", "--enhance")

    assert "1 request left: " in broken
    assert (mended["reading"]["requests"], mended["reading"]["statements"]) == (1, 1)


def test_without_a_model_the_requests_can_be_seen_all_the_same(
    embedded: Runlore, sessions: Path, tmp_path: Path
) -> None:
    told = embedded.json("learn", "--show-requests", str(tmp_path / "out"))

    assert told["reading"]["requests"] == 1
    assert "no model is set" in embedded.text("learn", "--enhance")
    a_file = str(tmp_path / "out" / "request-001.json")
    assert embedded.fails("learn", "--show-requests", a_file).code == "reading.write"
    assert embedded.fails("learn", "--dry-run", "--show-requests", str(tmp_path)).code == "usage"


def _readings(server: ModelServer) -> list[Any]:
    return [each for each in server.requests if "session after session" in each.instructions]
