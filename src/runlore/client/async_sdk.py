"""The same in a program with an event loop: each call is made in a thread, so that the loop goes on."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Literal, ParamSpec, Self, TypeVar

from runlore.client.sdk import AGENT, Event, Lore, RecordedRun, connect
from runlore.domain.record import Kind
from runlore.domain.run import RunStatus
from runlore.domain.scope import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from runlore.domain.record import JsonValue, Record
    from runlore.domain.scope import Scope
    from runlore.ports import operations as ops

CallT = ParamSpec("CallT")
AnswerT = TypeVar("AnswerT")


class AsyncRecordedRun:
    """A run that an agent of yours works; see `RecordedRun`. It is opened by `async with`."""

    def __init__(self, open_run: Callable[[], RecordedRun]) -> None:
        self._open_run = open_run

    async def open(self) -> Self:
        self.recorded = run = await asyncio.to_thread(self._open_run)
        self.run_id, self.session_id = run.run_id, run.session_id
        self.context, self.is_stored = run.context, run.is_stored
        return self

    async def say(self, text: str) -> None:
        await asyncio.to_thread(self.recorded.say, text)

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        output: str,
        *,
        exit_code: int | None = None,
        is_error: bool | None = None,
        source: str | None = None,
    ) -> None:
        await asyncio.to_thread(
            self.recorded.tool, name, arguments, output, exit_code=exit_code, is_error=is_error, source=source
        )

    async def append(self, *events: Event) -> None:
        await asyncio.to_thread(self.recorded.append, *events)

    async def finish(
        self,
        *,
        status: RunStatus = RunStatus.COMPLETED,
        error: str = "",
        outcome: Literal["good", "bad"] | None = None,
    ) -> None:
        await asyncio.to_thread(self.recorded.finish, status=status, error=error, outcome=outcome)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        # A task that was cancelled still tells how its run ended.
        await asyncio.shield(asyncio.to_thread(self.recorded.__exit__, kind, error, where))


class AsyncLore:
    """A connection to Runlore; see `Lore`. It is opened by `async with`, or by `await lore.open()`.

    Every other operation: `await lore.call(lore.operations.NAME, ...)`.
    """

    def __init__(self, reach: Callable[[], Lore]) -> None:
        self._reach = reach

    async def open(self) -> Self:
        self._lore = await asyncio.to_thread(self._reach)
        self.operations = self._lore.operations
        return self

    async def call(
        self, operation: Callable[CallT, AnswerT], *args: CallT.args, **kwargs: CallT.kwargs
    ) -> AnswerT:
        """Call one of `operations` in a thread."""
        return await asyncio.to_thread(operation, *args, **kwargs)

    async def remember(
        self, text: str, *, kind: Kind | str | None = None, scope: Scope = WORKSPACE, confirm: bool = False
    ) -> Record:
        return await self.call(self._lore.remember, text, kind=kind, scope=scope, confirm=confirm)

    async def search(
        self, query: str, *, limit: int = 12, session: str | None = None
    ) -> tuple[ops.SearchHit, ...]:
        return await self.call(self._lore.search, query, limit=limit, session=session)

    async def context(self, goal: str, *, session: str | None = None) -> ops.GoalContext:
        return await self.call(self._lore.context, goal, session=session)

    def run(
        self, session: str, text: str, *, agent: str = AGENT, model: str | None = None
    ) -> AsyncRecordedRun:
        return AsyncRecordedRun(partial(self._lore.run, session, text, agent=agent, model=model))

    async def close(self) -> None:
        await asyncio.to_thread(self._lore.close)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


def connect_async(*, home: str | None = None, url: str | None = None, token: str | None = None) -> AsyncLore:
    """Reach a Runlore from an event loop: `async with connect_async() as lore`; see `connect`."""
    return AsyncLore(partial(connect, home=home, url=url, token=token))
