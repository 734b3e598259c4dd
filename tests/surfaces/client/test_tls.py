"""TLS: a token goes only to a server whose certificate is good for its name."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from runlore.client.addresses import tls_connect, transport_to
from runlore.client.transport import Connect, Transport, tcp_connect
from runlore.domain.errors import Unavailable
from tests.certificate import loopback_certificate
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("OPS-5")

CERTIFICATE = loopback_certificate()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def encrypted(requests: list[bytes]) -> Iterator[int]:
    """A port that answers over TLS, on one connection, until that ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def serve() -> None:
            connection, _ = listener.accept()
            connection.settimeout(30)
            try:
                with context.wrap_socket(connection, server_side=True) as secured:
                    while request := secured.recv(65_536):
                        requests.append(request)
                        secured.sendall(OK)
            except (ssl.SSLError, ConnectionError):
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENCE_S)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_calls_go_encrypted_over_one_connection(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    requests: list[bytes] = []
    with (
        encrypted(requests) as port,
        closing(transport_to(f"https://{host}:{port}", token="s3cret")) as there,
    ):
        assert [there.call("GET", "/v1/status").body for _ in range(2)] == [b"{}", b"{}"]
    assert b"Authorization: Bearer s3cret\r\n" in requests[0]
    assert len(requests) == 2


def refused(connect: Connect) -> Unavailable:
    """The error of a call over a connection whose certificate is not good."""
    transport = Transport(connect, where="x", host="x", token="s3cret")
    with closing(transport), pytest.raises(Unavailable) as failure:
        transport.call("GET", "/v1/status", repeatable=True)
    return failure.value


def test_a_certificate_that_nobody_vouches_for_is_told_no_token() -> None:
    requests: list[bytes] = []
    with encrypted(requests) as port:
        error = refused(tls_connect(tcp_connect("127.0.0.1", port), host="localhost"))
    assert (error.code, requests) == ("daemon.certificate", [])
    assert "SSL_CERT_FILE" in error.hint


def test_a_certificate_for_another_name_is_told_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    requests: list[bytes] = []
    with encrypted(requests) as port:
        # Whoever can turn a name to himself has no certificate for it.
        error = refused(tls_connect(tcp_connect("127.0.0.1", port), host="runlore.example.org"))
    assert (error.code, requests) == ("daemon.certificate", [])
