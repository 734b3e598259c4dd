"""A list's filter as SQL: what `RecordFilter.admits` says of a value."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from runlore.domain.lazy import dataclass
from runlore.domain.record import Layer, State
from runlore.domain.scope import Scope
from runlore.domain.statements.ranks import Rank
from runlore.domain.text.safe_text import make_storable
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.store import RecordFilter
from runlore.storage.sql.record_rows import name_digest, rank_digest
from runlore.storage.sql.session import SqlValue, in_list

# Each scope is a walk of its own in the index; many more than this read the list by time instead.
SCOPE_WALKS_MAX = 32


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Terms of a WHERE clause, joined by AND, with their parameters."""

    terms: tuple[str, ...] = ()
    parameters: tuple[SqlValue, ...] = ()

    def also(self, term: str, *parameters: SqlValue) -> "Condition":
        return Condition(terms=(*self.terms, term), parameters=(*self.parameters, *parameters))

    def narrow(self, term: str, value: SqlValue) -> "Condition":
        """The same with a term more where there is a value for it."""
        return (
            self
            if value is None
            else self.also(term, make_storable(value) if isinstance(value, str) else value)
        )

    def among(self, column: str, members: Iterable[StrEnum] | None) -> "Condition":
        """The same for these members alone; for all where they are not named."""
        if members is None:
            return self
        wanted = sorted(member.value for member in members)
        return self.also(f"{column} IN ({in_list(wanted)})", *wanted) if wanted else self.also("1 = 0")

    def and_also(self, other: "Condition") -> "Condition":
        return Condition(terms=(*self.terms, *other.terms), parameters=(*self.parameters, *other.parameters))

    @property
    def sql(self) -> str:
        return " AND ".join(self.terms) or "1 = 1"


def asks_for_nothing(where: RecordFilter) -> bool:
    parts: tuple[frozenset[object] | None, ...] = (
        where.layers,
        where.kinds,
        where.states,
        where.scopes,
        where.scope_kinds,
        where.proposals,
        where.tiers,
        where.decisions,
        where.ranks,
    )
    return any(part is not None and not part for part in parts)


def walks(where: RecordFilter) -> tuple[RecordFilter, ...]:
    """The filter as parts that each walk one index in the order of the list, and overlap nowhere."""
    if where.scopes is not None:
        if len(where.scopes) > SCOPE_WALKS_MAX:
            return (where,)
        return tuple(replace(where, scopes=frozenset({scope})) for scope in sorted(where.scopes))
    if where.published or (where.states is None and where.layers is None and where.kinds is None):
        return (where,)
    return tuple(
        replace(where, states=frozenset({state}), layers=frozenset({layer}))
        for state in sorted(where.states or State)
        for layer in sorted(_layers(where))
    )


def condition(where: RecordFilter) -> Condition:
    result = Condition()
    enums: tuple[tuple[str, Iterable[StrEnum] | None], ...] = (
        ("layer", where.layers),
        ("kind", where.kinds),
        ("state", where.states),
        ("scope_kind", where.scope_kinds),
        ("proposal", where.proposals),
        ("publish_tier", where.tiers),
        ("policy_decision", where.decisions),
    )
    for column, members in enums:
        if members is not None:
            # Written out, since the members are ours and a partial index needs to see them.
            values = [f"'{member.value}'" for member in sorted(members)]
            one = len(values) == 1
            is_one_of = f"= {values[0]}" if one else f"IN ({', '.join(values)})"
            is_none_of = f"<> {values[0]}" if one else f"NOT IN ({', '.join(values)})"
            # Said twice negated where the index of what was published is to be walked: SQLite would rather
            # look the state up in another one, and sort. PostgreSQL takes both for the same.
            result = result.also(
                f"NOT ({column} {is_none_of})" if where.published else f"{column} {is_one_of}"
            )
    if where.published:
        result = result.also("published_at_ms IS NOT NULL")
    if where.standing:
        result = result.also("standing = 1")
    for column, name in (("policy_actor", where.actor), ("rule", where.rule)):
        if name is not None:
            result = result.also(f"{column} = ?", name_digest(name))
    if where.scopes is not None:
        result = result.also(*scope_term(where.scopes))
    if where.ranks is not None:
        result = result.also(*_rank_term(where.ranks))
    if where.now is not None:
        result = result.also("(due_at_ms IS NULL OR due_at_ms > ?)", to_milliseconds(where.now))
    return result


def _rank_term(ranks: frozenset[Rank | None]) -> tuple[str, *tuple[SqlValue, ...]]:
    """The term that asks for some ranks. What has none may be made of other records."""
    if None not in ranks:
        asked = [rank_digest(rank) for rank in sorted(filter(None, ranks))]
        return (f"sources_digest IN ({in_list(asked)})", *asked)
    others = [rank_digest(rank) for rank in Rank if rank not in ranks]
    if not others:
        return ("1 = 1",)
    return (f"(sources_digest IS NULL OR sources_digest NOT IN ({in_list(others)}))", *others)


def _layers(where: RecordFilter) -> frozenset[Layer]:
    layers = frozenset(Layer) if where.layers is None else where.layers
    return layers if where.kinds is None else layers & {kind.layer for kind in where.kinds}


def scope_term(scopes: frozenset[Scope]) -> tuple[str, *tuple[SqlValue, ...]]:
    by_kind: dict[str, list[str]] = {}
    for scope in sorted(scopes):
        by_kind.setdefault(scope.kind.value, []).append(scope.id)
    terms = [
        f"(scope_kind = '{kind}' AND scope_id = ?)"
        if len(ids) == 1
        else f"(scope_kind = '{kind}' AND scope_id IN ({in_list(ids)}))"
        for kind, ids in by_kind.items()
    ]
    term = terms[0] if len(terms) == 1 else f"({' OR '.join(terms)})"
    return (term, *(identifier for ids in by_kind.values() for identifier in ids))
