"""What a daemon stands on, part by part: its sockets, its file, its tokens, its log, its last resort."""

import asyncio
import json
import logging
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runlore.api.app import Api
from runlore.config.server import ServerSettings
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.parts import Parts
from runlore.daemon.process.logs import RotatingLog, follow_policy
from runlore.daemon.process.server import is_loopback, make_plan
from runlore.daemon.process.sockets import (
    DAEMON_FILE,
    SOCKET_PATH_BYTES_MAX,
    DaemonFile,
    bind_unix,
    is_listening,
    read_daemon_file,
    socket_path,
    write_daemon_file,
)
from runlore.daemon.process.tokens import TokenBook, operator_secret
from runlore.daemon.token_file import read_secret
from runlore.daemon.wiring import open_parts
from runlore.domain.errors import Denied, RunloreError
from runlore.domain.policies.policy import PolicyName, RetentionPolicy
from runlore.domain.scope import WORKSPACE
from runlore.ports.operations import Caller, NewToken, PolicyChange, Role
from runlore.ports.store import Snapshot, Store
from tests.world import World

pytestmark = pytest.mark.req("OPS-5")


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """An opened Runlore."""
    opened = open_parts(Settings(state_root=str(tmp_path / "home")))
    yield opened
    opened.close()


def code_of(error: pytest.ExceptionInfo[RunloreError]) -> str:
    """The stable code of what was raised."""
    return error.value.code


def test_the_socket_lies_in_the_state_root_where_its_path_fits(tmp_path: Path) -> None:
    assert socket_path(str(tmp_path), {}) == str(tmp_path / "daemon.sock")


@pytest.mark.parametrize("run_time", ["", "relative", "/nowhere/at/all"])
def test_a_deep_state_root_has_its_socket_in_a_short_private_place(tmp_path: Path, run_time: str) -> None:
    deep, other = (str(tmp_path.joinpath(*[name * 20] * 8)) for name in ("deep-", "other"))

    path = socket_path(deep, {"XDG_RUNTIME_DIR": run_time})

    assert len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX
    assert path.startswith(f"/tmp/runlore-{os.getuid()}/")
    assert path == socket_path(deep, {}) != socket_path(other, {})


def test_two_names_of_one_state_root_have_one_socket(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-rather-deep-folder"] * 8)
    deep.mkdir(parents=True)
    (tmp_path / "link").symlink_to(deep)

    assert socket_path(str(tmp_path / "link"), {}) == socket_path(str(deep), {})


def test_a_stale_socket_is_replaced_and_a_live_one_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sock")
    with bind_unix(path):
        assert is_listening(path)
        with pytest.raises(RunloreError) as refused:
            bind_unix(path)
        assert code_of(refused) == "daemon.running"
        assert is_listening(path)
    assert os.path.exists(path)
    assert not is_listening(path)

    with bind_unix(path):
        assert is_listening(path)
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600


def test_a_busy_daemon_is_there_all_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sock")
    with bind_unix(path) as listener:
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(path)

        assert is_listening(path)
        for each in waiting:
            each.close()


def test_a_link_in_place_of_the_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").symlink_to(tmp_path / "theirs")

    with pytest.raises(RunloreError) as refused:
        bind_unix(str(tmp_path / "ours" / "s.sock"))

    assert code_of(refused) == "server.socket"
    assert not list((tmp_path / "theirs").iterdir())


def test_the_file_of_a_daemon_is_private_and_read_back(tmp_path: Path) -> None:
    told = DaemonFile(pid=7, socket="/s", url=None, version="1", started_at="2026-01-01T00:00:00.000Z")

    write_daemon_file(str(tmp_path), told)

    assert read_daemon_file(str(tmp_path)) == told
    assert stat.S_IMODE((tmp_path / DAEMON_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [DAEMON_FILE]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 7}', '{"pid": "x"}', "\x00", "7"])
def test_a_damaged_file_of_a_daemon_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / DAEMON_FILE).write_text(text)

    assert read_daemon_file(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LocalHost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False), ("", False)),
    ],
)
def test_what_counts_as_this_machine(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_without_tcp_no_tls_is_wanted(tmp_path: Path) -> None:
    settings = Settings(state_root=str(tmp_path), server=ServerSettings(host="0.0.0.0", tcp=False))

    assert make_plan(settings).server.host == "0.0.0.0"
    with pytest.raises(RunloreError) as refused:
        make_plan(replace(settings, server=ServerSettings()), host="0.0.0.0")
    assert code_of(refused) == "server.tls"


def test_an_operators_token_is_made_once(parts: Parts) -> None:
    first, second = operator_secret(parts), operator_secret(parts)

    assert first == second == read_secret(parts.state_root)
    with parts.store.snapshot() as snapshot:
        assert [token.name for token in snapshot.tokens.everything()] == ["operator"]


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", b"rlt_not-ours\n"])
def test_a_file_that_names_no_token_gets_a_new_one(parts: Parts, left: bytes) -> None:
    secret = operator_secret(parts)
    path = Path(parts.state_root) / "operator.token"
    path.write_bytes(left)
    path.chmod(0o644)

    renewed = operator_secret(parts)

    assert renewed != secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenBook(parts.store, parts.clock, is_alone=True).authenticate(renewed).actor == "operator-2"


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("elsewhere", path)])
def test_a_pipe_or_a_link_in_place_of_the_operators_token_is_told_and_left(
    parts: Parts, put: Callable[[Path], object]
) -> None:
    path = Path(parts.state_root) / "operator.token"
    Path(parts.state_root, "elsewhere").write_text("rlt_somebody's\n")
    put(path)

    with pytest.raises(RunloreError, match=r"link|regular") as refused:
        operator_secret(parts)
    assert code_of(refused) == "token.file"
    assert not stat.S_ISREG(path.lstat().st_mode)
    with parts.store.snapshot() as snapshot:
        assert snapshot.tokens.everything() == ()


def test_a_token_with_a_limit_is_not_the_operators_own(parts: Parts) -> None:
    operator = Application(parts, Caller(actor="operator", role=Role.OPERATOR))
    limited = NewToken(name="shop team", role=Role.OPERATOR, scopes=frozenset({WORKSPACE}))
    made = operator.create_token(limited)
    (Path(parts.state_root) / "operator.token").write_text(made.secret)

    renewed = operator_secret(parts)

    assert TokenBook(parts.store, parts.clock, is_alone=True).authenticate(renewed) == operator.caller


def test_a_lost_operators_token_stays_good_and_the_log_says_so(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    lost = operator_secret(parts)
    assert caplog.text == ""
    (Path(parts.state_root) / "operator.token").unlink()

    renewed = operator_secret(parts)

    assert TokenBook(parts.store, parts.clock, is_alone=True).authenticate(lost).actor == "operator"
    assert "operator-2" in caplog.text
    assert "token revoke" in caplog.text
    assert lost not in caplog.text
    assert renewed not in caplog.text


@pytest.mark.parametrize(
    "name", ["operator", "Operator", "DAEMON", "\uff4fperator", "default ", "operator-2", "OPERATOR-x"]
)
def test_no_token_takes_a_name_that_would_be_read_as_runlores_own(parts: Parts, name: str) -> None:
    operator = Application(parts, Caller(actor="operator", role=Role.OPERATOR))

    with pytest.raises(RunloreError) as refused:
        operator.create_token(NewToken(name=name, role=Role.AGENT))

    assert code_of(refused) == "token.reserved"
    assert operator.create_token(NewToken(name="operators", role=Role.AGENT)).token.name == "operators"


class MeanwhileRevoked:
    """A store in which the token is revoked, and the book told so, while it is being looked up."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.book: TokenBook | None = None

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Reads what was there before the revocation."""
        with self._store.snapshot() as snapshot:
            yield snapshot
        if self.book is not None:
            self.book.invalidate()


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered(parts: Parts) -> None:
    secret = operator_secret(parts)
    store: Any = MeanwhileRevoked(parts.store)
    book = TokenBook(store, parts.clock, is_alone=True)

    book.authenticate(secret)
    assert book.authenticate_from_cache(secret) is not None
    book.invalidate()
    store.book = book
    book.authenticate(secret)

    assert book.authenticate_from_cache(secret) is None


def test_what_no_token_names_is_not_remembered(parts: Parts) -> None:
    book = TokenBook(parts.store, parts.clock, is_alone=True)

    for secret in ("", "x", "x" * 100_000, "\ud800"):
        with pytest.raises(Denied):
            book.authenticate(secret)
        assert book.authenticate_from_cache(secret) is None


@pytest.mark.req("OPS-6")
def test_the_log_is_rotated_by_its_size_and_old_ones_go(tmp_path: Path) -> None:
    log = RotatingLog(str(tmp_path / "logs" / "daemon.log"))
    log.maxBytes = 1_000
    log.backupCount = 4
    for number in range(200):
        log.emit(
            logging.LogRecord("runlore", logging.INFO, "", 0, f"line {number:04} {'x' * 50}", None, None)
        )
    names = {path.name: path.stat() for path in (tmp_path / "logs").iterdir()}

    log.follow(RetentionPolicy(log_mb_max=1, logs_kept=2))
    log.close()

    assert set(names) == {"daemon.log", *(f"daemon.log.{number}" for number in range(1, 5))}
    assert all(status.st_size <= 1_000 for status in names.values())
    assert all(stat.S_IMODE(status.st_mode) == 0o600 for status in names.values())
    assert {path.name for path in (tmp_path / "logs").iterdir()} == {
        "daemon.log",
        "daemon.log.1",
        "daemon.log.2",
    }
    assert log.maxBytes == 1024**2


@pytest.mark.req("OPS-6")
def test_the_log_follows_the_policy_in_force(tmp_path: Path) -> None:
    world = World(Settings(state_root=str(tmp_path / "home")))
    log = RotatingLog(str(tmp_path / "logs" / "daemon.log"))
    change = PolicyChange(name=PolicyName.RETENTION, policy={"log_mb_max": 3, "logs_kept": 7})
    world.operator.put_policy(change)

    follow_policy(log, world.parts.store)

    assert (log.maxBytes, log.backupCount) == (3 * 1024**2, 7)
    log.close()
    world.close()


@pytest.mark.req("SUR-3")
def test_a_mistake_of_ours_is_told_without_its_details_and_logged_with_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    # Without a service every operation fails in a way that nobody foresaw.
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/memory/states",
        "query_string": b"",
        "headers": [],
        "runlore.service": "no service",
        "runlore.caller": "nobody",
        "runlore.over_unix": True,
    }
    asyncio.run(Api()(scope, receive, send))

    told = json.loads(sent[1]["body"])
    assert (sent[0]["status"], told["code"], told["status"]) == (500, "internal", 500)
    assert "no service" not in str(told)
    assert "Traceback" not in str(told)
    printed = capsys.readouterr()
    assert "AttributeError" in printed.out + printed.err
