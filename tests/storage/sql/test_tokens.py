"""Tokens on both databases: found by digest, name or id, revoked once and for good."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from runlore.domain.access import AccessToken, Role, TokenId
from runlore.domain.errors import Conflict, Corrupt, NotFound
from runlore.domain.records.audit import Act
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId
from runlore.ports.store import Store
from tests.fakes import START
from tests.storage.places import Place
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("OPS-5")

WRITERS = 8
SOME_SCOPES = frozenset({WORKSPACE, Scope(ScopeKind.PROJECT, "a:b"), Scope(ScopeKind.SESSION, "日本 'x'")})


def token(number: int = 1, **fields: object) -> AccessToken:
    """A token."""
    made = AccessToken(
        token_id=TokenId(f"tok_{number}"),
        name=f"agent-{number}",
        role=Role.AGENT,
        scopes=None,
        digest=f"digest-{number}",
        created_at=START + timedelta(seconds=number),
        created_by="operator",
        persona_id=PersonaId("anna"),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def at(moment: datetime) -> Act:
    return Act(actor="ada", at=moment)


def insert(store: Store, *tokens: AccessToken) -> None:
    """Write tokens in one transaction."""
    with store.transaction() as tx:
        for each in tokens:
            tx.tokens.insert(each)


def everything(store: Store) -> tuple[AccessToken, ...]:
    """All tokens."""
    with store.snapshot() as snapshot:
        return snapshot.tokens.everything()


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("scopes", [None, frozenset[Scope](), SOME_SCOPES])
def test_a_token_is_found_as_it_was_made(store: Store, role: Role, scopes: frozenset[Scope] | None) -> None:
    made = token(role=role, scopes=scopes, persona_id=None if scopes is None else PersonaId("anna"))
    insert(store, made, token(2))

    with store.snapshot() as snapshot:
        assert snapshot.tokens.by_digest("digest-1") == made
        assert snapshot.tokens.find("agent-1") == made
        assert snapshot.tokens.find("tok_1") == made
        for unknown in ("digest-1", "tok_", "agent", "", "nul\0"):
            assert snapshot.tokens.find(unknown) is None
        assert snapshot.tokens.by_digest("tok_1") is None


def test_all_are_listed_the_newest_first(store: Store) -> None:
    tokens = [token(number) for number in (2, 1, 3)]
    same_moment = token(4, created_at=token(3).created_at)
    insert(store, *tokens, same_moment)

    assert [each.token_id for each in everything(store)] == ["tok_4", "tok_3", "tok_2", "tok_1"]


@pytest.mark.parametrize(
    "second",
    [
        token(2, name="agent-1"),
        token(2, name="tok_1"),
        token(2, digest="digest-1"),
        token(2, token_id=TokenId("tok_1")),
    ],
    ids=["its name", "its id as a name", "its digest", "its id"],
)
@pytest.mark.parametrize("is_revoked", [False, True])
def test_what_a_token_has_no_other_gets_even_when_it_is_revoked(
    store: Store, second: AccessToken, is_revoked: bool
) -> None:
    insert(store, token(1))
    if is_revoked:
        with store.transaction() as tx:
            tx.tokens.revoke(TokenId("tok_1"), at(START))
    before = everything(store)

    with pytest.raises(Conflict) as conflict:
        insert(store, second)

    assert conflict.value.code == "token.exists"
    assert everything(store) == before


def test_the_first_revocation_counts_and_a_revoked_token_is_still_known(store: Store) -> None:
    insert(store, token(1), token(2))
    first = START + timedelta(days=1)

    for moment in (first, first + timedelta(days=1), first - timedelta(days=1)):
        with store.transaction() as tx:
            tx.tokens.revoke(TokenId("tok_1"), at(moment))

    with store.snapshot() as snapshot:
        assert snapshot.tokens.by_digest("digest-1") == token(1, revoked_at=first)
        assert snapshot.tokens.find("tok_2") == token(2)


def test_revoking_what_is_not_there_is_told(store: Store) -> None:
    with pytest.raises(NotFound) as missing, store.transaction() as tx:
        tx.tokens.revoke(TokenId("tok_9"), at(START))
    assert missing.value.code == "token.not-found"


def test_of_many_who_take_one_name_at_once_one_gets_it(store: Store) -> None:
    together = threading.Barrier(WRITERS)

    def make(number: int) -> str:
        together.wait(PATIENCE_S)
        try:
            insert(store, token(number, name="ci"))
        except Conflict as conflict:
            return conflict.code
        return "made"

    with ThreadPoolExecutor(WRITERS) as pool:
        ends = list(pool.map(make, range(WRITERS)))

    assert sorted(ends) == ["made"] + ["token.exists"] * (WRITERS - 1)
    assert [each.token_id for each in everything(store)] == [f"tok_{ends.index('made')}"]


@pytest.mark.parametrize(
    "damage",
    ["scopes = '{}x'", "scopes = '[\"everywhere:x\"]'", "scopes = '[7]'", "scopes = '7'", "role = 'owner'"],
)
def test_a_token_that_cannot_be_read_gives_no_access(place: Place, damage: str) -> None:
    store = place.open()
    insert(store, token(1, scopes=SOME_SCOPES))
    place.sql(f"UPDATE tokens SET {damage}")

    with pytest.raises(Corrupt, match="token tok_1"), store.snapshot() as snapshot:
        snapshot.tokens.by_digest("digest-1")
