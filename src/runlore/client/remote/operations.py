"""All operations, bound to one connection: each is made from its declaration, but for a few by hand."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from runlore.client.http_response import Upload
from runlore.client.remote.calls import Remote, path_of
from runlore.client.transport import Transport
from runlore.daemon import answers
from runlore.domain.errors import Invalid, Refused
from runlore.domain.lazy import LazyModule
from runlore.ports import operations as ops
from runlore.ports.operations.declaration import OPERATIONS, Operation

if TYPE_CHECKING:
    from runlore.client.remote import run_stream
    from runlore.daemon import import_files
else:
    run_stream = LazyModule("runlore.client.remote.run_stream")
    import_files = LazyModule("runlore.daemon.import_files")


class _ByHand(Remote):
    """What follows a stream, uploads a file, is told how far it is, or is not asked for at all."""

    def start_input(self, request: ops.NewInput) -> ops.RunView:
        """Begin a run there. With `wait` its stream is followed until it has ended."""
        asked = dataclasses.replace(request, wait=False)
        view = cast("ops.RunView", self.ask(OPERATIONS["start_input"], {"request": asked}))
        return run_stream.until_ended(self, view) if request.wait else view

    def try_promoted(self, request: ops.TrialRequest) -> ops.RunView:
        asked = dataclasses.replace(request, wait=False)
        view = cast("ops.RunView", self.ask(OPERATIONS["try_promoted"], {"request": asked}))
        return run_stream.until_ended(self, view) if request.wait else view

    def follow_run(self, request: ops.FollowRun) -> Iterator[ops.RunEvent]:
        return run_stream.follow_run(self.transport, request)

    def append_events(self, request: ops.NewEvents) -> ops.Appended:
        """Append to a run's journal. The number makes it repeatable: an equal range changes nothing."""
        is_repeatable = request.first_number is not None
        told = self.ask(OPERATIONS["append_events"], {"request": request}, is_repeatable=is_repeatable)
        return cast("ops.Appended", told)

    def journal(self, request: ops.JournalRequest) -> ops.JournalPage:
        """What happened, event by event. Without a path to ask for it by, it is refused here in the words of
        the operation."""
        if (request.run_id is None) is (request.session_id is None):
            raise Invalid(
                "a journal is of one run or of one session",
                code="journal.of",
                hint="give either run_id or session_id",
            )
        return cast("ops.JournalPage", self.ask(OPERATIONS["journal"], {"request": request}))

    def suggest(
        self, request: ops.SuggestRequest, progress: ops.Progress = ops.ignore_progress
    ) -> ops.SuggestAnswer:
        answer = cast("ops.SuggestAnswer", self.ask(OPERATIONS["suggest"], {"request": request}))
        progress(answer.sessions, answer.sessions)
        return answer

    def export(self, *, progress: ops.Progress = ops.ignore_progress) -> ops.ExportAnswer:
        answer = cast("ops.ExportAnswer", self.ask(OPERATIONS["export"], {}))
        progress(answer.count, answer.count)
        return answer

    def import_records(self, path: str, *, progress: ops.Progress = ops.ignore_progress) -> ops.ImportAnswer:
        with import_files.open_import(path) as file:
            landed = self.upload(path_of("memory", "import"), Upload(file, progress))
        return answers.read(ops.ImportAnswer, landed)

    def backup(
        self, path: str | None = None, *, progress: ops.Progress = ops.ignore_progress
    ) -> ops.BackupAnswer:
        """Write a copy there. A daemon on this machine works in another folder than its caller."""
        asked = {"path": None if path is None else os.path.abspath(path)}
        answer = cast("ops.BackupAnswer", self.ask(OPERATIONS["backup"], asked))
        progress(answer.bytes, answer.bytes)
        return answer

    def restore_backup(self, path: str, *, progress: ops.Progress = ops.ignore_progress) -> ops.BackupAnswer:
        """Not offered: a backup is read into an empty store, and that of a running daemon never is."""
        del path, progress
        raise Refused(
            "a backup is not restored through a running daemon, whose store is in use",
            code="backup.daemon",
            hint="end the daemon with `runlore down`, then restore into an empty state root with --home",
        )


class _Declared(type):
    """Makes the method of an operation when it is first asked for."""

    def __getattr__(cls, name: str) -> Callable[..., object]:
        if name.startswith("_") or name not in OPERATIONS:
            raise AttributeError(f"there is no operation {name!r}")
        method = _method_of(OPERATIONS[name])
        setattr(cls, name, method)
        return method


class _Remote(_ByHand, metaclass=_Declared):
    def __getattr__(self, name: str) -> Callable[..., object]:
        return functools.partial(getattr(_Remote, name), self)


def _method_of(operation: Operation) -> Callable[..., object]:
    """The method that asks for an operation, with the signature that it has in its protocol."""

    @functools.wraps(operation.method)
    def method(self: Remote, /, *args: Any, **kwargs: Any) -> object:
        given = inspect.signature(operation.method).bind(self, *args, **kwargs).arguments
        return self.ask(operation, given)

    return method


# The operations over HTTP: the same requests, answers and errors as in this process.
RemoteOperations = cast("Callable[[Transport], ops.Operations]", _Remote)
