"""How an operation is declared: its method and path over HTTP, who may ask for it, and how it is answered.

The declaration stands above the operation's method in its protocol. What it takes and answers is the method's
signature, what it does is the first paragraph of its docstring. The table of roles, the routes, the OpenAPI
document and the remote client are made from it, and from nothing else.
"""

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, field
from enum import Enum
from typing import NamedTuple, TypeVar

from runlore.domain.access import Role
from runlore.domain.json_form import About, form_of
from runlore.domain.lazy import dataclass
from runlore.domain.serialization.codec import hints_of
from runlore.ports.operations.areas import AREA_OF_OPERATION, load_area

MethodT = TypeVar("MethodT", bound=Callable[..., object])
TypeT = TypeVar("TypeT", bound=type)
Values = dict[str, typing.Any]

EVERYBODY = frozenset(Role)
# For what is not bound to one session: an agent sees only what its session sees.
OVERSEERS = frozenset({Role.READER, Role.OPERATOR})
AGENTS = frozenset({Role.AGENT, Role.OPERATOR})
OPERATORS = frozenset({Role.OPERATOR})

KEY, REVISION = "idempotency_key", "expected_revision"
# Parameters that no caller gives: the object, whoever watches, and the call that a route made by hand gets.
_NOT_SENT = frozenset({"self", "progress", "call"})


class Created(Enum):
    """When an answer is 201: always, where something is stored, or where it was not there before."""

    ALWAYS = "always"
    IF_STORED = "stored"
    IF_NEW = "new"


@dataclass(frozen=True, kw_only=True)
class RequestForm:
    """How a request's JSON is read where that is not as its fields say: `@RequestForm(...)` above it."""

    # Other words for a key, taken where the key itself is not given.
    aliases: Mapping[str, str] = field(default_factory=dict)
    # Keys that are dropped.
    ignored: frozenset[str] = frozenset()
    # Keys that nobody knows are dropped too.
    open: bool = False
    # One word alone is taken for a list of it, and null for an empty one.
    lenient_lists: bool = False
    # What is done with the JSON before it is read, and with the values of the keys afterwards.
    before: Callable[[typing.Any], typing.Any] | None = None
    after: Callable[[Values], Values] | None = None
    # More keys, with their types, that `after` makes into others.
    more: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, kind: TypeT) -> TypeT:
        """Declare it for a type."""
        _FORMS[kind] = self
        return kind


_FORMS: dict[type, RequestForm] = {}
_AS_IT_IS = RequestForm()


def request_form_of(kind: type) -> RequestForm:
    return _FORMS.get(kind, _AS_IT_IS)


class CallField(NamedTuple):
    """One thing that a call takes: its key, its type, its default, and where its value stands in the call's
    arguments: a parameter, and attributes of it."""

    key: str
    hint: object
    default: object
    place: tuple[str, ...]

    @property
    def is_required(self) -> bool:
        return self.default is MISSING


@dataclass(frozen=True)
class Route:
    """A way to ask for an operation: `GET /v1/runs/{run_id}`.

    `fields` names the parameter or the request's field of what a path calls otherwise; `without` fields that
    are not taken here.
    """

    at: str
    name: str = field(default="", kw_only=True)
    text: str = field(default="", kw_only=True)
    fields: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    without: frozenset[str] = field(default=frozenset(), kw_only=True)
    deprecated: bool = field(default=False, kw_only=True)
    # Another area of the document than that of the operation.
    area: str = field(default="", kw_only=True)

    @property
    def method(self) -> str:
        return self.at.partition(" ")[0]

    @property
    def path(self) -> str:
        """Its path, with the names of what stands in it."""
        return self.at.partition(" ")[2]

    @functools.cached_property
    def in_path(self) -> Mapping[str, str]:
        """What stands in the path, with the field that it is."""
        return {name: self.fields.get(name, name) for name in re.findall(r"{(\w+)}", self.path)}


@dataclass(frozen=True)
class Operation:
    """The declaration of an operation, above its method: `@Operation("GET /v1/runs/{run_id}", EVERYBODY)`."""

    at: str | Route
    roles: frozenset[Role]
    # It concerns everything that there is, so a token that is limited to some scopes is not good for it.
    unlimited: bool = field(default=False, kw_only=True)
    # Its answer has a revision, told as the ETag. One that changes without it is never answered with 304.
    tagged: bool = field(default=False, kw_only=True)
    moves_on: bool = field(default=False, kw_only=True)
    created: Created | None = field(default=None, kw_only=True)
    # Where what was made is found, with attributes of the answer.
    location: str = field(default="", kw_only=True)
    # The answer is waited for as long as it takes.
    long: bool = field(default=False, kw_only=True)
    # Asking once more does something once more, so a broken call is not made again.
    once: bool = field(default=False, kw_only=True)
    # A body has to be sent, although no field of it has to be there.
    needs_body: bool = field(default=False, kw_only=True)
    # The body may hold whole runs, requests or artifacts.
    large: bool = field(default=False, kw_only=True)
    # The body is a file, and nothing else is taken.
    uploads: bool = field(default=False, kw_only=True)
    # Another area of the document than that of its module.
    area: str = field(default="", kw_only=True)
    # The fields of its request that it takes; all of them where none is named.
    only: frozenset[str] = field(default=frozenset(), kw_only=True)
    also: tuple[Route, ...] = field(default=(), kw_only=True)
    method: Callable[..., object] = field(default=lambda: None, kw_only=True)

    def __call__(self, method: MethodT) -> MethodT:
        """Declare it for a method."""
        module = method.__module__.rpartition(".")[2]
        area = self.area or _AREAS.get(module, module)
        _DECLARED[method.__name__] = dataclasses.replace(self, method=method, area=area)
        return method

    @property
    def name(self) -> str:
        return self.method.__name__

    @functools.cached_property
    def routes(self) -> tuple[Route, ...]:
        """Every way to ask for it, its own first; none where it has no path."""
        own = self.at if isinstance(self.at, Route) else Route(self.at)
        text = (inspect.getdoc(self.method) or "").partition("\n\n")[0].replace("\n", " ")
        filled = (
            dataclasses.replace(
                each, name=each.name or self.name, text=each.text or text, area=each.area or self.area
            )
            for each in (own, *self.also)
        )
        return tuple(each for each in filled if each.at)

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, as far as who asks can tell."""
        return (self.at if isinstance(self.at, Route) else Route(self.at)).method == "GET"

    @functools.cached_property
    def answer(self) -> object:
        return hints_of(self.method)["return"]

    @functools.cached_property
    def parameters(self) -> Mapping[str, tuple[object, object]]:
        """What the method takes: the type and the default of each parameter."""
        hints = hints_of(self.method)
        return {
            name: (hints[name], MISSING if each.default is inspect.Parameter.empty else each.default)
            for name, each in inspect.signature(self.method).parameters.items()
            if name not in _NOT_SENT and not self.uploads
        }

    @functools.cached_property
    def takes(self) -> tuple[CallField, ...]:
        """Everything that it takes, by keys, with what its request holds."""
        found: list[CallField] = []
        for name, (hint, default) in self.parameters.items():
            if isinstance(hint, type) and dataclasses.is_dataclass(hint):
                found += fields_of(hint, (name,))
            else:
                found.append(CallField(about(hint).key or name, hint, default, (name,)))
        if self.only:
            path = {each for route in self.routes for each in route.in_path.values()}
            found = [each for each in found if each.place[-1] in {*self.only, *path, KEY}]
        return tuple(found)


_AREAS = {"records": "memory", "library": "skills", "projection": "sessions"}
# The operations of the areas that are loaded.
_DECLARED: dict[str, Operation] = {}


class _Operations(Mapping[str, Operation]):
    """Every operation by its name, in the order of their areas; one is loaded with its area."""

    def __getitem__(self, name: str) -> Operation:
        load_area(AREA_OF_OPERATION[name])
        return _DECLARED[name]

    def __iter__(self) -> Iterator[str]:
        return iter(AREA_OF_OPERATION)

    def __len__(self) -> int:
        return len(AREA_OF_OPERATION)


OPERATIONS = _Operations()


def about(hint: object) -> About:
    found = (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, About))
    return next(found, _NOTHING)


_NOTHING = About()


def fields_of(kind: type, place: tuple[str, ...] = ()) -> list[CallField]:
    """The fields of a request by their keys, with those of what stands flat in it."""
    form, hints = form_of(kind), hints_of(kind)
    found: list[CallField] = []
    for each in dataclasses.fields(kind):
        if each.name in form.flat:
            found += fields_of(typing.cast("type", hints[each.name]), (*place, each.name))
        else:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            found.append(
                CallField(
                    form.rename.get(each.name, each.name), hints[each.name], default, (*place, each.name)
                )
            )
    return found
