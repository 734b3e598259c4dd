"""Totals that survive restarts, switches, notes, and the pruning of kept answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from runlore.domain.text.safe_text import make_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import Switch
from runlore.storage.sql import answers
from runlore.storage.sql.columns import check_storable
from runlore.storage.sql.session import SqlCollection, writing

_ADD = (
    "INSERT INTO counters (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value"
)
_TURN = (
    "INSERT INTO switches (name, is_on, at_ms, actor) VALUES (?, ?, ?, ?) ON CONFLICT (name)"
    " DO UPDATE SET is_on = excluded.is_on, at_ms = excluded.at_ms, actor = excluded.actor"
)
_NOTE = "INSERT INTO notes (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body"


class SqlCounters(SqlCollection):
    """Totals that survive restarts, and switches."""

    def values(self, prefix: str = "") -> dict[str, int]:
        sql = "SELECT name, value FROM counters WHERE substr(name, 1, CAST(? AS INTEGER)) = ? ORDER BY name"
        return dict(self._session.rows(sql, (len(prefix), prefix)))

    @writing
    def add(self, amounts: Mapping[str, int]) -> None:
        """Add to counters, made where they are missing, in the order of their names, so that two who add
        never wait for each other. Call it last in a transaction: rows are contended."""
        self._execute(_ADD, *sorted(amounts.items()))

    def switch(self, name: str) -> Switch | None:
        """A switch; None when nobody has touched it."""
        row = self._first("SELECT is_on, at_ms, actor FROM switches WHERE name = ?", name)
        if row is None:
            return None
        is_on, at_ms, actor = row
        return Switch(name=name, on=bool(is_on), at=from_milliseconds(at_ms), actor=actor)

    @writing
    def set_switch(self, switch: Switch) -> None:
        check_storable(switch.name, switch.actor)
        self._execute(_TURN, (switch.name, int(switch.on), to_milliseconds(switch.at), switch.actor))

    def note(self, name: str) -> str | None:
        row = self._first("SELECT body FROM notes WHERE name = ?", name)
        return None if row is None else str(row[0])

    @writing
    def set_note(self, name: str, text: str) -> None:
        self._execute(_NOTE, (name, make_storable(text)))

    def newest_at(self) -> datetime | None:
        """The latest moment that a record or a run is stamped with; None where there are none."""
        sql = "SELECT (SELECT max(moved_at_ms) FROM records), (SELECT max(opened_at_ms) FROM runs)"
        stamps = [stamp for stamp in self._session.rows(sql)[0] if stamp is not None]
        return from_milliseconds(max(stamps)) if stamps else None

    def any_promoted(self) -> bool:
        """Whether a skill was ever promoted, by its record or by its row in the catalogue."""
        sql = "SELECT 1 FROM promoted_skills UNION ALL SELECT 1 FROM skills WHERE origin = 'promoted' LIMIT 1"
        return bool(self._session.rows(sql))

    def any_skipped(self) -> bool:
        """Whether a suggestion is skipped."""
        return bool(self._session.rows("SELECT 1 FROM suggestions WHERE state = 'skipped' LIMIT 1"))

    @writing
    def prune_answers(self, before: datetime) -> int:
        """Delete kept answers of idempotency keys from before a moment: how many there were."""
        return answers.prune(self._session, before)

    @writing
    def forget_answers(self, ids: Sequence[str]) -> int:
        """Delete kept answers that name any of these records, runs or sessions: how many there were."""
        return answers.forget(self._session, ids)
