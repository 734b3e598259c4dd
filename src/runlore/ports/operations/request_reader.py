"""Requests as JSON, read into what the operations take. What is wrong is told by its name.

A reader is made once for each type, from its fields. Nothing is turned into another type, and what nobody
knows is refused. Values are not checked beyond their types: bounds are the operations' own.
"""

import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeVar, cast, get_origin

from runlore.domain.errors import Invalid, NotFound
from runlore.domain.json_form import Shape, form_of
from runlore.domain.policies.policy import PolicyName
from runlore.domain.scope import WORKSPACE_ID, Scope, ScopeKind
from runlore.domain.serialization.codec import hints_of, split_type
from runlore.domain.timestamps import parse_time
from runlore.ports.operations.declaration import (
    KEY,
    REVISION,
    CallField,
    Operation,
    RequestForm,
    Route,
    Values,
    fields_of,
    request_form_of,
)

ValueT = TypeVar("ValueT")
Reader = Callable[[Any], Any]
Place = tuple[str, ...]
# The words that older programs send in a query.
_QUERY = RequestForm(aliases={"status": "state"})
_FLAGS = {
    **dict.fromkeys(("true", "1", "yes", "on", "t", "y"), True),
    **dict.fromkeys(("false", "0", "no", "off", "f", "n"), False),
}


class WrongField(Exception):
    """What is wrong with a value. Its name is put together on the way up."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = list(path)


class RequestReader:
    """Reads what one route takes: the path, the query or the body, and the two headers that act on it."""

    def __init__(self, operation: Operation, route: Route, *, hint: str) -> None:
        taken = operation.takes
        # Where a caller of this surface can look up what the call takes.
        self._hint = hint
        elsewhere = {*route.in_path.values(), *route.without, KEY}
        self._parameters = operation.parameters
        self._left_out: dict[Place, None] = {
            (name,): None for name in route.without if name in operation.parameters
        }
        self._by_name = {each.place[-1]: each for each in taken}
        self._in_path = {name: self._by_name[at] for name, at in route.in_path.items()}
        forms = [form for hint, _ in self._parameters.values() for form in _forms_of(hint)]
        self.has_body = route.method not in ("GET", "DELETE")
        forms += [] if self.has_body else [_QUERY]
        self.keys = _Keys([each for each in taken if each.place[-1] not in elsewhere], forms)
        self.takes_key = KEY in self._by_name
        self.takes_revision = REVISION in self._by_name
        self.needs_body = operation.needs_body or any(each.is_required for each in self.keys.fields.values())

    def arguments(
        self, plain: object, in_path: Mapping[str, str], *, key: str | None, revision: int | None
    ) -> Values:
        """The arguments of the operation. The revision is that of If-Match."""
        try:
            values = self.keys.read(plain)
        except WrongField as wrong:
            # A query has no lists: what is given more than once is one parameter.
            path = wrong.path if self.has_body else wrong.path[:1]
            raise self.refusal(".".join(path) or "the body", wrong.problem) from None
        values |= self._left_out
        for name, text in in_path.items():
            field = self._in_path[name]
            values[field.place] = _read_name(field.hint, text)
        if self.takes_key:
            values[self._by_name[KEY].place] = key
        if self.takes_revision:
            place = self._by_name[REVISION].place
            values[place] = _same_revision(values.get(place), revision)
        found: Values = {}
        for name, (hint, _) in self._parameters.items():
            if dataclasses.is_dataclass(hint):
                found[name] = _build(cast("type", hint), values, (name,))
            elif (name,) in values:
                found[name] = values[(name,)]
        return found

    def from_query(self, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
        fields = {} if self.has_body else self.keys.fields
        found: dict[str, Any] = {}
        for name, text in pairs:
            field = fields.get(self.keys.aliases.get(name, name))
            if field is None:
                raise self.refusal(f"the query parameter {name!r}", "is not one of this call")
            kind, _, _ = split_type(_without_none(field.hint))
            if kind in (tuple, frozenset):
                found.setdefault(name, []).append(text)
            elif name in found:
                raise self.refusal(f"the query parameter {name!r}", "was given more than once")
            else:
                found[name] = self._from_text(kind, text, name)
        return found

    def refusal(self, name: str, problem: str) -> Invalid:
        """The error for a parameter or a field that is unknown, missing or of another type."""
        return Invalid(f"{name[:200]} {problem[:300]}", code="request.field", hint=self._hint)

    def _from_text(self, kind: object, text: str, name: str) -> object:
        if kind is int:
            try:
                return int(text)
            except ValueError:
                raise self.refusal(name, "is wrong: a whole number is expected") from None
        if kind is bool:
            found = _FLAGS.get(text.lower())
            if found is None:
                raise self.refusal(name, "is wrong: true or false is expected")
            return found
        return text


class _Keys:
    """Reads the keys of an object into values, each by the place where it belongs."""

    def __init__(self, fields: Sequence[CallField], forms: Sequence[RequestForm]) -> None:
        more = [CallField(key, hint, None, (key,)) for form in forms for key, hint in form.more.items()]
        self.fields = {each.key: each for each in (*fields, *more)}
        is_lenient = any(form.lenient_lists for form in forms)
        self._readers = [
            (each, _reader_of(each.hint, is_lenient=is_lenient)) for each in self.fields.values()
        ]
        self.aliases = {
            other: key
            for form in forms
            for other, key in form.aliases.items()
            if key in self.fields and other not in self.fields
        }
        self._ignored = frozenset[str]().union(*(form.ignored for form in forms))
        self._is_open = any(form.open for form in forms)
        self._before = [form.before for form in forms if form.before is not None]
        self._after = [form.after for form in forms if form.after is not None]

    def read(self, plain: object) -> dict[Place, Any]:
        """The values of what is there; the first thing that is wrong is raised, what nobody knows last."""
        for prepare in self._before:
            plain = prepare(plain)
        if not isinstance(plain, dict):
            raise WrongField("is wrong: an object is expected")
        sent = {key: other for other, key in self.aliases.items() if other in plain and key not in plain}
        values: Values = {}
        for field, read in self._readers:
            name = sent.get(field.key, field.key)
            if name in plain:
                values[field.key] = _read_at(read, plain[name], name)
            elif field.is_required:
                raise WrongField("is missing", field.key)
        if len(values) != len(plain) and not self._is_open:
            for name in plain:
                if name not in self.fields and name not in self._ignored and name not in sent.values():
                    raise WrongField("is not a field of this call", str(name))
        for settle in self._after:
            values = settle(values)
        return {self.fields[key].place: value for key, value in values.items()}


def _read_at(read: Reader, value: object, name: str) -> object:
    try:
        return read(value)
    except WrongField as wrong:
        wrong.path.insert(0, name)
        raise


def read_value(kind: type[ValueT], plain: object) -> ValueT:
    return cast("ValueT", _reader_of_type(kind)(plain))


@functools.cache
def _reader_of(hint: Any, *, is_lenient: bool = False) -> Reader:
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, Shape) and isinstance(each.of, type):
            return _or_none(hint, functools.partial(_read_shape, _keys_of(each.of)))
    kind, arguments, _ = split_type(hint)
    if kind is types.UnionType:
        others = [each for each in arguments if each is not type(None) and get_origin(each) is not Literal]
        inner = _reader_of(others[0], is_lenient=is_lenient) if len(others) == 1 else _read_text_or_whole
        return _or_none(hint, inner)
    if arguments:
        return _reader_of_several(kind, arguments, is_lenient=is_lenient)
    return _PLAIN.get(kind) or _reader_of_type(cast("type", kind))


def _reader_of_several(kind: object, arguments: tuple[object, ...], *, is_lenient: bool) -> Reader:
    if kind is Mapping:
        return functools.partial(_read_mapping, _reader_of(arguments[1]))
    made = frozenset if kind is frozenset else tuple
    return functools.partial(_read_list, made, _reader_of(arguments[0]), is_lenient)


def _reader_of_type(kind: Any) -> Reader:
    if not issubclass(kind, Enum):
        return functools.partial(_read_object, kind, _keys_of(kind))
    members = {member.value: member for member in kind}
    return functools.partial(_read_member, members, f"it is one of {', '.join(map(str, members))}")


@functools.cache
def _keys_of(kind: Any) -> _Keys:
    return _Keys(fields_of(kind), _forms_of(kind))


def _or_none(hint: object, read: Reader) -> Reader:
    return (lambda value: None if value is None else read(value)) if _may_be_none(hint) else read


def _read_list(made: Callable[[list[Any]], Any], read: Reader, is_lenient: bool, value: object) -> object:
    if is_lenient and not isinstance(value, list):
        value = [] if value is None else [value]
    if not isinstance(value, list):
        raise WrongField("is wrong: a list is expected")
    found = []
    for number, each in enumerate(value):
        try:
            found.append(read(each))
        except WrongField as wrong:
            wrong.path.insert(0, str(number))
            raise
    return made(found)


def _read_mapping(read: Reader, value: object) -> object:
    if not isinstance(value, dict):
        raise WrongField("is wrong: an object is expected")
    return {name: _read_at(read, part, name) for name, part in value.items()}


def _read_member(members: Mapping[object, Enum], told: str, value: object) -> Enum:
    found = members.get(value) if isinstance(value, str) else None
    if found is None:
        raise WrongField(f"is wrong: {told}")
    return found


def _read_object(kind: type, keys: _Keys, value: object) -> object:
    return _build(kind, keys.read(value), ())


def _read_shape(keys: _Keys, value: object) -> object:
    """An object that is handed on as it is, without what is null, once it has the shape."""
    keys.read(value)
    return {name: part for name, part in cast("dict[str, object]", value).items() if part is not None}


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongField("is wrong: a text is expected")
    return value


def _read_whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongField("is wrong: a whole number is expected")
    return value


def _read_text_or_whole(value: object) -> str | int:
    return value if isinstance(value, str) else _read_whole(value)


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongField("is wrong: true or false is expected")
    return value


def _read_scope(value: object) -> Scope:
    if isinstance(value, str):
        return Scope.parse(value)
    found = _SCOPE.read(value)
    return Scope(found[("kind",)], found.get(("id",), WORKSPACE_ID))


_PLAIN: Mapping[object, Reader] = {
    str: _read_text,
    int: _read_whole,
    bool: _read_flag,
    object: lambda value: value,
    datetime: lambda value: parse_time(_read_text(value)),
    Scope: _read_scope,
}
_SCOPE = _Keys(
    [CallField("kind", ScopeKind, MISSING, ("kind",)), CallField("id", str, WORKSPACE_ID, ("id",))], ()
)


def _forms_of(hint: object) -> list[RequestForm]:
    """How a request, and what stands flat in it, is read."""
    if not (isinstance(hint, type) and dataclasses.is_dataclass(hint)):
        return []
    hints = hints_of(hint)
    return [request_form_of(hint), *(form for name in form_of(hint).flat for form in _forms_of(hints[name]))]


def _build(kind: type, values: Mapping[Place, Any], place: Place) -> object:
    found: Values = {}
    for name, inner in _layout_of(kind):
        at = (*place, name)
        if inner is not None:
            found[name] = _build(inner, values, at)
        elif at in values:
            found[name] = values[at]
    return kind(**found)


@functools.cache
def _layout_of(kind: type) -> tuple[tuple[str, type | None], ...]:
    flat, hints = form_of(kind).flat, hints_of(kind)
    names = [each.name for each in dataclasses.fields(kind)]
    return tuple((name, cast("type", hints[name]) if name in flat else None) for name in names)


def _read_name(hint: object, text: str) -> object:
    if hint is not PolicyName:
        return text
    try:
        return PolicyName(text)
    except ValueError:
        raise NotFound(
            f"there is no policy {text[:80]!r}",
            code="policy.not-found",
            hint=f"there are {', '.join(PolicyName)}",
        ) from None


def _same_revision(in_body: int | None, in_header: int | None) -> int | None:
    """The revision that a caller has seen: by the body, or by If-Match."""
    if in_body is not None and in_header is not None and in_body != in_header:
        raise Invalid(
            f"If-Match names revision {in_header}, expected_revision {in_body}",
            code="request.header",
            hint="give one of the two",
        )
    return in_header if in_body is None else in_body


def _may_be_none(hint: object) -> bool:
    kind, arguments, _ = split_type(hint)
    return kind is types.UnionType and type(None) in arguments


def _without_none(hint: object) -> object:
    kind, arguments, _ = split_type(hint)
    if kind is not types.UnionType:
        return hint
    return next(each for each in arguments if each is not type(None))
