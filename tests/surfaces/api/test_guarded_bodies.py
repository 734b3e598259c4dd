"""What one request may cost the guard, however many texts it brings (SEC-4, SEC-5)."""

import pytest

from bench.secret_guard import PROBES, small_texts
from tests.domain.guard.guard_samples import github_token
from tests.surfaces.api_client import Api

pytestmark = pytest.mark.req("SEC-4", "SEC-5")

PLAIN = "We had lunch by the river and talked about the weather."


def test_texts_of_one_request_that_are_made_to_be_judged_are_taken_out_and_the_others_stay(
    embedded_api: Api,
) -> None:
    api, token = embedded_api, github_token()
    api.post("/v1/sessions", {"session_id": "s"}, status=201)
    api.post("/v1/sessions/s/runs", {"run_id": "r", "request": "Which editor?"}, status=201)
    texts = [*small_texts(PROBES["settings of a cloud"], 2_000, 300_000), f"it is {token}", PLAIN]
    events = [{"type": "assistant_message", "text": text} for text in texts]

    api.post("/v1/runs/r/events", {"events": events}, status=201)
    api.post("/v1/runs/r/events", {"events": [{**events[0], "text": f"now {token}"}]}, status=201)
    told = [event["body"]["text"] for event in api.get("/v1/runs/r/journal?limit=500")["items"][1:]]

    assert "unread" not in told[0]
    assert told.count("<redacted:unread>") > len(texts) // 4
    assert token not in "".join(told)
    assert told[-2:] == [PLAIN, "now <redacted:github-token>"]
