"""The long-term memory of a LangGraph graph: what is put waits for review, what is found was reviewed.

A namespace is one scope: `("workspace",)`, `("project", ID)`, `("persona", ID)`, `("session", ID)`; any other
is the project of its labels. Nothing is deleted from here: what people reviewed, people take back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from runlore.domain import limits
from runlore.domain.errors import Invalid, Refused
from runlore.domain.record import Record
from runlore.domain.records.visibility import hidden_because
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.statements.candidates import guess_statement
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate

if TYPE_CHECKING:
    from runlore.client.async_sdk import AsyncLore
    from runlore.client.sdk import Lore

# Where an item's text may stand: LangGraph's own examples and its memory tools use these names.
_TEXT_FIELDS = ("content", "text", "memory")
_KEY = "store_key"
Namespace = tuple[str, ...]


class LangGraphStore(BaseStore):
    """A `BaseStore` over a connection: `graph.compile(store=runlore.LangGraphStore(lore))`.

    `session` narrows what is read to what that session sees; the token of an agent needs it.
    """

    def __init__(self, lore: Lore | AsyncLore, *, session: str | None = None) -> None:
        self._operations = lore.operations
        self._filters = ops.Filters(session_id=None if session is None else SessionId(session))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        if isinstance(op, PutOp):
            return self._propose(op)
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        return self._namespaces(op)

    def _propose(self, op: PutOp) -> None:
        if op.value is None:
            raise Refused(
                "reviewed memory is not deleted through a store",
                code="store.delete",
                hint="`runlore memory rollback ID` takes it back, `runlore forget ID` erases it",
            )
        text = _text_of(op.value)
        self._operations.create_candidate(
            ops.NewCandidate(
                kind=guess_statement(text)[0],
                content=text,
                scope=scope_of(op.namespace),
                metadata={_KEY: op.key},
            )
        )

    def _get(self, op: GetOp) -> Item | None:
        found = (each for each in self._in_use(op.namespace) if op.key in (_key_of(each), each.record_id))
        record = next(found, None)
        return None if record is None else Item(**_item(record, op.namespace))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        scored: Iterable[tuple[Record, float | None]]
        if op.query:
            request = ops.SearchRequest(
                query=op.query, filters=self._within(op.namespace_prefix), limit=limits.SEARCH_LIMIT_MAX
            )
            scored = ((hit.record, float(hit.total)) for hit in self._operations.search(request).items)
        else:
            scored = ((record, None) for record in self._in_use(op.namespace_prefix))
        now = datetime.now(UTC)
        items = (
            SearchItem(**_item(record, op.namespace_prefix), score=score)
            for record, score in scored
            if hidden_because(record, now) is None
        )
        wanted = (item for item in items if _passes(item.value, op.filter or {}))
        return list(islice(wanted, op.offset, op.offset + op.limit))

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        cut = op.max_depth
        found = {namespace_of(record.scope)[:cut] for record in self._in_use(())}
        matching = sorted(
            each for each in found if all(_matches(each, one) for one in op.match_conditions or ())
        )
        return matching[op.offset : op.offset + op.limit]

    def _within(self, namespace: Namespace) -> ops.Filters:
        return replace(self._filters, scopes=frozenset({scope_of(namespace)})) if namespace else self._filters

    def _in_use(self, namespace: Namespace) -> Iterator[Record]:
        """What is in use there and may stand in a prompt, the newest first."""
        now = datetime.now(UTC)
        wanted = ops.ListRequest(filters=self._within(namespace), limit=limits.LIST_LIMIT_MAX)
        records = paginate(self._operations.list_records, wanted)
        return (record for record in records if hidden_because(record, now) is None)


def scope_of(namespace: Namespace) -> Scope:
    kind, rest = namespace[0], "/".join(namespace[1:])
    if kind == ScopeKind.WORKSPACE and not rest:
        return WORKSPACE
    named = (ScopeKind.PROJECT, ScopeKind.PERSONA, ScopeKind.SESSION)
    return (
        Scope(ScopeKind(kind), rest)
        if kind in named and rest
        else Scope(ScopeKind.PROJECT, "/".join(namespace))
    )


def namespace_of(scope: Scope) -> Namespace:
    return (scope.kind,) if scope == WORKSPACE else (scope.kind, *scope.id.split("/"))


def _text_of(value: Mapping[str, Any]) -> str:
    """The one sentence that a value holds; the memory tools of LangGraph put it one level down."""
    for name in _TEXT_FIELDS:
        held = value.get(name)
        if isinstance(held, Mapping):
            held = next((held[each] for each in _TEXT_FIELDS if isinstance(held.get(each), str)), None)
        if isinstance(held, str):
            return held
    raise Invalid(
        f"the value holds no sentence: its fields are {', '.join(sorted(map(str, value)))[:200] or 'none'}",
        code="store.value",
        hint='put a sentence as {"content": "..."}',
    )


def _key_of(record: Record) -> str:
    key = record.metadata.get(_KEY)
    return key if isinstance(key, str) else record.record_id


def _item(record: Record, asked: Namespace) -> dict[str, Any]:
    return {
        "namespace": asked if asked and scope_of(asked) == record.scope else namespace_of(record.scope),
        "key": _key_of(record),
        "value": {"content": record.summary, "kind": record.kind.value, "record_id": record.record_id},
        "created_at": record.created_at,
        "updated_at": record.published_at or record.created_at,
    }


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for name, each in wanted.items():
        if isinstance(each, Mapping):
            raise Invalid(
                f"the filter of {name!r} compares, and this store only knows equal values",
                code="store.filter",
                hint=f'filter by equal values, such as {{"{name}": "fact"}}',
            )
    return all(value.get(name) == each for name, each in wanted.items())


def _matches(namespace: Namespace, condition: Any) -> bool:
    path = tuple(condition.path)
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(want in ("*", have) for want, have in zip(path, part, strict=True))
