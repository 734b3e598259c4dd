"""What a program reports of its runs, written through the operations, for tests that look at it later."""

from collections.abc import Iterator
from contextlib import contextmanager

from runlore.config.settings import Settings
from runlore.daemon.wiring import open_embedded
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.surfaces.command_line import Runlore


@contextmanager
def operations_of(runlore: Runlore) -> Iterator[ops.Operations]:
    """The operations on the state of a command line, for as long as no command runs."""
    settings = Settings(state_root=str(runlore.home), database_url=runlore.database_url)
    with open_embedded(settings) as operations:
        yield operations


def said(text: str) -> JsonObject:
    """An assistant's message."""
    return {"type": "assistant_message", "text": text}


def report(
    runlore: Runlore,
    run_id: str,
    request: str,
    *events: JsonObject,
    session: str = "talk",
    status: RunStatus | None = RunStatus.COMPLETED,
    **more: object,
) -> ops.RunView:
    """A run of a session, opened with its events and ended; with no status it stays open."""
    error = str(more.pop("error", ""))
    with operations_of(runlore) as operations:
        opened = operations.open_run(
            ops.NewRun(session_id=SessionId(session), run_id=RunId(run_id), request=request, **more)  # type: ignore[arg-type]
        )
        if events:
            operations.append_events(ops.NewEvents(run_id=RunId(run_id), events=events))
        if status is None:
            return opened
        return operations.finish_run(ops.RunEnd(run_id=RunId(run_id), status=status, error=error))
