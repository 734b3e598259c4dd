"""Arbitrary answers, made from their types: a field that is added to an answer is in the examples at once."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, NewType

from hypothesis import strategies as st

from runlore.domain.access import AccessToken
from runlore.domain.capability import CapabilityScope
from runlore.domain.json_form import form_of
from runlore.domain.record import JsonValue, Layer, Record, State
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.suggestion import Score, ScorePart, Suggestion, SuggestionEvidence
from runlore.ports import operations as ops
from tests.domain.random_records import json_objects, json_values, moments, names, records, scopes, texts

whole_numbers = st.integers(-(2**53), 2**53)
# A pattern without outer white space and within its bound, as a capability scope has them.
patterns = st.lists(names.map(str.strip).filter(bool), max_size=2).map(tuple)
# What stands at the top of a status beside its sections.
_STATUS_NAMES = {field.name for field in dataclasses.fields(ops.Status)} | {"records"}


@cache
def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type: leaves from the table below, dataclasses field by field."""
    if kind in _LEAVES:
        return _LEAVES[kind]
    if isinstance(kind, NewType):
        return texts
    if typing.get_origin(kind) is not None:
        return _of_several(typing.get_origin(kind), typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert dataclasses.is_dataclass(kind), f"there is no strategy for {kind}"
    hints = typing.get_type_hints(kind, localns={"JsonValue": JsonValue})
    made = typing.cast("type[Any]", kind)
    omitted = {name: st.just(value) for name, value in form_of(made).omit.items()}
    fields = {field.name: of_type(hints[field.name]) for field in dataclasses.fields(kind)}
    return st.builds(made, **(fields | omitted))


def _of_several(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin in (types.UnionType, typing.Union):
        return st.one_of([of_type(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(of_type(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(of_type(argument) for argument in arguments))
    if origin is frozenset:
        return st.frozensets(of_type(arguments[0]), max_size=3)
    assert issubclass(origin, Mapping), f"there is no strategy for {origin}"
    if float in typing.get_args(arguments[1]):
        return json_objects
    return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=2)


@st.composite
def statuses(draw: st.DrawFn) -> ops.Status:
    """A status: only what there is any of is counted, and a section has a name of its own."""
    counted = st.tuples(st.sampled_from(Layer), st.sampled_from(State))
    section_names = texts.filter(lambda name: name not in _STATUS_NAMES)
    return ops.Status(
        version=draw(texts),
        state_root=draw(texts),
        store=draw(st.dictionaries(texts, texts | whole_numbers, max_size=3)),
        counts=draw(st.dictionaries(counted, st.integers(1, 9), max_size=3)),
        waiting=draw(whole_numbers),
        sections=draw(st.dictionaries(section_names, json_values, max_size=3)),
    )


def _tokens() -> st.SearchStrategy[AccessToken]:
    hints = typing.get_type_hints(AccessToken)
    fields = {name: of_type(hint) for name, hint in hints.items()}
    return st.builds(AccessToken, **{**fields, "digest": st.just(""), "previous_digest": st.just("")})


def _suggestions() -> st.SearchStrategy[Suggestion]:
    """Suggestions, whose numbers are counts and points."""
    hints = typing.get_type_hints(Suggestion)
    counts = st.integers(1, 100)
    bounded: dict[str, st.SearchStrategy[Any]] = {
        "times": counts,
        "sessions": counts,
        "score": st.builds(
            Score,
            points=counts,
            parts=st.lists(st.builds(ScorePart, reason=texts, points=counts), max_size=2).map(tuple),
        ),
        "evidence": st.lists(
            st.builds(
                SuggestionEvidence,
                session_id=texts.map(SessionId),
                run_id=texts.map(RunId),
                event_numbers=st.lists(counts, max_size=3).map(tuple),
                at=moments,
                project=texts,
            ),
            max_size=2,
        ).map(tuple),
    }
    others = {name: of_type(hint) for name, hint in hints.items() if name not in bounded}
    return st.builds(Suggestion, **others, **bounded)


_LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    str: texts,
    bool: st.booleans(),
    int: whole_numbers,
    datetime: moments,
    Scope: scopes,
    Record: records(),
    CapabilityScope: st.builds(
        CapabilityScope,
        **{field.name: st.none() | patterns for field in dataclasses.fields(CapabilityScope)},
    ),
    ops.Status: statuses(),
}
_LEAVES[AccessToken] = _tokens()
_LEAVES[Suggestion] = _suggestions()
