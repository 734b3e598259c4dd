"""Reads sessions of opencode: a tree of small files in its first versions, a database in the later ones.

    session/PROJECT/SESSION.json    message/SESSION/MESSAGE.json    part/MESSAGE/PART.json

The earliest versions had `session/info/SESSION.json`, `session/message/SESSION/MESSAGE.json` and
`session/part/SESSION/MESSAGE/PART.json` instead.

opencode may be writing the database meanwhile. It is opened for reading alone, and so that nothing appears
beside it: a database with a write-ahead log whose log is not there is read as it stands, for asking SQLite
properly would create the log.

A database is a program as much as a file: a view may never end, and a text may be none. So only real tables
are asked, for a bounded time, and texts are taken as bytes.
"""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import apsw

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.claude_code_lines import without_reminders
from runlore.agents.transcripts.lines import TOO_CROWDED, TOO_LONG, is_crowded, top_keys, whole_of
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    UNKNOWN,
    Plain,
    list_of,
    moment,
    object_of,
    parse_json,
    text_of,
    whole_number,
)
from runlore.domain import limits
from runlore.domain.run import RunStatus
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource
from runlore.domain.text.word_tables import words

UNREADABLE = "a database that cannot be read"
TOO_MANY = "more sessions than are read of one database"
TOO_LARGE = "a session that is too large"

_MAGIC = b"SQLite format 3\x00"
_LOGGED = 2
_BUSY_MS = 2_000
_TABLES = frozenset({b"session", b"message", b"part"})
_REAL_TABLES = "SELECT CAST(name AS BLOB) FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
_COLUMNS = ("directory", "title", "version", "parent_id")
_SOURCES = """
    SELECT CAST(session.id AS BLOB),
        CAST(max(session.time_updated, coalesce(max(part.time_updated), 0)) AS REAL),
        coalesce(sum(octet_length(part.data)), 0)
    FROM session LEFT JOIN part ON part.session_id = session.id
    GROUP BY session.id ORDER BY session.time_created, session.id LIMIT ?
"""
# What is too long is not even fetched.
_DATA = "CASE WHEN octet_length(data) <= ? THEN CAST(data AS BLOB) END"
_MESSAGES = f"""
    SELECT CAST(id AS BLOB), CAST(time_created AS REAL), {_DATA}
    FROM message WHERE session_id = CAST(? AS TEXT) ORDER BY time_created, id
"""
_PARTS = f"SELECT CAST(id AS BLOB), {_DATA} FROM part WHERE message_id = CAST(? AS TEXT) ORDER BY id"
_STEPS_BETWEEN_LOOKS = 20_000
_PROBLEMS = (apsw.Error, UnicodeError)
FILE_UNREADABLE = "cannot be read"

_INFO = "info"
_THING_MAX = (limits.TRANSCRIPT_LINE_BYTES_MAX, limits.TRANSCRIPT_LINE_MARKS_MAX)
_SESSION_KEYS = frozenset({"id", "time"})


@dataclass(frozen=True, kw_only=True)
class OpencodeMessage:
    """A message as it was told, with its parts in order."""

    fields: Plain
    parts: Iterable[Plain]


@dataclass(frozen=True, kw_only=True)
class OpencodeSession:
    """A session as it was told, with its messages in order."""

    id: str
    fields: Plain
    messages: Iterable[OpencodeMessage]


class _TimedConnection:
    """A connection that is asked for a bounded time altogether; what is done with the answers takes none."""

    def __init__(self, connection: apsw.Connection, seconds_max: float) -> None:
        self._connection = connection
        self._left = seconds_max
        self._until = 0.0
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, 2 * limits.TRANSCRIPT_LINE_BYTES_MAX)
        connection.set_progress_handler(self._is_late, _STEPS_BETWEEN_LOOKS)

    def rows(self, statement: str, *values: bytes | int) -> "Iterator[tuple[apsw.SQLiteValue, ...]]":
        self._until = time.monotonic() + self._left
        rows = iter(self._connection.execute(statement, values))
        while (row := next(rows, None)) is not None:
            self._left = self._until - time.monotonic()
            yield row
            self._until = time.monotonic() + self._left
        self._left = self._until - time.monotonic()

    def _is_late(self) -> bool:
        return time.monotonic() > self._until


def is_database(head: bytes, path: str) -> bool:
    if not head.startswith(_MAGIC):
        return False
    try:
        with _connect(path) as asked:
            tables = {name for (name,) in asked.rows(_REAL_TABLES)}
    except (*_PROBLEMS, OSError):
        # Named as theirs, it is at least worth a word.
        return Path(path).name.startswith("opencode")
    return tables >= _TABLES


class OpencodeDatabase:
    """The database, or one session of it."""

    def __init__(
        self,
        path: str,
        session: str = "",
        *,
        sessions_max: int = limits.DATABASE_SESSIONS_MAX,
        seconds_max: float = limits.DATABASE_READING_S_MAX,
        bytes_max: int = limits.DATABASE_SESSION_BYTES_MAX,
    ) -> None:
        self._path = path
        self._session = session
        self._sessions_max = sessions_max
        self._seconds_max = seconds_max
        self._bytes_max = bytes_max

    def sources(self, found: TranscriptSource) -> Iterator[TranscriptSource]:
        try:
            with _connect(self._path, self._seconds_max) as asked:
                rows = list(asked.rows(_SOURCES, self._sessions_max + 1))
        except (*_PROBLEMS, OSError):
            yield replace(found, agent=None, problem=UNREADABLE, looks_like="opencode")
            return
        for id, updated, size in rows[: self._sessions_max]:
            part = id.decode(errors="surrogateescape") if isinstance(id, bytes) else ""
            at = moment(updated) or found.modified_at
            yield replace(found, part=part, bytes=whole_number(size) or 0, modified_at=at)
        if len(rows) > self._sessions_max:
            yield replace(found, agent=None, problem=TOO_MANY, looks_like="opencode")

    @contextmanager
    def open(self, counts: ReadCounts) -> Iterator[OpencodeSession | None]:
        is_given = False
        id = self._session.encode(errors="surrogateescape")
        try:
            with _connect(self._path, self._seconds_max) as asked:
                list(asked.rows("BEGIN"))
                fields = _session(asked, id)
                messages = self._messages(asked, id, counts)
                is_given = True
                yield OpencodeSession(id=self._session, fields=fields, messages=messages) if fields else None
        except _PROBLEMS:
            counts.lines += 1
            counts.skip(UNREADABLE)
            if not is_given:
                yield None

    def _messages(
        self, asked: _TimedConnection, session: bytes, counts: ReadCounts
    ) -> Iterator[OpencodeMessage]:
        for id, created, data in asked.rows(_MESSAGES, limits.TRANSCRIPT_LINE_BYTES_MAX, session):
            if counts.bytes > self._bytes_max:
                counts.lines += 1
                counts.skip(TOO_LARGE)
                return
            fields = _object(data, counts)
            if fields and isinstance(id, bytes):
                named = {"id": _text(id), "time": {"created": created} | object_of(fields.get("time"))}
                yield OpencodeMessage(fields=fields | named, parts=_parts(asked, id, counts))


@contextmanager
def _connect(path: str, seconds_max: float = limits.DATABASE_READING_S_MAX) -> Iterator[_TimedConnection]:
    with open(path, "rb") as file:
        header = file.read(20)
    is_logged = len(header) == 20 and header[18] == _LOGGED
    log, index = _size(f"{path}-wal"), _size(f"{path}-shm")
    if is_logged and log and not index and os.path.getsize(path) + log <= limits.IMPORT_WHOLE_BYTES_MAX:
        # Left behind without its writer: SQLite would put an index of the log beside it.
        with TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy.db")
            shutil.copyfile(path, copy)
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
            with _open(copy, "mode=rw") as connection:
                yield _TimedConnection(connection, seconds_max)
        return
    is_still = is_logged and (log is None or (not log and index is None))
    with _open(path, "mode=ro&immutable=1" if is_still else "mode=ro") as connection:
        yield _TimedConnection(connection, seconds_max)


@contextmanager
def _open(path: str, how: str) -> Iterator[apsw.Connection]:
    address = f"file:{quote(os.path.abspath(path))}?{how}"
    flags = apsw.SQLITE_OPEN_READWRITE if "rw" in how else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(address, flags=flags | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        yield connection
    finally:
        connection.close(True)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _session(asked: _TimedConnection, id: bytes) -> Plain | None:
    there = {name for (name,) in asked.rows("SELECT CAST(name AS BLOB) FROM pragma_table_info('session')")}
    columns = [column for column in _COLUMNS if column.encode() in there]
    wanted = ", ".join(f"substr(CAST({column} AS BLOB), 1, {limits.PATH_CHARS_MAX})" for column in columns)
    statement = f"SELECT {wanted or 'NULL'} FROM session WHERE id = CAST(? AS TEXT)"
    row = next(asked.rows(statement, id), None)
    if row is None:
        return None
    fields: Plain = {"id": _text(id)}
    return fields | dict(zip(columns, map(_text, row), strict=False))


def _parts(asked: _TimedConnection, message: bytes, counts: ReadCounts) -> Iterator[Plain]:
    for id, data in asked.rows(_PARTS, limits.TRANSCRIPT_LINE_BYTES_MAX, message):
        if fields := _object(data, counts):
            yield fields | {"id": _text(id)}


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _object(content: object, counts: ReadCounts) -> Plain:
    problem, fields = NO_OBJECT, {}
    if not isinstance(content, bytes):
        problem = TOO_LONG
    elif is_crowded(content):
        problem = TOO_CROWDED
    else:
        counts.bytes += len(content)
        try:
            fields = object_of(parse_json(content))
        except ValueError:
            problem = BROKEN
    if not fields:
        counts.lines += 1
        counts.skip(problem)
    return fields


def is_session_file(head: bytes, path: str) -> bool:
    """Whether a file stands for a session, by where it lies, and by its keys where its beginning is given."""
    parts = Path(path).parts
    if len(parts) < 4 or parts[-3] != "session" or not path.removesuffix(".gz").endswith(".json"):
        return False
    if parts[-2] in ("message", "part"):
        return False
    return not head or frozenset(top_keys(head)) >= _SESSION_KEYS


def is_part_file(head: bytes, path: str) -> bool:
    """Whether a file is of a message or a part of one, or another small thing that opencode keeps beside."""
    parts = Path(path).parts
    if not path.endswith(".json") or len(parts) < 4:
        return False
    root = Path(path).parents[2]
    is_new = parts[-3] in ("message", "part", "session_diff", "todo") and (root / "session").is_dir()
    is_old = "session" in parts[-5:-2] and ("message" in parts[-4:-2] or "part" in parts[-4:-2])
    return (is_new or is_old) and frozenset(top_keys(head)) >= {"id"}


class OpencodeFiles:
    """One session in a tree of files."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    @contextmanager
    def open(self, counts: ReadCounts) -> Iterator[OpencodeSession | None]:
        fields = _read(self._path, counts)
        id = text_of(fields.get("id")) if fields else ""
        if not fields or not id:
            counts.lines += 1
            yield None
            return
        yield OpencodeSession(id=id, fields=fields, messages=self._messages(id, counts))

    def has_parts_inside(self) -> bool:
        """Whether its messages hold their parts themselves, as the earliest versions wrote them: then nothing
        of what was done can be told."""
        counts = ReadCounts()
        session = _safe(text_of(_read(self._path, counts).get("id")))
        first: Plain = next(_all_of(self._root / "message" / session, counts), {})
        return isinstance(first.get("parts"), list)

    @property
    def _is_old(self) -> bool:
        return self._path.parent.name == _INFO

    @property
    def _root(self) -> Path:
        return self._path.parents[1] if self._is_old else self._path.parents[2]

    def _messages(self, session: str, counts: ReadCounts) -> Iterator[OpencodeMessage]:
        is_old, root = self._is_old, self._root
        for fields in sorted(_all_of(root / "message" / session, counts), key=_order):
            parts = root / "part" / session if is_old else root / "part"
            own = parts / _safe(text_of(fields.get("id")))
            yield OpencodeMessage(fields=fields, parts=_all_of(own, counts))


def _all_of(folder: Path, counts: ReadCounts) -> Iterator[Plain]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        counts.skip(FILE_UNREADABLE)
        return
    for name in names:
        if fields := _read(folder / name, counts):
            yield fields


def _read(path: Path, counts: ReadCounts) -> Plain:
    try:
        content = whole_of(str(path), *_THING_MAX) if path.is_file() else None
        fields = object_of(parse_json(content)) if content else {}
    except (OSError, ValueError):
        counts.lines += 1
        counts.skip(BROKEN)
        return {}
    counts.bytes += len(content or b"")
    if not fields:
        counts.lines += 1
        counts.skip(NO_OBJECT)
    return fields


def _order(fields: Plain) -> tuple[float, str]:
    created = moment(object_of(fields.get("time")).get("created"))
    return (created.timestamp() if created else 0.0, text_of(fields.get("id")))


def _safe(id: str) -> str:
    """An id as a name in a folder: one that would lead out of it leads nowhere."""
    return id if id and os.sep not in id and id not in (".", "..") and "\x00" not in id else "-"


_PASSED = words("""
    reasoning file step-start step-finish snapshot patch agent subtask retry compaction todo source source-url
    source-document
""")
_ABORTED = "MessageAbortedError"
_OLDER = "its messages hold their parts themselves, an older form that is not read"


class OpencodeReader:
    """Reads what opencode keeps in its data folder."""

    agent = TranscriptAgent.OPENCODE

    def recognises(self, head: bytes, path: str) -> bool:
        return is_database(head, path) or is_session_file(head, path)

    def is_part(self, head: bytes, path: str) -> bool:
        return is_part_file(head, path)

    def sources(self, found: TranscriptSource) -> Iterator[TranscriptSource]:
        if is_session_file(b"", found.path):
            is_older = OpencodeFiles(found.path).has_parts_inside()
            yield replace(found, agent=None, problem=_OLDER, looks_like="opencode") if is_older else found
        else:
            yield from OpencodeDatabase(found.path).sources(found)

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        things = OpencodeDatabase(source.path, source.part) if source.part else OpencodeFiles(source.path)
        with things.open(counts) as session:
            if session is None:
                return
            _know(session, assembly)
            for message in session.messages:
                counts.lines += 1
                _tell(message, assembly, counts)
                yield


def _know(session: OpencodeSession, assembly: Assembly) -> None:
    assembly.speak_of(session.id)
    # As it is called in files, and in the database.
    assembly.parent = text_of(session.fields.get("parentID")) or text_of(session.fields.get("parent_id"))
    assembly.know(
        folder=session.fields.get("directory"),
        title=session.fields.get("title"),
        agent_version=session.fields.get("version"),
    )


def _tell(message: OpencodeMessage, assembly: Assembly, counts: ReadCounts) -> None:
    role = message.fields.get("role")
    at = object_of(message.fields.get("time")).get("created")
    if role == "user":
        said = _own_words(message, counts)
        if said.strip():
            assembly.begin(said, at)
    elif role == "assistant":
        assembly.know(model=message.fields.get("modelID"))
        is_summary = message.fields.get("summary") is True or message.fields.get("mode") == "compaction"
        for part in message.parts:
            counts.lines += 1
            if problem := _tell_part(part, assembly, at, is_summary=is_summary):
                counts.skip(problem)
        _end(object_of(message.fields.get("error")), assembly)
    else:
        counts.skip(UNKNOWN)


def _own_words(message: OpencodeMessage, counts: ReadCounts) -> str:
    """What the user wrote: the harness adds texts of its own, and says so."""
    texts = []
    for part in message.parts:
        counts.lines += 1
        kind = text_of(part.get("type"))
        if kind == "text":
            if part.get("synthetic") is not True and part.get("ignored") is not True:
                texts.append(without_reminders(text_of(part.get("text"))))
        elif kind not in _PASSED:
            counts.skip(UNKNOWN)
    return "\n".join(text for text in texts if text.strip())


def _tell_part(part: Plain, assembly: Assembly, at: object, *, is_summary: bool) -> str:
    kind = text_of(part.get("type"))
    if kind == "text":
        text = text_of(part.get("text"))
        is_own = part.get("synthetic") is not True and part.get("ignored") is not True
        if text.strip() and is_own and not is_summary:
            began = object_of(part.get("time")).get("start")
            assembly.say(text, began or at)
        return ""
    if kind == "tool":
        return _tell_tool(part, assembly, at)
    return "" if kind in _PASSED else UNKNOWN


def _tell_tool(part: Plain, assembly: Assembly, at: object) -> str:
    id = (text_of(part.get("callID")) or text_of(part.get("id")))[: limits.ID_CHARS_MAX]
    name = text_of(part.get("tool"))[: limits.ID_CHARS_MAX]
    if not id.strip() or not name.strip():
        return UNKNOWN
    state = object_of(part.get("state"))
    time = object_of(state.get("time"))
    assembly.call(id, name, object_of(state.get("input")), time.get("start") or at)
    if state.get("status") in ("completed", "error"):
        output = state.get("output")
        text = output if type(output) is str else "\n".join(text_of(item) for item in list_of(output))
        is_error = state.get("status") == "error" or None
        if is_error:
            text = text_of(state.get("error")) or text
        code = whole_number(object_of(state.get("metadata")).get("exit"))
        ended = time.get("end") or at
        assembly.answer(id, without_reminders(text), ended, exit_code=code, is_error=is_error)
    return ""


def _end(error: Plain, assembly: Assembly) -> None:
    if error:
        is_aborted = error.get("name") == _ABORTED
        assembly.end(RunStatus.INTERRUPTED if is_aborted else RunStatus.FAILED)
