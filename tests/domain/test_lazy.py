"""Value types and modules that are made at their first use are what they would be if made at once."""

import dataclasses
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from runlore.domain import lazy
from runlore.domain.lazy import LazyModule
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("SUR-7")

Decorate = Callable[..., Any]
AT_ONCE: Decorate = dataclasses.dataclass
AT_FIRST_USE: Decorate = lazy.dataclass


def shape(decorate: Decorate, **options: bool) -> Any:
    """A value type with everything that ours have: a default, a factory, a check, and one that inherits."""

    @decorate(**options)
    class Shape:
        """A shape."""

        name: str
        sides: int = 4
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        made_at_once: list[str] = dataclasses.field(default_factory=list, init=False)

        def __post_init__(self) -> None:
            if self.sides < 0:
                raise ValueError("no such shape")

    @decorate(**options)
    class Named(Shape):
        title: str = ""

    return Named


def what_it_does(kind: Any) -> list[object]:
    """Everything that can be told from outside."""
    value, same, other = kind(name="a"), kind(name="a", tags=["b"]), kind(name="c", sides=3)
    told: list[object] = [
        [(each.name, each.kw_only, each.default) for each in dataclasses.fields(kind)],
        (kind.__doc__ or "").partition("(")[0],
        (value == same, value == other, repr(value), kind.__match_args__),
        dataclasses.replace(value, title="t") == kind(name="a", title="t"),
        (str(inspect.signature(kind)), inspect.get_annotations(kind.__init__), value.made_at_once),
        (kind.__init__.__name__, kind.__init__.__qualname__),
    ]
    for attempt in (
        lambda: hash(value),
        kind,
        lambda: kind("a", 1, []),
        lambda: kind(name="a", sides=-1),
        lambda: setattr(value, "name", "b"),
        lambda: setattr(value, "unknown", "b"),
        lambda: value < other,
    ):
        try:
            told.append(("answered", repr(attempt())))
        except Exception as error:
            # Every way to fail is compared, whatever its type.
            told.append((type(error), str(error)))
    return told


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kw_only": True},
        {"frozen": True},
        {"frozen": True, "kw_only": True},
        {"frozen": True, "kw_only": True, "order": True},
        {"frozen": True, "kw_only": True, "slots": True},
    ],
)
def test_a_value_type_is_the_same_whenever_its_methods_are_made(options: dict[str, bool]) -> None:
    assert what_it_does(shape(AT_FIRST_USE, **options)) == what_it_does(shape(AT_ONCE, **options))


def test_nothing_is_made_before_the_first_use() -> None:
    kind = shape(AT_FIRST_USE, frozen=True, kw_only=True)
    before = kind.__dict__["__init__"], "__eq__" in kind.__dict__

    kind(name="a")

    assert (kind.__dict__["__init__"] is before[0], before[1]) == (False, False)
    assert "__eq__" in kind.__dict__


def test_the_fields_are_known_before_the_first_value() -> None:
    kind = shape(AT_FIRST_USE, frozen=True)

    assert dataclasses.is_dataclass(kind)
    assert [each.name for each in dataclasses.fields(kind)] == [
        "name",
        "sides",
        "tags",
        "made_at_once",
        "title",
    ]


def test_threads_that_make_the_first_values_together_all_get_theirs() -> None:
    for _ in range(20):
        kind = shape(AT_FIRST_USE, frozen=True, kw_only=True)
        together = threading.Barrier(8)
        made: list[object] = []

        def make(kind: Any = kind, together: threading.Barrier = together, made: list[object] = made) -> None:
            together.wait(timeout=PATIENCE_S)
            made.append(kind(name="a", title="t"))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=PATIENCE_S)

        assert made == [kind(name="a", title="t")] * 8


def test_a_module_is_loaded_with_its_first_attribute() -> None:
    name = "runlore.domain.text.analysis"
    loaded = sys.modules.pop(name, None)
    try:
        module = LazyModule(name)
        assert name not in sys.modules

        assert isinstance(module.ENGLISH, frozenset)

        assert name in sys.modules
        with pytest.raises(AttributeError, match="nothing_of_the_kind"):
            _ = module.nothing_of_the_kind
    finally:
        if loaded is not None:
            sys.modules[name] = loaded
