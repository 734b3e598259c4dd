"""What the hooks of other agents report, and the context that they get."""

from dataclasses import field
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.ports.operations.declaration import AGENTS, Operation


@dataclass(frozen=True, kw_only=True)
class HookEvent:
    """What an agent's hook was called with, in the agent's own words."""

    agent: Annotated[str, About("The agent, such as claude-code.", most=limits.ID_CHARS_MAX)]
    event: Annotated[str, About("The hook as the agent calls it.", most=limits.ID_CHARS_MAX)]
    payload: Annotated[JsonObject, About("What the hook was called with.")]
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class HookAnswer:
    """What the hook is to print, in the form that its agent understands; empty where there is nothing."""

    output: JsonObject = field(default_factory=dict)


class HookOperations(Protocol):
    """What agents report by themselves."""

    @Operation("POST /v1/hooks/{agent}/{event}", AGENTS, area="runs", large=True)
    def report_hook(self, request: HookEvent) -> HookAnswer:
        """Take what an agent's hook reports: sessions and runs are kept, and an input gets its context."""
        ...
