"""More than can be served: what is too much is refused at once, what was answered is kept, memory stays."""

import asyncio
import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runlore.api.calls import CallQueue
from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.errors import Unavailable
from tests.surfaces.api_client import Answer, Api, serving
from tests.waiting import PATIENCE_S, until

BEYOND = 60
HOUR_S = 3_600


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


@pytest.mark.req("PRF-5")
def test_one_too_many_is_refused_while_all_the_others_still_wait() -> None:
    async def crowd() -> tuple[str, int]:
        queue, end = CallQueue(), threading.Event()
        calls = [
            asyncio.ensure_future(queue.run(end.wait, PATIENCE_S)) for _ in range(limits.CALLS_AT_ONCE_MAX)
        ]
        await asyncio.sleep(0)
        try:
            await queue.run(end.wait, PATIENCE_S)
        except Unavailable as refused:
            code, done = refused.code, sum(call.done() for call in calls)
        end.set()
        await asyncio.gather(*calls)
        return code, done

    assert asyncio.run(crowd()) == ("calls.busy", 0)


@pytest.mark.req("PRF-5")
@pytest.mark.soak
def test_an_hour_of_load_leaves_memory_files_and_answers_as_they_were(tmp_path: Path) -> None:
    """Ten times as many clients as are worked at once; what is counted is looked at after each tenth."""
    figures: list[tuple[int, int, int]] = []
    with (
        serving(Settings(state_root=str(tmp_path / "home"))) as api,
        ThreadPoolExecutor(10 * limits.CALLS_WORKED_MAX) as pool,
    ):
        ends_at = time.monotonic() + HOUR_S
        for tenth in range(1, 11):
            answers: Counter[int] = Counter()
            while time.monotonic() < ends_at - HOUR_S * (10 - tenth) / 10:
                # The same thousand keys again and again: what is stored does not grow.
                told = pool.map(lambda number: _propose(api, number % 1_000).status, range(2_000))
                answers.update(told)
            assert set(answers) <= {200, 201, 503}, answers
            figures.append((_resident_kb(), len(os.listdir("/proc/self/fd")), answers[200]))
        assert len(_stored(api)) == 1_000
    (kb, files, served), *_, (last_kb, last_files, last_served) = figures[1:]
    assert last_kb <= 1.1 * kb, figures
    assert last_files <= files + 20, figures
    assert last_served >= served // 2, figures


def _resident_kb() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)
    return int(line.split()[1])


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
