"""Front matter is a stranger's YAML: texts stay texts, what could grow is refused, and soon (SKL-8)."""

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_document import render_document
from runlore.domain.taint import Provenance
from runlore.skill_files.front_matter import decode_file, front_matter_of, read_skill
from tests.domain.skill_document.any_skill_document import DOCUMENTS, HOSTILE, PROVENANCES, texts

pytestmark = pytest.mark.req("SKL-8")

# Of a machine that is busy with other things too; a bomb that goes off takes minutes or all memory.
QUICK_CPU_S = 1.0


def fields(front: str) -> object:
    """What stands in front matter."""
    return front_matter_of(f"---\n{front}\n---\nbody").fields


@given(DOCUMENTS, PROVENANCES)
def test_what_was_written_is_read_as_it_was(document: SkillDocument, provenance: Provenance) -> None:
    read = read_skill(render_document(document, provenance), folder=document.name)

    assert read.document == document
    assert read.provenance == provenance
    assert [remark for remark in read.remarks if "nobody sees" not in remark] == []


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_every_hostile_piece_is_read_as_it_was_written(number: int) -> None:
    piece = HOSTILE[number]
    document = SkillDocument(
        name="x", description=f"x{piece}", body=piece * 2, topics=(piece, ""), metadata={f"k{piece}": piece}
    )

    assert read_skill(render_document(document)).document == document


@pytest.mark.parametrize(
    ("front", "value"),
    [
        ("x: 1.0", "1.0"),
        ("x: 007", "007"),
        ("x: yes", "yes"),
        ("x: null", "null"),
        ("x: ~", "~"),
        ("x:", ""),
        ("x: 2026-01-01", "2026-01-01"),
        ("x: 0x1F", "0x1F"),
        ("x: 1_000", "1_000"),
        ("x: .inf", ".inf"),
        ("x: '1.0'", "1.0"),
        ('x: "a\\tb"', "a\tb"),
        ("x: |\n  a\n  b\n", "a\nb"),
        ("x: >\n  a\n  b\n", "a b"),
        ("x: [a, 1]", ["a", "1"]),
        ("x:\n  - a\n  - b: c", ["a", {"b": "c"}]),
        ("x: {a: 1}", {"a": "1"}),
        ("x: '---'", "---"),
    ],
)
def test_every_scalar_stays_the_text_that_it_is(front: str, value: object) -> None:
    assert fields(front) == {"x": value}


def test_keys_stay_texts_too() -> None:
    assert fields("123: a\nyes: b\nnull: c\n<<: {d: e}") == {
        "123": "a",
        "yes": "b",
        "null": "c",
        "<<": {"d": "e"},
    }


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{key}: &{key} [{', '.join([f'*{before}'] * 9)}]"
    for before, key in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        (BOMB, "an anchor or an alias"),
        ("x: &a b", "an anchor or an alias"),
        ("x: *a", "an anchor or an alias"),
        ("x: [&a b]", "an anchor or an alias"),
        ("&a x: b", "an anchor or an alias"),
        ("x: &a {b: c}\ny:\n  <<: *a", "an anchor or an alias"),
        ("x: !!python/object/apply:os.system [ls]", "a tag"),
        ("x: !!binary aGk=", "a tag"),
        ("x: !!str a", "a tag"),
        ("x: ! a", "a tag"),
        ("!a x: b", "a tag"),
        ("x: !b {c: d}", "a tag"),
        ("x: 1\nx: 2", "says 'x' twice"),
        ("y: {x: 1, x: 2}", "says 'x' twice"),
        ("? [a]\n: b", "a key that is not a text"),
        ("- a", "not a map"),
        ("only words", "not a map"),
        ("", "empty"),
        ("# a comment", "empty"),
        ('x: "\\0"', "NUL"),
        ("x: a\x07b", "control characters"),
        ("x: a\n...\n%YAML 1.1\n", "not YAML"),
        ("x" * 5_000 + ": [", "not YAML"),
        ("[" * 100_000, "deep"),
        ("{a: " * 50_000, "deep"),
        ("- " * 100_000, "deep"),
        ("? " * 100_000, "deep"),
        ("x: " + "[" * 17 + "]" * 17, "deep"),
        (f"x: [{', '.join('ab' for _ in range(4_000))}]", "more than 4,000 values"),
        ("\n".join(f"k{number}: v" for number in range(2_001)), "more than 4,000 values"),
        ("a: 'x\n" * 30_000, "not YAML|more than"),
        ("a: b: c\n" * 30_000, "not YAML"),
        ("a:\n" + " b: c: d\n" * 25_000, "not YAML"),
    ],
    ids=range(33),
)
def test_what_is_no_plain_map_of_texts_is_refused_and_soon(front: str, sentence: str) -> None:
    started = time.process_time()
    with pytest.raises(Invalid, match=sentence) as refused:
        fields(front)
    assert time.process_time() - started < QUICK_CPU_S
    assert refused.value.code == "skill.document"
    assert refused.value.hint


def test_as_much_as_is_allowed_is_read() -> None:
    assert fields("x: " + "[" * 15 + "]" * 15)
    assert fields(f"x: [{', '.join('ab' for _ in range(3_997))}]")


def test_a_field_that_is_said_twice_alike_hides_nothing() -> None:
    assert fields("x: 1\nx: 1") == {"x": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000_000,
        "---\n" + "x: y\n" * 200_000,
        f"---\nx: {'y' * limits.SKILL_FRONT_BYTES_MAX}\n---\n",
        f"---\nx: {'日' * (limits.SKILL_FRONT_BYTES_MAX // 2)}\n---\n",
        "---\nname: x\n---\n" + "日" * (limits.SKILL_FILE_BYTES_MAX // 2),
        "---\n" + "\n" * limits.SKILL_FRONT_BYTES_MAX + "\n\n---\n",
    ],
    ids=["huge", "long", "front", "front-in-bytes", "file-in-bytes", "empty-lines"],
)
def test_what_is_too_large_is_refused_without_being_read(text: str) -> None:
    started = time.process_time()
    with pytest.raises(Invalid) as refused:
        front_matter_of(text)
    assert time.process_time() - started < QUICK_CPU_S
    assert refused.value.code == "skill.size"
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "# Title\n---\nname: x\n---\n",
        "---",
        "---\n",
        "---\nname: x",
        "---\nname: x\n----\n",
        "--- x\n---\n",
    ],
)
def test_a_file_without_front_matter_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="front matter") as refused:
        front_matter_of(text)
    assert refused.value.code == "skill.document"


@pytest.mark.parametrize("text", ["---\nx: y\n---\na\0b", "---\nx: y\n---\n\ud800"])
def test_a_text_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        front_matter_of(text)
    assert refused.value.code == "skill.document"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe-\0-\0-\0", "skill.document"),
        (b"---\nname: \xe9\n---\n", "skill.document"),
        (b"\x7fELF\x02\x01\0\0", "skill.document"),
        (b"x" * (limits.SKILL_FILE_BYTES_MAX + 1), "skill.size"),
    ],
    ids=["utf-16", "latin-1", "binary", "large"],
)
def test_bytes_that_are_no_text_are_refused(content: bytes, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        decode_file(content)
    assert refused.value.code == code
    assert refused.value.hint


@given(
    texts(400),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", " ", "\t"]),
)
def test_the_body_is_kept_to_the_byte_whatever_ends_the_lines(
    body: str, end: str, mark: str, blank: str
) -> None:
    text = f"{mark}---{blank}{end}name: x{end}list:{end}  - a{end}---{blank}{end}{body}"

    front = front_matter_of(decode_file(text.encode()))

    assert front.fields == {"name": "x", "list": ["a"]}
    assert front.body == body
    assert front.remarks == ()


@pytest.mark.parametrize(
    ("front", "read"),
    [
        (
            "description: Multi-step procedure: docker (4 steps)",
            {"description": "Multi-step procedure: docker (4 steps)"},
        ),
        ("a: it's: so", {"a": "it's: so"}),
        ("a: [x", {"a": "[x"}),
        ('a: "x" and y', {"a": '"x" and y'}),
        ('a: "x: "y""', {"a": 'x: "y"'}),
        ("a: [x] [y]\nb: c", {"a": "[x] [y]", "b": "c"}),
        ("a: x\n  y: z\n\n  w\nb: c", {"a": "x y: z w", "b": "c"}),
        ("a: @x", {"a": "@x"}),
        ("a: `x`", {"a": "`x`"}),
        ("a: %x", {"a": "%x"}),
        (
            "metadata:\n  a: b: c\n  d:\n    e: f: g\nh: i",
            {"metadata": {"a": "b: c", "d": {"e": "f: g"}}, "h": "i"},
        ),
        ("a: >\n x: y\n  z\n w\nb: c: d", {"a": "x: y\n z\nw", "b": "c: d"}),
        ("# remark: x\na: b: c\n# another", {"a": "b: c"}),
    ],
)
def test_front_matter_with_a_usual_mistake_is_mended(front: str, read: dict[str, object]) -> None:
    with pytest.raises(yaml.YAMLError):
        yaml.load(front, yaml.CSafeLoader)

    mended = front_matter_of(f"---\n{front}\n---\nbody")

    assert mended.fields == read
    assert mended.remarks == ("its front matter is not valid YAML; it was mended to be read",)


@given(st.lists(st.sampled_from([*HOSTILE, "a: ", "\n", "  ", "- ", "name: x\n"]), max_size=30).map("".join))
def test_any_front_matter_is_read_as_texts_or_refused_with_a_reason(front: str) -> None:
    try:
        read = front_matter_of(f"---\n{front}\n---\n").fields
    except Invalid as error:
        refused = error
    else:
        assert _is_texts(read)
        return
    assert refused.code in ("skill.document", "skill.size")
    assert refused.hint


def _is_texts(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_texts(each) for key, each in value.items())
    return all(map(_is_texts, value)) if isinstance(value, list) else isinstance(value, str)
