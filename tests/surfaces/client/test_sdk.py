"""Python: the same few acts embedded, through a daemon, from threads, and from an event loop."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import runlore
from runlore.ports.operations.areas import AREA_OF_VALUE
from tests.surfaces.api_client import Api
from tests.surfaces.client.conftest import Reach
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("INT-4")

RULE = "We deploy the billing service on Fridays"


def statuses(lore: runlore.Lore) -> dict[str, tuple[str, str]]:
    page = lore.operations.list_runs(runlore.RunsRequest())
    return {view.request: (view.run.status.value, view.run.error or "") for view in page.items}


def test_what_is_remembered_waits_for_review_and_is_found_once_confirmed(reach: Reach) -> None:
    with reach() as lore:
        waiting = lore.remember(RULE)
        assert waiting.state == "constrained"
        assert lore.search("billing deploy") == ()
        assert lore.operations.publish(runlore.Publication(record_id=waiting.record_id)).state == "active"
        assert [hit.record.summary for hit in lore.search("billing deploy")] == [RULE]
        assert lore.remember(RULE, confirm=True).record_id == waiting.record_id
        wish = lore.remember("I prefer answers in German", confirm=True)
        assert wish.kind == "preference"
        with pytest.raises(runlore.Invalid):
            lore.remember(RULE, kind="bogus")
        assert [hit.record.record_id for hit in lore.context("answer a mail in German").profile] == [
            wish.record_id
        ]


def test_a_run_gets_its_context_and_ends_by_itself(reach: Reach) -> None:
    with reach() as lore:
        lore.remember(RULE, confirm=True)
        with lore.run("mails", "When do we deploy billing?") as run:
            assert RULE in run.context
            run.tool("shell", {"command": "date"}, "Friday", exit_code=0)
            run.say("Today.")
        events = lore.operations.journal(runlore.JournalRequest(run_id=run.run_id)).items
        kinds = [event.type.value for event in events]
        assert [kind for kind in kinds if kind in ("tool_call", "tool_result", "assistant_message")] == [
            "tool_call",
            "tool_result",
            "assistant_message",
        ]
        with pytest.raises(ZeroDivisionError), lore.run("mails", "divide"):
            _ = 1 / 0
        with pytest.raises(KeyboardInterrupt), lore.run("mails", "stop"):
            raise KeyboardInterrupt
        with pytest.raises(ValueError, match="half"), lore.run("mails", "hostile"):
            raise ValueError("half of a pair \ud800 and \0 more")
        with lore.run("mails", "early") as run:
            run.finish(outcome="bad")
        with pytest.raises(runlore.Invalid, match="fine"), lore.run("mails", "unsaid") as run:
            run.finish(outcome="fine")  # type: ignore[arg-type]
        found = statuses(lore)
    assert found["When do we deploy billing?"] == ("completed", "")
    assert found["divide"] == ("failed", "ZeroDivisionError: division by zero")
    assert found["stop"][0] == "interrupted"
    assert found["hostile"] == ("failed", "ValueError: half of a pair \\ud800 and   more")
    assert found["early"] == ("completed", "")
    assert found["unsaid"][0] == "failed"


def test_an_event_loop_has_the_same_acts(reach: Reach) -> None:
    async def work() -> None:
        async with runlore.AsyncLore(reach) as lore:
            await lore.remember(RULE, confirm=True)
            assert [hit.record.summary for hit in await lore.search("billing deploy")] == [RULE]
            assert (await lore.context("deploy billing")).semantic
            async with lore.run("mails", "When do we deploy billing?") as run:
                assert RULE in run.context
                await run.tool("shell", {"command": "false"}, "", exit_code=1)
                await run.append({"type": "usage", "input_tokens": 7})
                await run.say("On Fridays.")
                await run.finish(outcome="good")
            with pytest.raises(asyncio.CancelledError):
                async with lore.run("mails", "cancelled"):
                    raise asyncio.CancelledError
            page = await lore.call(lore.operations.list_runs, runlore.RunsRequest())
        assert {view.request: view.run.status.value for view in page.items} == {
            "When do we deploy billing?": "completed",
            "cancelled": "interrupted",
        }

    asyncio.run(work())


def test_threads_share_a_connection(reach: Reach) -> None:
    def work(lore: runlore.Lore, number: int) -> str:
        with lore.run(f"session-{number % 3}", f"request {number}") as run:
            run.say(f"answer {number}")
        return run.run_id

    with reach() as lore:
        for number in range(3):
            lore.run(f"session-{number}", "first").finish()
        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(partial(work, lore), range(24)))
        for number, run_id in enumerate(ids):
            events = lore.operations.journal(runlore.JournalRequest(run_id=runlore.RunId(run_id))).items
            assert any(event.body.get("text") == f"answer {number}" for event in events)


def test_a_daemon_that_goes_away_is_told_and_used_again_when_it_is_back(embedded: Runlore) -> None:
    embedded.serve()
    lore = runlore.connect(home=str(embedded.home))
    record = lore.remember(RULE)
    assert embedded.inspect(record.record_id)["summary"] == RULE
    run = lore.run("mails", "When?")
    embedded.text("down")
    with pytest.raises(runlore.Unavailable) as gone:
        run.say("On Fridays.")
    assert gone.value.code == "daemon.unreachable"
    embedded.serve()
    with lore:
        run.say("On Fridays.")
        run.finish()
        assert statuses(lore) == {"When?": ("completed", "")}
    embedded.text("down")


def test_a_token_that_may_not_confirm_leaves_the_candidate(embedded_api: Api) -> None:
    secret = embedded_api.post("/v1/tokens", {"name": "bot", "role": "agent"}, status=201)["secret"]
    lore = runlore.connect(url=f"http://127.0.0.1:{embedded_api.port}", token=secret)
    with lore, pytest.raises(runlore.Denied):
        lore.remember(RULE, confirm=True)
    waiting = embedded_api.get("/v1/learning-candidates")["items"]
    assert [each["summary"] for each in waiting] == [RULE]


def test_importing_it_costs_what_an_empty_package_costs() -> None:
    code = "import sys; before = set(sys.modules); import runlore; print(*set(sys.modules) - before)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["runlore"]


def test_everything_public_is_a_name_of_the_package() -> None:
    for name in (*AREA_OF_VALUE, "connect", "connect_async", "Lore", "AsyncLore", "Unavailable", "Scope"):
        assert getattr(runlore, name) is not None
    with pytest.raises(AttributeError, match="no 'Nothing' in runlore"):
        _ = runlore.Nothing  # type: ignore[attr-defined]
