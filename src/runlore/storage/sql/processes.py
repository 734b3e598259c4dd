"""The processes that execute runs, each under a lease."""

from collections.abc import Mapping
from datetime import datetime

from runlore.domain.run import ProcessId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.session import SqlCollection, writing

_HEARTBEAT = (
    "INSERT INTO processes (process_id, lease_until_ms, description) VALUES (?, ?, ?)"
    " ON CONFLICT (process_id) DO UPDATE SET lease_until_ms = excluded.lease_until_ms,"
    " description = excluded.description"
)
_LEASES = "SELECT process_id, lease_until_ms FROM processes ORDER BY process_id"
_DELETE = "DELETE FROM processes WHERE process_id = ?"


class SqlProcesses(SqlCollection):
    """The Runlore processes that execute runs, each under a lease."""

    @writing
    def heartbeat(self, process_id: ProcessId, *, lease_until: datetime, description: str) -> None:
        columns.check_storable(process_id, description)
        row = (process_id, to_milliseconds(lease_until), description)
        # On a full disk too: whoever cannot renew would lose the runs it is working on.
        self._execute(_HEARTBEAT, row)

    def leases(self) -> Mapping[ProcessId, datetime]:
        rows = self._session.rows(_LEASES)
        return {ProcessId(process_id): from_milliseconds(until_ms) for process_id, until_ms in rows}

    @writing
    def delete(self, process_id: ProcessId) -> None:
        self._execute(_DELETE, (process_id,))
