"""PostgreSQL's errors as ours. No message repeats a password."""

import psycopg
from psycopg import conninfo, errors
from psycopg_pool import PoolClosed, PoolTimeout

from runlore.domain.errors import DISK_FULL, Corrupt, Invalid, RunloreError, Unavailable
from runlore.storage.sql.record_rows import unstorable

DRIVER_ERRORS = (psycopg.Error, UnicodeError, OverflowError)
_TRY_AGAIN = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.LockNotAvailable,
    errors.QueryCanceled,
)
_TOO_LARGE = (errors.ProgramLimitExceeded, errors.NumericValueOutOfRange, OverflowError)
_DAMAGE = (errors.DataCorrupted, errors.IndexCorrupted, errors.UndefinedTable, errors.UndefinedColumn)
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class ServerAddress:
    """What an address says about the server, without its secrets."""

    def __init__(self, url: str) -> None:
        try:
            parts = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's message quotes the part that it cannot read, which may be the password.
            raise Invalid(
                "the database URL cannot be read",
                code="store.url",
                hint="write it as postgresql://USER@HOST/DATABASE, special characters as %-escapes",
            ) from None
        self._password = str(parts.get("password") or "")
        host, port = parts.get("host") or "the local socket", parts.get("port") or 5432
        self.name = f"{parts.get('dbname') or parts.get('user') or 'the default database'} on {host}:{port}"

    def translate(self, error: Exception) -> RunloreError:
        if isinstance(error, UnicodeError | errors.UntranslatableCharacter | errors.CharacterNotInRepertoire):
            return unstorable()
        if isinstance(error, psycopg.DataError) and "NUL" in str(error):
            return unstorable()
        if isinstance(error, _TOO_LARGE):
            return Invalid(
                f"a value is too large: {self._redact(error)}",
                code="record.json",
                hint="use smaller numbers and texts",
            )
        if isinstance(error, _TRY_AGAIN):
            return self.busy(self._redact(error))
        return self._translate_other(error)

    def busy(self, why: str) -> Unavailable:
        return Unavailable(
            f"{self.name} is busy: {why}", code="store.busy", hint="try again; nothing was written"
        )

    def unreachable(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"{self.name} cannot be reached: {self._redact(error)}",
            code="store.unreachable",
            hint="start the server, or correct RUNLORE_DATABASE_URL; what was acknowledged is kept",
        )

    def _translate_other(self, error: Exception) -> RunloreError:
        if isinstance(error, errors.DiskFull | errors.OutOfMemory | errors.TooManyConnections):
            return Unavailable(
                f"{self.name} has no room left: {self._redact(error)}",
                code=DISK_FULL if isinstance(error, errors.DiskFull) else "store.busy",
                hint="free some on the server, then try again; nothing was written",
            )
        if isinstance(error, _DAMAGE):
            return Corrupt(
                f"{self.name} is damaged: {self._redact(error)}",
                code="store.damaged",
                hint="nothing was written; restore the database from a backup or an export",
            )
        if isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege):
            return Unavailable(
                f"{self.name} cannot be written: {self._redact(error)}",
                code="store.read-only",
                hint="name the primary server, and a role that owns the tables",
            )
        if isinstance(error, (*_LOST, PoolClosed, PoolTimeout)):
            return self.unreachable(error)
        return Unavailable(
            f"{self.name} answered with an error: {self._redact(error)} ({type(error).__name__})",
            code="store.server",
            hint="look at the server's log",
        )

    def _redact(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        return text.replace(self._password, "***") if self._password else text
