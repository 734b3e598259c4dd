"""Where a Runlore is: the socket of a state root, or an address that somebody gave."""

import ipaddress
import socket
import ssl
from urllib.parse import SplitResult, urlsplit

from runlore.client.transport import Connect, Transport, tcp_connect
from runlore.domain.errors import Invalid, Refused, Unavailable


def tls_connect(connect_plainly: Connect, *, host: str) -> Connect:
    """Encrypts a connection, when the certificate at its other end is good for the host."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2

    def connect(timeout_s: float) -> socket.socket:
        connection = connect_plainly(timeout_s)
        try:
            return context.wrap_socket(connection, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise Unavailable(
                f"the certificate of {host} is not good: {error.verify_message}",
                code="daemon.certificate",
                hint="check the address; where the certificate is your own, name it in SSL_CERT_FILE",
            ) from error
        except BaseException:
            connection.close()
            raise

    return connect


_PORTS = {"http": 80, "https": 443}


def transport_to(url: str, *, token: str) -> Transport:
    """A transport to an address such as https://memory.example.org or http://127.0.0.1:7717."""
    parts, host, port = _read(url)
    if parts.scheme == "http" and not _is_loopback(host):
        raise Refused(
            f"the token is not sent to {host} in the clear",
            code="url.plain",
            hint="use https://, or a tunnel that ends on 127.0.0.1",
        )
    connect = tcp_connect(host, port)
    if parts.scheme == "https":
        connect = tls_connect(connect, host=host)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port == _PORTS[parts.scheme] else f"{shown}:{port}"
    return Transport(
        connect,
        where=f"{parts.scheme}://{authority}",
        host=authority,
        token=token,
        prefix=parts.path.rstrip("/"),
    )


def _read(url: str) -> tuple[SplitResult, str, int]:
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong() from None
    extra = parts.query or parts.fragment or parts.username or parts.password
    visible = url.isascii() and url.strip().isprintable() and " " not in url.strip()
    if parts.scheme not in _PORTS or not host or extra or not visible:
        raise _wrong()
    return parts, host, _PORTS[parts.scheme] if port is None else port


def _wrong() -> Invalid:
    # The address is not repeated: people put passwords into addresses.
    return Invalid(
        "the address of the Runlore is not an http or https URL",
        code="url.format",
        hint="write it as https://HOST or http://127.0.0.1:7717; the token goes into RUNLORE_TOKEN",
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
