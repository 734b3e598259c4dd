"""Which Runlore a command reaches: an address, the daemon of the state root, or the state root itself."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from runlore.client.addresses import transport_to
from runlore.daemon.process.daemon_lock import lock_refusal
from runlore.daemon.process.sockets import socket_path
from runlore.domain.errors import Invalid, Refused, Unavailable
from runlore.storage.sqlite.files import StateLock
from tests.surfaces.api_client import Api
from tests.surfaces.command_line import Runlore
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-7")

PAGE = b'{"items": [], "next_cursor": null}'
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE)
# What a command through the socket does without: docs/decisions/0003-start-up.md.
HEAVY = (
    *("starlette", "uvicorn", "pydantic", "numpy", "apsw", "psycopg", "ssl"),
    "runlore.daemon.wiring",
)


class At(Runlore):
    """A command line whose environment names more than a state root."""

    def __init__(self, home: Path, **more: str) -> None:
        super().__init__(home)
        self.more = more

    @property
    def environment(self) -> dict[str, str]:
        """The state root's variables, and the others."""
        return {**super().environment, **self.more}


def address(api: Api) -> str:
    """Where a served Runlore is."""
    return f"http://127.0.0.1:{api.port}"


@pytest.fixture
def elsewhere(embedded_api: Api, clean_home: Path) -> At:
    """A command line with an empty state root of its own, and the address of a served one."""
    return At(clean_home / "mine", RUNLORE_URL=address(embedded_api), RUNLORE_TOKEN=embedded_api.secret)


def test_an_address_is_called_and_no_state_root_made(elsewhere: At) -> None:
    record_id = elsewhere.propose("editor", "vim")
    assert elsewhere.inspect(record_id)["created_by"] == "operator"
    assert not elsewhere.home.exists()


def test_the_flags_count_before_the_environment(elsewhere: At, embedded_api: Api, tmp_path: Path) -> None:
    elsewhere.propose("editor", "vim")
    states = ("memory", "list", "--state", "constrained")
    assert elsewhere.items(*states, "--home", str(tmp_path / "here")) == []
    token = tmp_path / "token"
    token.write_text(embedded_api.secret + "\n")
    plain = Runlore(tmp_path / "other")
    named = ("--url", address(embedded_api), "--token-file", str(token))
    assert len(plain.items(*states, *named)) == 1
    assert len(plain.items(*states, *named, "--home", str(tmp_path / "here"))) == 1


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("--url", "http://127.0.0.1:1"), "token.missing", 4),
        (("--url", ""), "token.missing", 4),
        (("--token-file", "PATH/none"), "url.missing", 2),
        (("--url", "http://127.0.0.1:1", "--token-file", "PATH/none"), "token.file", 4),
        (("--url", "http://127.0.0.1:1", "--token-file", "PATH/two"), "token.file", 2),
        (("--url", "http://127.0.0.1:1", "--token-file", "PATH/empty"), "token.file", 2),
        (("--url", "ftp://127.0.0.1", "--token-file", "PATH/good"), "url.format", 2),
        (("--url", "http://me:pass@127.0.0.1", "--token-file", "PATH/good"), "url.format", 2),
        (("--url", "http://127.0.0.1:99999", "--token-file", "PATH/good"), "url.format", 2),
        (("--url", "http://example.org", "--token-file", "PATH/good"), "url.plain", 2),
        (("--url", "http://127.0.0.1:1", "--token-file", "PATH/good"), "daemon.unreachable", 3),
    ],
)
def test_what_is_wrong_with_an_address_or_its_token_is_told_without_either(
    embedded: Runlore, tmp_path: Path, words: tuple[str, ...], code: str, exit_code: int
) -> None:
    for name, text in (("good", "s3cret"), ("two", "s3cret\nmore"), ("empty", "\n")):
        (tmp_path / name).write_text(text)
    named = [word.replace("PATH", str(tmp_path)) for word in words]
    failure = embedded.fails("memory", "list", *named)
    assert (failure.code, failure.exit_code) == (code, exit_code)
    assert "s3cret" not in failure.said
    assert "pass@" not in failure.said


def test_a_server_that_is_no_runlore_is_told_apart(elsewhere: At) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
    with answering(page, []) as port:
        failure = elsewhere.fails("memory", "list", "--url", f"http://127.0.0.1:{port}")
    assert (failure.code, failure.exit_code) == ("answer.format", 3)


@contextmanager
def answering(reply: bytes, requests: list[bytes]) -> Iterator[int]:
    """A port that answers one request, whatever it is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                requests.append(connection.recv(65_536))
                connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENCE_S)


def test_the_socket_that_a_dead_daemon_left_is_passed_over(embedded: Runlore) -> None:
    embedded.propose("editor", "vim")
    path = socket_path(str(embedded.home))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
    assert os.path.exists(path)
    assert len(embedded.items("memory", "list", "--state", "constrained")) == 1


def test_a_daemon_that_has_the_lock_and_no_socket_yet_is_waited_for(embedded: Runlore) -> None:
    embedded.json("memory", "list")
    (embedded.home / "operator.token").write_text("s3cret")
    requests: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:

        def start() -> None:
            listener.bind(socket_path(str(embedded.home)))
            listener.listen()
            listener.settimeout(30)
            connection, _ = listener.accept()
            with connection:
                requests.append(connection.recv(65_536))
                connection.sendall(EMPTY)

        lock = StateLock(str(embedded.home))
        starting = threading.Timer(0.3, start)
        try:
            starting.start()
            assert embedded.items("memory", "list") == []
        finally:
            starting.join(PATIENCE_S)
            lock.release()
    assert b"Authorization: Bearer s3cret\r\n" in requests[0]


def test_a_daemon_that_ends_is_waited_for_until_its_state_root_is_free(embedded: Runlore) -> None:
    embedded.propose("editor", "vim")
    lock = StateLock(str(embedded.home))
    ending = threading.Timer(0.3, lock.release)
    ending.start()
    try:
        assert len(embedded.items("memory", "list", "--state", "constrained")) == 1
    finally:
        ending.join(PATIENCE_S)


def test_looking_whether_a_state_root_is_free_makes_nothing_and_holds_nothing(tmp_path: Path) -> None:
    assert lock_refusal(str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
    lock = StateLock(str(tmp_path))
    held = lock_refusal(str(tmp_path))
    lock.release()
    assert isinstance(held, Unavailable)
    assert held.code == "store.locked"
    assert lock_refusal(str(tmp_path)) is None
    StateLock(str(tmp_path), wait_s=0).release()


def test_a_daemon_without_its_token_is_told_of_and_not_passed_over(embedded: Runlore) -> None:
    embedded.json("memory", "list")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path(str(embedded.home)))
        listener.listen()
        failure = embedded.fails("memory", "list")
    assert (failure.code, failure.exit_code) == ("token.file", 4)


def test_a_command_through_the_socket_loads_neither_server_nor_database(embedded: Runlore) -> None:
    embedded.serve()
    program = (
        "import sys; from runlore.cli.main import run; code = run(sys.argv[1:]);"
        " print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    try:
        loaded = [
            subprocess.run(
                [sys.executable, "-c", program, *words],
                env={**os.environ, **embedded.environment},
                capture_output=True,
                check=True,
                timeout=PATIENCE_S,
                text=True,
            ).stderr.split()
            for words in (("memory", "list", "--json"), ("down",))
        ]
    finally:
        assert embedded.run("down").code == 0
    assert "runlore.client.remote" in loaded[0]
    assert [[name for name in HEAVY if name in modules] for modules in loaded] == [[], []]


def test_a_path_in_front_of_the_server_is_kept() -> None:
    asked: list[bytes] = []
    with (
        answering(EMPTY, asked) as port,
        closing(transport_to(f"http://127.0.0.1:{port}/memory/", token="t")) as transport,
    ):
        transport.call("GET", "/v1/status")
    assert asked[0].startswith(b"GET /memory/v1/status HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port)


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize(
    "url", ["http://[::1]:7717", "http://localhost", "http://127.9.9.9", "https://example.org"]
)
def test_a_token_goes_in_the_clear_to_this_machine_alone(url: str) -> None:
    transport_to(url, token="t").close()


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "http://runlore", "http://localhost.example.org", "http://[::2]"]
)
@pytest.mark.req("OPS-5")
def test_a_token_does_not_go_to_another_machine_in_the_clear(url: str) -> None:
    with pytest.raises(Refused) as failure:
        transport_to(url, token="t")
    assert failure.value.code == "url.plain"


@pytest.mark.parametrize(
    "url", ["", "7717", "http://", "http://a b", "http://h:x", "http://h?x=1", "http://é"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as failure:
        transport_to(url, token="t")
    assert failure.value.code == "url.format"
