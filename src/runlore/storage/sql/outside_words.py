"""The words that runs read from outside, as fingerprints, in SQL that both databases run.

A fingerprint belongs to every source that brought it: when the first is gone the next is told. There is room
for so many; the oldest sources go.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b

from runlore.domain.batches import into_batches
from runlore.domain.run import RunId
from runlore.domain.taint_sources.fingerprints import FirstSeen
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.columns import check_storable
from runlore.storage.sql.session import IN_LIST_MAX, SqlCollection, in_list, writing

_WORD = (
    "INSERT INTO outside_words (fingerprint, source_key) VALUES (?, ?)"
    " ON CONFLICT (fingerprint, source_key) DO NOTHING"
)
_SOURCE = (
    "INSERT INTO outside_sources (source_key, run_id, source, seen_at_ms, words)"
    " VALUES (?, ?, ?, ?, (SELECT COUNT(*) FROM outside_words WHERE source_key = ?))"
    " ON CONFLICT (source_key) DO UPDATE SET words = excluded.words"
)
_FIND = (
    "SELECT w.fingerprint, s.source, s.seen_at_ms FROM outside_words w"
    " JOIN outside_sources s ON s.source_key = w.source_key WHERE w.fingerprint IN ({keys})"
    " ORDER BY s.seen_at_ms, s.source"
)
_SUM = "SELECT CAST(COALESCE(SUM(words), 0) AS BIGINT) FROM outside_sources"
_OLDEST = (
    "SELECT source_key, seen_at_ms, words FROM outside_sources"
    f" ORDER BY seen_at_ms, source_key LIMIT {IN_LIST_MAX}"
)
_OF_RUNS = "SELECT source_key FROM outside_sources WHERE run_id IN ({ids})"


class SqlOutsideWords(SqlCollection):
    """The words that runs read from outside, as fingerprints, each with the sources that brought it."""

    def is_empty(self) -> bool:
        return not self._session.rows("SELECT source_key FROM outside_sources LIMIT 1")

    def find(self, fingerprints: Iterable[int]) -> Mapping[int, FirstSeen]:
        """Where those of the fingerprints that are known were first seen."""
        found: dict[int, FirstSeen] = {}
        for chunk in into_batches(sorted(fingerprints), IN_LIST_MAX):
            for fingerprint, source, at_ms in self._session.rows(_FIND.format(keys=in_list(chunk)), chunk):
                if fingerprint not in found:
                    found[fingerprint] = FirstSeen(source=source, at=from_milliseconds(at_ms))
        return found

    @writing
    def record(self, run_id: RunId, at: datetime, brought: Mapping[str, Collection[int]]) -> None:
        """Keep what a run's sources brought, whether or not others have brought it before."""
        check_storable(run_id, *brought)
        self._session.make_room(freeing=False)
        keys = {_key(run_id, source): source for source, found in brought.items() if found}
        # In one order, whoever writes: two writers that wait for each other's rows would wait forever.
        words = sorted((each, key) for key, source in keys.items() for each in brought[source])
        sources = [(key, run_id, keys[key], to_milliseconds(at), key) for key in sorted(keys)]
        if words:
            self._run((_WORD, words), (_SOURCE, sources))

    @writing
    def prune(self, *, before: datetime, words_max: int) -> None:
        """Delete what was read before a moment, and of the rest the oldest until it is not too much."""
        [[kept]] = self._session.rows(_SUM)
        surplus = kept - words_max
        while rows := self._session.rows(_OLDEST):
            gone: list[int] = []
            for key, at_ms, words in rows:
                if surplus <= 0 and at_ms >= to_milliseconds(before):
                    break
                gone.append(key)
                surplus -= words
            self._delete(gone)
            if len(gone) < len(rows):
                break

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        self._delete([row[0] for row in self._rows_of(_OF_RUNS, run_ids)])

    def _delete(self, keys: Sequence[int]) -> None:
        rows = [(key,) for key in keys]
        if rows:
            tables = ("outside_words", "outside_sources")
            self._session.run([(f"DELETE FROM {table} WHERE source_key = ?", rows) for table in tables])


def _key(run_id: str, source: str) -> int:
    text = f"{run_id}\n{source}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True)
