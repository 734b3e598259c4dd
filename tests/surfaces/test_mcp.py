"""Memory over MCP, as the official client sees it: both eras of the protocol, over both transports."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from runlore.config.settings import Settings
from runlore.domain.access import Role
from runlore.domain.session import PersonaId
from runlore.mcp.endpoint import PATH, McpEndpoint
from runlore.mcp.tools import BY_NAME, TOOLS
from runlore.ports.operations import NewToken
from tests.surfaces.api_client import Api, serving
from tests.surfaces.command_line import Runlore
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-4")

FoundT = TypeVar("FoundT")
AGENTS_TOOLS = {"memory_search", "memory_context", "remember", "list_skills", "use_skill", "why", "feedback"}
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
# The eras share a Runlore, and each has a word of its own in it.
TOPICS = {"legacy": "zebra", "2026-07-28": "walrus"}
SKILL = """---
name: release-notes
description: Use it to write release notes.
---

1. Read the log.
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    home = str(tmp_path_factory.mktemp("mcp") / "runlore")
    pool = request.getfixturevalue("postgres_pool") if request.param == "postgres" else None
    if pool is None:
        with serving(Settings(state_root=home), mounts=lambda: {PATH: McpEndpoint()}) as api:
            yield api
        return
    with (
        pool.database() as url,
        serving(Settings(state_root=home, database_url=url), mounts=lambda: {PATH: McpEndpoint()}) as api,
    ):
        yield api


def over_http(api: Api, era: str, secret: str, use: Callable[[Client], Awaitable[FoundT]]) -> FoundT:
    """What a client of a daemon finds."""

    async def run() -> FoundT:
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{api.port}{PATH}", http_client=http)
            async with Client(transport, mode=era) as client:
                return await use(client)

    return asyncio.run(run())


def over_stdio(
    runlore: Runlore, era: str, folder: Path, use: Callable[[Client], Awaitable[FoundT]], *more: str
) -> FoundT:
    """What a client that starts `runlore mcp` finds."""

    async def run() -> FoundT:
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "runlore", "mcp", "--agent", "an-agent", *more],
            env={**os.environ, **runlore.environment},
            cwd=folder,
        )
        async with Client(started, mode=era) as client:
            return await use(client)

    return asyncio.run(run())


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool that succeeds. The client holds it to the tool's own schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def fails(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool that fails tells the agent."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(getattr(result.content[0], "text", ""))


@ERAS
def test_an_agent_finds_what_was_confirmed_and_proposes_what_a_person_reviews(served: Api, era: str) -> None:
    secret = served.token(f"agent-{era}", Role.AGENT)

    async def propose(client: Client) -> str:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == AGENTS_TOOLS
        made = await call(client, "remember", kind="preference", content=f"The {TOPICS[era]} stays small")
        assert (made["state"], made["origin"]) == ("constrained", "api")
        assert (await call(client, "memory_search", query=TOPICS[era]))["results"] == []
        return str(made["record_id"])

    record_id = over_http(served, era, secret, propose)
    served.post(f"/v1/learning-candidates/{record_id}/publish")

    async def look(client: Client) -> None:
        found = await call(client, "memory_search", query=TOPICS[era])
        assert [hit["source_id"] for hit in found["results"]] == [record_id]
        context = await call(client, "memory_context", goal=f"feed the {TOPICS[era]}")
        assert record_id in [hit["record_id"] for hit in context["profile"]]
        prompt = await client.get_prompt("recall", {"goal": f"feed the {TOPICS[era]}"})
        assert f"The {TOPICS[era]} stays small" in str(getattr(prompt.messages[0].content, "text", ""))
        [read] = (await client.read_resource(f"runlore://record/{record_id}")).contents
        assert f"The {TOPICS[era]} stays small" in str(getattr(read, "text", ""))

    over_http(served, era, secret, look)


@ERAS
def test_a_skill_is_listed_opened_and_read_as_a_resource(served: Api, era: str) -> None:
    served.call("POST", "/v1/skills", {"text": SKILL, "source": "here"})
    revision = served.get("/v1/skills/release-notes")["revision"]
    served.post("/v1/skills/release-notes/accept", {"force": True, "expected_revision": revision})

    async def use(client: Client) -> None:
        listed = await call(client, "list_skills")
        assert listed["items"] == [{"name": "release-notes", "description": "Use it to write release notes."}]
        assert "1. Read the log." in (await call(client, "use_skill", name="release-notes"))["text"]
        [resource] = (await client.list_resources()).resources
        [read] = (await client.read_resource(str(resource.uri))).contents
        assert "1. Read the log." in str(getattr(read, "text", ""))

    over_http(served, era, served.token(f"user-{era}", Role.AGENT), use)


@ERAS
def test_a_run_tells_why_and_is_told_what_was_wrong(served: Api, era: str) -> None:
    secret = served.token(f"runner-{era}", Role.AGENT)
    known = served.post(
        "/v1/learning-candidates",
        {"kind": "fact", "content": f"The port of the {TOPICS[era]} is 6001"},
        status=201,
    )["record_id"]
    served.post(f"/v1/learning-candidates/{known}/publish")
    session = served.call("POST", "/v1/sessions", {}, token=secret).json["session_id"]
    opened = {"request": f"what is the port of the {TOPICS[era]}?", "context": True}
    run = served.call("POST", f"/v1/sessions/{session}/runs", opened, token=secret).json["run_id"]

    async def judge(client: Client) -> None:
        given = await call(client, "why", run_id=run)
        assert known in str(given["receipt"])
        judged = await call(
            client, "feedback", record_id=known, run_id=run, verdict="wrong", note="it is 6002"
        )
        assert judged["feedback"]["wrong"] == 1

    over_http(served, era, secret, judge)


@ERAS
@pytest.mark.req("SCO-2", "OPS-5")
def test_a_connected_agent_asks_why_of_what_its_hooks_reported(served: Api, era: str) -> None:
    topic, persona = f"{TOPICS[era]} ferry", f"anna-{era}"
    known = served.post(
        "/v1/learning-candidates", {"kind": "fact", "content": f"The {topic} leaves at noon"}, status=201
    )["record_id"]
    served.post(f"/v1/learning-candidates/{known}/publish")
    # A token has its agent's name, and a number where that one is taken.
    mine, others, codex = (
        served.operations.create_token(
            NewToken(name=name, role=Role.AGENT, persona_id=PersonaId(whose))
        ).secret
        for name, whose in (
            (f"claude-code-{len(era)}", persona),
            (f"claude-code-{len(era)}0", f"bert-{era}"),
            (f"codex-{len(era)}", persona),
        )
    )
    reader = served.token(f"reader-{era}", Role.READER, "project:elsewhere")
    prompt = {"session_id": f"s-{era}", "cwd": "/no/such/folder", "prompt": f"When does the {topic} leave?"}
    reported = served.call("POST", "/v1/hooks/claude-code/UserPromptSubmit", {"payload": prompt}, token=mine)
    assert "at noon" in str(reported.json)

    async def ask(client: Client) -> str:
        newest = await call(client, "why")
        assert newest["run"]["request"] == prompt["prompt"]
        assert "at noon" in newest["sections"][0]["text"]
        run_id = str(newest["run"]["run_id"])
        assert await call(client, "why", run_id=run_id) == newest
        judged = await call(client, "feedback", record_id=known, run_id=run_id, verdict="helped")
        assert judged["feedback"] == {"wrong": 0, "helped": 1}
        return run_id

    run_id = over_http(served, era, mine, ask)

    async def pry(client: Client) -> None:
        unknown = await fails(client, "why", run_id="run_nobody")
        assert await fails(client, "why", run_id=run_id) == unknown.replace("run_nobody", run_id)
        judging = {"record_id": known, "verdict": "wrong"}
        unknown = await fails(client, "feedback", run_id="run_nobody", **judging)
        assert await fails(client, "feedback", run_id=run_id, **judging) == unknown.replace(
            "run_nobody", run_id
        )
        assert "nothing has run yet [run.not-found]" in await fails(client, "why")

    for stranger in (others, codex, reader):
        over_http(served, era, stranger, pry)
    served.post(f"/v1/learnings/{known}/revoke", {"reason": "it does not"})

    async def ask_again(client: Client) -> None:
        assert "at noon" not in str(await call(client, "why"))

    over_http(served, era, mine, ask_again)


@ERAS
@pytest.mark.req("OPS-5")
def test_only_an_operator_has_the_inbox_and_nobody_confirms_here(served: Api, era: str) -> None:
    async def look(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {*AGENTS_TOOLS, "inbox"}
        assert "items" in await call(client, "inbox")

    over_http(served, era, served.secret, look)
    assert {tool.operation_name for tool in TOOLS}.isdisjoint({"confirm", "reject", "publish", "revoke"})

    async def try_anyway(client: Client) -> None:
        assert "[tool.denied]" in await fails(client, "inbox")

    over_http(served, era, served.token(f"curious-{era}", Role.AGENT), try_anyway)


@ERAS
def test_what_is_wrong_is_told_with_its_code_and_ends_nothing(served: Api, era: str) -> None:
    async def stumble(client: Client) -> None:
        assert "goal is missing [request.field]" in await fails(client, "memory_context")
        assert "is not a field" in await fails(client, "memory_search", query="x", scope="workspace")
        assert "[run.not-found]" in await fails(client, "why", run_id="run_nobody")
        assert "[skill.not-found]" in await fails(client, "use_skill", name="nothing")
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        told = await fails(client, "remember", kind="fact", content=f"The token is {secret}")
        assert secret not in told
        assert secret not in await fails(client, "remember", kind="fact", content="It is so", scope=secret)
        for wrong in (
            client.call_tool(secret, {}),
            client.read_resource(f"runlore://elsewhere/{secret}"),
            client.get_prompt(secret, {}),
            client.get_prompt("recall", {}),
        ):
            with pytest.raises(MCPError) as refused:
                await wrong
            assert secret not in str(refused.value)
        assert await call(client, "list_skills")

    over_http(served, era, served.token(f"clumsy-{era}", Role.AGENT), stumble)


@pytest.mark.req("OPS-5")
def test_it_stands_behind_the_same_gate_as_every_path(served: Api) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    assert served.call("POST", PATH, body, headers={"Authorization": None}).problem == (401, "token.missing")
    assert served.call("POST", PATH, body, headers={"Host": "evil.example"}).problem[1] == "host.denied"
    origin = {"Origin": "https://evil.example"}
    assert served.call("POST", PATH, body, headers=origin).problem[1] == "origin.denied"


def test_a_reader_names_the_session_that_it_reads(served: Api) -> None:
    session = served.post("/v1/sessions", {}, status=201)["session_id"]

    async def read(client: Client) -> None:
        assert "[session.missing]" in await fails(client, "memory_search", query="x")
        assert (await call(client, "memory_search", query="x", session_id=session))["session_id"] == session

    over_http(served, "2026-07-28", served.token("a-reader", Role.READER), read)


@pytest.mark.req("SUR-1", "SUR-11")
@pytest.mark.parametrize("name", BY_NAME)
def test_a_tools_schemas_are_those_of_its_operation(name: str) -> None:
    tool = BY_NAME[name]

    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(tool.output_schema)
    declared = {field.key for field in tool.operation.takes}
    assert set(tool.input_schema["properties"]) == set(tool.fields) <= declared
    assert tool.input_schema["type"] == tool.output_schema["type"] == "object"


def test_there_are_few_tools() -> None:
    assert len(TOOLS) <= 8


@pytest.fixture
def laptop(clean_home: Path) -> Iterator[Runlore]:
    """A state root on which nothing runs yet; what is started is ended."""
    runlore = Runlore(clean_home / "runlore")
    yield runlore
    runlore.forked("down")


@pytest.mark.req("INT-2")
def test_an_agent_that_starts_it_gets_a_daemon_and_a_token_of_its_own(
    laptop: Runlore, tmp_path: Path
) -> None:
    folder = tmp_path / "atlas"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)

    async def propose(client: Client) -> str:
        await call(client, "remember", kind="fact", content="The atlas build takes a minute")
        return str((await call(client, "memory_search", query="x"))["session_id"])

    first = over_stdio(laptop, "legacy", folder, propose)
    token = laptop.home / "agents" / "an-agent.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    [made] = [each for each in laptop.items("token", "list") if each["name"] == "an-agent"]
    assert made["role"] == "agent"
    [waiting] = laptop.items("memory", "review", "list")
    assert waiting["created_by"] == "an-agent"
    [session] = laptop.items("session", "list")
    assert len(session["project_ids"]) == 1

    # The same folder is the same session, whatever the era; another daemon and another token do no harm.
    laptop.forked("down")
    laptop.forked("token", "revoke", "an-agent")
    assert over_stdio(laptop, "2026-07-28", folder, propose) != first
    assert {each["name"] for each in laptop.items("token", "list")} >= {"an-agent", "an-agent-2"}
    again = over_stdio(laptop, "2026-07-28", folder, propose)
    assert again == over_stdio(laptop, "legacy", folder, propose)

    # A process that died between making a token and writing it down leaves none that nobody has.
    token.unlink()
    note = token.with_name("an-agent.token.name")
    note.write_text("an-agent-2")
    over_stdio(laptop, "2026-07-28", folder, propose)
    live = {each["name"] for each in laptop.items("token", "list") if each["revoked_at"] is None}
    assert ("an-agent-3" in live, "an-agent-2" in live) == (True, False)
    assert note.read_text().splitlines()[0] == "an-agent-3"


@pytest.mark.req("SEC-2")
def test_the_folder_is_what_an_operator_bound_it_to(laptop: Runlore, tmp_path: Path) -> None:
    (tmp_path / ".runlore.toml").write_text('project = "theirs"\ncapture = false\n')
    (tmp_path / "private").mkdir()
    laptop.json("folder", "bind", str(tmp_path), "--project", "atlas", "--capture")
    laptop.json("folder", "bind", str(tmp_path / "private"), "--no-capture")

    async def look(client: Client) -> None:
        await call(client, "list_skills")

    over_stdio(laptop, "2026-07-28", tmp_path, look)
    over_stdio(laptop, "2026-07-28", tmp_path / "private", look)
    private, kept = laptop.items("session", "list")
    assert (kept["project_ids"], kept["private"]) == (["atlas"], False)
    assert private["private"]


def test_a_daemon_that_ends_between_two_calls_is_started_again(laptop: Runlore, tmp_path: Path) -> None:
    async def outlive(client: Client) -> None:
        await call(client, "list_skills")
        laptop.forked("down")
        await call(client, "list_skills")

    over_stdio(laptop, "2026-07-28", tmp_path, outlive)


def test_a_name_that_is_no_agents_is_refused(embedded: Runlore) -> None:
    assert embedded.fails("mcp", "--agent", "../operator").code == "mcp.agent"
