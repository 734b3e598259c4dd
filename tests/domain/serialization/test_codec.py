"""JSON from types: every type that has one is read back as it was, and nothing else is believed."""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest

from runlore.domain.errors import Corrupt
from runlore.domain.json_form import About, Damage, JsonForm, Within, form_of
from runlore.domain.record import Feedback, JsonObject, Kind, Record, Source
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import deserialize, erase, erase_json, serialize
from runlore.domain.skills.rollout import Canary, Definition, Evidence, PromotedSkill, RolloutEvent, Runtime
from runlore.domain.taint import Provenance
from tests.domain.serialization.sample_answers import sample, types_with_json

pytestmark = pytest.mark.req("SUR-2")


def keys_that_may_be_anything(kind: type) -> Iterator[str]:
    """Those that are not read, or may be missing, as the type and what stands flat in it say."""
    form = form_of(kind)
    yield from form.derived
    if form.unpaged:
        yield "next_cursor"
    for field in dataclasses.fields(kind):
        if field.name in (*form.may_lack, *form.null_if_empty, *form.omit_default):
            yield form.rename.get(field.name, field.name)
        if field.name in form.flat:
            yield from keys_that_may_be_anything(field.type)  # type: ignore[arg-type]


def test_each_type_is_read_back_and_refused_without_any_of_its_keys_or_with_another_value() -> None:
    kinds = [kind for kind in types_with_json() if not hasattr(kind, "from_json")]
    assert len(kinds) > 100
    for kind in kinds:
        value = sample(kind)
        plain = serialize(value)
        assert deserialize(kind, plain) == value
        for key in plain.keys() - set(keys_that_may_be_anything(kind)):
            for wrong in ({**plain, key: object()}, {each: plain[each] for each in plain if each != key}):
                with pytest.raises(Corrupt, match=key):
                    deserialize(kind, wrong)


def test_every_line_about_a_type_names_what_there_is() -> None:
    for kind in types_with_json():
        form, fields = form_of(kind), {field.name: field for field in dataclasses.fields(kind)}
        named = {*form.flat, *form.rename, *form.omit, *form.omit_default, *form.null_if_empty, *form.lineage}
        assert named | {*form.may_lack, *form.pairs} <= fields.keys(), kind
        assert all(isinstance(vars(kind)[name], property) for name in form.derived.values()), kind
        if not hasattr(kind, "to_json"):
            assert {*form.first, *form.last} <= serialize(sample(kind)).keys(), kind
        for name in (*form.omit_default, *form.may_lack):
            both = (fields[name].default, fields[name].default_factory)
            assert both != (dataclasses.MISSING, dataclasses.MISSING), (kind, name)


# What forgetting leaves of each type that can be forgotten, apart from ids, words of a list, times and flags.
LINEAGE: dict[type, set[str]] = {
    Record: {"confidence", "created_by", "policy_actor", "revision"},
    Source: {"session_id", "run_id", "agent", "imported_from"},
    Scope: {"id"},
    Feedback: {"wrong", "helped"},
    Provenance: set(),
    PromotedSkill: {"fingerprint", "evidence", "events", "revision"},
    Definition: {"name"},
    Runtime: set(),
    Canary: {"share"},
    Evidence: {"fingerprint", "actor"},
    RolloutEvent: {"fingerprint", "actor"},
}


@pytest.mark.req("LRN-12", "SUR-11")
@pytest.mark.parametrize("kind", LINEAGE, ids=lambda kind: kind.__name__)
def test_a_field_that_nobody_calls_lineage_is_forgotten(kind: type) -> None:
    assert set(form_of(kind).lineage) == LINEAGE[kind]
    added: list[tuple[str, object, Any]] = [
        ("owner", str | None, dataclasses.field(default=None)),
        ("words", tuple[str, ...], dataclasses.field(default=())),
        ("age", int, dataclasses.field(default=0)),
        ("more", JsonObject, dataclasses.field(default_factory=dict)),
    ]
    wider: Any = dataclasses.make_dataclass(
        f"Wider{kind.__name__}", added, bases=(kind,), frozen=True, kw_only=True
    )
    form_of(kind)(wider)
    value = wider(**{**fields_of(sample(kind)), "owner": "ada", "words": ("x",), "age": 7, "more": {"a": 1}})

    left = erase(value)

    assert (left.owner, left.words, left.age, left.more) == (None, (), 0, {})
    assert all(getattr(left, name) == getattr(value, name) for name in LINEAGE[kind])


@pytest.mark.req("LRN-12", "SUR-11")
def test_what_is_told_of_a_field_makes_no_other_type_of_it() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Described:
        kind: Annotated[Kind, About("Of what kind.")]
        run_id: Annotated[RunId | None, About("Of which run.")] = None
        note: Annotated[str | None, About("Why.", most=9)] = None

    value = Described(kind=Kind.FACT, run_id=RunId("r"), note="they said so")

    assert deserialize(Described, serialize(value)) == value
    assert erase(value) == Described(kind=Kind.FACT, run_id=RunId("r"))


@pytest.mark.req("LRN-12", "SUR-11")
def test_what_was_said_goes_however_deep_and_what_happened_stays() -> None:
    evidence, event = sample(Evidence), sample(RolloutEvent)
    skill = erase(dataclasses.replace(sample(PromotedSkill), evidence=(evidence,), events=(event,)))

    assert skill.evidence == (dataclasses.replace(evidence, note=""),)
    assert skill.events == (dataclasses.replace(event, reason=""),)
    assert (skill.definition.name, skill.definition.instructions) == ("name \u00e9", "")
    assert erase_json(Record, {"summary": "x", "kind": "fact", "of_another_version": "x"}) == {
        "summary": "",
        "kind": "fact",
    }


def fields_of(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@JsonForm(rename={"x": "left"}, derived={"sum": "sum"})
@dataclass(frozen=True, kw_only=True)
class Point:
    x: int
    y: int = 0

    @property
    def sum(self) -> int:
        return self.x + self.y


@JsonForm(
    flat=("point",),
    omit={"secret": ""},
    omit_default=("note",),
    null_if_empty=("remark",),
    may_lack=("tags",),
    pairs={"marks": ("colour", "times")},
    first=("name", "y"),
    last=("at",),
)
@dataclass(frozen=True, kw_only=True)
class Shape:
    point: Point
    name: str
    secret: str
    at: datetime | None = None
    note: str | None = None
    remark: str = ""
    tags: frozenset[Colour] = frozenset()
    marks: tuple[tuple[Colour, int], ...] = ()
    sizes: Mapping[str, str | int] = dataclasses.field(default_factory=dict)
    others: tuple[Point, ...] | None = None


@JsonForm(exact=True, closed=True, damage=Damage("thing", "thing.damaged", "mend it"))
@dataclass(frozen=True, kw_only=True)
class Exact:
    name: Annotated[str, Within(1, 3)]
    at: datetime
    numbers: Annotated[tuple[Annotated[int, Within(0, 9)], ...], Within(0, 2)] = ()


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SHAPE = Shape(
    point=Point(x=1, y=2),
    name="n",
    secret="s",
    at=NOON,
    tags=frozenset(Colour),
    marks=((Colour.RED, 3),),
    sizes={Colour.RED: 1, "b": "two"},
    others=(Point(x=4),),
)


def test_a_type_says_in_one_line_how_its_json_differs() -> None:
    plain = serialize(SHAPE)

    assert list(plain.items()) == [
        ("name", "n"),
        ("y", 2),
        ("left", 1),
        ("sum", 3),
        ("remark", None),
        ("tags", ["blue", "red"]),
        ("marks", [{"colour": "red", "times": 3}]),
        ("sizes", {"red": 1, "b": "two"}),
        ("others", [{"left": 4, "y": 0, "sum": 4}]),
        ("at", "2026-01-02T12:00:00.000Z"),
    ]
    assert {type(key) for key in plain["sizes"]} == {str}  # type: ignore[union-attr]
    assert deserialize(Shape, plain) == dataclasses.replace(SHAPE, secret="")
    noted = dataclasses.replace(SHAPE, note="", remark="r", secret="")
    assert deserialize(Shape, serialize(noted)) == noted
    assert deserialize(Shape, {**plain, "note": "x"}).note == "x"
    without = {key: plain[key] for key in plain if key not in ("tags", "remark", "sum")}
    assert deserialize(Shape, without).tags == frozenset()


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("name", 1),
        ("y", True),
        ("left", "1"),
        ("note", None),
        ("tags", ["green"]),
        ("tags", [["red"]]),
        ("marks", [["red", 3]]),
        ("marks", [{"colour": "red"}]),
        ("sizes", {"a": 1.5}),
        ("sizes", []),
        ("others", {}),
        ("others", [None]),
        ("at", 7),
        ("at", "noon"),
    ],
)
def test_another_value_is_damage(key: str, wrong: object) -> None:
    with pytest.raises(Corrupt) as refused:
        deserialize(Shape, {**serialize(SHAPE), key: wrong})
    assert (refused.value.code, len(refused.value.sentence) < 300) == ("value.damaged", True)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("name", ""),
        ("name", "four"),
        ("name", "\0"),
        ("at", "2026-01-02T12:00:00Z"),
        ("at", "2026-01-02"),
        ("numbers", [10]),
        ("numbers", [1, 2, 3]),
        ("more", 1),
    ],
)
def test_what_is_exact_closed_and_bounded_is_read_only_as_it_was_written(key: str, wrong: object) -> None:
    plain = serialize(Exact(name="abc", at=NOON, numbers=(9, 0)))
    assert serialize(deserialize(Exact, plain)) == plain

    with pytest.raises(Corrupt, match=key) as refused:
        deserialize(Exact, {**plain, key: wrong})
    assert (refused.value.code, refused.value.hint) == ("thing.damaged", "mend it")


@pytest.mark.parametrize("plain", [None, [], "x", 1, {}, {"name": {}}])
def test_what_is_no_such_object_is_damage(plain: Any) -> None:
    with pytest.raises(Corrupt):
        deserialize(Shape, plain)


def test_the_codec_is_light_to_load() -> None:
    heavy = "{'orjson', 'pydantic', 'regex', 're2', 'ahocorasick'} & set(sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys, runlore.domain.serialization.codec; print(*{heavy})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == []
