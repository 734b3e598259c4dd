"""The beginnings of long texts, for lists: as much as is told is read, and not the rest.

A short text is read whole, and verified by its checksum. Of a long one the database gives the first piece.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonValue
from runlore.domain.run import Artifact, ArtifactId, RunId
from runlore.domain.runs.journal import text_of
from runlore.domain.session import SessionId
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds
from runlore.storage.sql import columns, journal_rows, texts
from runlore.storage.sql.session import STREAM_LARGE_ROWS, Row, SqlCollection, id_chunks, in_list

# In JSON one character takes up to six (`\u001f`); a name and the keys stand in front of a text.
_WIDEST = 6
_IN_FRONT_CHARS = 8_192
_ARTIFACTS = (
    "SELECT a.artifact_id, a.run_id, a.session_id, a.at_ms, a.bytes, t.owner, t.revision, t.checksum,"
    " substr(t.body, 1, CAST(? AS integer)) FROM artifacts a"
    f" {texts.join_clause('artifact', 'a', 'artifact_id')}"
    " WHERE a.run_id = ? ORDER BY a.at_ms, a.artifact_id"
)
# An input without metadata begins with its text. Where metadata stands in front there is no telling how much
# of it: then the whole is read, a few at a time.
_TEXT_FIRST = '{"text":"'
_REQUESTS = (
    f"SELECT {', '.join(f'e.{column}' for column in journal_rows.COLUMNS[:-1])},"
    f" CASE WHEN e.bytes > ? AND substr(e.body, 1, {len(_TEXT_FIRST)}) = ?"
    " THEN substr(e.body, 1, CAST(? AS integer)) ELSE e.body END FROM runs r"
    " JOIN journal e ON e.session_id = r.session_id AND e.number = r.input_number WHERE r.run_id IN ({ids})"
)


class SqlExcerpts(SqlCollection):
    """The part of `SqlRuns` that reads the beginnings of texts."""

    def artifact_excerpts(self, run_id: RunId, chars_max: int) -> tuple[Artifact, ...]:
        """A run's artifacts, oldest first, with at most so many characters of each text, and `whole_bytes`
        where that is not all; long texts are not read as a whole."""
        if not is_storable(run_id):
            return ()
        rows = self._session.stream(_ARTIFACTS, (_piece_chars(chars_max), run_id), at_once=STREAM_LARGE_ROWS)
        return tuple(_artifact(row, chars_max) for row in rows)

    def request_excerpts(self, run_ids: Sequence[RunId], chars_max: int) -> dict[RunId, str]:
        """At most so many characters of each run's input; long ones are not read as a whole."""
        found: dict[RunId, str] = {}
        piece = _piece_chars(chars_max)
        for chunk in id_chunks(run_ids):
            sql = _REQUESTS.format(ids=in_list(chunk))
            for row in self._session.stream(
                sql, (piece, _TEXT_FIRST, piece, *chunk), at_once=STREAM_LARGE_ROWS
            ):
                if row[2] is not None:
                    found[RunId(row[2])] = excerpt(_request(row, piece), chars_max)
        return found


def _piece_chars(chars_max: int) -> int:
    return _IN_FRONT_CHARS + _WIDEST * (chars_max + 1)


def _request(row: Row, piece_chars: int) -> str:
    session_id, number, _, _, _, length, _, body = row
    if length <= piece_chars or not body.startswith(_TEXT_FIRST):
        return text_of(journal_rows.read(row).body)
    try:
        return text_of(_parse_beginning(body))
    except ValueError as error:
        raise journal_rows.damage_error(session_id, number) from error


def _artifact(row: Row, chars_max: int) -> Artifact:
    artifact_id, run_id, session_id, at_ms, size, owner, _, _, body = row
    is_whole = body is None or len(body) < _piece_chars(chars_max)
    try:
        said = texts.read(row) if is_whole else _parse_beginning(body)
        name, text = str(said["name"]), str(said["text"])
    except Corrupt:
        raise
    except (ValueError, *columns.UNREADABLE) as error:
        raise texts.damage_error(owner or f"artifact:{artifact_id}") from error
    shown = excerpt(text, chars_max)
    return Artifact(
        artifact_id=ArtifactId(artifact_id),
        run_id=RunId(run_id),
        session_id=SessionId(session_id),
        name=name,
        text=shown,
        created_at=from_milliseconds(at_ms),
        whole_bytes=None if is_whole and shown == text else size,
    )


def _parse_beginning(piece: str) -> Mapping[str, JsonValue]:
    """The object that a piece of JSON begins, whose last value is a text that goes on behind the piece.

    Where the cut fell into an escape, the escape is left out.
    """
    for end in range(len(piece), len(piece) - _WIDEST, -1):
        try:
            return cast("Mapping[str, JsonValue]", orjson.loads(f'{piece[:end]}"}}'))
        except orjson.JSONDecodeError as error:
            failure = error
    raise failure
