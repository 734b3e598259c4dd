"""Providers of OpenID Connect on loopback: a real one, and one that says what it is told to say."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.system_programs import AGENT_PROGRAMS

PACKAGE = AGENT_PROGRAMS.parent / "oidc-provider"
CLIENT, SECRET = "runlore", "a secret of the client"
PERSON = "ada@example.org"


@contextmanager
def real_provider(port: str, page: str) -> Iterator[None]:
    """The package `oidc-provider` of npm, which lets everybody in as whoever they say they are."""
    script = Path(__file__).with_name("provider.mjs")
    words = ["node", str(script), str(PACKAGE), port, page]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as node:
        assert node.stdin
        assert node.stdout
        assert node.stdout.readline() == b"listening\n"
        yield
        node.stdin.close()


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


class SaidProvider:
    """It signs these claims for whoever brings a code; each answer can be another one."""

    def __init__(self) -> None:
        self.key = new_key()
        self.claims: dict[str, Any] = {}
        self.signed_with: dict[str, Any] = {"key": self.key, "algorithm": "RS256", "headers": {"kid": "k1"}}
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, dict[str, str], str]] = []
        self.arrived = threading.Semaphore(0)
        self.held = threading.Event()
        self.held.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    def tell(self, nonce: str, /, **claims: Any) -> None:
        """The claims of a good token for this nonce, but for those that are named; None leaves one out."""
        now = datetime.now(UTC)
        good = {
            "iss": self.issuer,
            "sub": "person-1",
            "aud": CLIENT,
            "iat": now,
            "exp": now + timedelta(minutes=5),
            "nonce": nonce,
            "email": PERSON,
            "email_verified": True,
        }
        self.claims = {name: each for name, each in (good | claims).items() if each is not None}

    def public_key(self) -> dict[str, Any]:
        return {**jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": "k1"}

    def _document(self, path: str) -> tuple[int, Any]:
        if path in self.answers:
            return self.answers[path]
        found: dict[str, Any] = {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                **{
                    f"{name}_endpoint": f"{self.issuer}/{name}"
                    for name in ("authorization", "token", "userinfo")
                },
                "jwks_uri": f"{self.issuer}/keys",
            },
            "/keys": {"keys": [self.public_key()]},
        }
        if path == "/token":
            return 200, {"id_token": jwt.encode(self.claims, **self.signed_with), "access_token": "access"}
        return (200, found[path]) if path in found else (404, {"error": "none"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.arrived.release()
                provider.held.wait()
                length = int(self.headers.get("Content-Length", 0))
                form = dict(parse_qsl(self.rfile.read(length).decode()))
                provider.asked.append((self.path, form, self.headers.get("Authorization", "")))
                status, told = provider._document(self.path)
                body = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):
                    self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler

    @contextmanager
    def serving(self) -> Iterator["SaidProvider"]:
        thread = threading.Thread(target=self._server.serve_forever, name="provider")
        thread.start()
        try:
            yield self
        finally:
            self.held.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()
