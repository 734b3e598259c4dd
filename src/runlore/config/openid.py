"""Reading who may log in to the console by OpenID Connect, and at which provider."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from runlore.config.providers import check_address, check_key_variable, is_loopback, key_in
from runlore.config.server import OpenIdSettings
from runlore.domain import limits
from runlore.domain.access import Caller, Role, check_token_name, is_reserved_name
from runlore.domain.errors import Invalid
from runlore.domain.scope import Scope

if TYPE_CHECKING:
    from runlore.config.file import OpenIdPersonTable, OpenIdTable


def read_openid(table: "OpenIdTable", environment: Mapping[str, str], path: str) -> OpenIdSettings | None:
    """None where no provider is named."""
    if not table.issuer:
        return None
    where = f"server.openid.issuer in {path}"
    address = check_address(table.issuer, where, _wrong)
    if urlsplit(address).scheme != "https" and not is_loopback(address):
        raise _wrong(f"{where} is not https", "beyond this machine a provider is asked over https alone")
    check_key_variable(table.client_secret_env, address, ("server.openid", path), _wrong)
    secret = key_in(environment, table.client_secret_env)
    if table.client_secret_env and not secret:
        raise _wrong(
            f"{table.client_secret_env}, which server.openid in {path} names, holds no secret",
            "set it where the daemon is started, or leave client_secret_env out for a client without one",
        )
    if not table.client_id or not table.people:
        missing = "people" if table.client_id else "client_id"
        raise _wrong(
            f"server.openid in {path} has no {missing}",
            "give the client_id that the provider knows Runlore by, and a table"
            ' [server.openid.people."ada@example.org"] for each person',
        )
    return OpenIdSettings(
        issuer=table.issuer,
        client_id=table.client_id,
        client_secret=secret,
        claim=table.claim,
        label=table.label or str(urlsplit(address).hostname),
        people={told: _person(told, each, path) for told, each in table.people.items()},
    )


def _person(told: str, table: "OpenIdPersonTable", path: str) -> Caller:
    where = f"server.openid.people.{told[: limits.ID_CHARS_MAX]!r} in {path}"
    try:
        name = check_token_name(table.name or told)
        scopes = frozenset(map(Scope.parse, table.scopes)) or None
    except Invalid as error:
        raise _wrong(f"{where}: {error.sentence}", error.hint) from None
    if is_reserved_name(name):
        raise _wrong(f"{where} takes the name {name!r}, under which Runlore acts", "give it another name")
    return Caller(actor=name, role=Role(table.role), scopes=scopes)


def _wrong(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="settings.openid", hint=hint)
