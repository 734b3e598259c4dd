"""What is made at its first use: the methods of dataclasses, and modules that few commands need.

A command is a process of its own, and pays for everything that it loads before it does anything. Here is how
it pays only for what it uses: docs/decisions/0003-start-up.md.
"""

import dataclasses
import sys
from collections.abc import Callable
from importlib import import_module
from threading import RLock
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

__all__ = ["LazyModule", "dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(kind: type | None = None, /, **options: bool) -> object:
        """`dataclasses.dataclass`, whose methods are made when the first value or its fields are asked for.

        Making them is most of what importing a module of value types costs, and a command uses few of them.
        What has slots, or an `__init__` of its own, is made at once.
        """
        if kind is None:
            return lambda decorated: dataclass(decorated, **options)
        if options.get("slots") or "__init__" in kind.__dict__:
            return dataclasses.dataclass(kind, **options)
        return _defer(kind, options)


class LazyModule(ModuleType):
    """A module by its name, loaded when the first of its attributes is asked for.

    The same import stands beside it under `TYPE_CHECKING`, for whoever reads types and contracts.
    """

    def __getattr__(self, name: str) -> object:
        """An attribute of the module, which is found here at once the next time."""
        found: object = getattr(import_module(self.__name__), name)
        self.__dict__[name] = found
        return found


# Of many threads, one makes the methods of a class, and with them those of what it inherits from.
_MAKING = RLock()
# Stands for a field that was not given, and has a factory.
_GIVEN_NONE = type("_GivenNone", (), {"__repr__": lambda _: "<factory>"})()
# Where `dataclasses` keeps the fields of a class.
_FIELDS = "__dataclass_fields__"


class _LateFields:
    """Stands where `dataclasses.fields`, or a class that inherits, looks for the fields."""

    def __init__(self, complete: Callable[[], None]) -> None:
        self._complete = complete

    def __get__(self, instance: object, owner: type) -> object:
        self._complete()
        return getattr(owner, _FIELDS)


def _defer(kind: type, options: dict[str, bool]) -> type:
    def complete() -> None:
        with _MAKING:
            if vars(kind)["__init__"] is first_init:
                make: Callable[[type], type] = dataclasses.dataclass(**{**options, "init": False})
                make(kind)
                # Last, and in one step: whoever makes a value meanwhile waits above.
                type.__setattr__(kind, "__init__", _make_init(kind, is_frozen=options.get("frozen", False)))

    def first_init(self: object, /, *args: object, **fields: object) -> None:
        complete()
        vars(kind)["__init__"](self, *args, **fields)

    type.__setattr__(kind, "__init__", first_init)
    type.__setattr__(kind, _FIELDS, _LateFields(complete))
    return kind


def _make_init(kind: type, *, is_frozen: bool) -> object:
    """The `__init__` that `dataclasses` would make. It makes none for a class that has one, as this has, and
    making a second class for it costs as much as all other methods together."""
    known: dict[str, object] = {"_set_": object.__setattr__, "_missing_": _GIVEN_NONE}
    taken: dict[bool, list[str]] = {False: ["self"], True: []}
    lines: list[str] = []
    annotations: dict[str, object] = {}
    for each in dataclasses.fields(kind):
        value, default = each.name, f"_default_{each.name}"
        if each.default_factory is not dataclasses.MISSING:
            known[f"_factory{default}"], known[default] = each.default_factory, _GIVEN_NONE
            made = f"_factory{default}()"
            value = f"{made} if {value} is _missing_ else {value}" if each.init else made
        elif each.default is not dataclasses.MISSING:
            known[default] = each.default
        if each.init:
            taken[each.kw_only is True].append(f"{each.name}={default}" if default in known else each.name)
            annotations[each.name] = each.type
        if each.init or each.default_factory is not dataclasses.MISSING:
            setting = f"_set_(self, {each.name!r}, {value})" if is_frozen else f"self.{each.name} = {value}"
            lines.append(setting)
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*taken[False], *(["*", *taken[True]] if taken[True] else [])])
    body = "\n  ".join(lines or ["pass"])
    text = f"def make({', '.join(known)}):\n def __init__({parameters}):\n  {body}\n return __init__"
    made_here: dict[str, Callable[..., FunctionType]] = {}
    exec(text, vars(sys.modules[kind.__module__]), made_here)
    init = made_here["make"](**known)
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    init.__annotations__ = {**annotations, "return": None}
    return init
