"""Who may do and see what: every tool by every role, and many random reads against a model."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mcp import Client

from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Denied, NotFound
from runlore.domain.record import Record, RecordId, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.mcp.endpoint import PATH, McpEndpoint
from runlore.mcp.tools import TOOLS, MemoryTool
from runlore.ports import operations as ops
from tests.surfaces.api_client import serving
from tests.surfaces.test_mcp import over_http
from tests.world import World, decision

ERA = "2026-07-28"
PROJECTS = tuple(Scope(ScopeKind.PROJECT, name) for name in ("acme", "globex", "initech"))
ADA = Scope(ScopeKind.PERSONA, "ada")
SHARED = (WORKSPACE, *PROJECTS, ADA)
EVERYTHING = frozenset(State)


@pytest.mark.req("OPS-5", "SCO-2", "SUR-4")
def test_a_tool_lets_in_exactly_whom_it_and_its_operation_are_for(tmp_path: Path) -> None:
    """The same is walked over every route in tests/surfaces/api/test_roles.py, over every operation in
    tests/daemon/calls/test_roles.py."""
    settings = Settings(state_root=str(tmp_path / "home"))
    with serving(settings, mounts=lambda: {PATH: McpEndpoint()}) as api:
        for role in Role:
            found = over_http(api, ERA, api.token(f"a-{role}", role), _walk)
            for tool in TOOLS:
                may = role in tool.roles & tool.operation.roles
                is_listed, refusal = found[tool.name]
                assert is_listed == may, (tool.name, role)
                assert ("tool.denied" in refusal) == (not may), (tool.name, role, refusal)


@pytest.mark.req("SCO-1", "SCO-2", "OPS-5")
@pytest.mark.parametrize("reads", [400, pytest.param(500_000, marks=pytest.mark.soak)])
def test_nobody_reads_what_the_model_does_not_let_them_see(world: World, reads: int) -> None:
    chance = random.Random(20261119)
    model = Model()
    callers = list(_callers(chance))
    _fill(world, model, callers, chance)
    for number in range(reads):
        caller, session_id = chance.choice(callers), chance.choice([None, *model.sessions])
        operations = Application(world.parts, caller)
        refusal = model.refusal(caller, session_id)
        try:
            found = _read(operations, session_id, model, chance)
        except (Denied, NotFound) as refused:
            if refused.code != refusal:
                raise
            continue
        assert not refusal, (number, caller, session_id)
        wanted = {each for each in found.among if model.sees(caller, session_id, each)}
        assert found.ids == wanted, (number, caller, session_id, found.ids ^ wanted)


@dataclass
class Found:
    """Which records were read, of which it was asked for."""

    ids: set[RecordId]
    among: set[RecordId]


@dataclass
class Model:
    """Who sees what, in the words of docs/security.md."""

    records: dict[RecordId, Record] = field(default_factory=dict)
    sessions: dict[SessionId, tuple[str, frozenset[Scope]]] = field(default_factory=dict)

    def refusal(self, caller: Caller, session_id: SessionId | None) -> str:
        """With which code a read is refused as a whole: an agent names its session, and nobody another's. One
        may use one's own, those that one's token names, and as a person without a limit all."""
        if session_id is None:
            return "session.required" if caller.role is Role.AGENT else ""
        is_named = caller.scopes is not None and Scope(ScopeKind.SESSION, session_id) in caller.scopes
        is_free = caller.role is not Role.AGENT and caller.scopes is None
        is_own = self.sessions[session_id][0] == caller.actor
        return "" if is_free or is_named or is_own else "session.not-found"

    def sees(self, caller: Caller, session_id: SessionId | None, record_id: RecordId) -> bool:
        """What the session sees, as far as the token reaches; an agent no candidate but its own."""
        record = self.records[record_id]
        is_candidate = record.state is State.CONSTRAINED or record.published_at is None
        if caller.role is Role.AGENT and is_candidate and record.created_by != caller.actor:
            return False
        if session_id is None:
            return caller.scopes is None or record.scope in caller.scopes
        own = Scope(ScopeKind.SESSION, session_id)
        reached = caller.scopes is None or record.scope in caller.scopes or record.scope == own
        return reached and record.scope in self.sessions[session_id][1]


def _callers(chance: random.Random) -> Iterator[Caller]:
    """Each role without a limit, and with several."""
    for role in Role:
        yield Caller(actor=f"a free {role}", role=role)
        for number in range(3):
            scopes = frozenset(chance.sample(SHARED, chance.randint(1, 3)))
            yield Caller(actor=f"{role} {number}", role=role, scopes=scopes)


def _fill(world: World, model: Model, callers: list[Caller], chance: random.Random) -> None:
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId(ADA.id)))
    for caller in callers:
        if caller.role is Role.READER:
            continue
        owner = Application(world.parts, Caller(actor=caller.actor, role=caller.role))
        projects = chance.sample(PROJECTS, chance.randint(0, 2))
        persona = PersonaId(ADA.id) if chance.random() < 0.5 else None
        asked = ops.NewSession(project_ids=tuple(each.id for each in projects), persona_id=persona)
        session_id = owner.create_session(asked).session_id
        seen = {WORKSPACE, Scope(ScopeKind.SESSION, session_id), *projects, *([ADA] if persona else [])}
        model.sessions[session_id] = (caller.actor, frozenset(seen))
        for number in range(3):
            scope = chance.choice([*SHARED, Scope(ScopeKind.SESSION, session_id)])
            key = f"key {caller.actor} {number}"
            proposal = ops.ProfileProposal(key=key, value="walrus", reason="said so", scope=scope)
            record = owner.propose_profile(proposal)
            if chance.random() < 0.6:
                record = world.operator.confirm(decision(record, accept_untrusted=True))
            model.records[record.record_id] = record


def _read(
    operations: Application, session_id: SessionId | None, model: Model, chance: random.Random
) -> Found:
    """One of the ways to read."""
    seen, everything = ops.Filters(states=EVERYTHING, session_id=session_id), set(model.records)
    one = chance.choice(list(model.records))
    match chance.randrange(4):
        case 0:
            items = operations.list_records(ops.ListRequest(filters=seen, limit=500)).items
            return Found({record.record_id for record in items}, everything)
        case 1:
            request = ops.SearchRequest(query="walrus", filters=seen, limit=50)
            return Found({hit.record.record_id for hit in operations.search(request).items}, everything)
        case 2:
            return Found(_if_there(lambda: operations.get_record(one, session_id=session_id), one), {one})
        case _:
            return Found(_if_there(lambda: operations.history(one, session_id=session_id), one), {one})


def _if_there(read: Callable[[], object], one: RecordId) -> set[RecordId]:
    try:
        read()
    except NotFound as missing:
        if missing.code != "record.not-found":
            raise
        return set()
    return {one}


async def _walk(client: Client) -> dict[str, tuple[bool, str]]:
    """Of each tool whether it is listed, and what a call of it says."""
    listed = {tool.name for tool in (await client.list_tools()).tools}
    return {tool.name: (tool.name in listed, await _refusal(client, tool)) for tool in TOOLS}


async def _refusal(client: Client, tool: MemoryTool) -> str:
    """What a call says that is let in and fails for what it asks, or is not let in."""
    needed = tool.input_schema.get("required", [])
    arguments = dict.fromkeys(needed, "nothing")
    result = await client.call_tool(
        tool.name, {**arguments, **({"kind": "fact"} if "kind" in needed else {})}
    )
    return str(getattr(result.content[0], "text", "")) if result.is_error else ""
