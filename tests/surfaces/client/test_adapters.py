"""What other libraries call memory and session, on Runlore: embedded, through a daemon, on both databases."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import runlore
from runlore.domain.record import Sensitivity
from tests.surfaces.api_client import Api
from tests.surfaces.client.conftest import Reach, connect_to
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("INT-4")

RULE = "We deploy the billing service on Fridays"
TEA = "Ada drinks green tea"
HERE, ADA = ("workspace",), ("memories", "ada")


def confirm_all(lore: runlore.Lore) -> None:
    for each in lore.operations.list_candidates(runlore.CandidateRequest()).items:
        lore.operations.publish(runlore.Publication(record_id=each.record_id))


def test_what_a_graph_puts_waits_and_what_it_finds_was_reviewed(reach: Reach) -> None:
    with reach() as lore:
        store = runlore.LangGraphStore(lore)
        store.put(HERE, "day", {"content": RULE})
        store.put(ADA, "tea", {"kind": "Memory", "content": {"content": TEA}})
        assert store.get(HERE, "day") is None
        assert store.search((), query="billing") == []
        confirm_all(lore)
        (found,) = store.search(HERE, query="when is billing deployed?")
        assert (found.key, found.namespace, found.value["content"]) == ("day", HERE, RULE)
        assert found.score is not None
        by_id = store.get(HERE, found.value["record_id"])
        assert by_id is not None
        assert by_id.key == "day"
        assert store.search(ADA, query="billing") == []
        assert [item.value["content"] for item in store.search(ADA)] == [TEA]
        assert store.get(ADA, "day") is None
        assert {item.key for item in store.search((), limit=5)} == {"day", "tea"}
        assert [item.key for item in store.search((), limit=1, offset=1)] == ["day"]
        assert store.search((), filter={"kind": "nothing"}) == []
        assert store.list_namespaces() == [("project", *ADA), HERE]
        assert store.list_namespaces(prefix=("project", "*"), max_depth=2) == [("project", "memories")]


def test_what_may_stand_in_no_prompt_is_not_found_through_a_store(reach: Reach) -> None:
    with reach() as lore:
        secret = runlore.NewCandidate(kind=runlore.Kind.FACT, content=RULE, sensitivity=Sensitivity.SENSITIVE)
        record = lore.operations.create_candidate(secret)
        lore.operations.publish(runlore.Publication(record_id=record.record_id))
        store = runlore.LangGraphStore(lore)
        assert [hit.record.summary for hit in lore.search("billing")] == [RULE]
        assert store.search(HERE, query="billing") == []
        assert store.search(HERE) == []
        assert store.get(HERE, record.record_id) is None


@pytest.mark.parametrize("value", [{"size": 3}, {"content": {"size": 3}}, {"content": " "}])
def test_a_value_without_a_sentence_is_refused(embedded: Runlore, value: Mapping[str, Any]) -> None:
    with runlore.connect(home=str(embedded.home)) as lore, pytest.raises(runlore.Invalid):
        runlore.LangGraphStore(lore).put(HERE, "key", value)


def test_a_store_deletes_nothing_and_compares_nothing(embedded: Runlore) -> None:
    with runlore.connect(home=str(embedded.home)) as lore:
        lore.remember(RULE, confirm=True)
        store = runlore.LangGraphStore(lore)
        (found,) = store.search(HERE, query="billing")
        with pytest.raises(runlore.Refused) as refused:
            store.delete(HERE, found.key)
        assert refused.value.code == "store.delete"
        with pytest.raises(runlore.Invalid) as compared:
            store.search(HERE, query="billing", filter={"kind": {"$ne": "fact"}})
        assert compared.value.code == "store.filter"
        assert store.get(HERE, found.key) is not None


def test_an_agent_reads_what_its_session_sees(embedded_api: Api) -> None:
    secret = embedded_api.post("/v1/tokens", {"name": "bot", "role": "agent"}, status=201)["secret"]
    with connect_to(embedded_api) as lore:
        lore.remember(RULE, confirm=True)
    url = f"http://127.0.0.1:{embedded_api.port}"
    with runlore.connect(url=url, token=secret) as lore:
        lore.run("desk", "open").finish()
        with pytest.raises(runlore.RunloreError):
            runlore.LangGraphStore(lore).search((), query="billing")
        store = runlore.LangGraphStore(lore, session="desk")
        assert [item.value["content"] for item in store.search((), query="billing")] == [RULE]


def test_threads_and_event_loops_share_a_store_that_survives_its_daemon(embedded: Runlore) -> None:
    embedded.serve()
    lore = runlore.connect(home=str(embedded.home))
    store = runlore.LangGraphStore(lore)

    def put(number: int) -> None:
        store.put(HERE, f"k{number}", {"text": f"Service number{number} listens on port 80{number}"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(put, range(12)))
    confirm_all(lore)
    embedded.text("down")
    with pytest.raises(runlore.Unavailable):
        store.search(HERE, query="port")
    embedded.serve()

    async def look() -> list[str]:
        found = await asyncio.gather(*(store.asearch(HERE, query=f"number{n}") for n in range(4)))
        return [items[0].key for items in found]

    with lore:
        assert asyncio.run(look()) == ["k0", "k1", "k2", "k3"]
    embedded.text("down")


# What the SDK hands to a session. Its own runner is in docs/python.md, which is run as it stands.
CALLED: list[Any] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "shell",
        "arguments": '{"command": "date"}',
    },
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "Friday"}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "billing"}},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Today."}]},
]


def asks(text: Any) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_a_session_of_the_agents_sdk_is_a_run_whose_conversation_comes_back(reach: Reach) -> None:
    async def work() -> list[Any]:
        async with runlore.AsyncLore(reach) as lore:
            async with lore.run("desk", "When do we deploy?") as run:
                session = runlore.AgentsSession(run)
                assert session.session_id == "desk"
                assert await session.get_items() == []
                await session.add_items(asks("When do we deploy?"))
                await session.add_items(CALLED)
            async with lore.run("desk", "broken off") as run:
                session = runlore.AgentsSession(run)
                half = {"type": "function_call", "call_id": "c2", "name": "shell", "arguments": "no JSON"}
                await session.add_items([*asks("broken off"), half])
                assert (await session.get_items())[-1] == asks("broken off")[0]
            async with lore.run("desk", "And now?") as run:
                session = runlore.AgentsSession(run)
                told = await session.get_items()
                assert await session.get_items(limit=2) == told[-2:]
                return told

    told = asyncio.run(work())
    assert [item.get("role") or item["type"] for item in told] == [
        *("user", "function_call", "function_call_output", "function_call", "function_call_output"),
        *("assistant", "user"),
    ]
    assert told[2] == {"type": "function_call_output", "call_id": "c1", "output": "Friday"}
    assert told[3]["name"] == "web_search"


def test_a_session_of_the_agents_sdk_takes_one_request_and_only_grows(embedded: Runlore) -> None:
    async def work(run: runlore.RecordedRun) -> None:
        session = runlore.AgentsSession(run)
        await session.add_items(asks("one"))
        await session.add_items(asks([{"type": "input_text", "text": "one"}]))
        with pytest.raises(runlore.Invalid) as second:
            await session.add_items(asks("two"))
        assert second.value.code == "session.request"
        for act in (session.pop_item, session.clear_session):
            with pytest.raises(runlore.Refused):
                await act()

    with runlore.connect(home=str(embedded.home)) as lore, lore.run("desk", "one") as run:
        asyncio.run(work(run))


def test_a_session_of_the_agents_sdk_goes_on_when_its_daemon_is_back(embedded: Runlore) -> None:
    embedded.serve()
    with runlore.connect(home=str(embedded.home)) as lore:
        run = lore.run("desk", "When do we deploy?")
        session = runlore.AgentsSession(run)

        async def keep() -> None:
            await session.add_items([*asks("When do we deploy?"), *CALLED])

        embedded.text("down")
        with pytest.raises(runlore.Unavailable):
            asyncio.run(keep())
        with pytest.raises(runlore.Unavailable):
            asyncio.run(session.get_items())
        embedded.serve()
        asyncio.run(keep())
        told = asyncio.run(session.get_items())
        run.finish()
    assert [item.get("role") or item["type"] for item in told] == [
        *("user", "function_call", "function_call_output", "function_call", "function_call_output"),
        "assistant",
    ]
    embedded.text("down")
