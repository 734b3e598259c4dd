"""A real PostgreSQL server that the tests start for themselves, in a scratch folder of its own.

It listens on a unix socket in a private folder, and on loopback behind a random password. It never
runs as root, and it does not outlive the process that started it.
"""

import atexit
import base64
import hashlib
import hmac
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString, Self
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests import die_with_parent
from tests.memory_folder import MEMORY, find_memory_folder
from tests.system_programs import find_postgres
from tests.waiting import PATIENCE_S

ROLE = "runlore"
POLL_S = 0.02
PORT_ATTEMPTS_MAX = 5
SCRATCH_PREFIX = "runlore-pg-"
# Like the folder in memory it is short, since a socket's path has room for about a hundred bytes, and open to
# every account.
DISK = Path("/tmp")

SETTINGS = (
    "autovacuum=off",
    "shared_buffers=64MB",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_min_messages=warning",
)
# The whole cluster is thrown away with the tests, so nothing of it has to reach a disk.
THROWAWAY_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "min_wal_size=32MB",
    "max_wal_size=256MB",
)
_STATEMENT = re.compile(r"LOG:  (?:execute [^:]+|statement): (.*)")
# A password of random bits needs no stretching, which would be a tenth of what a short test costs its client.
SCRAM_ROUNDS = 1


class PostgresFailed(Exception):
    """The server did not start; the text is what it logged."""


class PostgresServer:
    """One cluster and its server. With `durable` it syncs to disk as a server that matters does."""

    def __init__(self, *, durable: bool = False) -> None:
        self._programs = find_postgres()
        self._settings = SETTINGS if durable else SETTINGS + THROWAWAY_SETTINGS
        self._password = secrets.token_urlsafe(16)
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: psycopg.Connection | None = None
        remove_leftovers()
        root = DISK if durable else find_memory_folder() or DISK
        self.scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-", dir=root))
        atexit.register(self.close)
        self._make_cluster()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def url(self, database: str = "postgres") -> str:
        """The address over loopback, in the shape that a team's setting has."""
        return f"postgresql://{ROLE}:{self._password}@127.0.0.1:{self._port}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        """The address of the unix socket."""
        return f"postgresql://{ROLE}@/{database}?host={quote(str(self._sockets), safe='')}&port={self._port}"

    def start(self) -> None:
        """Start the server on its data and wait until it answers."""
        assert self._process is None, "the server is running already"
        for _ in range(PORT_ATTEMPTS_MAX):
            self._process = self._launch()
            if self._answers(self._process):
                return
            self._process = None
            if "Address already in use" not in self._log():
                break
            # Somebody took the port between our look at it and the server's.
            self._port = _free_port()
        raise PostgresFailed(self._log())

    def kill(self) -> None:
        """End the server as a crash does: clients are cut off and the next start has to recover."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the server and delete its data; a second call does nothing."""
        self.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)
        atexit.unregister(self.close)

    @contextmanager
    def database(self, *, template: str = "template0") -> Iterator[str]:
        """The address of a fresh database that is gone afterwards, its connections cut."""
        name = self.make_database(template=template)
        try:
            yield self.url(name)
        finally:
            self.drop_database(name)

    def make_database(self, *, template: str = "template0") -> str:
        """The name of a fresh database."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        )
        return name

    def drop_database(self, name: str) -> None:
        """Cut its connections and delete it; nothing to do for one that is gone already."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def execute(self, statement: sql.Composed | LiteralString, *parameters: str) -> list[tuple[Any, ...]]:
        """Run a statement as the server's owner."""
        if self._admin is None or self._admin.broken:
            self._admin = psycopg.connect(self.socket_url(), autocommit=True)
        cursor = self._admin.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []

    def note_statements(self, url: str) -> None:
        """Have the log tell each statement of a database, for connections that are made from now on."""
        name = str(conninfo_to_dict(url)["dbname"])
        self.execute(sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(sql.Identifier(name)))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Those that are run meanwhile, of the databases of which the log tells them."""
        noted: list[str] = []
        before = len(self._log())
        yield noted
        noted += _STATEMENT.findall(self._log()[before:])

    @property
    def _data(self) -> Path:
        return self.scratch / "data"

    @property
    def _sockets(self) -> Path:
        return self.scratch / "s"

    def _make_cluster(self) -> None:
        password_file = self.scratch / "password"
        password_file.write_text(_scram_secret(self._password))
        self._sockets.mkdir(mode=0o700)
        for path in (self.scratch, self._sockets, password_file):
            os.chown(path, *_account())
        done = subprocess.run(
            _without_privileges(
                *(self._programs / "initdb", "--pgdata", self._data, "--username", ROLE, "--no-sync"),
                *("--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256"),
                *("--pwfile", password_file),
            ),
            cwd=self.scratch,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise PostgresFailed(f"initdb failed:\n{done.stdout}{done.stderr}")

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = [part for setting in self._settings for part in ("-c", setting)]
        with (self.scratch / "log").open("wb") as log:
            return subprocess.Popen(
                _without_privileges(
                    *(self._programs / "postgres", "-D", self._data, "-k", self._sockets),
                    *("-h", "127.0.0.1", "-p", str(self._port), *settings),
                ),
                cwd=self.scratch,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until it takes connections; false when it ended instead."""
        give_up_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_at:
            with suppress(psycopg.OperationalError):
                self._admin = psycopg.connect(self.socket_url(), autocommit=True)
                return True
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
                return False
        process.kill()
        process.wait()
        return False

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.scratch),
            "LC_ALL": "C",
            "TZ": "UTC",
        }

    def _log(self) -> str:
        return (self.scratch / "log").read_text(errors="replace")


def remove_leftovers() -> None:
    """End the servers and delete the folders of test runs that were killed."""
    for folder in chain(DISK.glob(f"{SCRATCH_PREFIX}*"), MEMORY.glob(f"{SCRATCH_PREFIX}*")):
        owner = folder.name.removeprefix(SCRATCH_PREFIX).partition("-")[0]
        if not owner.isdigit() or _is_alive(int(owner)) or not _is_ours(folder):
            continue
        with suppress(OSError, ValueError):
            server = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
            # The id may belong to somebody else by now: only a server on this very folder is ours to end.
            if str(folder) in _command_line(server):
                os.kill(server, signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> tuple[int, int]:
    """User and group to run as. PostgreSQL refuses to run as root, and so do we."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise PostgresFailed("there is neither a user postgres nor a user nobody to run the server as")


def _without_privileges(*command: str | Path) -> list[str]:
    """The command, run by the account above, and ended at once when this process ends."""
    who = (os.getpid(), int(signal.SIGQUIT), *_account())
    return [sys.executable, "-I", die_with_parent.__file__, *map(str, (*who, *command))]


def _scram_secret(password: str) -> str:
    """What the server stores of a password, in its own notation, so that it stores no other."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, SCRAM_ROUNDS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    keys = (salt, stored_key, hmac.digest(salted, b"Server Key", "sha256"))
    salt_text, stored_text, server_text = (base64.b64encode(key).decode() for key in keys)
    return f"SCRAM-SHA-256${SCRAM_ROUNDS}:{salt_text}${stored_text}:{server_text}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_ours(folder: Path) -> bool:
    """Anybody can make a folder of that name, or a link; we follow none and touch only our own."""
    try:
        return not folder.is_symlink() and folder.stat().st_uid in {os.geteuid(), _account()[0]}
    except OSError:
        return False


def _command_line(process_id: int) -> str:
    if sys.platform == "linux":
        return Path(f"/proc/{process_id}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    told = subprocess.run(
        ["ps", "-p", str(process_id), "-o", "command="], capture_output=True, text=True, check=False
    )
    return told.stdout
