"""A real daemon: how it starts, whom it lets in, how it stops, and what a dead one leaves to the next."""

import http.client
import json
import os
import resource
import signal
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from runlore.daemon.process.sockets import SOCKET_PATH_BYTES_MAX, is_listening, read_daemon_file, socket_path
from tests.certificate import loopback_certificate
from tests.stories.daemon_process import Daemon, daemon
from tests.surfaces.api_client import TIMEOUT_S, UnixConnection, call

# A certificate for loopback names with its key, of no use for anything else.
CERTIFICATE = loopback_certificate()

pytestmark = pytest.mark.req("OPS-5", "SUR-3")


@pytest.fixture
def home(clean_home: Path) -> Path:
    """A state root that nobody has made yet."""
    return clean_home / "runlore"


def mode(path: Path | str) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_first_start_makes_a_token_and_private_files_and_answers(
    request: pytest.FixtureRequest, home: Path, database: str
) -> None:
    url = request.getfixturevalue("postgres_database") if database == "postgres" else None

    with daemon(home, database_url=url) as served:
        told = read_daemon_file(str(home))
        assert told is not None
        assert (told.pid, told.socket) == (served.process.pid, served.said["socket"])
        # What a daemon has loaded is not looked through for garbage while it answers.
        assert served.said["frozen"] > 10_000
        assert served.call("GET", "/readyz").json == {"ready": True, "reasons": []}
        assert served.call("GET", "/v1/status").json["store"]["engine"] == ("postgresql" if url else "sqlite")
        over_tcp = http.client.HTTPConnection(str(told.url).removeprefix("http://"), timeout=TIMEOUT_S)
        headers = {"Authorization": f"Bearer {served.secret}"}
        assert call(over_tcp, "GET", "/v1/status", headers=headers).status == 200
        assert mode(home) == 0o700
        for name in ("operator.token", "daemon.json", "daemon.lock", "daemon.sock"):
            assert mode(home / name) == 0o600, name
        code, log = served.stop()

    assert code == 0, log
    assert {"daemon.sock", "daemon.json"}.isdisjoint(path.name for path in home.iterdir())
    for line in log.splitlines():
        assert json.loads(line)["level"] in {"info", "warning"}, line
    assert served.secret not in log


def test_the_token_is_kept_and_a_deleted_one_is_made_anew(home: Path) -> None:
    with daemon(home) as first:
        secret = first.secret
        first.stop()
    with daemon(home) as second:
        assert second.secret == secret
        assert second.call("GET", "/v1/status").status == 200
        second.stop()
    (home / "operator.token").unlink()
    with daemon(home) as third:
        assert third.secret != secret
        assert third.call("GET", "/v1/status").status == 200
        assert third.call("POST", "/v1/tokens/operator/revoke").status == 200
        third.stop()
    (home / "operator.token").write_text(secret)
    with daemon(home) as fourth:
        assert fourth.secret != secret, "a revoked token is no operator's any more"
        assert fourth.call("GET", "/v1/status").status == 200


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_second_daemon_is_refused_and_the_first_goes_on(
    request: pytest.FixtureRequest, home: Path, database: str
) -> None:
    url = request.getfixturevalue("postgres_database") if database == "postgres" else None

    with daemon(home, database_url=url) as first, daemon(home, database_url=url) as second:
        assert second.end()[0] == 3
        assert second.said["code"] == "daemon.running"
        assert str(first.process.pid) in second.said["detail"]
        assert first.call("GET", "/v1/status").status == 200
        assert is_listening(first.said["socket"])


def test_two_daemons_share_one_postgresql(clean_home: Path, new_postgres_database: str) -> None:
    with (
        daemon(clean_home / "one", database_url=new_postgres_database) as one,
        daemon(clean_home / "two", database_url=new_postgres_database) as two,
    ):
        session = one.call("POST", "/v1/sessions", {"title": "shared"}).json["session_id"]

        assert two.call("GET", f"/v1/sessions/{session}").json["title"] == "shared"
        assert one.secret != two.secret


def test_a_call_in_flight_is_finished_when_it_stops(home: Path) -> None:
    with daemon(home) as served:
        connection = UnixConnection(served.said["socket"])
        body = json.dumps({"key": "editor", "value": "helix", "reason": "they said so"}).encode()
        connection.putrequest("POST", "/v1/memory/profile-proposals")
        connection.putheader("Authorization", f"Bearer {served.secret}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:10])
        assert served.call("GET", "/healthz").status == 200, "the first half has arrived before this"
        ended: list[tuple[int, str]] = []
        stopping = threading.Thread(target=lambda: ended.append(served.stop()))
        stopping.start()
        while is_listening(served.said["socket"]):
            pass
        connection.send(body[10:])
        answer = connection.getresponse()
        assert answer.status == 201
        record = json.loads(answer.read())["record_id"]
        connection.close()
        stopping.join(TIMEOUT_S)

    assert ended[0][0] == 0, ended
    with daemon(home) as again:
        assert again.call("GET", f"/v1/memory/records/{record}").status == 200


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_after_a_kill_the_next_one_replaces_what_was_left(
    request: pytest.FixtureRequest, home: Path, database: str
) -> None:
    url = request.getfixturevalue("postgres_database") if database == "postgres" else None
    with daemon(home, database_url=url) as first:
        session = first.call("POST", "/v1/sessions", {"title": "kept"}).json["session_id"]
        (home / "incoming").mkdir(exist_ok=True)
        (home / "incoming" / "import-half").write_bytes(b"{")
        first.kill()
    assert (home / "daemon.sock").exists()
    assert not is_listening(str(home / "daemon.sock"))

    with daemon(home, database_url=url) as second:
        assert second.call("GET", f"/v1/sessions/{session}").json["title"] == "kept"
        assert not (home / "incoming" / "import-half").exists()
        assert second.stop()[0] == 0


def test_a_state_root_too_deep_for_a_socket_is_served_all_the_same(clean_home: Path) -> None:
    home = clean_home.joinpath(*["a-rather-deep-folder"] * 8)
    run_time = clean_home / "run"
    run_time.mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": str(run_time)}

    with daemon(home, environment=environment) as served:
        path = socket_path(str(home), environment)
        assert served.said["socket"] == path
        assert len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX
        assert (mode(path), mode(os.path.dirname(path))) == (0o600, 0o700)
        assert served.call("GET", "/v1/status").status == 200
        assert served.stop()[0] == 0
        assert not os.path.exists(path)


def test_a_file_in_the_socket_s_place_is_not_overwritten(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "daemon.sock").write_text("precious")

    with daemon(home) as refused:
        assert refused.said["code"] == "server.socket"
        assert refused.end()[0] == 3

    assert (home / "daemon.sock").read_text() == "precious"
    assert not (home / "daemon.json").exists()


def test_a_port_that_is_taken_is_told(home: Path) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, daemon(home, server={"port": taken.getsockname()[1]}) as refused:
        assert refused.said["code"] == "server.listen"
        assert "--port" in refused.said["hint"]
        assert refused.end()[0] == 3

    assert not (home / "daemon.sock").exists()


def test_tcp_can_be_switched_off(home: Path) -> None:
    with daemon(home, server={"tcp": False}) as served:
        assert served.said["url"] is None
        assert served.call("GET", "/v1/status").status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example"])
def test_beyond_this_machine_it_wants_tls(home: Path, host: str) -> None:
    with daemon(home, server={"host": host, "port": 0}) as refused:
        assert refused.said["code"] == "server.tls"
        assert refused.end()[0] == 3

    assert not home.exists()


def test_over_tls_it_answers_and_the_unix_socket_stays_plain(home: Path) -> None:
    tls = {"tls_certificate": str(CERTIFICATE), "tls_key": str(CERTIFICATE)}
    with daemon(home, server={"host": "0.0.0.0", "port": 0, "allowed_hosts": ["localhost"], **tls}) as served:
        port = int(served.said["url"].rpartition(":")[2])
        trust = ssl.create_default_context(cafile=str(CERTIFICATE))
        over_tls = http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_S, context=trust)
        headers = {"Authorization": f"Bearer {served.secret}"}

        assert served.said["url"].startswith("https://")
        assert call(over_tls, "GET", "/v1/status", headers=headers).status == 200
        assert served.call("GET", "/v1/status").status == 200
        with pytest.raises((http.client.HTTPException, OSError)):
            call(http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S), "GET", "/healthz")
        assert served.stop()[0] == 0


@pytest.mark.parametrize("missing", ["tls_key", "tls_certificate"])
def test_half_of_a_tls_pair_is_refused(home: Path, missing: str) -> None:
    pair = {"tls_certificate": str(CERTIFICATE), "tls_key": str(CERTIFICATE)}
    with daemon(home, server={**pair, missing: None}) as refused:
        assert refused.said["code"] == "server.tls"
        refused.end()


def test_a_certificate_that_is_none_is_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "not.pem").write_text("not a certificate")
    broken = str(tmp_path / "not.pem")
    with daemon(home, server={"port": 0, "tls_certificate": broken, "tls_key": broken}) as refused:
        assert refused.said["code"] == "server.tls"
        refused.end()

    assert not (home / "daemon.sock").exists()


@pytest.mark.req("OPS-1", "PRF-2")
def test_when_the_disk_fails_it_reads_on_for_a_while_says_so_and_ends_with_an_error(home: Path) -> None:
    with daemon(home, degraded_s=3.0) as served:
        session = served.call("POST", "/v1/sessions", {"title": "kept"}).json["session_id"]
        let_files_grow(served, (home / "runlore.db-wal").stat().st_size)

        writing = served.call("POST", "/v1/sessions", {"title": "lost"})
        let_files_grow(served, resource.RLIM_INFINITY)
        later = served.call("POST", "/v1/sessions", {"title": "lost"})
        readiness = served.call("GET", "/readyz")

        assert (writing.problem, later.problem) == ((503, "store.io"), (503, "store.io"))
        assert writing.headers["retry-after"]
        assert (readiness.status, readiness.json["ready"]) == (503, False)
        assert "store.io" in readiness.json["reasons"][0]
        assert served.call("GET", "/healthz").status == 200
        listed = served.call("GET", "/v1/sessions")
        assert [each["title"] for each in listed.json["items"]] == ["kept"]
        assert listed.headers["runlore-degraded"] == "store.io"
        # Nobody tells it to.
        code, log = served.end()

    assert code == 1
    assert "the disk has failed" in log
    assert ('"code": "not-ready"' in log, '"code": "internal"' in log) == (True, False)
    assert '"degraded": true' in log
    with daemon(home) as again:
        assert again.call("GET", f"/v1/sessions/{session}").json["title"] == "kept"
        assert again.call("POST", "/v1/sessions", {"title": "next"}).status == 201


def let_files_grow(served: Daemon, limit_bytes: int) -> None:
    """How large a file of the daemon may become: every write beyond it fails, as on a broken disk."""
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))


def test_interrupt_stops_it_as_well(home: Path) -> None:
    with daemon(home) as served:
        served.signal(signal.SIGINT)
        assert served.end()[0] == 0


def test_a_log_file_is_private_and_holds_no_secret_and_no_query(home: Path) -> None:
    path = home / "logs" / "daemon.log"
    with daemon(home, log_file=str(path)) as served:
        served.call("GET", "/v1/memory/search?query=very-private-words")
        served.call("POST", "/v1/memory/profile-proposals", {"key": "k", "value": "v-private", "reason": "r"})
        code, err = served.stop()

    text = path.read_text()
    assert (code, err) == (0, "")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert [json.loads(line)["event"] for line in text.splitlines()] == ["ready", "stopped"]
    assert "private" not in text.replace(str(home), "")
