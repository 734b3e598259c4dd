"""Sessions of opencode, made up, as its files and as its database keep them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from tests.agents.transcripts.transcript_files import LONG_AGO, dated

CREATED = 1_770_000_000_000
SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (
    id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL
);
CREATE TABLE message (
    id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE part (
    id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE,
    session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX part_session_idx ON part (session_id);
"""


@dataclass
class Told:
    """One session: messages, each with its parts."""

    id: str = "ses_1"
    title: str = "Building"
    messages: list[tuple[dict[str, object], list[object]]] = field(default_factory=list)
    parent: str | None = None

    def user(self, *parts: object) -> "Told":
        """The user says something."""
        return self._add({"role": "user"}, parts)

    def assistant(self, *parts: object, **fields: object) -> "Told":
        """The model says and does something."""
        return self._add({"role": "assistant", "modelID": "gpt-test", **fields}, parts)

    def first(self, count: int) -> "Told":
        """The session when it had so many messages."""
        return Told(self.id, self.title, self.messages[:count], self.parent)

    def _add(self, about: dict[str, object], parts: Iterable[object]) -> "Told":
        time = {"created": CREATED + 1000 * len(self.messages)}
        message = {"id": f"msg_{self.id}_{len(self.messages):03}", "time": time, **about}
        self.messages.append((message, list(parts)))
        return self


def text(words: str, **fields: object) -> dict[str, object]:
    """A part that is a text."""
    return {"type": "text", "text": words, **fields}


def bash(call_id: str, command: str, **state: object) -> dict[str, object]:
    """A part that is a call of the shell."""
    time = {"start": CREATED, "end": CREATED + 500}
    about = {"status": "completed", "input": {"command": command}, "output": "", "time": time}
    return {"type": "tool", "tool": "bash", "callID": call_id, "state": {**about, **state}}


def put_files(root: Path, told: Told, *, is_old: bool = False) -> Path:
    """The session as files; the path of the one that stands for it."""
    about = {"id": told.id, "directory": "/srv/shop", "title": told.title, "version": "1.2.3"}
    time = {"created": CREATED, "updated": CREATED + len(told.messages)}
    session = root / "session" / ("info" if is_old else "prj") / f"{told.id}.json"
    parent = {} if told.parent is None else {"parentID": told.parent}
    _put(session, {**about, "projectID": "prj", "time": time, **parent})
    base = root / "session" if is_old else root
    for message, parts in told.messages:
        _put(base / "message" / told.id / f"{message['id']}.json", {**message, "sessionID": told.id})
        folder = base / "part" / told.id if is_old else base / "part"
        for place, part in enumerate(parts):
            id = f"prt_{message['id']}_{place:03}"
            whole = {"id": id, **part} if isinstance(part, dict) else part
            _put(folder / str(message["id"]) / f"{id}.json", whole)
    return session


def put_database(path: Path, *sessions: Told, mode: str = "delete") -> Path:
    """The sessions as rows of a database that nobody has open."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("PRAGMA synchronous=off")
    connection.execute(SCHEMA)
    with connection:
        for told in sessions:
            insert(connection, told)
    connection.close()
    return dated(path, LONG_AGO)


def insert(connection: apsw.Connection, told: Told) -> None:
    """A session's rows."""
    times = (CREATED, CREATED + len(told.messages))
    about = (told.id, "prj", told.parent, "slug", "/srv/shop", told.title, "1.2.3", *times)
    connection.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", about)
    for message, parts in told.messages:
        id, created = str(message["id"]), message["time"]["created"]  # type: ignore[index]
        data = json.dumps({key: value for key, value in message.items() if key != "id"})
        row = (id, told.id, created, created, data)
        connection.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)
        for place, part in enumerate(parts):
            told_part = part if isinstance(part, str) else json.dumps(part)
            values = (f"prt_{id}_{place:03}", id, told.id, created, created, told_part)
            connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", values)


def _put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    dated(path, LONG_AGO)
