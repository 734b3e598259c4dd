"""TLS: kept apart, since most calls go through a socket and never need it."""

import socket
import ssl

from runlore.client.transport import Connect
from runlore.domain.errors import Unavailable


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
