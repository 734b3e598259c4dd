"""The inbox over HTTP as a stream: how much waits, told when it changes."""

import pytest

from runlore.domain.access import Role
from tests.surfaces.api.test_audit import Listener
from tests.surfaces.api_client import Api
from tests.surfaces.console.walks import ask, fail_job, open_run, publish, say
from tests.surfaces.skill_runs import import_body, told_run

pytestmark = pytest.mark.req("CON-1")


def test_whoever_listens_is_told_of_all_that_comes_and_goes(api: Api) -> None:
    """What waits at the start, then each kind of thing, what no audit feed tells too, also to a reader."""
    first = say(api, "The port is 8080")
    listener = Listener(api, api.token("looker", Role.READER), path="/v1/inbox")
    told = listener.next()
    assert (told["event"], told["data"]) == ("counts", api.get("/v1/inbox")["counts"])
    assert told["data"]["candidate"] == 1

    def is_told() -> None:
        while listener.next()["data"] != api.get("/v1/inbox")["counts"]:
            pass

    publish(api, first)
    is_told()
    open_run(api, "talk", "talk-1", "Which port do we use?")
    ask(api, "talk", "talk-1")
    is_told()
    fail_job(api)
    is_told()
    api.post("/v1/transcripts/runs", import_body(told_run(1), told_run(2)))
    api.post("/v1/skill-suggestions/detect")
    is_told()
    counts = api.get("/v1/inbox")["counts"]
    assert (counts["candidate"], counts["approval"], counts["dead_letter"]) == (0, 1, 1)
    assert counts["suggestion"] > 0
    listener.connection.close()


def test_who_is_limited_is_told_of_no_more_than_the_list_holds(embedded_api: Api) -> None:
    api = embedded_api
    listener = Listener(api, api.token("ada", Role.OPERATOR, "project:shed"), path="/v1/inbox")
    assert sum(listener.next()["data"].values()) == 0
    say(api, "The roof is blue")
    say(api, "The door is red", scope={"kind": "project", "id": "shed"})
    assert listener.next()["data"]["candidate"] == 1
    listener.connection.close()
    agent = api.token("bot", Role.AGENT)
    headers = {"Accept": "text/event-stream"}
    assert api.call("GET", "/v1/inbox", token=agent, headers=headers).problem == (403, "role.denied")
