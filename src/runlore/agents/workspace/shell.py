"""Runs commands in one folder, confined by the kernel where it can, and ended whole.

A command is started by a launcher of its own, which lives as long as the command and ends all that came of
it: at its time, when it is asked to stop, when the command itself is over, and when this process dies.

Kept from it is to read, write, make and remove files elsewhere, to signal other processes (before Linux 6.12
only its launcher), to change their limits, to look into them and, unless that is allowed, to speak to them
through sockets of this machine. Not kept from it: the network, and to see that a file is there or to change
the mode of one of this user's. Where the kernel confines nothing (`confinement` is `none`), a command can do
what this user can.
"""

import marshal
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.abc import InspectLoader
from types import CodeType
from typing import Any, BinaryIO

from runlore.agents.workspace import launcher
from runlore.agents.workspace.permissions import DEVICES, SHARED, CommandPermissions
from runlore.agents.workspace.private_folder import Output, PrivateFolder, git_settings
from runlore.agents.workspace.safe_paths import translate_errors
from runlore.agents.workspace.seccomp import call_filter
from runlore.domain import limits
from runlore.domain.errors import Invalid, Unavailable
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import CONFINED, UNCONFINED, ShellResult

# Before the third version of its interface the kernel lets any file be cut short.
_CONFINES_FROM_ABI = 3
_KEEPS_SIGNALS_FROM_ABI = 6
# What runs unconfined is not what stands in a working folder that Runlore is installed in: the Python that a
# virtual environment was made from, and the launcher as it was when this was loaded.
_PYTHON = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
_BEGINNING = """
import marshal, os
def exactly(length):
    content = b""
    while len(content) < length:
        piece = os.read(0, length - len(content))
        if not piece:
            os._exit(125)
        content += piece
    return content
code, plan = marshal.loads(exactly(int.from_bytes(exactly(8), "little")))
launcher = {"__name__": "launcher"}
exec(code, launcher)
launcher["main"](plan)
"""
_POLL_S = 0.05
_READ_BYTES = 64 * 1024
# How long the launcher takes to end everything; beyond it, nobody waits for it any more.
_ENDING_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program with its arguments, and what it may touch besides what every command may: opened folders.
    What is `closed` below its folder is not written, where the kernel can, or at least not moved."""

    argv: Sequence[str]
    folder: int
    readable: Sequence[int] = ()
    writable: Sequence[int] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    errors: bool = True
    closed: Sequence[tuple[str, bool]] = ()


@dataclass(frozen=True, kw_only=True)
class CommandLimits:
    """When a command is ended, and who hears what it prints."""

    timeout_s: float
    stop: Stop
    output_chars_max: int
    on_output: Callable[[str], None] | None = None


class CommandRunner:
    """Starts commands with what all of them are allowed."""

    def __init__(
        self, allowed: CommandPermissions, *, abi: int | None = None, ending_s: float = _ENDING_S
    ) -> None:
        """`abi` is the version of the kernel's confinement to be used, where not the newest that it has;
        `ending_s` how long is waited for the end of what a command has started."""
        self._allowed = allowed
        self._abi = launcher.abi() if abi is None else abi
        self._ending_s = ending_s

    @property
    def confinement(self) -> str:
        """What keeps a command inside: `kernel`, or `none`."""
        return CONFINED if self._abi >= _CONFINES_FROM_ABI else UNCONFINED

    @property
    def own_path(self) -> str:
        """Where programs are that no command has put there."""
        return self._allowed.own_path

    def run(self, command: Command, bounds: CommandLimits) -> ShellResult:
        """Run a command to its end. Invalid (`workspace.command`); Unavailable (`workspace.start`) where it
        could not even begin, (`workspace.full`) where there is no room for its temporary files."""
        for argument in command.argv:
            try:
                size = len(argument.encode())
            except UnicodeEncodeError:
                size = -1
            if size < 0 or "\0" in argument or size > limits.SHELL_COMMAND_BYTES_MAX:
                raise Invalid(
                    f"a command is text of at most {limits.SHELL_COMMAND_BYTES_MAX:,} bytes",
                    code="workspace.command",
                    hint="write a longer script to a file and run that",
                )
        if bounds.stop.is_set():
            return ShellResult(output="", exit_code=None, stopped=True)
        with ExitStack() as stack:
            with translate_errors("the folder for temporary files", writing=True):
                private = PrivateFolder(self._git_settings)
            stack.callback(private.remove)
            output, report, process = self._start(command, private, stack)
            try:
                return _RunningCommand(process, output, report, bounds, ending_s=self._ending_s).to_the_end()
            finally:
                _end(process, self._ending_s)

    @cached_property
    def _git_settings(self) -> str:
        return git_settings(self._allowed.asking)

    def _start(
        self, command: Command, private: PrivateFolder, stack: ExitStack
    ) -> "tuple[BinaryIO, BinaryIO, subprocess.Popen[bytes]]":
        environment = {**self._allowed.environment, **private.environment, **command.environment}
        (output, output_in), (report, report_in) = _pipe(stack), _pipe(stack)
        passed = {command.folder, private.handle, *command.readable, *command.writable, report_in.fileno()}
        try:
            process = subprocess.Popen(
                [_PYTHON, "-I", "-S", "-c", _BEGINNING],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=output_in,
                stderr=output_in,
                cwd="/",
                env=environment,
                pass_fds=sorted(passed),
                start_new_session=True,
            )
        except OSError as error:
            raise _not_started(error.strerror or "the system starts no process") from error
        plan = {
            **self._plan(command, private, environment),
            "parent": os.getpid(),
            "report": report_in.fileno(),
            "filter": self._filter(process.pid),
        }
        output_in.close()
        report_in.close()
        try:
            _send(process, plan)
        except BaseException:
            _end(process, self._ending_s)
            raise
        return output, report, process

    def _filter(self, watcher: int) -> bytes:
        if not self._abi:
            return b""
        return call_filter(
            watcher,
            local_sockets=self._allowed.local_sockets,
            signals=self._abi < _KEEPS_SIGNALS_FROM_ABI,
        )

    def _plan(
        self, command: Command, private: PrivateFolder, environment: Mapping[str, str]
    ) -> dict[str, Any]:
        return {
            "argv": list(command.argv),
            "environment": dict(environment),
            "folder": command.folder,
            "readable": list(command.readable),
            "writable": [*command.writable, private.handle],
            "paths": list(self._allowed.readable),
            "devices": list(DEVICES),
            "shared": list(SHARED),
            "private": private.path,
            "errors": command.errors,
            "closed": list(command.closed) if self.confinement == CONFINED else [],
            "abi": self._abi,
        }


class _RunningCommand:
    """One command from its start to its end, in the caller's thread."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        output: BinaryIO,
        report: BinaryIO,
        bounds: CommandLimits,
        *,
        ending_s: float,
    ) -> None:
        self._process, self._output, self._report, self._bounds = process, output, report, bounds
        self._ending_s = ending_s
        self._kept = Output(bounds.output_chars_max)
        self._told = b""
        self._why = ""
        self._end_by: float | None = None

    def to_the_end(self) -> ShellResult:
        """Read what it prints until it and all that it started are gone, or had long enough to go."""
        deadline = time.monotonic() + self._bounds.timeout_s
        with selectors.DefaultSelector() as selector:
            for stream in (self._output, self._report):
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                self._look_at_the_time(deadline)
                if self._end_by is not None and time.monotonic() > self._end_by:
                    break
                for key, _ in selector.select(_POLL_S):
                    stream = self._output if key.fileobj is self._output else self._report
                    if not self._take(stream):
                        selector.unregister(stream)
        self._hear(self._kept.add(b"", is_last=True))
        return self._result()

    def _look_at_the_time(self, deadline: float) -> None:
        if self._end_by is not None:
            return
        if b"\nexit" in self._told or b"\nfailed" in self._told:
            self._end_by = time.monotonic() + self._ending_s
        elif self._bounds.stop.is_set() or time.monotonic() >= deadline:
            self._why = "stopped" if self._bounds.stop.is_set() else "timed out"
            self._end_by = time.monotonic() + self._ending_s
            with suppress(OSError):
                _stdin(self._process).write(b"T")

    def _take(self, stream: BinaryIO) -> bool:
        """Read a piece; whether there may be more."""
        try:
            piece = os.read(stream.fileno(), _READ_BYTES)
        except BlockingIOError:
            return True
        if stream is self._report:
            self._told += piece
        elif piece:
            self._hear(self._kept.add(piece))
        return bool(piece)

    def _hear(self, text: str) -> None:
        if text and self._bounds.on_output is not None:
            self._bounds.on_output(text)

    def _result(self) -> ShellResult:
        lines = self._told.decode(errors="replace").split("\n")
        ends = [line.partition(" ")[2] for line in lines if line.startswith("exit ")]
        code = int(ends[0]) if ends and not self._why else None
        if code is None and not self._why:
            problems = [line.partition(" ")[2] for line in lines if line.startswith("failed ")]
            raise _not_started(problems[0] if problems else "what watches over it was ended")
        return ShellResult(
            output=self._kept.text,
            exit_code=code,
            timed_out=self._why == "timed out",
            stopped=self._why == "stopped",
            omitted=self._kept.omitted,
        )


def _pipe(stack: ExitStack) -> tuple[BinaryIO, BinaryIO]:
    out, into = os.pipe()
    return (
        stack.enter_context(open(out, "rb", buffering=0)),
        stack.enter_context(open(into, "wb", buffering=0)),
    )


def _code() -> CodeType:
    loader = launcher.__loader__
    code = loader.get_code(launcher.__name__) if isinstance(loader, InspectLoader) else None
    if code is None:
        raise _not_started("what watches over it is not there")
    return code


def _send(process: "subprocess.Popen[bytes]", plan: dict[str, Any]) -> None:
    content = marshal.dumps((_LAUNCHER, plan))
    left = memoryview(struct.pack("<Q", len(content)) + content)
    try:
        while left:
            left = left[_stdin(process).write(left) :]
    except BrokenPipeError:
        raise _not_started("what watches over it did not start") from None


def _stdin(process: "subprocess.Popen[bytes]") -> BinaryIO:
    if process.stdin is None:
        raise _not_started("it has no input")
    return process.stdin  # type: ignore[return-value]


def _end(process: "subprocess.Popen[bytes]", within_s: float) -> None:
    """Let the launcher go. It ends what is left of the command first. Where that takes long it goes on by
    itself, and is not ended: without it, what the command started would live on."""
    _stdin(process).close()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, name="launcher's end", daemon=True).start()


def _not_started(why: str) -> Unavailable:
    return Unavailable(
        f"the command could not be run: {why}",
        code="workspace.start",
        hint="make sure that the program is installed and that the system can start processes",
    )


_LAUNCHER = _code()
