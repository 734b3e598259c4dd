"""Who may call: roles, callers and the tokens that name them. Of a token's secret only a digest is kept."""

import hashlib
import re
import unicodedata
from datetime import datetime
from enum import StrEnum
from typing import NewType

from runlore.domain import limits
from runlore.domain.errors import Denied, Invalid
from runlore.domain.json_form import JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import PersonaId
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import format_time

TokenId = NewType("TokenId", str)

# Names that Runlore itself acts under: a token that took one would pass for it in the history.
_RESERVED = frozenset({"operator", "daemon", "default", "runlore"})
_RESERVED_PREFIX = "operator-"


class Role(StrEnum):
    """What a caller may do, each including the ones before it."""

    READER = "reader"
    AGENT = "agent"
    OPERATOR = "operator"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who calls: the name that events and `created_by` carry, its role, and the scopes it is limited to.

    No scopes is no limit. An agent's reads always name a session, which narrows them further. Sessions that
    it makes are bound to its persona; an agent that has one reaches no other.
    """

    actor: str
    role: Role
    scopes: frozenset[Scope] | None = None
    persona_id: PersonaId | None = None

    def reaches(self, scope: Scope) -> bool:
        is_bound = self.role is Role.AGENT and self.persona_id is not None
        if is_bound and scope.kind is ScopeKind.PERSONA:
            return scope.id == self.persona_id
        return self.scopes is None or scope in self.scopes

    def is_named_for(self, agent: str) -> bool:
        """Whether this is a token of an agent: the tokens that it gets after its first one are numbered."""
        return re.fullmatch(rf"{re.escape(agent)}(-\d+)?", self.actor) is not None


# Who owns this machine's Runlore: commands on its state root, and what it does by itself on their behalf.
LOCAL_OPERATOR = Caller(actor="operator", role=Role.OPERATOR)


@JsonForm(document="Token", omit={"digest": "", "previous_digest": ""})
@dataclass(frozen=True, kw_only=True)
class AccessToken:
    """What is kept of a token. `name` is the actor of its calls.

    A rotated token has a new secret; the one before it is good until `previous_until`.
    """

    token_id: TokenId
    name: str
    role: Role
    scopes: frozenset[Scope] | None
    digest: str
    created_at: datetime
    created_by: str
    revoked_at: datetime | None = None
    persona_id: PersonaId | None = None
    expires_at: datetime | None = None
    previous_digest: str = ""
    previous_until: datetime | None = None

    def caller(self) -> Caller:
        return Caller(actor=self.name, role=self.role, scopes=self.scopes, persona_id=self.persona_id)

    def ends_at(self, digest: str) -> datetime | None:
        """Until when the secret of this digest is good; None where no time ends it."""
        is_previous = digest == self.previous_digest
        ends = [each for each in (self.expires_at, self.previous_until if is_previous else None) if each]
        return min(ends, default=None)

    def why_not(self, digest: str, now: datetime) -> Denied | None:
        """Why the secret of this digest opens nothing; None where it does."""
        ends_at = self.ends_at(digest)
        if self.revoked_at is not None:
            code, told = "token.revoked", f"the token {self.name} has been revoked"
        elif self.expires_at is not None and self.expires_at <= now:
            code, told = "token.expired", f"the token {self.name} ended at {format_time(self.expires_at)}"
        elif ends_at is not None and ends_at <= now:
            code, told = "token.rotated", f"the token {self.name} has another secret since it was rotated"
        else:
            return None
        return Denied(told, code=code, hint="ask the operator for a new secret")


def check_token_name(name: str) -> str:
    """A name that can stand in events and tables."""
    text = name.strip()
    if not text or len(text) > limits.ID_CHARS_MAX or not is_storable(text) or not text.isprintable():
        raise Invalid(
            f"the token's name is blank, unprintable or longer than {limits.ID_CHARS_MAX} characters",
            code="token.name",
            hint="name it after who uses it, such as claude-code",
        )
    return text


def is_reserved_name(name: str) -> bool:
    """Whether a name is one of Runlore's own, or would be read as one: case and look-alike forms count."""
    read = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
    return read in _RESERVED or read.startswith(_RESERVED_PREFIX)


def hash_secret(secret: str) -> str:
    """What is kept of a secret. It is long and random, so a plain hash gives nothing away."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
