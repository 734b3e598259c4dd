"""Where a daemon listens, and whom it listens to: one frozen part of the settings."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from runlore.domain.access import Caller

HOST_DEFAULT = "127.0.0.1"
PORT_DEFAULT = 7717
PORT_MAX = 65_535


@dataclass(frozen=True, kw_only=True)
class OpenIdSettings:
    """The provider, how it knows us, and whom it may let in: callers by what their claim says."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    claim: str = "email"
    label: str = ""
    people: "Mapping[str, Caller]" = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The unix socket in the state root is always there; TCP can be switched off. Port 0 takes a free one.

    Loopback names are allowed as hosts without being listed.
    """

    host: str = HOST_DEFAULT
    port: int = PORT_DEFAULT
    tcp: bool = True
    tls_certificate: str | None = None
    tls_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    openid: OpenIdSettings | None = None
