"""JSON of values from their types, both ways: what is stored, answered over HTTP and printed by `--json`.

`serialize` writes a frozen dataclass, `deserialize` reads one back. For each type the two functions are
generated once, at their first use. The names of the fields are the keys, in their order; where a type's JSON
differs, `@JsonForm` says so in the line above the type. What no line can say, a type's own `to_json` and
`from_json` do. What is read is never believed: what is missing or of another type is refused.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated, NamedTuple, NewType, TypeVar, cast

from runlore.domain.errors import Corrupt, Invalid, RunloreError
from runlore.domain.json_form import Damage, JsonForm, form_of
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import format_time, parse_time

ValueT = TypeVar("ValueT")
Plain = dict[str, JsonValue]
Write = Callable[[object], Plain]
Read = Callable[..., object]

_SHOWN_CHARS_MAX = 200
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RunloreError)
_DAMAGED = Damage(thing="value", code="value.damaged", hint="restore the store from a backup")
# What is left of a field without a default.
_EMPTY: Mapping[object, JsonValue] = {str: "", int: 0, tuple: [], frozenset: [], Mapping: {}, object: None}
_WRITERS: dict[type, Write] = {}
_READERS: dict[type, Read] = {}


def serialize(value: object) -> Plain:
    return _writer_of(type(value))(value)


def deserialize(kind: type[ValueT], plain: object) -> ValueT:
    """Read what `serialize` wrote; anything else is Corrupt, with the code that the type names."""
    try:
        return cast("ValueT", _reader_of(kind)(plain))
    except _UNREADABLE as error:
        thing, code, hint = form_of(kind).damage or _DAMAGED
        problem = f"{type(error).__name__}: {error}"[:_SHOWN_CHARS_MAX]
        raise Corrupt(f"a stored {thing} cannot be read: {problem}", code=code, hint=hint) from error


def erase(value: ValueT) -> ValueT:
    """What is left of a forgotten value: what happened stays, what was said goes."""
    return deserialize(type(value), erase_json(type(value), serialize(value)))


def erase_json(kind: type, plain: JsonObject) -> Plain:
    """The same for JSON that has some or all keys of a type. What the type does not know goes as well."""
    form, hints = form_of(kind), hints_of(kind)
    left: Plain = {}
    for field in _fields_of(kind):
        name, hint = field.name, hints[field.name]
        key = form.rename.get(name, name)
        if name in form.flat:
            left |= erase_json(cast("type", hint), plain)
        elif key in plain:
            left[key] = _erase_value(hint, plain[key], field, is_lineage=name in form.lineage)
    return left


def as_text(value: object, name: str = "") -> str:
    if not isinstance(value, str):
        raise _type_error(name, "a text", value)
    return value


def as_whole(value: object, name: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _type_error(name, "a whole number", value)
    return value


def as_flag(value: object, name: str = "") -> bool:
    if not isinstance(value, bool):
        raise _type_error(name, "true or false", value)
    return value


def as_object(value: object, name: str = "") -> JsonObject:
    if not isinstance(value, dict | Mapping):
        raise _type_error(name, "an object", value)
    return cast("JsonObject", value)


def as_list(value: object, name: str = "") -> Sequence[JsonValue]:
    if not isinstance(value, list | tuple):
        raise _type_error(name, "a list", value)
    return cast("Sequence[JsonValue]", value)


def _as_text_or_whole(value: object, name: str) -> str | int:
    return value if isinstance(value, str) else as_whole(value, name)


def _as_time(value: object, name: str) -> datetime:
    try:
        return parse_time(as_text(value, name))
    except Invalid as error:
        raise ValueError(f"{name}: {error}") from error


def _as_written_time(value: object, name: str) -> datetime:
    moment = _as_time(value, name)
    if format_time(moment) != value:
        raise ValueError(f"{name} is not a time as it is written")
    return moment


def _as_stored_text(value: object, name: str) -> str:
    text = as_text(value, name)
    if not is_storable(text):
        raise ValueError(f"{name} holds what cannot be stored")
    return text


def _as_parts(value: object, name: str, count: int) -> Sequence[JsonValue]:
    parts = as_list(value, name)
    if len(parts) != count:
        raise ValueError(f"{name} is not a list of {count}")
    return parts


def _refuse_unknown(plain: JsonObject, known: frozenset[str]) -> None:
    if unknown := plain.keys() - known:
        raise ValueError(f"it has a field {min(map(str, unknown))!r:.80}, which is not known")


def _type_error(name: str, what: str, value: object) -> TypeError:
    return TypeError(f"{name}{': ' if name else ''}{what} was expected, not {type(value).__name__}")


def _erase_value(
    hint: object, value: JsonValue, field: "dataclasses.Field[object]", *, is_lineage: bool
) -> JsonValue:
    if value is None:
        return None
    if typing.get_origin(hint) is Annotated and not split_type(hint)[2]:
        # What is only told of a field makes no other type of it.
        hint = typing.get_args(hint)[0]
    hint = without_none(hint)
    kind, arguments, _ = split_type(hint)
    is_list = kind in (tuple, frozenset)
    inner = arguments[0] if is_list else hint
    if isinstance(value, Mapping) and dataclasses.is_dataclass(kind):
        return erase_json(cast("type", kind), value)
    if is_lineage and isinstance(value, list | tuple) and dataclasses.is_dataclass(inner):
        return [erase_json(cast("type", inner), as_object(each)) for each in value]
    if is_lineage or kind in (bool, datetime) or isinstance(inner, NewType) or _is_enum(inner):
        return value
    if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
        return [] if is_list else cast("JsonValue", _default_of(field))
    return _EMPTY[kind]


class _Members(dict[object, Enum]):
    """An enumeration by its values: found several times faster than by calling it."""

    def __init__(self, kind: type[Enum], name: str) -> None:
        super().__init__({member.value: member for member in kind})
        self._name = name

    def __missing__(self, value: object) -> Enum:
        raise ValueError(f"{self._name} is {value!r:.80}, which it cannot be")


class Key(NamedTuple):
    """One key of a type's JSON: where its value is found, and how it is written."""

    key: str
    path: str
    hint: object
    names: tuple[str, ...] = ()
    is_null_if_empty: bool = False
    # What it is left out for, in a tuple of one.
    unless: tuple[object, ...] = ()


class _Source:
    """The body of a generated function, and the values that it names."""

    def __init__(self) -> None:
        self.names: dict[str, object] = {}

    def name(self, value: object) -> str:
        """A name by which the generated code reaches a value."""
        found = f"_{len(self.names)}"
        self.names[found] = value
        return found

    def compile(self, lines: Sequence[str]) -> object:
        exec("\n".join(lines), self.names)
        return self.names["function"]


def _writer_of(kind: type) -> Write:
    if kind not in _WRITERS:
        source = _Source()
        own = getattr(kind, "to_json", None)
        _WRITERS[kind] = cast("Write", own or source.compile(_writing(source, kind)))
    return _WRITERS[kind]


def _reader_of(kind: type) -> Read:
    if kind not in _READERS:
        own = getattr(kind, "from_json", None)
        _READERS[kind] = cast("Read", own) if own else _compile_reader(kind)
    return _READERS[kind]


def _compile_reader(kind: type, *, within: bool = False) -> Read:
    """The function that reads a type; `within` another's keys, which it cannot know."""
    source = _Source()
    return cast("Read", source.compile(_reading(source, kind, within=within)))


def _writing(source: _Source, kind: type) -> list[str]:
    keys = keys_of(kind)
    if not any(key.unless for key in keys):
        pairs = ", ".join(f"{key.key!r}: {_value_of(source, key)}" for key in keys)
        return ["def function(v):", f"    return {{{pairs}}}"]
    lines = ["def function(v):", "    p = {}"]
    for key in keys:
        condition = f"if v{key.path} != {source.name(key.unless[0])}: " if key.unless else ""
        lines.append(f"    {condition}p[{key.key!r}] = {_value_of(source, key)}")
    return [*lines, "    return p"]


def _value_of(source: _Source, key: Key) -> str:
    if not key.path:
        return "None"
    if key.is_null_if_empty:
        return f"v{key.path} or None"
    return _WriteExpression(source, key.names).of(key.hint, f"v{key.path}")


def keys_of(kind: type, path: str = "") -> list[Key]:
    """The keys of a type, with those of what stands flat in it, in the order of the JSON."""
    form, hints = form_of(kind), hints_of(kind)
    keys: list[Key] = []
    for field in _fields_of(kind):
        name = field.name
        if name in form.flat:
            keys += keys_of(cast("type", hints[name]), f"{path}.{name}")
        elif name not in form.omit:
            keys.append(
                Key(
                    form.rename.get(name, name),
                    f"{path}.{name}",
                    hints[name],
                    form.pairs.get(name, ()),
                    name in form.null_if_empty,
                    (_default_of(field),) if name in form.omit_default else (),
                )
            )
            if form.unpaged and keys[-1].key == "items":
                keys.append(Key("next_cursor", "", None))
    for key, name in form.derived.items():
        made = typing.get_type_hints(vars(kind)[name].fget)["return"]
        keys.append(Key(key, f"{path}.{name}", made))
    ordered = {key.key: key for key in keys}
    assert len(ordered) == len(keys), f"two fields of {kind.__name__} have the same key"
    middle = [key for key in ordered if key not in form.first and key not in form.last]
    return [ordered[key] for key in (*form.first, *middle, *form.last)]


class _WriteExpression(NamedTuple):
    source: _Source
    names: tuple[str, ...]

    def of(self, hint: object, value: str, depth: int = 0) -> str:
        kind, arguments, _ = split_type(hint)
        if _is_its_own_json(hint):
            return value
        if kind is types.UnionType:
            return f"None if {value} is None else {self.of(without_none(hint), value, depth)}"
        if arguments:
            return self._of_several(kind, arguments, value, depth)
        if _is_enum(kind):
            return f"{value}._value_"
        write = format_time if kind is datetime else _writer_of(cast("type", kind))
        return f"{self.source.name(write)}({value})"

    def _of_several(self, kind: object, arguments: tuple[object, ...], value: str, depth: int) -> str:
        inner = f"e{depth}"
        if kind is tuple and arguments[-1] is not Ellipsis:
            return self._of_parts([self.of(part, f"{value}[{at}]") for at, part in enumerate(arguments)])
        if kind is Mapping:
            # A word of an enumeration may stand where a text is asked for; as a key it has to be a text.
            part = self.of(arguments[1], inner, depth + 1)
            return f"{{str(k): {part} for k, {inner} in {value}.items()}}"
        items = f"sorted({value})" if kind is frozenset else value
        part = self.of(arguments[0], inner, depth + 1)
        return f"[*{items}]" if part == inner else f"[{part} for {inner} in {items}]"

    def _of_parts(self, parts: Sequence[str]) -> str:
        if not self.names:
            return f"[{', '.join(parts)}]"
        named = zip(self.names, parts, strict=True)
        return "{" + ", ".join(f"{name!r}: {part}" for name, part in named) + "}"


def _reading(source: _Source, kind: type, *, within: bool) -> list[str]:
    form, hints = form_of(kind), hints_of(kind)
    lines = [
        "def function(p, name=''):",
        f"    if p.__class__ is not dict: p = {source.name(as_object)}(p, name)",
    ]
    if form.closed and not within:
        known = frozenset(key.key for key in keys_of(kind))
        lines.append(f"    {source.name(_refuse_unknown)}(p, {source.name(known)})")
    arguments = []
    for field in _fields_of(kind):
        name, hint = field.name, hints[field.name]
        if name in form.omit:
            found = source.name(form.omit[name])
        elif name in form.flat:
            found = f"{source.name(_compile_reader(cast('type', hint), within=True))}(p)"
        else:
            found = _read_field(source, form, field, hint)
        arguments.append(f"{name}={found}")
    return [*lines, f"    return {source.name(kind)}({', '.join(arguments)})"]


def _read_field(source: _Source, form: JsonForm, field: "dataclasses.Field[object]", hint: object) -> str:
    name = field.name
    key = form.rename.get(name, name)
    if name in form.omit_default:
        hint = without_none(hint)
    found = _ReadExpression(source, key, form.pairs.get(name, ()), form.exact).of(hint, f"p[{key!r}]")
    if name in form.null_if_empty:
        return f"'' if p.get({key!r}) is None else {found}"
    if name in form.omit_default or name in form.may_lack:
        return f"({found}) if {key!r} in p else {source.name(_default_of(field))}"
    return found


class _ReadExpression(NamedTuple):
    source: _Source
    key: str
    names: tuple[str, ...]
    is_exact: bool

    def of(self, hint: object, value: str, depth: int = 0) -> str:
        kind, arguments, checks = split_type(hint)
        if kind is types.UnionType and type(None) in arguments:
            read = f"None if {value} is None else {self.of(without_none(hint), value, depth)}"
        else:
            read = self._of_kind(kind, arguments, value, depth)
        for check in checks:
            read = f"{self.source.name(check)}({read}, {self.key!r})"
        return read

    def _of_kind(self, kind: object, arguments: tuple[object, ...], value: str, depth: int) -> str:
        if kind is types.UnionType:
            read: Callable[..., object] = _as_text_or_whole
        elif arguments:
            return self._of_several(kind, arguments, value, depth)
        elif kind is object:
            return value
        elif kind in _LEAVES:
            return self._of_leaf(cast("type", kind), value)
        elif _is_enum(kind):
            return f"{self.source.name(_Members(cast('type[Enum]', kind), self.key))}[{value}]"
        elif kind is datetime:
            read = _as_written_time if self.is_exact else _as_time
        else:
            read = _reader_of(cast("type", kind))
        return self._call(read, value)

    def _of_several(self, kind: object, arguments: tuple[object, ...], value: str, depth: int) -> str:
        if kind is Mapping:
            return self._of_mapping(arguments, self._call(as_object, value), depth)
        if kind is tuple and arguments[-1] is not Ellipsis:
            return self._of_parts(arguments, value)
        made, inner = "tuple" if kind is tuple else "frozenset", f"e{depth}"
        items = self.of(arguments[0], inner, depth + 1)
        return f"{made}([{items} for {inner} in {self._call(as_list, value)}])"

    def _call(self, read: Callable[..., object], value: str) -> str:
        return f"{self.source.name(read)}({value}, {self.key!r})"

    def _of_leaf(self, kind: type, value: str) -> str:
        if kind is str and self.is_exact:
            return self._call(_as_stored_text, value)
        name, slow = kind.__name__, self.source.name(_LEAVES[kind])
        if value.isidentifier():
            return f"({value} if {value}.__class__ is {name} else {slow}({value}, {self.key!r}))"
        return f"(x if (x := {value}).__class__ is {name} else {slow}(x, {self.key!r}))"

    def _of_mapping(self, arguments: tuple[object, ...], items: str, depth: int) -> str:
        if split_type(arguments[1])[0] is object:
            return items
        key, inner = f"k{depth}", f"e{depth}"
        parts = f"{self.of(arguments[0], key, depth + 1)}: {self.of(arguments[1], inner, depth + 1)}"
        return f"{{{parts} for {key}, {inner} in {items}.items()}}"

    def _of_parts(self, parts: tuple[object, ...], value: str) -> str:
        """A tuple of different types, from an object with their names or from a list of just as many."""
        if self.names:
            found = [f"{self._call(as_object, value)}[{name!r}]" for name in self.names]
        else:
            listed = f"{self.source.name(_as_parts)}({value}, {self.key!r}, {len(parts)})"
            found = [f"{listed}[{at}]" for at in range(len(parts))]
        return f"({', '.join(self.of(part, each) for part, each in zip(parts, found, strict=True))})"


_LEAVES: Mapping[object, Callable[..., object]] = {str: as_text, int: as_whole, bool: as_flag}


def split_type(hint: object) -> tuple[object, tuple[object, ...], tuple[Callable[..., object], ...]]:
    """The kind of a type, its arguments, and what `Annotated` names to check a value with."""
    checks: tuple[Callable[..., object], ...] = ()
    while isinstance(hint, NewType) or typing.get_origin(hint) is Annotated:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        else:
            hint, *found = typing.get_args(hint)
            checks = (*filter(callable, found), *checks)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        # Only the type of any JSON value has numbers that are not whole.
        return (object, (), checks) if float in arguments else (types.UnionType, arguments, checks)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Mapping, arguments, checks
    return origin or hint, arguments, checks


def _is_its_own_json(hint: object) -> bool:
    kind, arguments, _ = split_type(hint)
    if kind is Mapping:
        return split_type(arguments[1])[0] is object
    if kind is types.UnionType:
        return all(map(_is_its_own_json, arguments))
    return kind in (str, int, bool, object, type(None))


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def without_none(hint: object) -> object:
    """The one other type of what may be None."""
    kind, arguments, _ = split_type(hint)
    if kind is not types.UnionType:
        return hint
    (only,) = (argument for argument in arguments if argument is not type(None))
    return only


def _fields_of(kind: type) -> "tuple[dataclasses.Field[object], ...]":
    assert dataclasses.is_dataclass(kind), f"{kind} has no JSON"
    return dataclasses.fields(kind)


def hints_of(kind: type | Callable[..., object]) -> Mapping[str, object]:
    """The types of a type's fields, or of a function's parameters and answer."""
    return typing.get_type_hints(kind, localns={"JsonValue": object}, include_extras=True)


def _default_of(field: "dataclasses.Field[object]") -> object:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
