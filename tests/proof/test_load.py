"""More than can be served: what is too much is refused at once, what was answered is kept, memory stays."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.domain import limits
from tests.surfaces.api_client import Answer, Api, serving
from tests.waiting import until

BEYOND = 60


@pytest.mark.req("PRF-5", "OPS-4", "REC-9")
def test_what_is_too_much_is_refused_at_once_and_nothing_that_was_answered_is_lost(tmp_path: Path) -> None:
    """The disk is slow, as it seems to everybody: somebody else holds the writer."""
    count = limits.CALLS_AT_ONCE_MAX + BEYOND
    with serving(Settings(state_root=str(tmp_path / "home"))) as api, ThreadPoolExecutor(count) as pool:
        with api.service.parts.store.transaction():
            calls = [pool.submit(_propose, api, number) for number in range(count)]
            until(lambda: sum(call.done() for call in calls) >= BEYOND)
            refused = [call.result() for call in calls if call.done()]
            alive = api.call("GET", "/healthz")
        answers = [call.result() for call in calls]
        again = [_propose(api, number) for number in range(count)]
        stored = _stored(api)

    assert {answer.problem for answer in refused} == {(503, "calls.busy")}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
    assert alive.status == 200
    assert {answer.status for answer in answers} == {201, 503}
    assert sum(answer.status == 201 for answer in answers) <= limits.CALLS_AT_ONCE_MAX
    # Who was refused asks again, and so does everybody else: each is there once.
    kept = {answer.json["record_id"] for answer in answers if answer.status == 201}
    assert kept <= stored
    assert [answer.json["record_id"] in stored for answer in again] == [True] * count
    assert len(stored) == count


def _propose(api: Api, number: int) -> Answer:
    proposal = {"key": f"key {number}", "value": "value", "reason": "said so"}
    return api.call(
        "POST", "/v1/memory/profile-proposals", proposal, headers={"Idempotency-Key": f"key-{number}"}
    )


def _stored(api: Api) -> set[str]:
    found = set[str]()
    page = api.get("/v1/memory/records", state="constrained", limit=500)
    while True:
        found |= {record["record_id"] for record in page["items"]}
        if page["next_cursor"] is None:
            return found
        page = api.get("/v1/memory/records", state="constrained", limit=500, cursor=page["next_cursor"])
