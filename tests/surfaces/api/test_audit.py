"""The audit feed over HTTP: read, exported and streamed."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from runlore.domain.timestamps import format_time
from tests.surfaces.api_client import Api, Json

pytestmark = pytest.mark.req("OPS-7")


def remember(api: Api, key: str) -> str:
    body = {"kind": "fact", "content": f"The {key} is blue"}
    return str(api.post("/v1/learning-candidates", body, status=201)["record_id"])


def test_the_feed_is_read_in_pages_and_exported_whole(api: Api) -> None:
    made = [remember(api, f"key {number}") for number in range(3)]
    page = api.get("/v1/audit", kind="record", limit=2)
    rest = api.get("/v1/audit", kind="record", limit=2, cursor=page["next_cursor"])
    assert [each["subject"] for each in (*page["items"], *rest["items"])] == made
    assert rest["next_cursor"] is None
    first = page["items"][0]
    assert (first["id"], first["act"], first["actor"]) == (f"record:{made[0]}@1", "propose", "operator")

    whole = api.call("GET", "/v1/audit?kind=record", headers={"Accept": "application/x-ndjson"})
    assert whole.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in whole.body.splitlines()]
    assert lines == [*page["items"], *rest["items"]]
    assert api.call("GET", "/v1/audit?kind=planet").problem == (422, "request.field")


class Listener:
    """A program that follows the feed, or the inbox."""

    def __init__(self, api: Api, token: str, *, path: str = "/v1/audit", **headers: str) -> None:
        self.connection = api.connection()
        sent = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **headers}
        self.connection.request("GET", path, headers=sent)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self) -> Json:
        """The next event's name and document."""
        fields: Json = {}
        while "data" not in fields:
            line = self.answer.readline()
            assert line, "the stream has ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name in ("id", "event", "data"):
                fields[name] = json.loads(value) if name == "data" else value
        return fields


def test_a_follower_is_told_at_once_and_goes_on_where_it_was(api: Api) -> None:
    remember(api, "before")
    listener = Listener(api, api.secret)
    one = remember(api, "one")
    told = listener.next()
    assert (told["event"], told["data"]["subject"]) == ("record", one)
    listener.connection.close()
    two = remember(api, "two")
    again = Listener(api, api.secret, **{"Last-Event-ID": told["id"]})
    subjects = []
    while two not in subjects:
        subjects.append(again.next()["data"]["subject"])
    assert one in subjects
    again.connection.close()
    wrong = {"Accept": "text/event-stream", "Last-Event-ID": "soon"}
    assert api.call("GET", "/v1/audit", headers=wrong).problem == (422, "time.format")


def test_a_stream_whose_token_ends_says_so_as_its_last_word(embedded_api: Api) -> None:
    """Given a token that ends while its stream is open, the stream ends with the reason."""
    ends_at = datetime.now(UTC) + timedelta(seconds=1)
    body = {"name": "ci", "role": "operator", "expires_at": format_time(ends_at)}
    secret = embedded_api.post("/v1/tokens", body, status=201)["secret"]
    listener = Listener(embedded_api, secret)
    told = listener.next()
    while told["event"] != "error":
        told = listener.next()
    assert told["data"]["code"] == "token.expired"
    assert not listener.answer.read().strip()
    listener.connection.close()
    assert embedded_api.call("GET", "/v1/audit", token=secret).problem == (401, "token.expired")


def test_a_token_is_rotated_over_http_and_its_old_secret_is_forgotten_at_once(api: Api) -> None:
    old = api.post("/v1/tokens", {"name": "ci", "role": "reader"}, status=201)["secret"]
    assert api.call("GET", "/v1/jobs", token=old).status == 200
    new = api.post("/v1/tokens/ci/rotate")["secret"]
    assert api.call("GET", "/v1/jobs", token=old).problem == (401, "token.rotated")
    assert api.call("GET", "/v1/jobs", token=new).status == 200
    assert api.call("POST", "/v1/tokens/ci/rotate", {"grace_s": -1}).problem == (422, "token.grace")
