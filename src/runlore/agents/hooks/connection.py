"""Connecting an agent, and undoing it: its files change together with a record of how they were.

The record and the copies are written first, so that whoever dies in between can undo what was done. Undoing
gives a file its old bytes back; where somebody has changed it since, only what is ours is taken out.
"""

import base64
import difflib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from runlore.agents.hooks.reports import find_agent
from runlore.agents.hooks.settings_edits import VARIABLES, FileEdit, HookSetup, list_edits
from runlore.atomic_write import atomic_write
from runlore.domain.errors import Conflict, Invalid, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.timestamps import format_time
from runlore.hook import AGENTS_FOLDER

_BYTES_MAX = 32 * 1024**2


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What becomes of one file; None is no file."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def does(self) -> str:
        return "removed" if self.after is None else "made" if self.before is None else "changed"

    def diff(self) -> list[str]:
        before, after = ((text or b"").decode(errors="replace") for text in (self.before, self.after))
        return list(
            difflib.unified_diff(before.splitlines(), after.splitlines(), self.path, self.path, lineterm="")
        )


@dataclass(frozen=True, kw_only=True)
class AgentConnection:
    """The connection of one agent, for the user or in one project."""

    agent: str
    setup: HookSetup

    @property
    def record_path(self) -> str:
        project = self.setup.project
        at = "" if project is None else "@" + hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
        return os.path.join(self.setup.state_root, AGENTS_FOLDER, f"{self.agent}{at}.json")

    @property
    def edits(self) -> list[FileEdit]:
        return list_edits(self.agent, self.setup)

    def recall(self) -> "AgentConnection":
        record = self._record()
        return read_connection(self.setup.state_root, record) or self

    def plan(self) -> list[FileChange]:
        if self.recall().setup.plugin != self.setup.plugin:
            way = "by its settings" if self.setup.plugin else "by the plugin"
            raise Conflict(
                f"{self.agent} is connected {way} already, and would report twice",
                code="connect.twice",
                hint=f"`runlore disconnect {self.agent}` first",
            )
        texts: dict[str, bytes | None] = {}
        for edit in self.edits:
            before = texts[edit.path] if edit.path in texts else _read(edit.path)
            texts[edit.path] = edit.connect(_decode(edit.path, before)).encode()
        return _changes(texts)

    def connect(self, changes: Sequence[FileChange], *, follows: bool, at: datetime) -> None:
        was = self._files()
        for change in changes:
            known = was.get(change.path)
            if known is None or known["written"] != _digest(change.before):
                # Somebody has changed it since, or what is ours is from a connection that nobody remembers.
                known = {"before": _encode(self._before(change, known))}
            was[change.path] = {**known, "written": _digest(change.after)}
        record = {
            "agent": self.agent,
            "project": self.setup.project,
            "follows": follows,
            "python": self.setup.python,
            "hook": self.setup.hook,
            "starts": self.setup.starts,
            "plugin": self.setup.plugin,
            "home": self.setup.home,
            "environment": {
                name: self.setup.environment[name] for name in VARIABLES if name in self.setup.environment
            },
            "connected_at": format_time(at),
            "files": was,
        }
        os.makedirs(os.path.dirname(self.record_path), mode=0o700, exist_ok=True)
        content = json.dumps(record, indent=1).encode()
        for change in changes:
            _check_writable(change)
        atomic_write(self.record_path, content)
        for change in changes:
            _write(change)

    def _before(self, change: FileChange, known: dict[str, str | None] | None) -> bytes | None:
        if change.before is None:
            return None
        is_ours_alone = known is not None and known["before"] is None
        return self._take_out(change.path, change.before, is_ours_alone=is_ours_alone)

    def plan_undo(self) -> list[FileChange]:
        was = self._files()
        texts: dict[str, bytes | None] = {}
        for path in was or dict.fromkeys(edit.path for edit in self.edits):
            content, known = _read(path), was.get(path)
            if content is None:
                continue
            if known is not None and known.get("written") == _digest(content):
                texts[path] = _read_encoded(known)
            else:
                is_ours_alone = known is not None and known.get("before") is None
                texts[path] = self._take_out(path, content, is_ours_alone=is_ours_alone)
        return _changes(texts)

    def _take_out(self, path: str, content: bytes, *, is_ours_alone: bool) -> bytes | None:
        """What others have in a file; None where there is nothing left of it that they had."""
        text = _decode(path, content)
        for edit in self.edits:
            left = edit.disconnect(text) if edit.path == path else text
            if left is None:
                return None
            text = left
        return None if is_ours_alone and text.strip() in ("", "{}") else text.encode()

    def undo(self, changes: Sequence[FileChange]) -> None:
        for change in changes:
            _check_writable(change)
        for change in changes:
            _write(change)
        with suppress(FileNotFoundError):
            os.unlink(self.record_path)

    def _files(self) -> dict[str, dict[str, str | None]]:
        try:
            return dict(self._record()["files"])
        except (KeyError, TypeError, ValueError):
            return {}

    def _record(self) -> dict[str, Any]:
        try:
            with open(self.record_path, "rb") as file:
                return dict(json.load(file))
        except (OSError, ValueError, TypeError):
            return {}


def read_connection(state_root: str, record: Mapping[str, Any]) -> AgentConnection | None:
    try:
        setup = HookSetup(
            python=str(record["python"]),
            hook=str(record["hook"]),
            state_root=state_root,
            starts=bool(record["starts"]),
            plugin=bool(record.get("plugin")),
            home=str(record["home"]),
            project=None if record["project"] is None else str(record["project"]),
            environment={str(name): str(value) for name, value in dict(record["environment"]).items()},
        )
        return AgentConnection(agent=find_agent(str(record["agent"])).name, setup=setup)
    except (KeyError, TypeError, ValueError, Invalid):
        return None


def _changes(texts: dict[str, bytes | None]) -> list[FileChange]:
    found = [FileChange(path=path, before=_read(path), after=after) for path, after in texts.items()]
    return [change for change in found if change.before != change.after]


def _read(path: str) -> bytes | None:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            # To open a pipe is to wait for whoever writes into it.
            raise OSError(errno.EINVAL, "it is not a file")
        with open(path, "rb") as file:
            content = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unwritable(path, error) from None
    if len(content) > _BYTES_MAX:
        raise Invalid(f"{path} is too large", code="connect.settings", hint="nothing was changed")
    return content


def _decode(path: str, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode()
    except UnicodeDecodeError:
        raise Invalid(
            f"{path} is not text in UTF-8", code="connect.settings", hint="nothing was changed"
        ) from None


def _check_writable(change: FileChange) -> None:
    path = os.path.realpath(change.path)
    try:
        if _read(change.path) != change.before:
            raise Conflict(
                f"{change.path} was changed by another program just now",
                code="connect.changed",
                hint="nothing was changed; try again",
            )
        # Who marks a file as read-only means it, whatever the system would let us do.
        if os.path.exists(path) and not os.stat(path).st_mode & stat.S_IWUSR:
            raise PermissionError(13, "it is read-only")
        folder = os.path.dirname(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder):
            raise NotADirectoryError(20, f"{folder} is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, f"{folder} is read-only")
    except OSError as error:
        raise _unwritable(change.path, error) from None


def _write(change: FileChange) -> None:
    """Write a file where it really lies: people keep their settings elsewhere, and link to them."""
    path, content = os.path.realpath(change.path), change.after
    try:
        if content is None:
            os.unlink(path)
            return
        mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
        os.makedirs(os.path.dirname(path), exist_ok=True)
        atomic_write(path, content)
        os.chmod(path, mode)
    except OSError as error:
        raise _unwritable(change.path, error) from None


def _unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path} cannot be changed: {error.strerror or error}",
        code="connect.write",
        hint="make it writable, then try again; `runlore disconnect` undoes what was done",
    )


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


def _encode(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _read_encoded(known: dict[str, str | None]) -> bytes | None:
    before = known.get("before")
    return None if before is None else base64.b64decode(before)
