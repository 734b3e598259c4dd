"""Runlore: reviewed memory and earned skills for AI agents.

`runlore.connect()` is the way in for Python; docs/python.md has the rest. Everything public is a name of this
package: the connection, the errors, the events of a run, and the requests and answers of all operations.

Nothing is imported eagerly: the hook has to start as fast as an empty Python.
"""

__version__ = "0.1.0"

# Type checkers take it for true. Importing it from `typing` would cost a hook a tenth of its time.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from runlore.client.agents_session import AgentsSession as AgentsSession
    from runlore.client.async_sdk import AsyncLore as AsyncLore
    from runlore.client.async_sdk import AsyncRecordedRun as AsyncRecordedRun
    from runlore.client.async_sdk import connect_async as connect_async
    from runlore.client.langgraph_store import LangGraphStore as LangGraphStore
    from runlore.client.sdk import Event as Event
    from runlore.client.sdk import Lore as Lore
    from runlore.client.sdk import MessageEvent as MessageEvent
    from runlore.client.sdk import RecordedRun as RecordedRun
    from runlore.client.sdk import ToolCallEvent as ToolCallEvent
    from runlore.client.sdk import ToolResultEvent as ToolResultEvent
    from runlore.client.sdk import UsageEvent as UsageEvent
    from runlore.client.sdk import connect as connect
    from runlore.domain.errors import Conflict as Conflict
    from runlore.domain.errors import Corrupt as Corrupt
    from runlore.domain.errors import Denied as Denied
    from runlore.domain.errors import Invalid as Invalid
    from runlore.domain.errors import NotFound as NotFound
    from runlore.domain.errors import Refused as Refused
    from runlore.domain.errors import RunloreError as RunloreError
    from runlore.domain.errors import Unavailable as Unavailable
    from runlore.domain.record import Kind as Kind
    from runlore.domain.record import Layer as Layer
    from runlore.domain.record import Record as Record
    from runlore.domain.record import RecordId as RecordId
    from runlore.domain.record import State as State
    from runlore.domain.run import RunId as RunId
    from runlore.domain.run import RunStatus as RunStatus
    from runlore.domain.scope import Scope as Scope
    from runlore.domain.scope import ScopeKind as ScopeKind
    from runlore.domain.session import SessionId as SessionId
    from runlore.ports.operations import *
else:
    _HOMES = {
        "client.sdk": "connect Lore RecordedRun Event MessageEvent ToolCallEvent ToolResultEvent UsageEvent",
        "client.agents_session": "AgentsSession",
        "client.langgraph_store": "LangGraphStore",
        "client.async_sdk": "connect_async AsyncLore AsyncRecordedRun",
        "domain.errors": "RunloreError Invalid Refused Denied NotFound Conflict Unavailable Corrupt",
        "domain.record": "Kind Layer Record RecordId State",
        "domain.run": "RunId RunStatus",
        "domain.scope": "Scope ScopeKind",
        "domain.session": "SessionId",
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        home = next((home for home, names in _HOMES.items() if name in names.split()), "ports.operations")
        try:
            found = getattr(import_module(f"runlore.{home}"), name)
        except AttributeError:
            raise AttributeError(f"there is no {name!r} in runlore") from None
        globals()[name] = found
        return found
