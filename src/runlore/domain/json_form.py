"""How the JSON of a type differs from its fields, said in one line above the type. `codec` reads it."""

from collections.abc import Mapping, Sized
from dataclasses import field
from typing import NamedTuple, TypeVar, cast

from runlore.domain.lazy import dataclass

ValueT = TypeVar("ValueT")
TypeT = TypeVar("TypeT", bound=type)


class Damage(NamedTuple):
    """What is said of a stored value that nothing here wrote: Corrupt, with this code and hint."""

    thing: str
    code: str
    hint: str


class Within(NamedTuple):
    """Checks what is read: the least and the most characters, items, or value of a whole number.

    It stands in the type of a field: `Annotated[str, Within(1, 200)]`. Any function of a value and its key
    can stand there, which returns the value or raises ValueError.
    """

    least: int
    most: int

    def __call__(self, value: ValueT, name: str) -> ValueT:
        """The value, when it is within the bounds."""
        size = value if isinstance(value, int) else len(cast("Sized", value))
        if not self.least <= size <= self.most:
            raise ValueError(f"{name} is not from {self.least} to {self.most}")
        return value


class About(NamedTuple):
    """What the API's document tells of a field: `Annotated[str, About("What to do.", most=1_000)]`.

    The bounds are of characters, items, names or a whole number, and are only told here: whoever does the
    operation holds callers to them, with an error of its own. `key` is another word for a parameter.
    """

    text: str = ""
    least: int | None = None
    most: int | None = None
    key: str = ""


class Shape:
    """The shape of a JSON object that is handed on as it is: that of a type, or a JSON schema."""

    def __init__(self, of: "type | Mapping[str, object]") -> None:
        self.of = of


@dataclass(frozen=True, kw_only=True)
class JsonForm:
    """What a type says about its JSON: `@JsonForm(flat=("run",))` above it.

    Fields are named by their names in Python, keys by theirs in JSON.
    """

    # Fields whose keys stand among the keys of this object, in place of an object of their own.
    flat: tuple[str, ...] = ()
    # Fields whose key is another word.
    rename: Mapping[str, str] = field(default_factory=dict)
    # Fields that are never written, with what is read in their place.
    omit: Mapping[str, object] = field(default_factory=dict)
    # Fields that are left out while they have their default.
    omit_default: tuple[str, ...] = ()
    # Texts that are null while they are empty, and may be missing.
    null_if_empty: tuple[str, ...] = ()
    # Fields that older versions did not write: a missing one has its default.
    may_lack: tuple[str, ...] = ()
    # Tuples that are written as objects, with the keys of their parts.
    pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Keys that are written and not read, with the property that makes each.
    derived: Mapping[str, str] = field(default_factory=dict)
    # Keys that stand before, and after, all others.
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    # A list that is always whole: `next_cursor` stands after `items`, and is null.
    unpaged: bool = False
    # Read back exactly as written: texts that can be stored, and times in the one way that they are written.
    exact: bool = False
    # No other key is read.
    closed: bool = False
    # Texts, numbers and lists that tell what happened, not what was said: forgetting leaves them. Ids, words
    # of a list, times and flags stay by their types; everything else is erased.
    lineage: tuple[str, ...] = ()
    damage: Damage | None = None
    # What the API's document calls it, where that is another word than the type's name.
    document: str = ""

    def __call__(self, kind: TypeT) -> TypeT:
        _FORMS[kind] = self
        return kind


_FORMS: dict[type, JsonForm] = {}
_AS_IT_IS = JsonForm()


def form_of(kind: type) -> JsonForm:
    return _FORMS.get(kind, _AS_IT_IS)
